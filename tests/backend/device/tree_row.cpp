#include "augur/backend/device/tree_row.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "augur/backend/device/round.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/types/topology.hpp"

namespace device = augur::backend::device;
using augur::token;
using device::emulated_system;

BOOST_AUTO_TEST_SUITE(backend_tree_row)

namespace {

/// Kernel: what `accept::typical` does with its paths, told by every thread.
struct keep_paths {
    static constexpr unsigned threads = 64;

    std::size_t offset, rows;
    std::uint32_t* read;  ///< threads x rows

    std::size_t shared_bytes() const { return offset + rows * sizeof(std::uint32_t); }

    template <class Team>
    void operator()(const Team& team) const {
        device::values_of_block<Team, std::uint32_t> paths(team, offset);
        paths.reset(rows);
        for (std::size_t i = 1; i < rows; i += 2) {
            paths.put(i, paths[i - 1] + static_cast<std::uint32_t>(10 * i));
        }
        team.each([&](unsigned thread) {
            for (std::size_t i = 0; i < rows; ++i) read[thread * rows + i] = paths[i];
        });
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(nodes_are_tokens_with_draft_distributions_and_parents) {
    const std::vector<token> tokens{4, 2, 0};
    const std::vector<std::int32_t> parents{augur::after_prefix, 0, 0};
    const std::vector<float> weights{1, 1, 2, 0, 0, 3, 0, 0, 1, 0, 5, 5, 0, 0, 0};
    const std::vector<double> totals{4, 4, 10};
    const device::drawn_chain nodes{tokens.data(), 3, weights.data(), totals.data()};
    using drafted = device::drafted_tree<device::drawn_chain>;
    const drafted tree{nodes, parents.data(), 5};
    BOOST_TEST(tree.size() == 3u);
    BOOST_TEST(tree.tokens() == tokens, boost::test_tools::per_element());
    BOOST_TEST(tree.parents() == parents, boost::test_tools::per_element());
    BOOST_TEST(tree[0].probability(2) == 0.5);
    BOOST_TEST(tree[1].probability(0) == 0.75);
    BOOST_TEST(tree[2].id == 0);
    BOOST_TEST(tree[2].probability(1) == 0.5);
    const drafted chain{nodes, nullptr, 5};
    BOOST_TEST(chain.parents().empty());
}

BOOST_AUTO_TEST_CASE(a_blocks_memory_does_not_overlap) {
    for (const std::size_t vocabulary : {1u, 256u, 257u, 128256u}) {
        for (const std::size_t nodes : {0u, 1u, 24u, 256u}) {
            const device::tree_memory memory(vocabulary, nodes, 16);
            const std::size_t sums = 2 * augur::detail::chunks_in(vocabulary) * sizeof(double);
            BOOST_TEST(memory.taken >= device::chunk_tile::shared_bytes + sums);
            BOOST_TEST(memory.kept >= memory.taken + nodes * sizeof(device::taken_away));
            BOOST_TEST(memory.end >= memory.kept + (nodes + 1) * 16);
            BOOST_TEST(memory.taken % alignof(device::taken_away) == 0u);
            BOOST_TEST(memory.kept % sizeof(double) == 0u);
            BOOST_TEST(device::tree_memory(vocabulary, 0, 0).taken == memory.taken);  // which tree_row relies on
        }
    }
}

BOOST_AUTO_TEST_CASE(paths_are_the_same_for_all_threads) {
    for (const bool backwards : {false, true}) {
        std::vector<std::uint32_t> read(64 * 7, 99);
        emulated_system{backwards}.launch(1, keep_paths{32, 7, read.data()});
        for (std::size_t i = 0; i < read.size(); ++i) {
            const std::size_t row = i % 7;
            BOOST_TEST(read[i] == (row % 2 == 1 ? 10 * row : 0));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
