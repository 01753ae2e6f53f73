#include "augur/types/topology.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

using augur::after_prefix;
using augur::topology;

BOOST_AUTO_TEST_SUITE(types_topology)

namespace parents = augur::parents;

using numbers = std::vector<std::int32_t>;

auto says(const std::string& what) {
    return [what](const augur::error& e) { return e.what() == what; };
}

BOOST_AUTO_TEST_CASE(a_chain_is_the_simplest_tree) {
    for (std::size_t nodes = 0; nodes < 5; ++nodes) {
        const topology chain = topology::chain(nodes);
        BOOST_TEST(chain.size() == nodes);
        BOOST_TEST(chain.is_chain());
        BOOST_TEST(chain.depth() == nodes);
        for (std::size_t node = 0; node < nodes; ++node) BOOST_TEST(chain.depth(node) == node + 1);
    }
    BOOST_TEST((topology{-1, 0, 1} == topology::chain(3)));
    BOOST_TEST(topology().is_chain());
    BOOST_TEST(topology().depth() == 0u);
}

BOOST_AUTO_TEST_CASE(depths_count_the_nodes_on_a_path) {
    const topology tree{-1, -1, 0, 1, 3, -1};
    BOOST_TEST(!tree.is_chain());
    BOOST_TEST(tree.depth() == 3u);
    const std::vector<std::size_t> expected{1, 1, 2, 2, 3, 1};
    for (std::size_t node = 0; node < tree.size(); ++node) BOOST_TEST(tree.depth(node) == expected[node]);
    BOOST_TEST((!topology{-1, -1}.is_chain()));
    BOOST_TEST((!topology{-1, 0, 0}.is_chain()));
}

BOOST_AUTO_TEST_CASE(a_parent_that_is_not_before_its_child_is_refused_with_both) {
    const auto refused = [](const numbers& wrong, const std::string& what) {
        BOOST_CHECK_EXCEPTION(topology{wrong}, augur::error, says(what));
    };
    const std::string rule = ", but it has to be an earlier node, or -1 after the prefix";
    refused({-1, 2, 0}, "the parent of node 1 is 2" + rule);
    refused({-1, 1}, "the parent of node 1 is 1" + rule);
    refused({0}, "the parent of node 0 is 0" + rule);
    refused({-1, 0, -2}, "the parent of node 2 is -2" + rule);
}

BOOST_AUTO_TEST_CASE(what_is_too_deep_is_cut_off) {
    const topology tree{-1, 0, -1, 1, 2, 4, 2};
    BOOST_TEST((tree.within(3) == topology{-1, 0, -1, 1, 2, 4, 2}));
    BOOST_TEST((tree.within(2) == topology{-1, 0, -1, 2, 2}));
    BOOST_TEST((tree.within(1) == topology{-1, -1}));
    BOOST_TEST((tree.within(0) == topology{}));
    BOOST_TEST(tree.within(2).depth() == 2u);
    BOOST_TEST((topology{-1, 0, 1, -1, 3}.within(2) == topology{-1, 0, -1, 2}));  // parents are numbered anew
}

/// An empty span is a chain: each function says of it what it says of the chain written out.
/// 0 has the children 1 and 2, 3 follows 1, 4 the prefix.
BOOST_AUTO_TEST_CASE(the_first_nodes_are_as_many_as_nodes_and_leaves_allow) {
    const topology tree{-1, 0, 0, 1, -1};
    BOOST_TEST((tree.first(5, 3) == tree));
    BOOST_TEST((tree.first(9, 9) == tree));
    BOOST_TEST((tree.first(3, 3) == topology{-1, 0, 0}));
    BOOST_TEST((tree.first(5, 2) == topology{-1, 0, 0, 1}));  // 3 takes the place of 1
    BOOST_TEST((tree.first(5, 1) == topology{-1, 0}));
    BOOST_TEST((tree.first(5, 0) == topology()));
    BOOST_TEST((tree.first(0, 5) == topology()));
    BOOST_TEST(parents::fitting({}, 7, 4, 1) == 4u);
    BOOST_TEST(parents::fitting({}, 7, 4, 0) == 0u);
}

BOOST_AUTO_TEST_CASE(paths_of_child_ranks_are_a_tree_in_any_order) {
    using paths = std::vector<std::vector<std::size_t>>;
    const paths listed{{0, 1}, {0}, {1, 0, 0}, {1}, {0, 0}, {1, 0}};
    BOOST_TEST((topology::of_paths(listed) == topology{-1, -1, 0, 0, 1, 4}));
    BOOST_TEST((topology::of_paths({}) == topology()));
    BOOST_TEST((topology::of_paths({{0, 0}, {0, 0, 0}, {0}}) == topology::chain(3)));
    const auto refused = [](const paths& wrong, const std::string& what) {
        BOOST_CHECK_EXCEPTION(topology::of_paths(wrong), augur::error, says(what));
    };
    refused({{0}, {1, 0}}, "the path [1, 0] has no parent, [1], in the tree");
    refused({{0}, {2}}, "the path [2] has no sibling before it, [1], in the tree");
    refused({{0}, {0, 1}}, "the path [0, 1] has no sibling before it, [0, 0], in the tree");
    refused({{0}, {1}, {0, 0}, {1, 1}}, "the path [1, 1] has no sibling before it, [1, 0], in the tree");
    refused({{1}}, "the path [1] has no sibling before it, [0], in the tree");
    refused({{0}, {0}}, "the path [0] is there twice");
    refused({{0}, {}}, "the empty path is the prefix, no node of a tree");
    paths many;
    for (std::size_t rank = 0; rank < 256; ++rank) many.push_back({rank});
    BOOST_TEST(topology::of_paths(many).size() == 256u);
    many.push_back({256});
    refused(many, "a tree of 257 nodes was given, but 256 is the most");
}

BOOST_AUTO_TEST_CASE(no_parents_are_a_chain) {
    const topology written = topology::chain(4);
    const std::span<const std::int32_t> none;
    for (std::int32_t node = after_prefix; node < 4; ++node) {
        BOOST_TEST(parents::depth_of(none, node) == parents::depth_of(written.parents(), node));
        BOOST_TEST(parents::aside(none, node) == 0u);
        BOOST_TEST(parents::aside(written.parents(), node) == 0u);
        for (std::size_t from = 0; from < 5; ++from) {
            BOOST_TEST(parents::next_child(none, 4, node, from) ==
                       parents::next_child(written.parents(), 4, node, from));
        }
        if (node >= 0) BOOST_TEST(parents::of(none, static_cast<std::size_t>(node)) == node - 1);
    }
    BOOST_TEST(parents::are_chain(none));
}

BOOST_AUTO_TEST_CASE(children_come_in_order_and_end) {
    const numbers tree{-1, 0, -1, 0, -1};
    BOOST_TEST(parents::next_child(tree, 5, after_prefix, 0) == 0u);
    BOOST_TEST(parents::next_child(tree, 5, after_prefix, 1) == 2u);
    BOOST_TEST(parents::next_child(tree, 5, after_prefix, 3) == 4u);
    BOOST_TEST(parents::next_child(tree, 5, after_prefix, 5) == 5u);
    BOOST_TEST(parents::next_child(tree, 5, 0, 1) == 1u);
    BOOST_TEST(parents::next_child(tree, 5, 0, 2) == 3u);
    BOOST_TEST(parents::next_child(tree, 5, 4, 5) == 5u);
}

BOOST_AUTO_TEST_CASE(two_parents_of_one_depth_lie_differently_far_aside) {
    const numbers tree{-1, -1, 0, 0, 1, 4, 3};
    std::vector<std::vector<std::size_t>> at_depth(5);
    for (std::int32_t node = after_prefix; node < 7; ++node) {
        auto& seen = at_depth[parents::depth_of(tree, node)];
        const std::size_t aside = parents::aside(tree, node);
        BOOST_TEST((std::find(seen.begin(), seen.end(), aside) == seen.end()));
        seen.push_back(aside);
    }
    BOOST_TEST(parents::aside(tree, 3) == 2u);  // nodes 1 and 2
}

BOOST_AUTO_TEST_SUITE_END()
