#include "augur/types/proposal.hpp"

#include <boost/test/unit_test.hpp>
#include <span>
#include <string>
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
static_assert(std::is_same_v<proposal<point_mass>::draft_distribution_type, point_mass>);
static_assert(std::is_same_v<proposal<distribution>::draft_distribution_type, distribution>);

template <class P>
concept TakesTokenAlone = requires(P proposed) {
    proposed.push(token{1});
};
template <class P>
concept TakesTokenWithRow = requires(P proposed, distribution row) {
    proposed.push(token{1}, row);
};

// A drawn token without its row, or a picked one with a row, does not compile.
static_assert(TakesTokenAlone<proposal<point_mass>> && !TakesTokenWithRow<proposal<point_mass>>);
static_assert(!TakesTokenAlone<proposal<distribution>> && TakesTokenWithRow<proposal<distribution>>);

BOOST_AUTO_TEST_CASE(a_picked_token_is_certain) {
    proposal<point_mass> proposed;
    BOOST_TEST(proposed.empty());
    proposed.push(4);
    proposed.push(2);
    const std::vector<token> expected = {4, 2};
    BOOST_TEST(proposed.tokens() == std::span<const token>(expected), boost::test_tools::per_element());
    BOOST_TEST(proposed.size() == 2u);
    BOOST_TEST(proposed[1].id == 2);
    BOOST_TEST(proposed[1].probability(2) == 1);
    BOOST_TEST(proposed[1].probability(4) == 0);
    proposed.clear();
    BOOST_TEST(proposed.empty());
    BOOST_TEST(proposed.tokens().empty());
}

BOOST_AUTO_TEST_CASE(a_drawn_token_keeps_the_row_it_was_drawn_from) {
    proposal<distribution> proposed;
    distribution row = distribution::weighted({1, 3});
    proposed.push(0, row);
    row.become_point(1, 2);  // the drafter's storage is its own again
    proposed.push(1, std::move(row));
    BOOST_TEST(proposed.size() == 2u);
    BOOST_TEST(!proposed.empty());
    BOOST_TEST(proposed[0].id == 0);
    BOOST_TEST(proposed[0].probability(0) == 0.25);
    BOOST_TEST(proposed[0].probability(1) == 0.75);
    BOOST_TEST(proposed[1].row->is_point());
    BOOST_TEST(proposed[1].probability(1) == 1);
    const proposal<distribution> copy = proposed;
    proposed.clear();
    BOOST_TEST(proposed.empty());
    BOOST_TEST(copy[0].probability(1) == 0.75);
}

using parent_numbers = std::vector<std::int32_t>;

parent_numbers parents_in(const auto& proposed) {
    return {proposed.parents().begin(), proposed.parents().end()};
}

BOOST_AUTO_TEST_CASE(a_chain_stores_no_parents_however_it_is_pushed) {
    proposal<point_mass> proposed;
    proposed.push(4, augur::after_prefix);
    proposed.push(2, 0);
    proposed.push(3);
    BOOST_TEST(proposed.is_chain());
    BOOST_TEST(proposed.parents().empty());
    BOOST_TEST(proposed.parent(0) == -1);
    BOOST_TEST(proposed.parent(2) == 1);
    for (const std::int32_t parent : {-1, 0, 1, 2}) BOOST_TEST(proposed.aside(parent) == 0u);
    proposal<distribution> drawn;
    drawn.push(0, distribution::weighted({1, 3}), -1);
    drawn.next_row().become_point(1, 2);
    drawn.complete(1, 0);
    BOOST_TEST(drawn.is_chain());
}

BOOST_AUTO_TEST_CASE(a_tree_keeps_the_parents_of_all_its_nodes) {
    proposal<point_mass> proposed;
    proposed.push(4);
    proposed.push(2);
    proposed.push(3, 0);
    BOOST_TEST(!proposed.is_chain());
    proposed.push(1);  // beneath the node before
    proposed.push(5, augur::after_prefix);
    proposed.push(6, 1);
    BOOST_TEST(parents_in(proposed) == (parent_numbers{-1, 0, 0, 2, -1, 1}), boost::test_tools::per_element());
    BOOST_TEST(proposed.parent(3) == 2);
    BOOST_TEST(proposed.aside(-1) == 0u);
    BOOST_TEST(proposed.aside(1) == 0u);
    BOOST_TEST(proposed.aside(2) == 1u);
    BOOST_TEST(proposed.aside(4) == 4u);
    proposed.clear();
    BOOST_TEST(proposed.is_chain());
    proposed.push(1);
    BOOST_TEST(proposed.parents().empty());
}

BOOST_AUTO_TEST_CASE(a_parent_that_is_not_there_is_refused_and_nothing_added) {
    const auto says = [](const std::string& what) {
        return [what](const augur::error& e) { return std::string(e.what()).find(what) == 0; };
    };
    proposal<point_mass> proposed;
    BOOST_CHECK_EXCEPTION(proposed.push(1, 0), augur::error, says("the parent of node 0 is 0, but"));
    proposed.push(1);
    proposed.push(2);
    for (const std::int32_t wrong : {2, 3, -2}) {
        const std::string what =
            "the parent of node 2 is " + std::to_string(wrong) + ", but it has to be an earlier node";
        BOOST_CHECK_EXCEPTION(proposed.push(3, wrong), augur::error, says(what));
        BOOST_TEST(proposed.size() == 2u);
        BOOST_TEST(proposed.is_chain());
    }
    proposal<distribution> drawn;
    BOOST_CHECK_EXCEPTION(drawn.push(1, distribution::point(1, 2), 4), augur::error, says("the parent of node 0 is 4"));
    BOOST_TEST(drawn.empty());
    drawn.next_row().become_point(0, 2);
    BOOST_CHECK_EXCEPTION(drawn.complete(0, 1), augur::error, says("the parent of node 0 is 1"));
    drawn.complete(0);
    BOOST_TEST(drawn[0].probability(0) == 1);
}

BOOST_AUTO_TEST_CASE(siblings_have_rows_of_their_own) {
    proposal<distribution> proposed;
    proposed.push(0, distribution::weighted({1, 1, 2}));
    proposed.push(1, distribution::weighted({0, 1, 2}), augur::after_prefix);
    BOOST_TEST(proposed[0].probability(0) == 0.25);
    BOOST_TEST(proposed[1].probability(0) == 0);
    BOOST_TEST(parents_in(proposed) == (parent_numbers{-1, -1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(who_wants_a_chain_refuses_a_tree_with_node_and_parent) {
    proposal<point_mass> proposed;
    proposed.push(4);
    proposed.push(2);
    augur::require_chain(proposed);
    proposed.push(3, 0);
    BOOST_CHECK_EXCEPTION(augur::require_chain(proposed), augur::error, [](const augur::error& e) {
        return std::string(e.what()) == "a chain of drafted tokens is wanted here, but of 3 the parent of node 2 is 0";
    });
}

BOOST_AUTO_TEST_CASE(a_tree_is_shortened_to_its_first_nodes) {
    augur::proposal<augur::point_mass> tree;
    tree.push(5);
    tree.push(6, augur::after_prefix);
    tree.push(7, 0);
    tree.shorten(9);
    BOOST_TEST(tree.size() == 3u);
    tree.shorten(2);
    BOOST_TEST(tree.size() == 2u);
    const std::vector<std::int32_t> parents{-1, -1};
    BOOST_TEST(std::vector<std::int32_t>(tree.parents().begin(), tree.parents().end()) == parents,
               boost::test_tools::per_element());
    tree.push(8, 1);
    BOOST_TEST(tree.parent(2) == 1);
    tree.shorten(0);
    BOOST_TEST(tree.empty());
}

BOOST_AUTO_TEST_CASE(confidences_stay_with_their_nodes) {
    augur::proposal<augur::point_mass> tree;
    BOOST_TEST(tree.confidences().empty());
    for (const float probability : {0.5f, 0.25f, 0.125f}) {
        tree.push(1, augur::after_prefix);
        tree.add_confidence(probability);
    }
    tree.shorten(2);
    BOOST_TEST(tree.confidences().size() == 2u);
    BOOST_TEST(tree.confidences()[1] == 0.25f);
    tree.clear();
    BOOST_TEST(tree.confidences().empty());
}

BOOST_AUTO_TEST_SUITE_END()
