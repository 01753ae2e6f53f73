#include "augur/types/proposal.hpp"

#include <boost/test/unit_test.hpp>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

using augur::distribution;
using augur::drafted_token;
using augur::point_mass;
using augur::proposal;
using augur::token;

BOOST_AUTO_TEST_SUITE(types_proposal)

static_assert(augur::ChainProposal<proposal<point_mass>> && augur::ChainProposal<proposal<distribution>>);
static_assert(!augur::ChainProposal<std::vector<token>>);
static_assert(std::is_same_v<proposal<point_mass>::claim_type, point_mass>);
static_assert(std::is_same_v<proposal<distribution>::claim_type, distribution>);

template <class P>
concept TakesTokenAlone = requires(P made) {
    made.push(token{1});
};
template <class P>
concept TakesTokenWithRow = requires(P made, distribution row) {
    made.push(token{1}, row);
};

// A drawn token without its row, or a picked one with a row, does not compile.
static_assert(TakesTokenAlone<proposal<point_mass>> && !TakesTokenWithRow<proposal<point_mass>>);
static_assert(!TakesTokenAlone<proposal<distribution>> && TakesTokenWithRow<proposal<distribution>>);

BOOST_AUTO_TEST_CASE(a_picked_token_is_certain) {
    proposal<point_mass> made;
    BOOST_TEST(made.empty());
    made.push(4);
    made.push(2);
    const std::vector<token> expected = {4, 2};
    BOOST_TEST(made.tokens() == std::span<const token>(expected), boost::test_tools::per_element());
    BOOST_TEST(made.size() == 2u);
    BOOST_TEST(made[1].id == 2);
    BOOST_TEST(made[1].probability(2) == 1);
    BOOST_TEST(made[1].probability(4) == 0);
    made.clear();
    BOOST_TEST(made.empty());
    BOOST_TEST(made.tokens().empty());
}

BOOST_AUTO_TEST_CASE(a_drawn_token_keeps_the_row_it_was_drawn_from) {
    proposal<distribution> made;
    distribution row = distribution::weighted({1, 3});
    made.push(0, row);
    row.become_point(1, 2);  // the drafter's storage is its own again
    made.push(1, std::move(row));
    BOOST_TEST(made.size() == 2u);
    BOOST_TEST(!made.empty());
    BOOST_TEST(made[0].id == 0);
    BOOST_TEST(made[0].probability(0) == 0.25);
    BOOST_TEST(made[0].probability(1) == 0.75);
    BOOST_TEST(made[1].row->is_point());
    BOOST_TEST(made[1].probability(1) == 1);
    const proposal<distribution> copy = made;
    made.clear();
    BOOST_TEST(made.empty());
    BOOST_TEST(copy[0].probability(1) == 0.75);
}

BOOST_AUTO_TEST_SUITE_END()
