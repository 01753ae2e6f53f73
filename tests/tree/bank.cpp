#include "augur/tree/bank.hpp"

#include <boost/test/unit_test.hpp>
#include <limits>
#include <string>

#include "allocations.hpp"

using namespace augur;

BOOST_AUTO_TEST_SUITE(tree_bank)

const topology small{-1}, wide{-1, -1, 0, 0, 1}, deep = topology::chain(8);

std::string refusal(std::vector<tree::measured_tree> trees) {
    try {
        tree::bank refused(std::move(trees));
        return "";
    } catch (const error& problem) {
        return problem.what();
    }
}

BOOST_AUTO_TEST_CASE(trees_lie_from_few_nodes_to_many) {
    const tree::bank bank{topology(), small, wide, deep};
    BOOST_TEST(bank.size() == 4u);
    BOOST_TEST((bank.shape(2) == wide));
    BOOST_TEST(bank.depth() == 8u);
    BOOST_TEST(bank.fastest() == 0u);
    BOOST_TEST(bank.only({1, 3}).size() == 2u);
    BOOST_TEST((bank.only({1, 3}).shape(1) == deep));
    BOOST_CHECK_EXCEPTION(bank.only({4}), error, [](const error& e) {
        return std::string(e.what()) == "the bank has 4 trees, and no number 4";
    });
}

BOOST_AUTO_TEST_CASE(the_fastest_is_the_first_of_the_fastest) {
    const tree::bank bank({{.shape = small, .tokens_per_second = 10},
                           {.shape = wide, .tokens_per_second = 12},
                           {.shape = deep, .tokens_per_second = 12}});
    BOOST_TEST(bank.fastest() == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_no_bank_is_refused_with_its_values) {
    BOOST_TEST(refusal({}) == "a bank of 0 trees; it needs 1 to 256");
    BOOST_TEST(refusal(std::vector<tree::measured_tree>(257)) == "a bank of 257 trees; it needs 1 to 256");
    BOOST_TEST(refusal({{.shape = wide}, {.shape = small}}) ==
               "tree 1 of the bank has 1 nodes, and the one before it 5; they go from few to many");
    BOOST_TEST(refusal({{.shape = wide}, {.shape = wide}}) == "trees 0 and 1 of the bank are the same, of 5 nodes");
    BOOST_TEST(refusal({{.shape = wide}, {.shape = topology{-1, -1, -1, 0, 0}}}) == "");
    BOOST_TEST(refusal({{.shape = small, .accepted_length = -1}}) == "tree 0 of the bank has a figure -1");
    BOOST_TEST(refusal({{.shape = small, .tokens_per_second = std::numeric_limits<double>::infinity()}}) ==
               "tree 0 of the bank has a figure inf");
    BOOST_TEST(refusal({{.shape = small, .scored_length = std::numeric_limits<double>::quiet_NaN()}}) ==
               "tree 0 of the bank has a figure nan");
    BOOST_TEST(refusal({{.shape = topology::chain(256)}}) == "");
    BOOST_TEST(refusal({{.shape = topology::chain(257)}}) == "tree 0 of the bank has 257 nodes, but 256 is the most");
}

BOOST_AUTO_TEST_CASE(the_same_tree_is_refused_wherever_it_lies_and_however_it_is_numbered) {
    const topology two{-1, -1}, other{-1, 0};
    BOOST_TEST(refusal({{.shape = two}, {.shape = other}, {.shape = two}}) ==
               "trees 0 and 2 of the bank are the same, of 2 nodes");
    BOOST_TEST(refusal({{.shape = small}, {.shape = topology{-1, 0, -1}}, {.shape = topology{-1, -1, 0}}}) ==
               "trees 1 and 2 of the bank are the same, of 3 nodes");
    // The second child goes on, not the first: another tree.
    BOOST_TEST(refusal({{.shape = topology{-1, -1, 0}}, {.shape = topology{-1, -1, 1}}}) == "");
}

BOOST_AUTO_TEST_CASE(a_copy_shares_the_trees) {
    const tree::bank bank{small, wide};
    const std::size_t before = allocations::made;
    const tree::bank copy = bank;  // NOLINT
    const topology* const shape = &copy.shape(1);
    BOOST_TEST(allocations::made == before);
    BOOST_TEST(shape == &bank.shape(1));
}

BOOST_AUTO_TEST_SUITE_END()
