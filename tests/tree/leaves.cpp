#include "augur/tree/leaves.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>
#include <vector>

using namespace augur;

BOOST_AUTO_TEST_SUITE(tree_leaves)

namespace {

using nodes = std::vector<std::size_t>;

nodes path_of(const tree::leaves& of, std::size_t leaf) {
    nodes path;
    of.path(leaf, path);
    return path;
}

}  // namespace

/// 0 has the children 1 and 3, 2 has 4 and 5, and 5 has 6: depth first the leaves are 1, 3, 4 and 6.
BOOST_AUTO_TEST_CASE(leaves_are_numbered_depth_first) {
    const std::vector<std::int32_t> parents{-1, 0, -1, 0, 2, 2, 5};
    const tree::leaves all(parents.size(), parents);
    BOOST_REQUIRE(all.size() == 4u);
    const nodes expected{1, 3, 4, 6};
    for (std::size_t leaf = 0; leaf < 4; ++leaf) BOOST_TEST(all.node(leaf) == expected[leaf]);
    BOOST_CHECK((all.below(0) == tree::leaf_range{0, 2}));
    BOOST_CHECK((all.below(1) == tree::leaf_range{0, 1}));
    BOOST_CHECK((all.below(3) == tree::leaf_range{1, 1}));
    BOOST_CHECK((all.below(2) == tree::leaf_range{2, 2}));
    BOOST_CHECK((all.below(5) == tree::leaf_range{3, 1}));
    BOOST_TEST(all.depth(0) == 1u);
    BOOST_TEST(all.depth(3) == 2u);
    BOOST_TEST(all.depth(6) == 3u);
    BOOST_CHECK((path_of(all, 1) == nodes{0, 3}));
    BOOST_CHECK((path_of(all, 3) == nodes{2, 5, 6}));
}

BOOST_AUTO_TEST_CASE(a_chain_has_one_leaf_and_no_nodes_have_none) {
    const tree::leaves chain(3, {});
    BOOST_TEST(chain.size() == 1u);
    BOOST_CHECK((path_of(chain, 0) == nodes{0, 1, 2}));
    BOOST_CHECK((chain.below(0) == tree::leaf_range{0, 1}));
    BOOST_TEST(tree::leaves(0, {}).size() == 0u);
}

/// Against what each says by itself: a leaf is what no node follows, and it is below what is on its path.
BOOST_AUTO_TEST_CASE(random_trees_have_the_leaves_that_their_parents_say) {
    std::mt19937 random(5);
    tree::leaves all;
    for (int time = 0; time < 300; ++time) {
        std::vector<std::int32_t> parents;
        for (std::size_t node = 0, count = random() % 40; node < count; ++node) {
            parents.push_back(static_cast<std::int32_t>(random() % (node + 1)) - 1);
        }
        all.assign(parents.size(), parents);
        std::size_t leaves = 0;
        for (std::size_t node = 0; node < parents.size(); ++node) {
            const bool is_leaf = std::count(parents.begin(), parents.end(), static_cast<std::int32_t>(node)) == 0;
            leaves += is_leaf;
            BOOST_TEST(all.depth(node) == parents::depth_of(parents, static_cast<std::int32_t>(node)));
            BOOST_TEST((is_leaf ? all.node(all.below(node).first) == node : true));
            for (std::size_t leaf = 0; leaf < all.size(); ++leaf) {
                const nodes path = path_of(all, leaf);
                const auto below = all.below(node);
                const bool is_below = leaf >= below.first && leaf < below.first + below.count;
                BOOST_TEST(is_below == (std::count(path.begin(), path.end(), node) == 1));
            }
        }
        BOOST_TEST(all.size() == leaves);
    }
}

BOOST_AUTO_TEST_SUITE_END()
