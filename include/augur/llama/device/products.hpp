#pragma once
// By which products a pass on a device goes, and so of how many rows it is and what may be said about them.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <map>
#include <utility>

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
    std::size_t from = kernels::most_columns + 1;  ///< passes of so many rows and more are wide; at least 1
    std::size_t most_rows = 1024;                  ///< of a wide pass: a power of two, at least `from` and 64
    bool keeps_rows = false;                       ///< whether all weights lie there a second time, for wide products
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
        if (!std::has_single_bit(chosen.most_rows) || chosen.most_rows < std::max(chosen.from, kernels::most_columns)) {
            augur::detail::fail("wide passes take up to a power of two of rows, at least ",
                                std::max(chosen.from, kernels::most_columns), ", not ", chosen.most_rows);
        }
    }

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

    /// Lets the library prepare for every shape of matrix and every power of two of columns that is wide.
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
            for (std::size_t columns = std::bit_ceil(chosen_.from); columns <= chosen_.most_rows; columns *= 2) {
                library_.prepare(kernels::shape_of(matrix, columns), weights, inputs.data(), sums_.data());
            }
        });
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
    std::map<const kernels::matrix_shape*, kernels::buffer<Element, S>> kept_;
    kernels::buffer<Element, S> scratch_;  ///< one matrix at a time
    kernels::buffer<float, S> sums_, factors_;
};

}  // namespace augur::llama::device
