#pragma once
// A Llama widened to a larger shape, made in device memory from the small model's weights. See docs/llama/widened.md.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../examples/augur/llama_shape.hpp"
#include "../../examples/augur/widening.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/tiles.hpp"
#include "augur/backend/host/packed_matrix.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/device/weights.hpp"
#include "augur/llama/weights.hpp"
#include "augur/types/error.hpp"
#include "synthetic.hpp"

namespace augur::benchmarks {

using llama::layer_weights, llama::weights;
using program::axis, program::llama_shape, program::widening;

/// A matrix of a widened Llama: the small one's numbers in the rows and columns that have some, zeros or noise in the
/// others.
struct widened_matrix {
    static constexpr std::uint32_t noise = 0xffffffff, zero = noise - 1;

    const float* numbers;               ///< the small one's, row after row
    std::size_t narrow_depth;           ///< of such a row
    const std::uint32_t* rows_from;     ///< the small one's row that lies in each, or `noise` or `zero`
    const std::uint32_t* columns_from;  ///< the same of columns
    bool is_zero_beside;                ///< rather than noise
    random_matrix beside;               ///< the noise
    std::size_t rows, depth;            ///< of the wide matrix, and of the noise

    /// As random_matrix has it.
    AUGUR_HOST_DEVICE std::array<float, 4> four(std::size_t row, std::size_t k) const {
        std::array<float, 4> out{};
        if (row >= rows || rows_from[row] == zero) return out;
        if (!is_zero_beside) out = beside.four(row, k);
        if (rows_from[row] == noise) return out;
        for (std::size_t i = 0; i < 4 && k + i < depth; ++i) {
            if (columns_from[k + i] < zero) out[i] = numbers[rows_from[row] * narrow_depth + columns_from[k + i]];
        }
        return out;
    }
};

/// Makes the weights of a widened Llama, a matrix at a time, by launches on a system.
template <class Element, device_format F, kernels::System S>
class widened_weights {
 public:
    /// All must outlive it.
    widened_weights(const S& on, const widening& by, const weights& from, std::uint64_t seed)
        : on_(on), by_(by), from_(from), seed_(seed) {
        if (from.fuses()) augur::detail::fail("a model that fuses tokens with states is not widened on a device");
        if (!from.head_tokens.empty()) {
            augur::detail::fail("a model with a head of ", from.head_tokens.size(), " of ", by.narrow().vocabulary,
                                " tokens is not widened on a device");
        }
    }

    std::shared_ptr<const weights_on_device<Element, S, F>> make() {
        const llama::config& c = by_.wide();
        std::vector<layer_on_device<Element, S, F>> layers(c.layers);
        for (std::size_t i = 0; i < c.layers; ++i) layers[i] = layer(i);
        const auto all = identity(c.vocabulary);
        const auto width = map(by_.sources(axis::width, by_.narrow().width));
        const auto source = [&](const matrix& of, bool zeros, matrix_name name) {
            return widened({{&of, 1}}, all, width, zeros, {seed_, name, 0, c.vocabulary, c.width});
        };
        kernels::buffer<Element, S> embedding(on_, c.vocabulary * c.width);
        const auto rows = source(*from_.embedding, true, matrix_name::embedding);
        on_.launch(c.vocabulary, fill_rows<Element, widened_matrix>{rows, embedding.data()});
        typename weights_on_device<Element, S, F>::head_type head(on_, c.vocabulary, c.width);
        const bool is_tied = from_.head.rows() == 0;
        fill(head, source(from_.output(), is_tied, is_tied ? matrix_name::embedding : matrix_name::head));
        auto weights = std::make_shared<const weights_on_device<Element, S, F>>(
            on_, c, std::move(embedding), std::move(head), std::move(layers), norm(from_.final_norm));
        on_.wait();  // before what they were made from goes
        return weights;
    }

 private:
    using matrix = backend::host::packed_matrix;
    using sources = std::vector<std::uint32_t>;
    using scaled = std::pair<const matrix*, float>;

    layer_on_device<Element, S, F> layer(std::size_t index) {
        const llama::config &c = by_.wide(), &n = by_.narrow();
        const bool is_added = index >= n.layers;
        const layer_weights& own = *from_.layers[is_added ? 0 : index];
        const auto in = [&](axis of, std::size_t narrow) { return map(by_.sources(of, narrow)); };
        const auto rows = [&](sources of) {
            if (is_added) std::fill(of.begin(), of.end(), widened_matrix::noise);
            return of;
        };
        const auto make = [&](auto& to, matrix_name name, const std::vector<scaled>& of, const sources& from,
                              const sources& columns, bool zeros) {
            to = std::remove_reference_t<decltype(to)>(on_, from.size(), columns.size());
            fill(to, widened(of, rows(from), columns, zeros, {seed_, name, index, from.size(), columns.size()}));
        };
        const std::size_t queries = n.heads * n.head_size, keys = n.key_value_heads * n.head_size;
        const sources width = in(axis::width, n.width);
        layer_on_device<Element, S, F> out;
        out.attention_norm = norm(own.attention_norm);
        out.feed_forward_norm = norm(own.feed_forward_norm);
        sources joined = in(axis::queries, queries);
        append(joined, in(axis::keys, keys), queries);
        append(joined, in(axis::values, keys), queries + keys);
        make(out.query_key_value, matrix_name::query_key_value,
             {{&own.query, by_.scale({axis::queries, axis::width})}, {&own.key, 1}, {&own.value, 1}}, joined, width,
             false);
        make(out.attention_output, matrix_name::attention_output, {{&own.attention_output, 1}}, width,
             in(axis::attended, queries), true);
        make(out.gate_up, matrix_name::gate_up, {{&own.gate, 1}, {&own.up, 1}}, paired(c.feed_forward, n.feed_forward),
             width, false);
        make(out.down, matrix_name::down, {{&own.down, 1}}, width, in(axis::feed_forward, n.feed_forward), true);
        return out;
    }

    static sources map(const std::vector<std::size_t>& from) {
        sources out(from.size());
        std::transform(from.begin(), from.end(), out.begin(), [](std::size_t each) {
            if (each >= widening::zero) return each == widening::noise ? widened_matrix::noise : widened_matrix::zero;
            return static_cast<std::uint32_t>(each);
        });
        return out;
    }
    static sources identity(std::size_t size) {
        sources out(size);
        for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::uint32_t>(i);
        return out;
    }
    /// Of a matrix that begins at this row of those that are joined.
    static void append(sources& to, const sources& from, std::size_t first) {
        for (const std::uint32_t each : from) {
            to.push_back(each < widened_matrix::zero ? each + static_cast<std::uint32_t>(first) : each);
        }
    }
    /// Eight rows of gate and eight of up in turn (weights_on_device).
    static sources paired(std::size_t wide, std::size_t narrow) {
        constexpr std::size_t half = kernels::tile_layout::rows / 2;
        sources out((wide + half - 1) / half * 2 * half);
        for (std::size_t row = 0; row < out.size(); ++row) {
            const std::size_t source = row / (2 * half) * half + row % half,
                              first = row % (2 * half) < half ? 0 : narrow;
            out[row] = source < narrow ? static_cast<std::uint32_t>(first + source)
                       : source < wide ? widened_matrix::noise
                                       : widened_matrix::zero;
        }
        return out;
    }

    widened_matrix widened(const std::vector<scaled>& of, const sources& rows, const sources& columns, bool zeros,
                           const random_matrix& beside) {
        const std::size_t depth = of.front().first->depth();
        std::vector<float> numbers;
        for (const auto& [each, scale] : of) {
            for (std::size_t row = 0; row < each->rows(); ++row) {
                numbers.resize(numbers.size() + depth);
                const auto out = std::span(numbers).last(depth);
                each->unpack_row(row, out);
                for (float& x : out) x *= scale;
            }
        }
        numbers_.emplace_back(on_, std::span<const float>(numbers));
        const auto there = [&](const sources& from) {
            maps_.emplace_back(on_, std::span<const std::uint32_t>(from));
            return maps_.back().data();
        };
        return {numbers_.back().data(), depth, there(rows), there(columns), zeros, beside, rows.size(), columns.size()};
    }

    template <class Matrix>
    void fill(Matrix& to, const widened_matrix& from) const {
        on_.launch(to.view().panels, filler(from, to));
    }

    kernels::buffer<float, S> norm(const std::vector<float>& narrow) const {
        const auto from = by_.sources(axis::width, narrow.size());
        const float scale = by_.scale({axis::width, axis::fixed, true});
        std::vector<float> out(from.size());
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = from[i] < widening::zero ? narrow[from[i]] * scale : 0;
        return {on_, std::span<const float>(out)};
    }

    const S& on_;
    const widening& by_;
    const weights& from_;
    std::uint64_t seed_;
    std::vector<kernels::buffer<float, S>> numbers_;  ///< what kernels that run read
    std::vector<kernels::buffer<std::uint32_t, S>> maps_;
};

/// The configuration of a loaded Llama in this shape. Throws augur::error where the shape has no room for it.
inline llama::config widened_config(const llama::config& narrow, const llama_shape& to) {
    return widening(narrow, to).wide();
}

/// Its weights, made where they lie: what is uploaded is the small one's numbers and norms. The same text at the cost
/// of that shape, as program::widened_tensors gives it; the noise is another, random_matrix's from the seed. Refused:
/// heads of some tokens only, fused inputs.
template <class Element, device_format F = device_format::elements, kernels::System S>
std::shared_ptr<const weights_on_device<Element, S, F>> make_widened(const S& on, const llama::config& narrow,
                                                                     const weights& from, const llama_shape& to,
                                                                     std::uint64_t seed = 0) {
    const widening by(narrow, to);
    return widened_weights<Element, F, S>(on, by, from, seed).make();
}

}  // namespace augur::benchmarks
