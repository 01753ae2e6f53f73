#pragma once
// Chooses the matrix products of a pass on a device, by its number of rows.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "augur/backend/device/skinny_product.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/tiles.hpp"
#include "augur/backend/device/wide_product.hpp"
#include "augur/types/error.hpp"

namespace augur::llama::device {

namespace kernels = augur::backend::device;

/// Every product by the kernel that reads the weights once for up to 64 rows, in an order that belongs to the matrix.
struct skinny_products {
    static constexpr bool bitwise_rows = true;

    /// The most that a pass takes.
    static constexpr std::size_t most_rows() { return kernels::most_columns; }
    /// The rows of the next pass, where so many wait.
    static constexpr std::size_t pass_of(std::size_t waiting) { return std::min(waiting, most_rows()); }
    static constexpr std::size_t memory_bytes() { return 0; }

    /// Once, before anything is multiplied, with the layers whose matrices will be.
    template <kernels::System S, class Layers>
    void prepare(const S&, const Layers&) {}

    /// See kernels::multiply.
    template <kernels::System S, class View, class Finish>
    void multiply(const S& on, const View& weights, const typename View::element* inputs, std::size_t columns,
                  const Finish& finish, const kernels::column_scales& scales = {}) const {
        kernels::multiply(on, weights, inputs, columns, finish, scales);
    }
};

struct wide_settings {
    /// For `from`: what the machine says when the model is made.
    static constexpr std::size_t measured = static_cast<std::size_t>(-1);

    std::size_t from = kernels::most_columns + 1;  ///< passes of so many rows and more are wide; at least 1
    std::size_t most_rows = 1024;                  ///< of a wide pass: a power of two, at least `from` and 64
    bool keeps_rows = false;                       ///< whether all weights lie there a second time, for wide products
};

/// What all products of the layers took, of so many rows.
struct product_times {
    std::size_t rows = 0;
    double skinny_seconds = 0, wide_seconds = 0;
};

/// Passes of many rows by a library's products, those of fewer as skinny_products: so a row's last bits depend on how
/// many rows are computed with it, and every guarantee is within numerics. The wide product reads weights by rows:
/// written out for each pass, one matrix after the other (weights are then read once, written once and read again), or
/// once for all. Memory: most_rows x 4 bytes for each row of the tallest matrix, and 2 bytes for each weight of the
/// largest matrix, or of all matrices of the layers where rows are kept; and the library's own. Integers are rounded to
/// Elements when they are written out.
template <class Element, kernels::System S, kernels::WideProducts<Element> Library>
class wide_products {
 public:
    static constexpr bool bitwise_rows = false;

    explicit wide_products(Library library, const wide_settings& chosen = {})
        : library_(std::move(library)), chosen_(chosen) {
        if (chosen.from == 0) augur::detail::fail("wide passes begin at 1 row or more, not at 0");
        const std::size_t least = std::max(measures() ? 1 : chosen.from, kernels::most_columns);
        if (!std::has_single_bit(chosen.most_rows) || chosen.most_rows < least) {
            augur::detail::fail("wide passes take up to a power of two of rows, at least ", least, ", not ",
                                chosen.most_rows);
        }
    }

    /// From how many rows on passes are wide: what was chosen; where it was measured, the least power of two from which
    /// on no power of two of rows took longer wide than skinny, or wide_settings::measured where most_rows did: then
    /// none is.
    std::size_t from() const { return chosen_.from; }
    /// What was measured: from most_rows down to the first number of rows that is better skinny.
    const std::vector<product_times>& measured() const { return times_; }

    std::size_t most_rows() const { return chosen_.most_rows; }
    std::size_t pass_of(std::size_t waiting) const {
        return std::min(waiting, waiting < chosen_.from ? kernels::most_columns : chosen_.most_rows);
    }
    std::size_t memory_bytes() const {
        std::size_t total =
            library_.memory_bytes() + scratch_.memory_bytes() + sums_.memory_bytes() + factors_.memory_bytes();
        for (const auto& [matrix, rows] : kept_) total += rows.memory_bytes();
        return total;
    }

    /// Lets the library prepare for every shape of matrix and every power of two of columns that is wide, or may turn
    /// out to be.
    template <class Layers>
    void prepare(const S& on, const Layers& layers) {
        std::size_t tallest = 0, deepest = 0, largest = 0;
        each_matrix(layers, [&](const auto& matrix) {
            const kernels::wide_shape shape = kernels::shape_of(matrix, 1);
            tallest = std::max(tallest, shape.rows);
            deepest = std::max(deepest, shape.depth);
            largest = std::max(largest, shape.rows * shape.depth);
        });
        sums_ = kernels::buffer<float, S>(on, chosen_.most_rows * tallest);
        factors_ = kernels::buffer<float, S>(on, chosen_.most_rows);
        if (!chosen_.keeps_rows) scratch_ = kernels::buffer<Element, S>(on, largest);
        const kernels::buffer<Element, S> inputs(on, chosen_.most_rows * deepest);
        on.clear(inputs.data(), inputs.memory_bytes());
        each_matrix(layers, [&](const auto& matrix) {
            if (chosen_.keeps_rows) keep(on, matrix);
            const Element* const weights = by_rows(on, matrix);
            for (std::size_t columns = std::bit_ceil(measures() ? 1 : chosen_.from); columns <= chosen_.most_rows;
                 columns *= 2) {
                library_.prepare(kernels::shape_of(matrix, columns), weights, inputs.data(), sums_.data());
            }
        });
        if (measures()) measure(on, layers, inputs.data());
        on.wait();  // before the inputs go
    }

    /// See skinny_products; a recording keeps the way that this pass went.
    template <class View, class Finish>
    void multiply(const S& on, const View& weights, const Element* inputs, std::size_t columns, const Finish& finish,
                  const kernels::column_scales& scales = {}) const {
        if (columns < chosen_.from) return kernels::multiply(on, weights, inputs, columns, finish, scales);
        kernels::multiply_wide(on, library_, kernels::shape_of(weights, columns), by_rows(on, weights), inputs,
                               sums_.data(), factors_.data(), finish, scales);
    }

 private:
    template <class Layers, class Use>
    static void each_matrix(const Layers& layers, const Use& use) {
        for (const auto& layer : layers) {
            use(layer.query_key_value.view());
            use(layer.attention_output.view());
            use(layer.gate_up.view());
            use(layer.down.view());
        }
    }

    bool measures() const { return chosen_.from == wide_settings::measured; }

    /// Medians of some runs after a first.
    template <class Layers>
    void measure(const S& on, const Layers& layers, const Element* inputs) {
        for (std::size_t rows = chosen_.most_rows; rows > 0; rows /= 2) {
            const auto median_of = [&](bool wide) {
                std::array<double, 5> times{};
                multiply_all(on, layers, inputs, rows, wide);
                for (double& each : times) {
                    each = seconds_of(on, [&] { multiply_all(on, layers, inputs, rows, wide); });
                }
                std::sort(times.begin(), times.end());
                return times[times.size() / 2];
            };
            times_.push_back({rows, median_of(false), median_of(true)});
            if (times_.back().wide_seconds > times_.back().skinny_seconds) return;
            chosen_.from = rows;
        }
    }

    /// Every matrix of the layers, as passes of so many rows multiply it; nobody reads what comes of it.
    template <class Layers>
    void multiply_all(const S& on, const Layers& layers, const Element* inputs, std::size_t rows, bool wide) const {
        each_matrix(layers, [&](const auto& matrix) {
            const kernels::wide_shape shape = kernels::shape_of(matrix, rows);
            const kernels::store_sums store{sums_.data(), shape.rows, shape.rows};
            if (wide) {
                return kernels::multiply_wide(on, library_, shape, by_rows(on, matrix), inputs, sums_.data(),
                                              factors_.data(), store);
            }
            for (std::size_t first = 0; first < rows; first += kernels::most_columns) {
                kernels::multiply(on, matrix, inputs + first * shape.depth,
                                  std::min(rows - first, kernels::most_columns), store);
            }
        });
    }

    template <class View>
    void keep(const S& on, const View& matrix) {
        kernels::buffer<Element, S> rows(on, matrix.tiles() * kernels::tile_layout::elements);
        on.launch(matrix.panels, kernels::untile<View>{matrix, rows.data()});
        kept_.emplace(&matrix, std::move(rows));
    }

    /// Where they are kept, or else written out now.
    template <class View>
    const Element* by_rows(const S& on, const View& matrix) const {
        if (const auto found = kept_.find(&matrix); found != kept_.end()) return found->second.data();
        on.launch(matrix.panels, kernels::untile<View>{matrix, scratch_.data()});
        return scratch_.data();
    }

    Library library_;
    wide_settings chosen_;
    std::vector<product_times> times_;
    std::map<const kernels::matrix_shape*, kernels::buffer<Element, S>> kept_;
    kernels::buffer<Element, S> scratch_;  ///< one matrix at a time
    kernels::buffer<float, S> sums_, factors_;
};

}  // namespace augur::llama::device
