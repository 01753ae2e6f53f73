#pragma once
// Matrix products of a pass's rows, shared by threads, with inputs quantised as each matrix needs.

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "augur/backend/host/aligned_buffer.hpp"
#include "augur/backend/host/kernels.hpp"
#include "augur/backend/host/packed_matrix.hpp"
#include "augur/llama/workers.hpp"

namespace augur::llama {

/// The kernels and buffers of a pass over rows: its base class.
class row_products : protected workers {
 public:
    static constexpr std::size_t most_rows = 128;

    using workers::pool;
    using workers::threads;

 protected:
    using input_format = backend::host::input_format;
    using input_copies = std::array<backend::host::aligned_buffer, 3>;  ///< rows, by input format; f32 needs none

    /// For inputs of at most `longest` numbers.
    row_products(const backend::host::kernels& kernels, std::shared_ptr<backend::host::thread_pool> pool,
                 std::size_t longest)
        : workers(kernels, std::move(pool)) {
        for (auto* of : {&copies_, &gate_copies_}) {
            for (auto& copy : *of) copy = backend::host::aligned_buffer(most_rows * longest_input(longest));
        }
    }

    /// Inputs [first, last) of a row of x (depth long), as matrices with inputs of this format read them.
    void prepare_part(input_copies& copies, input_format format, const float* x, std::size_t depth, std::size_t row,
                      std::size_t first, std::size_t last) {
        std::byte* copy = copies[static_cast<std::size_t>(format)].data();
        kernels_.prepare(format, x + row * depth, first, last, copy + row * backend::host::input_bytes(format, depth));
    }
    void prepare_part(input_copies& copies, const matrix& reader, const float* x, std::size_t row, std::size_t first,
                      std::size_t last) {
        const input_format format = input_of(reader.format());
        if (format != input_format::f32) prepare_part(copies, format, x, reader.depth(), row, first, last);
    }
    /// A whole row, once for each format that these matrices read.
    void prepare_row(input_copies& copies, std::initializer_list<const matrix*> readers, const float* x,
                     std::size_t depth, std::size_t row) {
        for (const auto format : {input_format::bf16, input_format::q8}) {
            for (const matrix* reader : readers) {
                if (input_of(reader->format()) != format) continue;
                prepare_part(copies, format, x, depth, row, 0, depth);
                break;
            }
        }
    }

    /// The product with rows of x, of which the copies have been prepared.
    backend::host::product_task product_of(const input_copies& copies, const matrix& weight, const float* x,
                                           std::size_t columns, float* y) const {
        const input_format format = input_of(weight.format());
        const std::byte* inputs = format == input_format::f32 ? reinterpret_cast<const std::byte*>(x)
                                                              : copies[static_cast<std::size_t>(format)].data();
        return backend::host::product_of(weight, inputs, columns, y);
    }

    struct product {
        const matrix* weight;
        float* out;
        const std::vector<float>* bias;  ///< empty: none
    };
    /// Several products of `rows` rows of x, as if their matrices were one.
    void multiply(std::initializer_list<product> products, const float* x, std::size_t rows) {
        std::size_t panels = 0;
        for (const auto& each : products) panels += each.weight->panels();
        for_panels(panels, [&](std::size_t first, std::size_t last) {
            std::size_t start = 0;
            for (const auto& each : products) {
                const std::size_t end = start + each.weight->panels();
                const std::size_t from = std::clamp(first, start, end), to = std::clamp(last, start, end);
                if (from < to) {
                    multiply_panels(product_of(copies_, *each.weight, x, rows, each.out), from - start, to - start);
                    add_bias(*each.bias, each.out, rows, from - start, to - start);
                }
                start = end;
            }
        });
    }

    /// y[row] += bias, in the panels [first, last) of what made y.
    static void add_bias(const std::vector<float>& bias, float* y, std::size_t rows, std::size_t first,
                         std::size_t last) {
        if (bias.empty()) return;
        const std::size_t from = first * backend::host::panel_rows;
        const std::size_t to = std::min(last * backend::host::panel_rows, bias.size());
        for (std::size_t row = 0; row < rows; ++row) {
            for (std::size_t i = from; i < to; ++i) y[row * bias.size() + i] += bias[i];
        }
    }

    static std::size_t longest_input(std::size_t depth) {
        return std::max(backend::host::input_bytes(input_format::bf16, depth),
                        backend::host::input_bytes(input_format::q8, (depth + 31) / 32 * 32));
    }

    input_copies copies_, gate_copies_;  ///< of normalised or mixed rows, and of what goes down
};

}  // namespace augur::llama
