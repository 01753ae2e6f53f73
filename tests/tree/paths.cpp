#include "augur/tree/paths.hpp"

#include <boost/test/unit_test.hpp>
#include <random>

using namespace augur;

BOOST_AUTO_TEST_SUITE(tree_paths)

/// Whatever the order of its nodes.
topology random_tree(std::mt19937& random, std::size_t nodes) {
    std::vector<std::int32_t> parents;
    for (std::size_t node = 0; node < nodes; ++node) {
        parents.push_back(static_cast<std::int32_t>(random() % (node + 1)) - 1);
    }
    return topology(std::move(parents));
}

BOOST_AUTO_TEST_CASE(nodes_have_the_paths_that_they_are_made_of) {
    const std::vector<tree::path> paths = {{0}, {1}, {0, 0}, {0, 1}, {1, 0}, {0, 1, 0}};
    BOOST_CHECK((tree::paths_of(topology::of_paths(paths)) == paths));
    BOOST_CHECK(
        (tree::paths_of(topology{-1, 0, -1, 1, 0}) == std::vector<tree::path>{{0}, {0, 0}, {1}, {0, 0, 0}, {0, 1}}));
    BOOST_TEST(tree::paths_of(topology()).empty());
    BOOST_TEST(tree::rank_sum({0, 2, 3}) == 5u);
    BOOST_TEST(tree::rank_sum({}) == 0u);
}

BOOST_AUTO_TEST_CASE(a_tree_is_made_of_its_paths_again) {
    std::mt19937 random(3);
    for (int time = 0; time < 300; ++time) {
        const auto paths = tree::paths_of(random_tree(random, random() % 257));
        const topology sorted = topology::of_paths(paths);
        BOOST_TEST(sorted.size() == paths.size());
        BOOST_CHECK((topology::of_paths(tree::paths_of(sorted)) == sorted));
    }
}

BOOST_AUTO_TEST_SUITE_END()
