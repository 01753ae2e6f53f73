#include "augur/backend/device/walking_block.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "augur/backend/device/system.hpp"
#include "augur/detail/chunks.hpp"
#include "transform/rows.hpp"

namespace device = augur::backend::device;
using augur::detail::row_scan;
using device::chunk_tile;
using device::emulated_system;

BOOST_AUTO_TEST_SUITE(backend_walking_block)

namespace {

/// Numbers that know how often a block looked at them.
struct looked_at {
    const float* values;
    std::uint32_t* looks;

    double operator[](std::size_t i) const {
        ++looks[i];
        return static_cast<double>(values[i]);
    }
};

/// What one block says of its row: the sum and the largest, twice each.
struct answers {
    bool decides = false;
    double sums[2]{};
    std::size_t largest[2]{};
};

/// Asks for the same thing twice, first for a sum or first for the largest.
struct ask_twice {
    static constexpr unsigned threads = 256;

    const float* values;
    std::size_t size;
    bool sum_first;
    device::shared_pass with;
    bool alone;
    std::uint32_t* looks;  ///< blocks x size
    answers* said;         ///< of each block

    std::size_t shared_bytes() const {
        return chunk_tile::shared_bytes + 2 * augur::detail::chunks_in(size) * sizeof(double);
    }

    template <class Team>
    void operator()(const Team& team) const {
        device::shared_pass mine = with;
        mine.tile = team.block();
        const device::walking_block<Team> block =
            alone ? device::walking_block<Team>(team, size) : device::walking_block<Team>(team, size, mine);
        const looked_at numbers{values, looks + team.block() * size};
        answers& to = said[team.block()];
        for (int turn = 0; turn < 2; ++turn) {
            if (sum_first) to.sums[turn] = block.add_up(numbers, block.sums_of_terms());
            to.largest[turn] = largest(block, numbers);
            if (!sum_first) to.sums[turn] = block.add_up(numbers, block.sums_of_terms());
        }
        to.decides = block.decides();
    }

 private:
    template <class Team>
    std::size_t largest(const device::walking_block<Team>& block, const looked_at& numbers) const {
        const auto look = [&](row_scan best, std::size_t begin, std::size_t end) {
            for (; begin < end; ++begin)
                best = device::join_extents{}(best, {{static_cast<float>(numbers[begin]), true}, begin});
            return best;
        };
        return block.template fold<row_scan>(look, device::join_extents{}).first;
    }
};

struct asked {
    std::size_t tiles;
    std::vector<std::uint32_t> looks;
    std::vector<answers> said;
    std::uint32_t arrivals = 0;

    asked(emulated_system on, const std::vector<float>& values, bool sum_first, bool alone)
        : tiles(alone ? 1 : chunk_tile::tiles_in(values.size())), looks(tiles * values.size()), said(tiles) {
        std::vector<double> sums(augur::detail::chunks_in(values.size()));
        std::vector<device::part_of_pass> parts(tiles);
        on.launch(tiles, ask_twice{values.data(),
                                   values.size(),
                                   sum_first,
                                   {0, sums.data(), parts.data(), &arrivals},
                                   alone,
                                   looks.data(),
                                   said.data()});
    }
};

}  // namespace

/// The first pass is each block's tile, once; all others are the last block's. Its answers are those of a block alone.
BOOST_AUTO_TEST_CASE(the_first_pass_is_shared_and_the_last_block_goes_on) {
    std::mt19937 random(3);
    for (const std::size_t size : {1u, 255u, 4096u, 4097u, 20000u}) {
        auto values = rows::coarse(random, size);
        for (float& x : values) x = x < -10 ? 0.1f : x;
        for (const bool backwards : {false, true}) {
            for (const bool sum_first : {false, true}) {
                const asked shared({backwards}, values, sum_first, false), alone({backwards}, values, sum_first, true);
                const std::size_t last = backwards ? 0 : shared.tiles - 1;
                for (std::size_t block = 0; block < shared.tiles; ++block) {
                    BOOST_TEST(shared.said[block].decides == (block == last));
                    std::size_t wrong = 0;
                    for (std::size_t i = 0; i < size; ++i) {
                        const std::uint32_t expected = (i / chunk_tile::elements == block) + (block == last ? 3 : 0);
                        wrong += shared.looks[block * size + i] != expected;
                    }
                    BOOST_TEST(wrong == 0u);
                }
                BOOST_TEST(shared.arrivals == 0u);
                const double sum = augur::detail::sum_in_chunks(values, size);
                for (const answers& answer : {shared.said[last], alone.said[0]}) {
                    for (int turn = 0; turn < 2; ++turn) {
                        BOOST_TEST(answer.sums[turn] == sum);
                        BOOST_TEST(answer.largest[turn] == augur::detail::scan_row(values).first);
                    }
                }
                BOOST_TEST(alone.said[0].decides);
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
