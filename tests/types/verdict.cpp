#include "augur/types/verdict.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>

using namespace augur;

BOOST_AUTO_TEST_SUITE(types_verdict)

// statistics counts by these numbers.
static_assert(static_cast<int>(origin::accepted) == 0 && static_cast<int>(origin::plain) == 3);

BOOST_AUTO_TEST_CASE(the_last_token_is_plain_a_bonus_or_a_correction) {
    for (std::size_t drafted = 0; drafted < 5; ++drafted) {
        for (std::size_t accepted = 0; accepted <= drafted; ++accepted) {
            const origin expected = drafted == 0          ? origin::plain
                                    : accepted == drafted ? origin::bonus
                                                          : origin::correction;
            BOOST_TEST((verdict{drafted, accepted, 1}.next_origin() == expected));
        }
    }
}

BOOST_AUTO_TEST_CASE(of_a_chain_the_first_nodes_are_accepted_of_a_tree_those_on_the_path) {
    const verdict chain{.drafted = 3, .accepted = 2, .next = 1};
    BOOST_TEST(chain.node(0) == 0u);
    BOOST_TEST(chain.node(1) == 1u);
    const verdict tree{.drafted = 6, .accepted = 2, .next = 1, .path = {1, 4}};
    BOOST_TEST(tree.node(0) == 1u);
    BOOST_TEST(tree.node(1) == 4u);
    BOOST_TEST((tree.next_origin() == origin::correction));
    const verdict to_a_leaf{.drafted = 6, .accepted = 2, .next = 1, .path = {1, 4}, .at_leaf = true};
    BOOST_TEST((to_a_leaf.next_origin() == origin::bonus));
    BOOST_TEST(!(tree == to_a_leaf));
}

BOOST_AUTO_TEST_CASE(a_row_that_cannot_be_drawn_from_has_no_next_token) {
    BOOST_TEST(verdict{}.invalid_row());
    BOOST_TEST((verdict{2, 1, no_token}.invalid_row()));
    BOOST_TEST((!verdict{2, 1, 0}.invalid_row()));
}

BOOST_AUTO_TEST_CASE(origins_have_names) {
    BOOST_TEST(name_of(origin::accepted) == "accepted");
    BOOST_TEST(name_of(origin::correction) == "correction");
    BOOST_TEST(name_of(origin::bonus) == "bonus");
    BOOST_TEST(name_of(origin::plain) == "plain");
}

BOOST_AUTO_TEST_SUITE_END()
