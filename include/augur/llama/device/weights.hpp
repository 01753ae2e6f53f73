#pragma once
// A decoder's weights in device memory, as its kernels read them.

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/backend/device/element.hpp"
#include "augur/backend/device/quantised_tiles.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/tiles.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/rotary.hpp"
#include "augur/llama/weights.hpp"
#include "augur/types/error.hpp"

namespace augur::llama::device {

namespace kernels = augur::backend::device;

/// What the matrices of layers are: Elements, or integers of 8 or 4 bits with scales. The head of either is q8_0.
enum class device_format { elements, q8_0, q4_0 };

template <class Element, kernels::System S, device_format F>
using device_matrix = std::conditional_t<F == device_format::elements, kernels::tiled_matrix<Element, S>,
                                         kernels::quantised_matrix<Element, F == device_format::q4_0 ? 4 : 8, S>>;

/// Throws, with what it has, where the model has what no kernel is for.
inline void check_runs_on_device(const config& c) {
    config rest = c;
    const config llama;
    if (c.gate == activation::gelu || c.gate == activation::gelu_tanh) rest.gate = llama.gate;
    rest.norms_before = llama.norms_before;
    rest.norms_after = llama.norms_after;
    rest.query_key_norms = llama.query_key_norms;
    rest.query_key_value_bias = rest.attention_output_bias = rest.feed_forward_bias = false;
    rest.embedding_scale = rest.residual_scale = rest.logit_scale = rest.rotary_scale = 1;
    rest.attention_scale = rest.attention_cap = rest.logit_cap = rest.attention_temperature = 0;
    rest.positions.clear();
    if (const auto more = beyond_llama(rest); !more.empty()) {
        augur::detail::fail("a device runs no model with ", more, ", which the bundled engine runs on the CPU");
    }
    if (c.head_size % 2 != 0) augur::detail::fail("a model on a device has heads of even size, not ", c.head_size);
}

/// What a layer has beyond a Llama's; what it has not is empty.
template <kernels::System S>
struct layer_vectors {
    kernels::buffer<float, S> query_key_value_bias, attention_output_bias, gate_bias, up_bias, down_bias;
    kernels::buffer<float, S> query_norm, key_norm, after_attention_norm, after_feed_forward_norm;

    std::size_t memory_bytes() const {
        std::size_t total = 0;
        for (const auto* each : {&query_key_value_bias, &attention_output_bias, &gate_bias, &up_bias, &down_bias,
                                 &query_norm, &key_norm, &after_attention_norm, &after_feed_forward_norm})
            total += each->memory_bytes();
        return total;
    }
};

/// Matrices that read the same inputs are one: queries, keys and values; gate and up, eight rows of each in turn.
template <class Element, kernels::System S, device_format F = device_format::elements>
struct layer_on_device {
    kernels::buffer<float, S> attention_norm, feed_forward_norm;
    device_matrix<Element, S, F> query_key_value, attention_output, gate_up, down;
    layer_vectors<S> vectors{};

    std::size_t memory_bytes() const {
        return attention_norm.memory_bytes() + feed_forward_norm.memory_bytes() + query_key_value.memory_bytes() +
               attention_output.memory_bytes() + gate_up.memory_bytes() + down.memory_bytes() + vectors.memory_bytes();
    }
};

/// Rounded to Elements, whatever format they were loaded in; or matrices to integers, which are kept as they were
/// loaded where that is their format. The embedding is kept by rows of Elements, and again in tiles for the head: a
/// tied model takes it twice. Refused: what check_runs_on_device says, heads of some tokens only, fused inputs.
template <class Element, kernels::System S, device_format F = device_format::elements>
class weights_on_device {
 public:
    using layer_type = layer_on_device<Element, S, F>;
    using head_type =
        device_matrix<Element, S, F == device_format::elements ? device_format::elements : device_format::q8_0>;

    weights_on_device(const S& on, const config& c, const weights& from) : frequencies_(frequencies_of(on, c)) {
        if (from.fuses())
            augur::detail::fail("a model on a device takes tokens alone, but this one fuses them with states");
        if (!from.head_tokens.empty()) {
            augur::detail::fail("a model on a device has a head of all ", c.vocabulary, " tokens, but this one's has ",
                                from.head_tokens.size());
        }
        std::vector<float> row(c.width);
        std::vector<Element> rows(c.vocabulary * c.width);
        for (std::size_t id = 0; id < c.vocabulary; ++id) {
            from.embedding->unpack_row(id, row);
            std::transform(row.begin(), row.end(), rows.begin() + static_cast<std::ptrdiff_t>(id * c.width),
                           &Element::of);
        }
        embedding_ = kernels::buffer<Element, S>(on, std::span<const Element>(rows));
        final_norm_ = kernels::buffer<float, S>(on, std::span<const float>(from.final_norm));
        head_ = joined<head_type>(on, {&from.output()});
        for (const auto& layer : from.layers) layers_.push_back(upload(on, *layer));
    }

    /// Made elsewhere, for this configuration: vocabulary x width numbers, a head, norms of `width` floats.
    weights_on_device(const S& on, const config& c, kernels::buffer<Element, S> embedding, head_type head,
                      std::vector<layer_type> layers, kernels::buffer<float, S> final_norm)
        : embedding_(std::move(embedding)),
          final_norm_(std::move(final_norm)),
          frequencies_(frequencies_of(on, c)),
          head_(std::move(head)),
          layers_(std::move(layers)) {
        check_is_llama(c, "a device with weights that were made elsewhere");
    }

    const Element* embedding() const { return embedding_.data(); }
    const float* final_norm() const { return final_norm_.data(); }
    const double* frequencies() const { return frequencies_.data(); }
    const typename head_type::view_type& head() const { return head_.view(); }
    const std::vector<layer_type>& layers() const { return layers_; }
    std::size_t memory_bytes() const {
        std::size_t total = embedding_.memory_bytes() + final_norm_.memory_bytes() + head_.memory_bytes();
        for (const auto& layer : layers_) total += layer.memory_bytes();
        return total;
    }

 private:
    using matrix = backend::host::packed_matrix;
    using layer_matrix = device_matrix<Element, S, F>;

    static kernels::buffer<double, S> frequencies_of(const S& on, const config& c) {
        check_runs_on_device(c);
        const auto frequencies = all_rotary_frequencies(c);
        return {on, std::span<const double>(frequencies)};
    }

    /// `find(row)` is a matrix and which of its rows, or null for zeros.
    template <class Tiles, class Find>
    static Tiles tiles_of(const S& on, std::size_t rows, std::size_t depth, const Find& find) {
        const auto read = [&](std::size_t row, auto out, const auto& unpack) {
            const std::pair<const matrix*, std::size_t> from = find(row);
            std::fill(out.begin(), out.end(), typename decltype(out)::value_type{});
            if (from.first != nullptr) unpack(*from.first, from.second, out);
        };
        if constexpr (std::is_same_v<Tiles, kernels::tiled_matrix<Element, S>>) {
            const auto unpack = [](const matrix& from, std::size_t at, std::span<float> out) {
                from.unpack_row(at, out);
            };
            return Tiles(on, rows, depth, [&](std::size_t row, std::span<float> out) { read(row, out, unpack); });
        } else {
            const auto unpack = [](const matrix& from, std::size_t at, std::span<std::byte> out) {
                kernels::read_blocks(from, at, Tiles::layout::type, out);
            };
            return Tiles(on, rows, kernels::tile_layout::padded(depth),
                         [&](std::size_t row, std::span<std::byte> out) { read(row, out, unpack); });
        }
    }

    /// The rows of several matrices, one matrix after the other.
    template <class Tiles>
    static Tiles joined(const S& on, const std::vector<const matrix*>& of) {
        std::size_t rows = 0;
        for (const matrix* each : of) rows += each->rows();
        return tiles_of<Tiles>(on, rows, of.front()->depth(), [&](std::size_t row) {
            auto each = of.begin();
            while (row >= (*each)->rows()) row -= (*each++)->rows();
            return std::pair(*each, row);
        });
    }

    /// The rows of two matrices, eight of each in turn.
    static layer_matrix paired(const S& on, const matrix& gate, const matrix& up) {
        const std::size_t half = kernels::tile_layout::rows / 2, groups = (gate.rows() + half - 1) / half;
        return tiles_of<layer_matrix>(on, groups * kernels::tile_layout::rows, gate.depth(), [&](std::size_t row) {
            const std::size_t source = row / (2 * half) * half + row % half;
            const matrix* const from = row % (2 * half) < half ? &gate : &up;
            return std::pair(source < gate.rows() ? from : nullptr, source);
        });
    }

    static layer_type upload(const S& on, const layer_weights& from) {
        layer_type out;
        out.attention_norm = kernels::buffer<float, S>(on, std::span<const float>(from.attention_norm));
        out.feed_forward_norm = kernels::buffer<float, S>(on, std::span<const float>(from.feed_forward_norm));
        out.query_key_value = joined<layer_matrix>(on, {&from.query, &from.key, &from.value});
        out.attention_output = joined<layer_matrix>(on, {&from.attention_output});
        out.gate_up = paired(on, from.gate, from.up);
        out.down = joined<layer_matrix>(on, {&from.down});
        upload_vectors(on, from, out.vectors);
        return out;
    }

    static void upload_vectors(const S& on, const layer_weights& from, layer_vectors<S>& out) {
        std::vector<float> biases = from.query_bias;
        biases.insert(biases.end(), from.key_bias.begin(), from.key_bias.end());
        biases.insert(biases.end(), from.value_bias.begin(), from.value_bias.end());
        const auto put = [&](kernels::buffer<float, S>& to, const std::vector<float>& vector) {
            to = kernels::buffer<float, S>(on, std::span<const float>(vector));
        };
        put(out.query_key_value_bias, biases);
        put(out.attention_output_bias, from.attention_output_bias);
        put(out.gate_bias, from.gate_bias);
        put(out.up_bias, from.up_bias);
        put(out.down_bias, from.down_bias);
        put(out.query_norm, from.query_norm);
        put(out.key_norm, from.key_norm);
        put(out.after_attention_norm, from.after_attention_norm);
        put(out.after_feed_forward_norm, from.after_feed_forward_norm);
    }

    kernels::buffer<Element, S> embedding_;
    kernels::buffer<float, S> final_norm_;
    kernels::buffer<double, S> frequencies_;
    head_type head_;
    std::vector<layer_type> layers_;
};

}  // namespace augur::llama::device
