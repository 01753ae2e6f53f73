#pragma once
// A Llama's weights in a device's memory, as its kernels read them.

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "augur/backend/device/element.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/tiles.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/weights.hpp"
#include "augur/types/error.hpp"

namespace augur::llama::device {

namespace kernels = augur::backend::device;

/// Matrices that read the same inputs are one: queries, keys and values; gate and up, eight rows of each in turn.
template <class Element, kernels::System S>
struct layer_on_device {
    kernels::buffer<float, S> attention_norm, feed_forward_norm;
    kernels::tiled_matrix<Element, S> query_key_value, attention_output, gate_up, down;

    std::size_t memory_bytes() const {
        return attention_norm.memory_bytes() + feed_forward_norm.memory_bytes() + query_key_value.memory_bytes() +
               attention_output.memory_bytes() + gate_up.memory_bytes() + down.memory_bytes();
    }
};

/// Rounded to Elements, whatever format they were loaded in. The embedding is kept by rows, and again in tiles for the head: a
/// tied model takes it twice. Refused: heads of some tokens only, fused inputs, odd sizes of heads.
template <class Element, kernels::System S>
class weights_on_device {
 public:
    weights_on_device(const S& on, const config& c, const weights& from) {
        if (from.fuses())
            augur::detail::fail("a model on a device takes tokens alone, but this one fuses them with states");
        if (!from.head_tokens.empty()) {
            augur::detail::fail("a model on a device has a head of all ", c.vocabulary, " tokens, but this one's has ",
                                from.head_tokens.size());
        }
        check_heads(c);
        std::vector<float> row(c.width);
        std::vector<Element> rows(c.vocabulary * c.width);
        for (std::size_t id = 0; id < c.vocabulary; ++id) {
            from.embedding->unpack_row(id, row);
            std::transform(row.begin(), row.end(), rows.begin() + static_cast<std::ptrdiff_t>(id * c.width),
                           &Element::of);
        }
        embedding_ = kernels::buffer<Element, S>(on, std::span<const Element>(rows));
        final_norm_ = kernels::buffer<float, S>(on, std::span<const float>(from.final_norm));
        head_ = tiles(on, {&from.output()});
        for (const auto& layer : from.layers) layers_.push_back(upload(on, *layer));
        const auto frequencies = rotary_frequencies(c);
        frequencies_ = kernels::buffer<double, S>(on, std::span<const double>(frequencies));
    }

    /// Made elsewhere, for this configuration: vocabulary x width numbers, a head, norms of `width` floats.
    weights_on_device(const S& on, const config& c, kernels::buffer<Element, S> embedding,
                      kernels::tiled_matrix<Element, S> head, std::vector<layer_on_device<Element, S>> layers,
                      kernels::buffer<float, S> final_norm)
        : embedding_(std::move(embedding)),
          final_norm_(std::move(final_norm)),
          head_(std::move(head)),
          layers_(std::move(layers)) {
        check_heads(c);
        const auto frequencies = rotary_frequencies(c);
        frequencies_ = kernels::buffer<double, S>(on, std::span<const double>(frequencies));
    }

    const Element* embedding() const { return embedding_.data(); }
    const float* final_norm() const { return final_norm_.data(); }
    const double* frequencies() const { return frequencies_.data(); }
    const kernels::tiled_view<Element>& head() const { return head_.view(); }
    const std::vector<layer_on_device<Element, S>>& layers() const { return layers_; }
    std::size_t memory_bytes() const {
        std::size_t total = embedding_.memory_bytes() + final_norm_.memory_bytes() + head_.memory_bytes();
        for (const auto& layer : layers_) total += layer.memory_bytes();
        return total;
    }

 private:
    using matrix = backend::host::packed_matrix;
    using tiled = kernels::tiled_matrix<Element, S>;

    static void check_heads(const config& c) {
        if (c.head_size % 2 != 0) augur::detail::fail("a model on a device has heads of even size, not ", c.head_size);
    }

    /// The rows of several matrices, one matrix after the other.
    static tiled tiles(const S& on, std::vector<const matrix*> of) {
        std::size_t rows = 0;
        for (const matrix* each : of) rows += each->rows();
        return tiled(on, rows, of.front()->depth(), [&](std::size_t row, std::span<float> out) {
            auto each = of.begin();
            while (row >= (*each)->rows()) row -= (*each++)->rows();
            (*each)->unpack_row(row, out);
        });
    }

    /// The rows of two matrices, eight of each in turn.
    static tiled paired_tiles(const S& on, const matrix& gate, const matrix& up) {
        const std::size_t half = kernels::tile_layout::rows / 2, groups = (gate.rows() + half - 1) / half;
        return tiled(on, groups * kernels::tile_layout::rows, gate.depth(), [&](std::size_t row, std::span<float> out) {
            const std::size_t source = row / (2 * half) * half + row % half;
            if (source >= gate.rows()) {
                std::fill(out.begin(), out.end(), 0.0f);
            } else {
                (row % (2 * half) < half ? gate : up).unpack_row(source, out);
            }
        });
    }

    static layer_on_device<Element, S> upload(const S& on, const layer_weights& from) {
        layer_on_device<Element, S> out;
        out.attention_norm = kernels::buffer<float, S>(on, std::span<const float>(from.attention_norm));
        out.feed_forward_norm = kernels::buffer<float, S>(on, std::span<const float>(from.feed_forward_norm));
        out.query_key_value = tiles(on, {&from.query, &from.key, &from.value});
        out.attention_output = tiles(on, {&from.attention_output});
        out.gate_up = paired_tiles(on, from.gate, from.up);
        out.down = tiles(on, {&from.down});
        return out;
    }

    kernels::buffer<Element, S> embedding_;
    kernels::buffer<float, S> final_norm_;
    kernels::buffer<double, S> frequencies_;
    kernels::tiled_matrix<Element, S> head_;
    std::vector<layer_on_device<Element, S>> layers_;
};

}  // namespace augur::llama::device
