#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "augur/llama/device/tree_paths.hpp"

BOOST_AUTO_TEST_SUITE(llama_device_tree_paths)

BOOST_AUTO_TEST_CASE(of_every_node_from_the_root) {
    const std::vector<std::int32_t> parents = {-1, 0, -1, 1, 0, 2};
    const augur::llama::device::tree_paths paths(parents, 10);
    const std::vector<std::vector<std::int32_t>> expected = {{10}, {10, 11}, {12}, {10, 11, 13}, {10, 14}, {12, 15}};
    for (std::size_t i = 0; i < parents.size(); ++i) {
        const auto slots = paths.slots().subspan(paths.begin(i), paths.length(i));
        BOOST_TEST(std::vector(slots.begin(), slots.end()) == expected[i], boost::test_tools::per_element());
    }
    BOOST_TEST(paths.slots().size() == 11u);
    BOOST_TEST(augur::llama::device::tree_paths({}, 3).slots().empty());
}

BOOST_AUTO_TEST_SUITE_END()
