#include "augur/tree/frontier.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

using namespace augur;
using tree::measured_tree;

BOOST_AUTO_TEST_SUITE(tree_frontier)

measured_tree of(std::size_t nodes, double speed) {
    return {.shape = topology::chain(nodes), .tokens_per_second = speed};
}

std::vector<std::size_t> sizes(const tree::bank& bank) {
    std::vector<std::size_t> counts;
    for (std::size_t i = 0; i < bank.size(); ++i) counts.push_back(bank.shape(i).size());
    return counts;
}

BOOST_AUTO_TEST_CASE(a_tree_stays_where_none_of_as_few_nodes_is_as_fast) {
    const auto kept =
        tree::throughput_frontier({of(8, 14), of(0, 10), of(2, 12), of(4, 12), of(6, 11), of(2, 9), of(16, 13)});
    BOOST_CHECK((sizes(kept) == std::vector<std::size_t>{0, 2, 8}));
    BOOST_TEST(kept[1].tokens_per_second == 12);
    BOOST_TEST(kept.fastest() == kept.size() - 1);
}

BOOST_AUTO_TEST_CASE(none_that_is_kept_is_dominated_and_each_that_is_not_is) {
    std::mt19937 random(3);
    for (int time = 0; time < 100; ++time) {
        std::vector<measured_tree> all;
        for (std::size_t i = 0; i < 12; ++i) all.push_back(of(random() % 20, static_cast<double>(1 + random() % 50)));
        const auto kept = tree::throughput_frontier(all);
        for (const measured_tree& each : all) {
            bool is_kept = false, dominated = false;
            for (std::size_t i = 0; i < kept.size(); ++i) {
                is_kept = is_kept || kept[i] == each;
                dominated = dominated || (kept.shape(i).size() <= each.shape.size() &&
                                          kept[i].tokens_per_second >= each.tokens_per_second);
            }
            BOOST_TEST(dominated);
            if (!is_kept) continue;
            for (const measured_tree& other : all) {
                BOOST_TEST(
                    !(other.shape.size() <= each.shape.size() && other.tokens_per_second > each.tokens_per_second));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(the_pair_is_the_fastest_and_the_fastest_of_half_its_nodes) {
    const tree::bank frontier({of(0, 10), of(2, 12), of(4, 13), of(9, 15)});
    BOOST_CHECK((tree::pair_of(frontier) == tree::tree_pair{2, 3}));
    BOOST_CHECK((tree::pair_of(frontier.only({0, 1})) == tree::tree_pair{0, 1}));
    BOOST_CHECK((tree::pair_of(tree::bank({of(0, 10), of(5, 12), of(9, 15)})) == tree::tree_pair{0, 2}));
    BOOST_CHECK_THROW(tree::pair_of(frontier.only({3})), error);
    BOOST_CHECK_THROW(tree::pair_of(tree::bank({of(5, 12), of(9, 15)})), error);
}

BOOST_AUTO_TEST_CASE(thresholds_are_quantiles_and_the_fastest_is_taken) {
    BOOST_CHECK((tree::thresholds_from({4, 0, 2, NAN, 1, 3}, 3) == std::vector<double>{0, 1, 2, 3}));
    BOOST_CHECK((tree::thresholds_from({5, 5, 5}, 3) == std::vector<double>{0, 5}));
    BOOST_CHECK((tree::thresholds_from({0, 0, 1}, 2) == std::vector<double>{0}));
    BOOST_CHECK((tree::thresholds_from({NAN}, 3) == std::vector<double>{0}));
    BOOST_TEST(tree::best_of({{0.5, 10}, {0.2, 12}, {0.1, 12}, {0.9, 3}}).threshold == 0.1);
    BOOST_CHECK_THROW(tree::best_of({}), error);
}

BOOST_AUTO_TEST_SUITE_END()
