#pragma once
// Weights times many columns (GEMM), by a library. See docs/backend/wide_products.md.

#include <concepts>
#include <cstddef>

#include "augur/backend/device/element.hpp"
#include "augur/backend/device/skinny_product.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/backend/device/tiles.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/detail/stopwatch.hpp"

namespace augur::backend::device {

struct wide_shape {
    std::size_t rows = 0;     ///< of the weights: outputs, in whole panels of 16
    std::size_t depth = 0;    ///< in whole blocks of 32
    std::size_t columns = 0;  ///< of the inputs
};

/// `multiply(shape, weights, inputs, sums)`: sums[column][row] = weights[row] times inputs[column], added in float32,
/// of weights that are rows x depth Elements and inputs that are columns x depth; launched where kernels are launched.
/// `prepare(...)`, of the same arguments: called before that, with a number of columns that is a power of two, for this
/// number down to one more than half of it. It may write sums, and wait; multiply neither allocates nor waits.
/// `memory_bytes()`: what it holds. A column's bits may depend on the number of columns: a model that multiplies so has
/// no bitwise rows. Models: plain_products, cublas_products.
template <class L, class Element>
concept WideProducts = std::movable<L> &&
    requires(L& library, const L& prepared, const wide_shape& shape, const Element* numbers, float* sums) {
    library.prepare(shape, numbers, numbers, sums);
    prepared.multiply(shape, numbers, numbers, sums);
    { prepared.memory_bytes() } -> std::convertible_to<std::size_t>;
};

/// A block for each column, a thread for each row in turn; k from the last to the first.
template <class Element>
struct plain_product {
    static constexpr unsigned threads = 256;

    wide_shape shape;
    const Element* weights;
    const Element* inputs;
    float* sums;

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const Element* const x = inputs + team.block() * shape.depth;
        team.each([&](unsigned thread) {
            for (std::size_t row = thread; row < shape.rows; row += threads) {
                const Element* const w = weights + row * shape.depth;
                float sum = 0;
                for (std::size_t k = shape.depth; k > 0; --k) sum += w[k - 1].value() * x[k - 1].value();
                sums[team.block() * shape.rows + row] = sum;
            }
        });
    }
};

/// Wide products by a plain kernel on any system: for tests, in an order that is not skinny_product's.
template <System S>
struct plain_products {
    S on{};

    template <class Element>
    void prepare(const wide_shape&, const Element*, const Element*, float*) const {}
    template <class Element>
    void multiply(const wide_shape& shape, const Element* weights, const Element* inputs, float* sums) const {
        on.launch(shape.columns, plain_product<Element>{shape, weights, inputs, sums});
    }
    static constexpr std::size_t memory_bytes() { return 0; }
};

static_assert(WideProducts<plain_products<emulated_system>, bfloat16>);

/// Writes the matrix of a view out row after row, as Elements: what fills up panels and blocks, too. Exact for a
/// tiled_view; of a quantised_view integer times scale is rounded. A block for each panel; each of its warps takes a
/// tile in turn.
template <class View>
struct untile {
    static constexpr unsigned threads = 256;
    using Element = typename View::element;

    View from;
    Element* to;  ///< panels * 16 x padded depth

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        team.each_warp([&](const auto& warp) {
            for (std::size_t block = warp.index(); block < from.blocks; block += threads / warp_size) {
                warp.each_apart([&](unsigned lane) { write(team.block(), block, lane); });
            }
        });
    }

 private:
    /// A lane's two rows of eight numbers (tile_layout), sixteen bytes each.
    AUGUR_KERNEL void write(std::size_t panel, std::size_t block, unsigned lane) const {
        const typename View::part read = from.load(panel * from.blocks + block, lane);
        weight_fragment rows[2];
        AUGUR_UNROLL
        for (unsigned half = 0; half < 2; ++half) {
            const weight_fragment weights = View::fragment(read, half);
            AUGUR_UNROLL
            for (unsigned i = 0; i < 4; ++i) {
                rows[i % 2].words[2 * half + i / 2] = View::numbers(read, weights.words[i], i % 2);
            }
        }
        const std::size_t row = panel * tile_layout::rows + lane / 4, k = block * tile_layout::depth + lane % 4 * 8;
        AUGUR_UNROLL
        for (unsigned i = 0; i < 2; ++i) {
            *reinterpret_cast<weight_fragment*>(to + (row + 8 * i) * from.padded_depth() + k) = rows[i];
        }
    }
};

/// Gives sums to what becomes of a skinny product's: `finish(sums, panel, row, column)` for every row and column. A
/// thread for each.
template <class Finish>
struct finish_sums {
    static constexpr unsigned threads = 256;

    const float* sums;    ///< columns x rows
    std::size_t rows;     ///< in whole panels
    const float* scales;  ///< of the columns
    Finish finish;

    static constexpr std::size_t shared_bytes() { return 0; }
    /// That the rows of a column take.
    AUGUR_HOST_DEVICE std::size_t blocks() const { return (rows + threads - 1) / threads; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const std::size_t column = team.block() / blocks(), first = team.block() % blocks() * threads;
        team.each([&](unsigned thread) {
            if (first + thread >= rows) return;
            const std::size_t panel = (first + thread) / tile_layout::rows;
            const auto row = static_cast<unsigned>((first + thread) % tile_layout::rows);
            finish(panel_sums{sums + panel * tile_layout::rows, rows, scales}, panel, row, column);
        });
        if constexpr (ConcludesPanels<Finish>) {
            team.each([&](unsigned thread) {
                const std::size_t panel = first / tile_layout::rows + thread;
                if (thread < threads / tile_layout::rows && panel < rows / tile_layout::rows) {
                    finish.conclude(panel, column);
                }
            });
        }
    }
};

/// The factors of columns; see column_scales. A block for each eight columns.
struct find_scales {
    static constexpr unsigned threads = 256;

    column_scales of;
    std::size_t columns;
    float* scales;

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        team.each_warp([&](const auto& warp) {
            const std::size_t column = team.block() * (threads / warp_size) + warp.index();
            if (column < columns) of.find(warp, column, scales + column);
        });
    }
};

/// Of a matrix's product with so many columns.
inline wide_shape shape_of(const matrix_shape& weights, std::size_t columns) {
    return {weights.panels * tile_layout::rows, weights.padded_depth(), columns};
}

/// Launches a wide product and what becomes of its sums (skinny_product.hpp). `weights` is what untile writes, `sums`
/// has room for shape.rows x shape.columns, `factors` for shape.columns.
template <System S, class Library, class Element, class Finish>
void multiply_wide(const S& on, const Library& library, const wide_shape& shape, const Element* weights,
                   const Element* inputs, float* sums, float* factors, const Finish& finish,
                   const column_scales& scales = {}) {
    on.launch((shape.columns + 7) / 8, find_scales{scales, shape.columns, factors});
    library.multiply(shape, weights, inputs, sums);
    const finish_sums<Finish> finishing{sums, shape.rows, factors, finish};
    on.launch(shape.columns * finishing.blocks(), finishing);
}

/// Seconds until all is done that `launch` launches, once what was launched before is. A system with a clock of its own
/// has an overload (cublas_products.hpp).
template <System S, class Launch>
double seconds_of(const S& on, const Launch& launch) {
    on.wait();
    const augur::detail::stopwatch watch;
    launch();
    on.wait();
    return watch.seconds();
}

}  // namespace augur::backend::device
