#include "augur/draft/tree_work.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <vector>

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_tree_work)

BOOST_AUTO_TEST_CASE(paths_that_begin_alike_share_their_nodes_and_a_full_tree_takes_no_more) {
    proposal<point_mass> tree;
    BOOST_TEST(draft::trie_node(tree, after_prefix, 7, 3) == 0);
    BOOST_TEST(draft::trie_node(tree, 0, 7, 3) == 1);
    BOOST_TEST(draft::trie_node(tree, after_prefix, 7, 3) == 0);
    BOOST_TEST(draft::trie_node(tree, after_prefix, 8, 3) == 2);
    BOOST_TEST(draft::trie_node(tree, 2, 7, 3) == draft::no_node);
    BOOST_TEST(draft::trie_node(tree, 0, 7, 3) == 1);
    BOOST_TEST(tree.size() == 3u);
}

BOOST_AUTO_TEST_CASE(inner_nodes_are_numbered_by_themselves) {
    proposal<point_mass> tree;
    for (const std::int32_t parent : {after_prefix, after_prefix, 1, 2})
        tree.push(static_cast<token>(tree.size() + 10), parent);
    draft::inner_nodes inner;
    inner.add(tree, 1);
    inner.add(tree, 2);
    BOOST_TEST(inner.tokens == (std::vector<token>{11, 12}), boost::test_tools::per_element());
    BOOST_TEST(inner.parents == (std::vector<std::int32_t>{after_prefix, 0}), boost::test_tools::per_element());
    inner.keep(1);
    BOOST_TEST(inner.size() == 1u);
    BOOST_TEST(inner.nodes.front() == draft::no_node);
    inner.clear();
    BOOST_TEST(inner.size() == 0u);
    const std::vector<std::int32_t> plan{after_prefix, after_prefix, 1};
    BOOST_TEST(draft::planned_children(plan, after_prefix) == 2u);
    BOOST_TEST(draft::planned_children(plan, 0) == 0u);
    BOOST_TEST(draft::planned_children({}, 5) == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
