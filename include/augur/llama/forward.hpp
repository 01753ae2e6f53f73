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
        auto body = [this](std::size_t worker) { work(worker); };
        pool_.run(body);
    }

 private:
    using matrix = backend::host::packed_matrix;

    void work(std::size_t worker) {
        embed(worker);
        for (std::size_t i = 0; i < weights_.layers.size(); ++i) {
            const layer_weights& layer = weights_.layers[i];
            normalise(worker, layer.attention_norm, 0, normed_.data());
            pool_.meet();
            multiply(worker, {{&layer.query, &query_}, {&layer.key, &key_}, {&layer.value, &value_}}, normed_);
            pool_.meet();
            place(worker, i);
            pool_.meet();
            attend(worker, i);
            pool_.meet();
            add_product(worker, layer.attention_output, mixed_);
            pool_.meet();
            normalise(worker, layer.feed_forward_norm, 0, normed_.data());
            pool_.meet();
            gate(worker, layer);
            pool_.meet();
            add_product(worker, layer.down, gate_);
            pool_.meet();
        }
        if (chunk_.last == 0) return;
        normalise(worker, weights_.final_norm, rows_ - chunk_.last, chunk_.hidden);
        pool_.meet();
        const matrix& head = config_.tied_head ? weights_.embedding : weights_.head;
        auto task = backend::host::product_of(head, chunk_.hidden, chunk_.last, chunk_.logits);
        const auto mine = backend::host::part_of(head.panels(), worker, pool_.size());
        task.first_panel = mine.first;
        task.last_panel = mine.last;
        kernels_.product(task);
    }

    /// Embeddings, and the cosines and sines of the rows' positions: taken in double precision, then rounded.
    void embed(std::size_t worker) {
        const auto mine = backend::host::part_of(rows_, worker, pool_.size());
        const std::size_t pairs = frequencies_.size();
        for (std::size_t row = mine.first; row < mine.last; ++row) {
            const auto id = static_cast<std::size_t>(chunk_.tokens[row]);
            weights_.embedding.unpack_row(id, {state_.data() + row * config_.width, config_.width});
            float* cosines = turns_.data() + row * 2 * pairs;
            for (std::size_t i = 0; i < pairs; ++i) {
                const double angle = static_cast<double>(chunk_.start + row) * frequencies_[i];
                cosines[i] = static_cast<float>(std::cos(angle));
                cosines[pairs + i] = static_cast<float>(std::sin(angle));
            }
        }
    }

    /// Rows [from, rows_) of the state, normalised, to `out`. Each worker reads only state rows it owned just before or
    /// that a barrier has published.
    void normalise(std::size_t worker, const std::vector<float>& weight, std::size_t from, float* out) {
        const auto mine = backend::host::part_of(rows_ - from, worker, pool_.size());
        for (std::size_t row = mine.first; row < mine.last; ++row) {
            kernels_.rms_norm(state_.data() + (from + row) * config_.width, weight.data(), out + row * config_.width,
                              config_.width, config_.norm_epsilon);
        }
    }

    struct product {
        const matrix* weight;
        backend::host::float_buffer* out;
    };
    /// Several products of the same rows; the workers share the panels of all of them.
    void multiply(std::size_t worker, std::initializer_list<product> products, const backend::host::float_buffer& in) {
        std::size_t panels = 0, start = 0;
        for (const auto& each : products) panels += each.weight->panels();
        const auto mine = backend::host::part_of(panels, worker, pool_.size());
        for (const auto& each : products) {
            const std::size_t end = start + each.weight->panels();
            auto task = backend::host::product_of(*each.weight, in.data(), rows_, each.out->data());
            task.first_panel = std::clamp(mine.first, start, end) - start;
            task.last_panel = std::clamp(mine.last, start, end) - start;
            if (task.first_panel < task.last_panel) kernels_.product(task);
            start = end;
        }
    }

    /// Turns queries and keys to their positions, scales the queries, and caches keys and values.
    void place(std::size_t worker, std::size_t layer) {
        const std::size_t size = config_.head_size, pairs = frequencies_.size(), heads = config_.key_value_heads;
        const float scale = 1.0f / std::sqrt(static_cast<float>(size));
        for (std::size_t item = worker; item < rows_ * heads; item += pool_.size()) {
            const std::size_t row = item / heads, head = item % heads;
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
    }

    void attend(std::size_t worker, std::size_t layer) {
        const std::size_t heads = config_.key_value_heads;
        const cache_layout& layout = chunk_.cache->layout();
        backend::host::attention_task task;
        task.blocks = chunk_.cache->blocks();
        task.block_positions = cache_layout::block_positions;
        task.head_size = config_.head_size;
        task.heads = group_;
        task.weights = scores_.data() + worker * group_ * padded_positions_;
        for (std::size_t item = worker; item < rows_ * heads; item += pool_.size()) {
            const std::size_t row = item / heads, head = item % heads;
            task.key_offset = layout.offset(layer, head);
            task.value_offset = task.key_offset + layout.value_offset();
            task.positions = chunk_.start + row + 1;
            task.query = query_.data() + row * queries_ + head * group_ * config_.head_size;
            task.out = mixed_.data() + row * queries_ + head * group_ * config_.head_size;
            kernels_.attention(task);
        }
    }

    /// state += weight * in, over this worker's rows of the weight.
    void add_product(std::size_t worker, const matrix& weight, const backend::host::float_buffer& in) {
        multiply(worker, {{&weight, &change_}}, in);
        const auto mine = backend::host::part_of(weight.panels(), worker, pool_.size());
        const std::size_t first = mine.first * backend::host::panel_rows;
        const std::size_t last = std::min(mine.last * backend::host::panel_rows, weight.rows());
        for (std::size_t row = 0; row < rows_; ++row) {
            float* state = state_.data() + row * weight.rows();
            const float* change = change_.data() + row * weight.rows();
            for (std::size_t i = first; i < last; ++i) state[i] += change[i];
        }
    }

    /// gate = silu(gate product) * up product, over this worker's rows of both.
    void gate(std::size_t worker, const layer_weights& layer) {
        const auto mine = backend::host::part_of(layer.gate.panels(), worker, pool_.size());
        if (mine.first == mine.last) return;
        for (const auto& [weight, out] : {std::pair{&layer.gate, &gate_}, {&layer.up, &up_}}) {
            auto task = backend::host::product_of(*weight, normed_.data(), rows_, out->data());
            task.first_panel = mine.first;
            task.last_panel = mine.last;
            kernels_.product(task);
        }
        const std::size_t first = mine.first * backend::host::panel_rows;
        const std::size_t last = std::min(mine.last * backend::host::panel_rows, config_.feed_forward);
        for (std::size_t row = 0; row < rows_; ++row) {
            const std::size_t at = row * config_.feed_forward + first;
            kernels_.silu_product(gate_.data() + at, up_.data() + at, last - first);
        }
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
