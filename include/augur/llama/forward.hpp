#pragma once
// The forward pass: a chunk of new rows through all layers, shared by a pool of threads.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <span>
#include <vector>

#include "augur/backend/host/aligned_buffer.hpp"
#include "augur/backend/host/kernels.hpp"
#include "augur/backend/host/packed_matrix.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/selection.hpp"
#include "augur/llama/sequence.hpp"
#include "augur/llama/weights.hpp"
#include "augur/llama/workers.hpp"
#include "augur/types/token.hpp"

namespace augur::llama {

/// New rows of one sequence: tokens[i] stands at position `start + i`. For the last `last` of them the final hidden
/// states are wanted, and the logits where there is a place for them.
struct forward_chunk {
    std::span<const token> tokens;
    std::size_t start = 0;
    std::size_t last = 0;
    const float* states = nullptr;     ///< tokens x width, where the model fuses its inputs with hidden states
    key_value_cache* cache = nullptr;  ///< has room for start + tokens.size() positions
    float* hidden = nullptr;           ///< last x width
    float* logits = nullptr;           ///< last x vocabulary, or null
    const std::function<void()>* between_layers = nullptr;  ///< may throw: then nothing is kept of the chunk
};

/// Runs chunks of at most `most_rows` rows. A row's bits depend on its token, its position and the cached rows before it:
/// not on the other rows of its chunk, the number of threads or the instruction set. Holds the scratch memory, so one
/// chunk runs at a time.
class forward_pass : workers {
 public:
    static constexpr std::size_t most_rows = 128;

    forward_pass(const config& c, const weights& w, const backend::host::kernels& kernels, std::size_t threads)
        : workers(kernels, threads), config_(c), weights_(w), frequencies_(rotary_frequencies(c)) {
        queries_ = c.heads * c.head_size;
        keys_ = c.key_value_heads * c.head_size;
        group_ = c.heads / c.key_value_heads;
        for (auto [buffer, size] : {std::pair{&state_, c.width},
                                    {&normed_, c.width},
                                    {&query_, queries_},
                                    {&grouped_, queries_},
                                    {&key_, keys_},
                                    {&value_, keys_},
                                    {&mixed_, queries_},
                                    {&change_, c.width},
                                    {&gate_, c.feed_forward},
                                    {&up_, c.feed_forward},
                                    {&turns_, c.rotary_size},
                                    {&fused_, w.fusion.weight.depth()}}) {
            buffer->require(most_rows * size);
        }
        const std::size_t longest = std::max({c.width, queries_, c.feed_forward, w.fusion.weight.depth()});
        for (auto* of : {&copies_, &gate_copies_}) {
            for (auto& copy : *of) copy = backend::host::aligned_buffer(most_rows * longest_input(longest));
        }
    }

    using workers::threads;

    void run(const forward_chunk& chunk) {
        chunk_ = chunk;
        rows_ = chunk.tokens.size();
        const std::size_t block = cache_layout::block_positions;
        padded_positions_ = (chunk.start + rows_ + block - 1) / block * block;
        batch_ = rows_at_once();
        scores_.require(threads() * batch_ * group_ * padded_positions_);
        attended_.require(threads() * batch_ * group_ * config_.head_size);
        for_rows(rows_, [this](std::size_t row) { embed(row); });
        if (weights_.fuses()) fuse();
        for (std::size_t i = 0; i < weights_.layers.size(); ++i) {
            if (chunk.between_layers != nullptr) (*chunk.between_layers)();
            run_layer(i);
        }
        if (chunk.last > 0) run_head();
    }

 private:
    using input_format = backend::host::input_format;
    using input_copies = std::array<backend::host::aligned_buffer, 3>;  ///< rows, by input format; f32 needs none

    void run_layer(std::size_t index) {
        const layer_weights& layer = *weights_.layers[index];
        normalise(layer.attention_norm, 0, normed_.data(), {&layer.query, &layer.key, &layer.value});
        multiply({{&layer.query, query_.data()}, {&layer.key, key_.data()}, {&layer.value, value_.data()}});
        attention(index);
        add_product(copies_, layer.attention_output, mixed_.data());
        normalise(layer.feed_forward_norm, 0, normed_.data(), {&layer.gate, &layer.up});
        feed_forward(layer);
        add_product(gate_copies_, layer.down, gate_.data());
    }

    void run_head() {
        const std::size_t first = rows_ - chunk_.last;
        if (chunk_.logits == nullptr) return normalise(weights_.final_norm, first, chunk_.hidden, {});
        const matrix& head = weights_.output();
        normalise(weights_.final_norm, first, chunk_.hidden, {&head});
        auto whole = product_of(copies_, head, chunk_.hidden, chunk_.last, chunk_.logits);
        whole.y_stride = config_.vocabulary;
        multiply_shared(head, whole);
        if (weights_.head_tokens.empty()) return;
        for_rows(chunk_.last, [this](std::size_t row) {
            spread_logits(weights_.head_tokens, {chunk_.logits + row * config_.vocabulary, config_.vocabulary});
        });
    }

    /// How many rows one call of the attention kernel takes: as many as fill its registers, but not so many that threads
    /// would have to wait for each other.
    std::size_t rows_at_once() const {
        const std::size_t columns = 12, calls = 3 * threads();
        return std::clamp<std::size_t>(rows_ * config_.key_value_heads / calls, 1,
                                       std::max<std::size_t>(columns / group_, 1));
    }

    // ---- the parts of a layer ----------------------------------------------------------------------------------------

    /// The row's embedding, and the cosines and sines of its position: taken in double precision, then rounded.
    void embed(std::size_t row) {
        const auto id = static_cast<std::size_t>(chunk_.tokens[row]);
        weights_.embedding->unpack_row(id, {state_.data() + row * config_.width, config_.width});
        const std::size_t pairs = frequencies_.size();
        float* cosines = turns_.data() + row * 2 * pairs;
        for (std::size_t i = 0; i < pairs; ++i) {
            const double angle = static_cast<double>(chunk_.start + row) * frequencies_[i];
            cosines[i] = static_cast<float>(std::cos(angle));
            cosines[pairs + i] = static_cast<float>(std::sin(angle));
        }
    }

    /// What enters the first layer instead of the embedding: one product with the embedding and the hidden state.
    void fuse() {
        const fusion_weights& fusion = weights_.fusion;
        const std::size_t width = config_.width;
        const auto take = [&](const std::vector<float>& norm, const float* from, float* out) {
            if (norm.empty()) {
                std::copy_n(from, width, out);
            } else {
                kernels_.rms_norm(from, norm.data(), out, width, config_.norm_epsilon);
            }
        };
        for_rows(rows_, [&](std::size_t row) {
            float* both = fused_.data() + row * 2 * width;
            take(fusion.embedding_norm, state_.data() + row * width, both);
            take(fusion.hidden_norm, chunk_.states + row * width, both + width);
            prepare_part(copies_, fusion.weight, fused_.data(), row, 0, 2 * width);
        });
        multiply_shared(fusion.weight, product_of(copies_, fusion.weight, fused_.data(), rows_, state_.data()));
    }

    /// Rows [from, rows_) of the state, normalised, to `out`, and as the matrices that multiply them read them.
    void normalise(const std::vector<float>& weight, std::size_t from, float* out,
                   std::initializer_list<const matrix*> readers) {
        const std::size_t width = config_.width;
        for_rows(rows_ - from, [&](std::size_t row) {
            kernels_.rms_norm(state_.data() + (from + row) * width, weight.data(), out + row * width, width,
                              config_.norm_epsilon);
            for (const auto format : {input_format::bf16, input_format::q8}) {
                for (const matrix* reader : readers) {
                    if (input_of(reader->format()) != format) continue;
                    prepare_part(copies_, format, out, width, row, 0, width);
                    break;
                }
            }
        });
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

    /// The product with rows of x, of which the copies have been prepared.
    backend::host::product_task product_of(const input_copies& copies, const matrix& weight, const float* x,
                                           std::size_t columns, float* y) const {
        const input_format format = input_of(weight.format());
        const std::byte* inputs = format == input_format::f32 ? reinterpret_cast<const std::byte*>(x)
                                                              : copies[static_cast<std::size_t>(format)].data();
        return backend::host::product_of(weight, inputs, columns, y);
    }

    static std::size_t longest_input(std::size_t depth) {
        return std::max(backend::host::input_bytes(input_format::bf16, depth),
                        backend::host::input_bytes(input_format::q8, (depth + 31) / 32 * 32));
    }

    struct product {
        const matrix* weight;
        float* out;
    };
    /// Several products of the normalised rows, as if their matrices were one.
    void multiply(std::initializer_list<product> products) {
        std::size_t panels = 0;
        for (const auto& each : products) panels += each.weight->panels();
        for_panels(panels, unit_of(*products.begin()->weight), [&](std::size_t first, std::size_t last) {
            std::size_t start = 0;
            for (const auto& each : products) {
                const std::size_t end = start + each.weight->panels();
                const std::size_t from = std::clamp(first, start, end), to = std::clamp(last, start, end);
                if (from < to) {
                    multiply_panels(product_of(copies_, *each.weight, normed_.data(), rows_, each.out), from - start,
                                    to - start);
                }
                start = end;
            }
        });
    }

    void attention(std::size_t layer) {
        const auto place_rows = [&](std::size_t first, std::size_t last, std::size_t head, std::size_t) {
            for (std::size_t row = first; row < last; ++row) place(layer, row, head);
        };
        const std::size_t heads = config_.key_value_heads;
        if (rows_ > 1) for_heads(rows_, heads, batch_, place_rows);
        for_heads(rows_, heads, batch_, [&](std::size_t first, std::size_t last, std::size_t head, std::size_t worker) {
            if (rows_ == 1) place_rows(first, last, head, worker);  // a head sees its own key only
            attend(layer, first, last, head, worker);
        });
        if (group_ * config_.head_size % 32 == 0) return;  // else a head's part is no whole number of blocks
        for_rows(rows_, [&](std::size_t row) {
            prepare_part(copies_, weights_.layers[layer]->attention_output, mixed_.data(), row, 0, queries_);
        });
    }

    /// A row's queries of one key-value head. Rows of a head lie together, as attention takes them.
    float* grouped_queries(std::size_t row, std::size_t head) {
        return grouped_.data() + (head * rows_ + row) * group_ * config_.head_size;
    }

    /// Turns a head's queries and key to their position, scales the queries, and caches key and value.
    void place(std::size_t layer, std::size_t row, std::size_t head) {
        const std::size_t size = config_.head_size, pairs = frequencies_.size();
        const float scale = 1.0f / std::sqrt(static_cast<float>(size));
        const float* cosines = turns_.data() + row * 2 * pairs;
        float* query = query_.data() + row * queries_ + head * group_ * size;
        float* key = key_.data() + row * keys_ + head * size;
        for (std::size_t i = 0; i < group_; ++i) {
            kernels_.rotate(query + i * size, cosines, cosines + pairs, pairs);
        }
        float* grouped = grouped_queries(row, head);
        for (std::size_t i = 0; i < group_ * size; ++i) grouped[i] = query[i] * scale;
        kernels_.rotate(key, cosines, cosines + pairs, pairs);
        chunk_.cache->write(layer, head, chunk_.start + row, key, value_.data() + row * keys_ + head * size);
    }

    void attend(std::size_t layer, std::size_t first, std::size_t last, std::size_t head, std::size_t worker) {
        const cache_layout& layout = chunk_.cache->layout();
        const std::size_t size = group_ * config_.head_size;
        backend::host::attention_task task;
        task.blocks = chunk_.cache->blocks();
        task.block_positions = cache_layout::block_positions;
        task.key_offset = layout.offset(layer, head);
        task.value_offset = task.key_offset + layout.value_offset();
        task.positions = chunk_.start + first + 1;
        task.head_size = config_.head_size;
        task.heads = group_;
        task.rows = last - first;
        task.query = grouped_queries(first, head);
        task.weights = scores_.data() + worker * batch_ * group_ * padded_positions_;
        task.out = attended_.data() + worker * batch_ * size;
        kernels_.attention(task);
        for (std::size_t row = first; row < last; ++row) {
            std::copy_n(task.out + (row - first) * size, size, mixed_.data() + row * queries_ + head * size);
            if (size % 32 == 0) {
                prepare_part(copies_, weights_.layers[layer]->attention_output, mixed_.data(), row, head * size,
                             (head + 1) * size);
            }
        }
    }

    /// state += weight * in.
    void add_product(const input_copies& copies, const matrix& weight, const float* in) {
        const auto whole = product_of(copies, weight, in, rows_, change_.data());
        for_panels(weight.panels(), unit_of(weight), [&](std::size_t first, std::size_t last) {
            multiply_panels(whole, first, last);
            const std::size_t from = first * backend::host::panel_rows;
            const std::size_t to = std::min(last * backend::host::panel_rows, weight.rows());
            for (std::size_t row = 0; row < rows_; ++row) {
                float* state = state_.data() + row * weight.rows();
                const float* change = change_.data() + row * weight.rows();
                for (std::size_t i = from; i < to; ++i) state[i] += change[i];
            }
        });
    }

    /// gate = silu(gate product) * up product, prepared for the next product.
    void feed_forward(const layer_weights& layer) {
        const auto gate = product_of(copies_, layer.gate, normed_.data(), rows_, gate_.data());
        const auto up = product_of(copies_, layer.up, normed_.data(), rows_, up_.data());
        for_panels(layer.gate.panels(), unit_of(layer.gate), [&](std::size_t first, std::size_t last) {
            multiply_panels(gate, first, last);
            multiply_panels(up, first, last);
            const std::size_t from = first * backend::host::panel_rows;
            const std::size_t to = std::min(last * backend::host::panel_rows, config_.feed_forward);
            for (std::size_t row = 0; row < rows_; ++row) {
                const std::size_t at = row * config_.feed_forward + from;
                kernels_.silu_product(gate_.data() + at, up_.data() + at, to - from);
                prepare_part(gate_copies_, layer.down, gate_.data(), row, from, to);
            }
        });
    }

    const config& config_;
    const weights& weights_;
    std::vector<double> frequencies_;
    std::size_t queries_, keys_, group_;

    forward_chunk chunk_;
    std::size_t rows_ = 0, batch_ = 1, padded_positions_ = 0;
    input_copies copies_, gate_copies_;  // of normalised or mixed rows, and of what goes down
    backend::host::float_buffer state_, normed_, query_, grouped_, attended_, key_, value_, mixed_, change_, gate_, up_,
        turns_, scores_, fused_;
};

}  // namespace augur::llama
