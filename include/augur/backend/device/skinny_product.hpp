#pragma once
// Weights times few columns: the product that reads every weight of a model once per pass.

#include <cmath>
#include <cstddef>

#include "augur/backend/device/element.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/backend/device/tiles.hpp"
#include "augur/types/error.hpp"

namespace augur::backend::device {

/// The most columns of one product.
inline constexpr std::size_t most_columns = 64;

/// The sums of a panel's sixteen rows.
struct panel_sums {
    /// From one column to the next in shared memory: so that a warp stores its fragments without conflicts of banks.
    static constexpr std::size_t stride = 20;

    const float* values;
    std::size_t apart = stride;  ///< floats from one column to the next

    AUGUR_KERNEL float operator()(unsigned row, std::size_t column) const { return values[column * apart + row]; }
};

/// A block takes a panel of sixteen rows: its eight warps take the tiles in turn, and their sums are added in the
/// warps' order. So the order in which a sum is made belongs to the matrix: bits depend neither on the number of
/// columns nor on what the other ones hold. `finish(sums, panel, row, column)` is called once for every row below
/// sixteen and every column. `View` is of a matrix in tiles: tiles.hpp, quantised_tiles.hpp.
template <class View, unsigned Tiles, class Finish>
struct skinny_product {
    static constexpr unsigned threads = 256, warps = threads / warp_size, width = 8 * Tiles;
    /// Tiles that a warp asks for before it multiplies: what is under way must cover the memory's latency.
    static constexpr unsigned ahead = View::ahead;
    using Element = typename View::element;

    View weights;
    const Element* inputs = nullptr;  ///< columns x padded depth; what fills up is zero
    std::size_t columns = 0;          ///< 1 ... 8 Tiles
    Finish finish;

    static constexpr std::size_t shared_bytes() { return warps * width * panel_sums::stride * sizeof(float); }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        float* const sums = team.template shared<float>();
        const std::size_t panel = team.block();
        team.each_warp(
            [&](const auto& warp) { add_up(warp, panel, sums + warp.index() * width * panel_sums::stride); });
        team.each([&](unsigned thread) {
            for (std::size_t i = thread; i < columns * tile_layout::rows; i += threads) {
                float* const at = sums + i / tile_layout::rows * panel_sums::stride + i % tile_layout::rows;
                for (unsigned w = 1; w < warps; ++w) *at += at[w * width * panel_sums::stride];
            }
        });
        team.each([&](unsigned thread) {
            for (std::size_t i = thread; i < columns * tile_layout::rows; i += threads) {
                finish(panel_sums{sums}, panel, static_cast<unsigned>(i % tile_layout::rows), i / tile_layout::rows);
            }
        });
    }

 private:
    template <class Warp>
    AUGUR_KERNEL void add_up(const Warp& warp, std::size_t panel, float* to) const {
        typename Warp::template own<sum_fragment> sums[Tiles];
        const std::size_t first = panel * weights.blocks;
        for (std::size_t block = warp.index(); block < weights.blocks; block += warps * ahead) {
            typename Warp::template own<typename View::part> read[ahead];
            AUGUR_UNROLL
            for (unsigned i = 0; i < ahead; ++i) {
                if (block + i * warps >= weights.blocks) continue;
                warp.each_apart([&](unsigned lane) { read[i][lane] = weights.load(first + block + i * warps, lane); });
            }
            AUGUR_UNROLL
            for (unsigned i = 0; i < ahead; ++i) {
                if (block + i * warps < weights.blocks) multiply(warp, block + i * warps, read[i], sums);
            }
        }
        warp.each([&](unsigned lane) {
            const unsigned group = lane / 4, pair = lane % 4;
            AUGUR_UNROLL
            for (unsigned tile = 0; tile < Tiles; ++tile) {
                AUGUR_UNROLL
                for (unsigned i = 0; i < 4; ++i) {
                    const unsigned column = 8 * tile + 2 * pair + i % 2, row = group + i / 2 * 8;
                    to[column * panel_sums::stride + row] = sums[tile][lane].values[i];
                }
            }
        });
    }

    template <class Warp, class Parts, class Sums>
    AUGUR_KERNEL void multiply(const Warp& warp, std::size_t block, const Parts& read, Sums (&sums)[Tiles]) const {
        typename Warp::template own<weight_fragment> first, second;
        warp.each_apart([&](unsigned lane) {
            first[lane] = View::fragment(read[lane], 0);
            second[lane] = View::fragment(read[lane], 1);
        });
        AUGUR_UNROLL
        for (unsigned tile = 0; tile < Tiles; ++tile) {
            typename Warp::template own<input_fragment> low, high;
            warp.each_apart([&](unsigned lane) {
                const std::size_t column = 8 * tile + lane / 4;
                if (column >= columns) return;                                    // stays zero
                const auto* const at = reinterpret_cast<const weight_fragment*>(  // sixteen bytes
                    inputs + column * weights.padded_depth() + block * tile_layout::depth + lane % 4 * 8);
                AUGUR_UNROLL
                for (unsigned i = 0; i < 2; ++i) {
                    low[lane].words[i] = at->words[i];
                    high[lane].words[i] = at->words[2 + i];
                }
            });
            View::multiply_add(warp, read, first, second, low, high, sums[tile]);
        }
    }
};

/// Launches weights times `columns` columns.
template <class View, System S, class Finish>
void multiply(const S& on, const View& weights, const typename View::element* inputs, std::size_t columns,
              const Finish& finish) {
    if (columns == 0 || columns > most_columns) {
        augur::detail::fail("a skinny product takes 1 to ", most_columns, " columns, not ", columns);
    }
    const auto launch = [&]<unsigned Tiles>() {
        on.launch(weights.panels, skinny_product<View, Tiles, Finish>{weights, inputs, columns, finish});
    };
    if (columns <= 8) return launch.template operator()<1>();
    if (columns <= 16) return launch.template operator()<2>();
    if (columns <= 32) return launch.template operator()<4>();
    launch.template operator()<8>();
}

// ---- what becomes of the sums
// -----------------------------------------------------------------------------------------

/// out[column][row] = sum
struct store_sums {
    float* out;
    std::size_t rows;    ///< of the matrix
    std::size_t stride;  ///< from one column to the next

    AUGUR_KERNEL void operator()(const panel_sums& sums, std::size_t panel, unsigned row, std::size_t column) const {
        const std::size_t at = panel * tile_layout::rows + row;
        if (at < rows) out[column * stride + at] = sums(row, column);
    }
};

/// state[column][row] += sum
struct add_sums {
    float* state;
    std::size_t rows;

    AUGUR_KERNEL void operator()(const panel_sums& sums, std::size_t panel, unsigned row, std::size_t column) const {
        const std::size_t at = panel * tile_layout::rows + row;
        if (at < rows) state[column * rows + at] += sums(row, column);
    }
};

/// Of a matrix whose panels hold eight rows of the gate and then the same eight of the other factor:
/// out[column][i] = SiLU(gate i) * other i.
template <class Element>
struct gate_sums {
    Element* out;
    std::size_t size;    ///< of the gate
    std::size_t stride;  ///< Elements from one column to the next

    AUGUR_KERNEL void operator()(const panel_sums& sums, std::size_t panel, unsigned row, std::size_t column) const {
        const std::size_t at = panel * (tile_layout::rows / 2) + row;
        if (row >= tile_layout::rows / 2 || at >= size) return;
        const float gate = sums(row, column), other = sums(row + 8, column);
        out[column * stride + at] = Element::of(gate / (1 + std::exp(-gate)) * other);
    }
};

}  // namespace augur::backend::device
