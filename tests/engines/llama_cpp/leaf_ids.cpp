#include "augur/engines/llama_cpp/leaf_ids.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <vector>

using augur::engines::llama_cpp::leaf_ids;

BOOST_AUTO_TEST_SUITE(engines_leaf_ids)

namespace {

using places = std::vector<std::size_t>;

places below(const leaf_ids& tree, std::size_t node) {
    const auto found = tree.below(node);
    return {found.begin(), found.end()};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_node_is_seen_by_the_leaves_below_it) {
    const std::vector<std::int32_t> parents{-1, -1, 0, 0, 1, 3};  // leaves: 2, 4, 5
    const leaf_ids tree(parents);
    BOOST_TEST(tree.leaves() == 3u);
    BOOST_TEST(below(tree, 0) == (places{0, 2}), boost::test_tools::per_element());
    BOOST_TEST(below(tree, 1) == (places{1}), boost::test_tools::per_element());
    BOOST_TEST(below(tree, 2) == (places{0}), boost::test_tools::per_element());
    BOOST_TEST(below(tree, 3) == (places{2}), boost::test_tools::per_element());
    BOOST_TEST(below(tree, 5) == (places{2}), boost::test_tools::per_element());
    const places depths{0, 0, 1, 1, 1, 2};
    for (std::size_t node = 0; node < parents.size(); ++node) BOOST_TEST(tree.depth(node) == depths[node]);
}

BOOST_AUTO_TEST_CASE(a_chain_has_one_leaf_and_nothing_none) {
    const std::vector<std::int32_t> parents{-1, 0, 1};
    const leaf_ids chain(parents);
    BOOST_TEST(chain.leaves() == 1u);
    BOOST_TEST(below(chain, 0) == (places{0}), boost::test_tools::per_element());
    BOOST_TEST(leaf_ids({}).leaves() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
