#pragma once
// Weights times few columns (skinny GEMM): reads every weight of a model once per pass.

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
    const float* scales;         ///< of the columns

    AUGUR_KERNEL float operator()(unsigned row, std::size_t column) const {
        return values[column * apart + row] * scales[column];
    }
};

/// The squares of a row of numbers from 16 * panel on, up to sixteen of them, added in their order.
AUGUR_KERNEL inline float squares_of_panel(const float* row, std::size_t panel, std::size_t size) {
    float sum = 0;
    const std::size_t first = panel * tile_layout::rows;
    for (std::size_t i = first; i < size && i < first + tile_layout::rows; ++i) sum += row[i] * row[i];
    return sum;
}

/// What a column's sums are multiplied by: 1, or, where inputs are numbers times the weights of their RMS norm, what is
/// left of that: 1 / sqrt(mean of the numbers' squares + epsilon), of squares that were added up by panels.
struct column_scales {
    const float* squares = nullptr;  ///< columns x panels of sixteen numbers; null: 1
    std::size_t panels = 0, width = 0;
    float epsilon = 0;

    template <class Warp>
    AUGUR_KERNEL void find(const Warp& warp, std::size_t column, float* to) const {
        typename Warp::template own<float> sum;
        warp.each_apart([&](unsigned lane) {
            for (std::size_t i = lane; squares != nullptr && i < panels; i += warp_size) {
                sum[lane] += squares[column * panels + i];
            }
        });
        warp.combine(sum, [](float a, float b) { return a + b; });
        warp.each_apart([&](unsigned lane) {
            if (lane != 0) return;
            *to = squares == nullptr ? 1.0f : 1.0f / std::sqrt(sum[lane] / static_cast<float>(width) + epsilon);
        });
    }
};

/// A finish may have conclude(panel, column), called once for every panel and column when finish has been.
template <class Finish>
concept ConcludesPanels = requires(const Finish& finish) {
    finish.conclude(std::size_t{}, std::size_t{});
};

/// A block takes `Panels` panels of sixteen rows: its eight warps take the tiles in turn, and their sums are added in
/// the warps' order. So the order in which a sum is made belongs to the matrix: bits depend neither on the number of
/// columns nor on what the other ones hold, nor on `Panels`, which read their inputs once. `finish(sums, panel, row,
/// column)` is called once for every row below sixteen and every column. `View` is of a matrix in tiles: tiles.hpp,
/// quantised_tiles.hpp. The first weights are asked for before the launch that makes the inputs is done.
template <class View, unsigned Tiles, unsigned Panels, class Finish>
struct skinny_product {
    static constexpr unsigned threads = 256, warps = threads / warp_size, width = 8 * Tiles;
    static constexpr bool starts_early = true;
    /// Tiles of a panel that a warp has asked for and not multiplied: what is under way must cover the memory's
    /// latency.
    static constexpr unsigned ahead = View::ahead / Panels;
    using Element = typename View::element;

    View weights;
    const Element* inputs = nullptr;  ///< columns x padded depth; what fills up is zero
    std::size_t columns = 0;          ///< 1 ... 8 Tiles
    column_scales scales;
    Finish finish;

    static constexpr std::size_t shared_bytes() { return (Panels * room_of_panel + width) * sizeof(float); }
    std::size_t blocks() const { return (weights.panels + Panels - 1) / Panels; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        float* const sums = team.template shared<float>();
        float* const factors = sums + Panels * room_of_panel;
        const std::size_t first = team.block() * Panels;
        team.each_warp([&](const auto& warp) { add_up(team, warp, first, sums, factors); });
        const unsigned left = first + Panels <= weights.panels ? Panels : static_cast<unsigned>(weights.panels - first);
        const auto of_panel = static_cast<unsigned>(columns * tile_layout::rows), all = left * of_panel;
        team.each([&](unsigned thread) {
            for (unsigned i = thread; i < all; i += threads) {
                float* const at = sums + i / of_panel * room_of_panel +
                                  i % of_panel / tile_layout::rows * panel_sums::stride + i % tile_layout::rows;
                for (unsigned w = 1; w < warps; ++w) *at += at[w * width * panel_sums::stride];
            }
        });
        team.each([&](unsigned thread) {
            for (unsigned i = thread; i < all; i += threads) {
                const unsigned panel = i / of_panel;
                finish(panel_sums{sums + panel * room_of_panel, panel_sums::stride, factors}, first + panel,
                       i % static_cast<unsigned>(tile_layout::rows), i % of_panel / tile_layout::rows);
            }
        });
        if constexpr (ConcludesPanels<Finish>) {
            team.each([&](unsigned thread) {
                for (unsigned i = thread; i < left * columns; i += threads) {
                    finish.conclude(first + i / columns, i % columns);
                }
            });
        }
    }

 private:
    static constexpr unsigned room_of_panel = warps * width * panel_sums::stride;  ///< floats of all warps' sums

    template <class Team, class Warp>
    AUGUR_KERNEL void add_up(const Team& team, const Warp& warp, std::size_t panel, float* to, float* factors) const {
        typename Warp::template own<sum_fragment> sums[Panels][Tiles];
        typename Warp::template own<typename View::part> read[ahead][Panels];
        const auto blocks = static_cast<unsigned>(weights.blocks);
        const auto request = [&](unsigned block, auto& parts) {
            if (block >= blocks) return;
            AUGUR_UNROLL
            for (unsigned p = 0; p < Panels; ++p) {
                if (panel + p >= weights.panels) continue;
                const std::size_t tile = (panel + p) * weights.blocks + block;
                warp.each_apart([&](unsigned lane) { parts[p][lane] = weights.load(tile, lane); });
            }
        };
        AUGUR_UNROLL
        for (unsigned i = 0; i < ahead; ++i) request(warp.index() + i * warps, read[i]);
        team.wait_for_earlier();
        for (std::size_t column = warp.index(); column < columns; column += warps) {
            scales.find(warp, column, factors + column);
        }
        for (unsigned first = warp.index(); first < blocks; first += warps * ahead) {
            AUGUR_UNROLL
            for (unsigned i = 0; i < ahead; ++i) {
                const unsigned block = first + i * warps;
                if (block >= blocks) continue;
                multiply(warp, block, read[i], sums);
                request(block + warps * ahead, read[i]);
            }
        }
        AUGUR_UNROLL
        for (unsigned p = 0; p < Panels; ++p) {
            store(warp, sums[p], to + p * room_of_panel + warp.index() * width * panel_sums::stride);
        }
    }

    template <class Warp, class Sums>
    AUGUR_KERNEL void store(const Warp& warp, const Sums& sums, float* to) const {
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
    AUGUR_KERNEL void multiply(const Warp& warp, std::size_t block, const Parts& read, Sums& sums) const {
        typename Warp::template own<weight_fragment> given[Tiles];
        AUGUR_UNROLL
        for (unsigned tile = 0; tile < Tiles; ++tile) {
            warp.each_apart([&](unsigned lane) {
                const std::size_t column = 8 * tile + lane / 4;
                if (column >= columns) return;  // stays zero
                given[tile][lane] = *reinterpret_cast<const weight_fragment*>(
                    inputs + column * weights.padded_depth() + block * tile_layout::depth + lane % 4 * 8);
            });
        }
        AUGUR_UNROLL
        for (unsigned p = 0; p < Panels; ++p) {
            typename Warp::template own<weight_fragment> first, second;
            warp.each_apart([&](unsigned lane) {
                first[lane] = View::fragment(read[p][lane], 0);
                second[lane] = View::fragment(read[p][lane], 1);
            });
            AUGUR_UNROLL
            for (unsigned tile = 0; tile < Tiles; ++tile) {
                typename Warp::template own<input_fragment> low, high;
                warp.each_apart([&](unsigned lane) {
                    const auto& words = given[tile][lane].words;
                    low[lane] = {{words[0], words[1]}};
                    high[lane] = {{words[2], words[3]}};
                });
                View::multiply_add(warp, read[p], first, second, low, high, sums[p][tile]);
            }
        }
    }
};

/// Launches weights times `columns` columns.
template <class View, System S, class Finish>
void multiply(const S& on, const View& weights, const typename View::element* inputs, std::size_t columns,
              const Finish& finish, const column_scales& scales = {}) {
    if (columns == 0 || columns > most_columns) {
        augur::detail::fail("a skinny product takes 1 to ", most_columns, " columns, not ", columns);
    }
    const auto launch = [&]<unsigned Tiles, unsigned Panels>() {
        const skinny_product<View, Tiles, Panels, Finish> product{weights, inputs, columns, scales, finish};
        on.launch(product.blocks(), product);
    };
    // Inputs of several columns are read by every block, from the cache that all processors share, and are as many
    // bytes as the weights where there are sixteen. Two panels read them once, where enough blocks are left (measured).
    const bool pairs = weights.panels >= (columns <= 16 ? 1024 : 300);
    if (columns <= 8) return pairs ? launch.template operator()<1, 2>() : launch.template operator()<1, 1>();
    if (columns <= 16) return pairs ? launch.template operator()<2, 2>() : launch.template operator()<2, 1>();
    if (columns <= 32) return pairs ? launch.template operator()<4, 2>() : launch.template operator()<4, 1>();
    launch.template operator()<8, 1>();
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

/// The same; and what the next product reads of it: out[column][row] = the new state times the weight of its norm, and
/// the squares of each panel, for its column_scales.
template <class Element>
struct add_and_prepare {
    float* state;
    std::size_t rows;
    const float* weight;  ///< of the norm
    Element* out;
    std::size_t stride;  ///< Elements from one column of `out` to the next
    float* squares;      ///< columns x panels

    AUGUR_KERNEL void operator()(const panel_sums& sums, std::size_t panel, unsigned row, std::size_t column) const {
        const std::size_t at = panel * tile_layout::rows + row;
        if (at >= rows) return;
        const float now = state[column * rows + at] + sums(row, column);
        state[column * rows + at] = now;
        out[column * stride + at] = Element::of(now * weight[at]);
    }
    AUGUR_KERNEL void conclude(std::size_t panel, std::size_t column) const {
        const std::size_t panels = (rows + tile_layout::rows - 1) / tile_layout::rows;
        squares[column * panels + panel] = squares_of_panel(state + column * rows, panel, rows);
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
