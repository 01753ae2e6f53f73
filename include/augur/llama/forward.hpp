#pragma once
// The forward pass: a chunk of new rows through all layers, shared by a pool of threads.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <vector>

#include "augur/backend/host/aligned_buffer.hpp"
#include "augur/backend/host/kernels.hpp"
#include "augur/backend/host/packed_matrix.hpp"
#include "augur/backend/host/thread_pool.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/sequence.hpp"
#include "augur/llama/weights.hpp"
#include "augur/types/token.hpp"

namespace augur::llama {

/// New rows of one sequence: tokens[i] stands at position `start + i`. For the last `last` of them the final hidden
/// states and logits are wanted.
struct forward_chunk {
    std::span<const token> tokens;
    std::size_t start = 0;
    std::size_t last = 0;
    key_value_cache* cache = nullptr;  ///< has room for start + tokens.size() positions
    float* hidden = nullptr;           ///< last x width
    float* logits = nullptr;           ///< last x vocabulary
};

/// Runs chunks of at most `most_rows` rows. A row's bits depend on its token, its position and the cached rows before it:
/// not on the other rows of its chunk, the number of threads or the instruction set. Holds the scratch memory, so one
/// chunk runs at a time.
class forward_pass {
 public:
    static constexpr std::size_t most_rows = 128;

    forward_pass(const config& c, const weights& w, const backend::host::kernels& kernels, std::size_t threads)
        : config_(c), weights_(w), kernels_(kernels), pool_(threads), frequencies_(rotary_frequencies(c)) {
        queries_ = c.heads * c.head_size;
        keys_ = c.key_value_heads * c.head_size;
        group_ = c.heads / c.key_value_heads;
        for (auto [buffer, size] : {std::pair{&state_, c.width},
                                    {&normed_, c.width},
                                    {&query_, queries_},
                                    {&key_, keys_},
                                    {&value_, keys_},
                                    {&mixed_, queries_},
                                    {&change_, c.width},
                                    {&gate_, c.feed_forward},
                                    {&up_, c.feed_forward},
                                    {&turns_, c.rotary_size}}) {
            buffer->require(most_rows * size);
        }
    }

    std::size_t threads() const { return pool_.size(); }

    void run(const forward_chunk& chunk) {
        chunk_ = chunk;
        rows_ = chunk.tokens.size();
        const std::size_t block = cache_layout::block_positions;
        padded_positions_ = (chunk.start + rows_ + block - 1) / block * block;
        scores_.require(pool_.size() * group_ * padded_positions_);
        for_rows(rows_, [this](std::size_t row) { embed(row); });
        for (std::size_t i = 0; i < weights_.layers.size(); ++i) run_layer(i);
        if (chunk.last > 0) run_head();
    }

 private:
    using matrix = backend::host::packed_matrix;

    void run_layer(std::size_t index) {
        const layer_weights& layer = weights_.layers[index];
        normalise(layer.attention_norm, 0, normed_.data());
        multiply({{&layer.query, query_.data()}, {&layer.key, key_.data()}, {&layer.value, value_.data()}});
        if (rows_ == 1) {  // a head sees its own key only
            for_heads([this, index](std::size_t row, std::size_t head, std::size_t worker) {
                place(index, row, head);
                attend(index, row, head, worker);
            });
        } else {
            for_heads([this, index](std::size_t row, std::size_t head, std::size_t) { place(index, row, head); });
            for_heads([this, index](std::size_t row, std::size_t head, std::size_t worker) {
                attend(index, row, head, worker);
            });
        }
        add_product(layer.attention_output, mixed_.data());
        normalise(layer.feed_forward_norm, 0, normed_.data());
        feed_forward(layer);
        add_product(layer.down, gate_.data());
    }

    void run_head() {
        normalise(weights_.final_norm, rows_ - chunk_.last, chunk_.hidden);
        const matrix& head = config_.tied_head ? weights_.embedding : weights_.head;
        const auto whole = backend::host::product_of(head, chunk_.hidden, chunk_.last, chunk_.logits);
        for_panels(head.panels(), [&](std::size_t first, std::size_t last) { multiply_panels(whole, first, last); });
    }

    // ---- sharing the work: which thread takes what never changes a result -------------------------------------------

    /// body(row) for every row; a few rows are not worth sharing.
    template <class Body>
    void for_rows(std::size_t rows, const Body& body) {
        const std::size_t chunks = rows <= 4 ? 1 : std::min(rows, 4 * pool_.size());
        pool_.for_each(chunks, [&](std::size_t chunk, std::size_t) {
            const auto mine = backend::host::part_of(rows, chunk, chunks);
            for (std::size_t row = mine.first; row < mine.last; ++row) body(row);
        });
    }

    /// body(row, key-value head, worker) for all of them, interleaved, for later rows see more positions.
    template <class Body>
    void for_heads(const Body& body) {
        const std::size_t heads = config_.key_value_heads, items = rows_ * heads;
        const std::size_t chunks = std::min(items, 8 * pool_.size());
        pool_.for_each(chunks, [&](std::size_t chunk, std::size_t worker) {
            for (std::size_t item = chunk; item < items; item += chunks) body(item / heads, item % heads, worker);
        });
    }

    /// body(first, last) for ranges that make up [0, panels).
    template <class Body>
    void for_panels(std::size_t panels, const Body& body) {
        const std::size_t share = panels / (4 * pool_.size()), whole_tiles = share / 4 * 4;
        const std::size_t size =
            std::max<std::size_t>(share < 4 ? std::min<std::size_t>(panels / pool_.size(), 4) : whole_tiles, 1);
        pool_.for_each((panels + size - 1) / size, [&](std::size_t chunk, std::size_t) {
            body(chunk * size, std::min(panels, (chunk + 1) * size));
        });
    }

    void multiply_panels(backend::host::product_task task, std::size_t first, std::size_t last) const {
        task.first_panel = first;
        task.last_panel = last;
        kernels_.product(task);
    }

    // ---- the parts of a layer ----------------------------------------------------------------------------------------

    /// The row's embedding, and the cosines and sines of its position: taken in double precision, then rounded.
    void embed(std::size_t row) {
        const auto id = static_cast<std::size_t>(chunk_.tokens[row]);
        weights_.embedding.unpack_row(id, {state_.data() + row * config_.width, config_.width});
        const std::size_t pairs = frequencies_.size();
        float* cosines = turns_.data() + row * 2 * pairs;
        for (std::size_t i = 0; i < pairs; ++i) {
            const double angle = static_cast<double>(chunk_.start + row) * frequencies_[i];
            cosines[i] = static_cast<float>(std::cos(angle));
            cosines[pairs + i] = static_cast<float>(std::sin(angle));
        }
    }

    /// Rows [from, rows_) of the state, normalised, to `out`.
    void normalise(const std::vector<float>& weight, std::size_t from, float* out) {
        const std::size_t width = config_.width;
        for_rows(rows_ - from, [&](std::size_t row) {
            kernels_.rms_norm(state_.data() + (from + row) * width, weight.data(), out + row * width, width,
                              config_.norm_epsilon);
        });
    }

    struct product {
        const matrix* weight;
        float* out;
    };
    /// Several products of the normalised rows, as if their matrices were one.
    void multiply(std::initializer_list<product> products) {
        std::size_t panels = 0;
        for (const auto& each : products) panels += each.weight->panels();
        for_panels(panels, [&](std::size_t first, std::size_t last) {
            std::size_t start = 0;
            for (const auto& each : products) {
                const std::size_t end = start + each.weight->panels();
                const std::size_t from = std::clamp(first, start, end), to = std::clamp(last, start, end);
                if (from < to) {
                    multiply_panels(backend::host::product_of(*each.weight, normed_.data(), rows_, each.out),
                                    from - start, to - start);
                }
                start = end;
            }
        });
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
        for (std::size_t i = 0; i < group_ * size; ++i) query[i] *= scale;
        kernels_.rotate(key, cosines, cosines + pairs, pairs);
        chunk_.cache->write(layer, head, chunk_.start + row, key, value_.data() + row * keys_ + head * size);
    }

    void attend(std::size_t layer, std::size_t row, std::size_t head, std::size_t worker) {
        const cache_layout& layout = chunk_.cache->layout();
        const std::size_t at = row * queries_ + head * group_ * config_.head_size;
        backend::host::attention_task task;
        task.blocks = chunk_.cache->blocks();
        task.block_positions = cache_layout::block_positions;
        task.key_offset = layout.offset(layer, head);
        task.value_offset = task.key_offset + layout.value_offset();
        task.positions = chunk_.start + row + 1;
        task.head_size = config_.head_size;
        task.heads = group_;
        task.query = query_.data() + at;
        task.weights = scores_.data() + worker * group_ * padded_positions_;
        task.out = mixed_.data() + at;
        kernels_.attention(task);
    }

    /// state += weight * in.
    void add_product(const matrix& weight, const float* in) {
        const auto whole = backend::host::product_of(weight, in, rows_, change_.data());
        for_panels(weight.panels(), [&](std::size_t first, std::size_t last) {
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

    /// gate = silu(gate product) * up product.
    void feed_forward(const layer_weights& layer) {
        const auto gate = backend::host::product_of(layer.gate, normed_.data(), rows_, gate_.data());
        const auto up = backend::host::product_of(layer.up, normed_.data(), rows_, up_.data());
        for_panels(layer.gate.panels(), [&](std::size_t first, std::size_t last) {
            multiply_panels(gate, first, last);
            multiply_panels(up, first, last);
            const std::size_t from = first * backend::host::panel_rows;
            const std::size_t to = std::min(last * backend::host::panel_rows, config_.feed_forward);
            for (std::size_t row = 0; row < rows_; ++row) {
                const std::size_t at = row * config_.feed_forward + from;
                kernels_.silu_product(gate_.data() + at, up_.data() + at, to - from);
            }
        });
    }

    const config& config_;
    const weights& weights_;
    const backend::host::kernels& kernels_;
    backend::host::thread_pool pool_;
    std::vector<double> frequencies_;
    std::size_t queries_, keys_, group_;

    forward_chunk chunk_;
    std::size_t rows_ = 0, padded_positions_ = 0;
    backend::host::float_buffer state_, normed_, query_, key_, value_, mixed_, change_, gate_, up_, turns_, scores_;
};

}  // namespace augur::llama
