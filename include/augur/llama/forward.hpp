#pragma once
// The forward pass on the CPU: new rows through layers, shared by a pool of threads.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "augur/backend/host/aligned_buffer.hpp"
#include "augur/backend/host/kernels.hpp"
#include "augur/backend/host/packed_matrix.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/row_attention.hpp"
#include "augur/llama/score_rule.hpp"
#include "augur/llama/selection.hpp"
#include "augur/llama/weights.hpp"

namespace augur::llama {

/// Layers [from, to) of a pass, and the head.
struct layer_range {
    std::size_t from = 0, to = 0;
    bool head = true;                                       ///< or states as the last of these layers leaves them
    const std::function<void()>* between_layers = nullptr;  ///< may throw: then nothing is kept of the rows
    std::span<const std::size_t> taps = {};                 ///< ascending; see load_options
};

/// Runs at most `most_rows` rows, of any sequences. A row's bits depend on its token, its position and the cached rows
/// before it: not on the rows beside it, the number of threads or the instruction set. Holds the scratch memory, so one
/// pass runs at a time.
class forward_pass : row_attention {
 public:
    forward_pass(const config& c, const weights& w, const backend::host::kernels& kernels,
                 std::shared_ptr<backend::host::thread_pool> pool, cache_format format)
        : row_attention(c, kernels, std::move(pool),
                        std::max({c.width, c.heads * c.head_size, widest_feed_forward(c), fused_size(c, w)}), format),
          weights_(w),
          logit_rule_(c) {
        for (auto [buffer, size] :
             {std::pair{&state_, c.width}, {&normed_, c.width}, {&change_, c.width}, {&fused_, fused_size(c, w)}}) {
            buffer->require(most_rows * size);
        }
        wanted_.reserve(most_rows);
    }

    using row_attention::most_rows;
    using row_attention::pool;
    using row_attention::threads;

    void run(std::span<const forward_row> rows, const layer_range& layers) {
        begin(rows);
        for_rows(rows.size(), [&](std::size_t row) {
            find_turns(row);
            enter(row);
        });
        if (weights_.fuses() && layers.from == 0) fuse();
        show_taps(layers, layers.from);
        for (std::size_t i = layers.from; i < layers.to; ++i) {
            if (layers.between_layers != nullptr) (*layers.between_layers)();
            if (i + 1 == layers.to) layer_input(state_, config_.width, config_.heads * config_.head_size);
            run_layer(i);
            show_taps(layers, i + 1);
        }
        if (layers.head) return run_head(!layers.taps.empty());
        layer_input(mixed_, config_.heads * config_.head_size, 0);
        for_rows(rows.size(), [&](std::size_t row) { show(row, state_.data() + row * config_.width); });
    }

 private:
    void run_layer(std::size_t index) {
        const layer_weights& layer = *weights_.layers[index];
        const auto same = [](std::size_t row) { return row; };
        const bool is_wide = index == 0 && weights_.fusion.is_wide;  // whose inputs fuse() has prepared
        if (!is_wide) {
            normalise(layer.attention_norm, layer.attention_norm_bias, rows_.size(), same,
                      {&layer.query, &layer.key, &layer.value});
        }
        multiply({{&layer.query, query_.data(), &layer.query_bias},
                  {&layer.key, key_.data(), &layer.key_bias},
                  {&layer.value, value_.data(), &layer.value_bias}},
                 is_wide ? fused_.data() : normed_.data(), rows_.size());
        if (!layer.query_norm.empty()) normalise_queries_and_keys(layer);
        attend_all(index, layer.attention_output, layer.sinks);
        add_product(copies_, layer.attention_output, mixed_.data(), layer.attention_output_bias,
                    layer.after_attention_norm);
        if (layer.experts.empty()) {
            normalise(layer.feed_forward_norm, layer.feed_forward_norm_bias, rows_.size(), same,
                      {&layer.gate, &layer.up});
            feed_forward(layer, normed_.data(), rows_.size());
            add_product(gate_copies_, layer.down, gate_.data(), layer.down_bias, layer.after_feed_forward_norm);
        } else {
            normalise(layer.feed_forward_norm, layer.feed_forward_norm_bias, rows_.size(), same,
                      {&layer.router, &layer.gate, &layer.up});
            mix(layer, normed_.data(), rows_.size(), change_.data());
            add_shared(layer, normed_.data(), rows_.size(), change_.data());
            add_changes(layer.after_feed_forward_norm);
        }
    }

    /// Normalised states of the rows that are wanted, and the logits of those that want some; of rows that show taps
    /// the logits alone.
    void run_head(bool has_taps) {
        wanted_.clear();
        for (std::size_t row = 0; row < rows_.size(); ++row) {
            if (rows_[row].logits != nullptr) wanted_.push_back(row);
        }
        const std::size_t scored = wanted_.size();
        for (std::size_t row = 0; row < rows_.size(); ++row) {
            if (rows_[row].logits == nullptr && rows_[row].hidden != nullptr && !has_taps) wanted_.push_back(row);
        }
        if (wanted_.empty()) return;
        const matrix& head = weights_.output();
        normalise(weights_.final_norm, weights_.final_norm_bias, wanted_.size(),
                  [&](std::size_t i) { return wanted_[i]; }, {&head});
        if (!has_taps) {
            for_rows(wanted_.size(), [&](std::size_t i) {
                const std::size_t row = wanted_[i], width = config_.width;
                const bool is_raw = weights_.fusion.shows_unnormed;
                show(row, is_raw ? state_.data() + row * width : normed_.data() + i * width);
            });
        }
        if (scored == 0) return;
        const std::size_t size = config_.vocabulary;
        const bool together = logits_lie_together(scored);
        float* const logits = together ? rows_[wanted_[0]].logits : logits_.require(scored * size);
        auto whole = product_of(copies_, head, normed_.data(), scored, logits);
        whole.y_stride = size;
        multiply_shared(head, whole);
        if (together && weights_.head_tokens.empty() && logit_rule_.is_plain()) return;
        for_rows(scored, [&](std::size_t i) {
            logit_rule_.apply(kernels_, logits + i * size, head.rows());
            if (!weights_.head_tokens.empty()) spread_logits(weights_.head_tokens, {logits + i * size, size});
            if (!together) std::copy_n(logits + i * size, size, rows_[wanted_[i]].logits);
        });
    }
    bool logits_lie_together(std::size_t scored) const {
        for (std::size_t i = 1; i < scored; ++i) {
            if (rows_[wanted_[i]].logits != rows_[wanted_[0]].logits + i * config_.vocabulary) return false;
        }
        return true;
    }
    void show(std::size_t row, const float* state) const {
        if (rows_[row].hidden != nullptr) std::copy_n(state, config_.width, rows_[row].hidden);
    }

    /// Where states after so many layers are asked for, beside those after others.
    void show_taps(const layer_range& layers, std::size_t after) {
        const auto tap = std::find(layers.taps.begin(), layers.taps.end(), after);
        if (tap == layers.taps.end()) return;
        const std::size_t width = config_.width, at = static_cast<std::size_t>(tap - layers.taps.begin()) * width;
        for_rows(rows_.size(), [&](std::size_t row) {
            if (rows_[row].hidden != nullptr) std::copy_n(state_.data() + row * width, width, rows_[row].hidden + at);
        });
    }

    /// A part of what the last layer shows of the rows that are to show it: `size` numbers each, from `at` on.
    void layer_input(const backend::host::float_buffer& of, std::size_t size, std::size_t at) const {
        for (std::size_t row = 0; row < rows_.size(); ++row) {
            if (rows_[row].layer_input != nullptr)
                std::copy_n(of.data() + row * size, size, rows_[row].layer_input + at);
        }
    }

    // ---- the parts of a layer
    // ----------------------------------------------------------------------------------------

    /// The row's embedding, or the state that it waits in.
    void enter(std::size_t row) {
        float* const state = state_.data() + row * config_.width;
        if (rows_[row].state != nullptr) {
            std::copy_n(rows_[row].state, config_.width, state);
        } else {
            weights_.embedding->unpack_row(static_cast<std::size_t>(rows_[row].id), {state, config_.width});
            if (config_.embedding_scale == 1) return;
            for (std::size_t i = 0; i < config_.width; ++i) state[i] *= config_.embedding_scale;
        }
    }

    static std::size_t fused_size(const config& c, const weights& w) { return w.fuses() ? 2 * c.width : 0; }

    /// What enters the first layer instead of the embedding: one product with the embedding and the hidden state, or
    /// where that layer is wide, the state; what its queries, keys and values read is fused_ then. Or the state alone.
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
        if (fusion.only_state) {
            return for_rows(rows_.size(), [&](std::size_t row) {
                std::copy_n(rows_[row].fused, width, state_.data() + row * width);
            });
        }
        for_rows(rows_.size(), [&](std::size_t row) {
            float* const both = fused_.data() + row * 2 * width;
            float* const hidden = both + (fusion.state_first ? 0 : width);
            take(fusion.embedding_norm, state_.data() + row * width, both + (fusion.state_first ? width : 0));
            take(fusion.hidden_norm, rows_[row].fused, hidden);
            if (!fusion.is_wide) return prepare_part(copies_, fusion.weight, fused_.data(), row, 0, 2 * width);
            const layer_weights& first = *weights_.layers.front();
            prepare_row(copies_, {&first.query, &first.key, &first.value}, fused_.data(), 2 * width, row);
            std::copy_n(fusion.normed_residual ? hidden : rows_[row].fused, width, state_.data() + row * width);
        });
        if (fusion.is_wide) return;
        multiply_shared(fusion.weight, product_of(copies_, fusion.weight, fused_.data(), rows_.size(), state_.data()));
        if (fusion.bias.empty()) return;
        for_rows(rows_.size(), [&](std::size_t row) {
            for (std::size_t i = 0; i < width; ++i) state_.data()[row * width + i] += fusion.bias[i];
        });
    }

    /// normed_[i] = the state of row_of(i), normalised if there is a norm, and as the matrices that multiply it read
    /// it. A norm with a bias is a layer norm.
    template <class RowOf>
    void normalise(const std::vector<float>& weight, const std::vector<float>& bias, std::size_t count,
                   const RowOf& row_of, std::initializer_list<const matrix*> readers) {
        const std::size_t width = config_.width;
        for_rows(count, [&](std::size_t i) {
            const float* const state = state_.data() + row_of(i) * width;
            float* const out = normed_.data() + i * width;
            if (weight.empty()) {
                std::copy_n(state, width, out);
            } else if (!bias.empty()) {
                kernels_.layer_norm(state, weight.data(), bias.data(), out, width, config_.norm_epsilon);
            } else {
                kernels_.rms_norm(state, weight.data(), out, width, config_.norm_epsilon);
            }
            prepare_row(copies_, readers, normed_.data(), width, i);
        });
    }

    /// Before they turn: each head, or all heads of a row at once, as the weights are long.
    void normalise_queries_and_keys(const layer_weights& layer) {
        for_rows(rows_.size(), [&](std::size_t row) {
            const auto each = [&](float* of, std::size_t size, const std::vector<float>& weight) {
                for (float* head = of + row * size; head < of + (row + 1) * size; head += weight.size()) {
                    kernels_.rms_norm(head, weight.data(), head, weight.size(), config_.norm_epsilon);
                }
            };
            each(query_.data(), layer.query.rows(), layer.query_norm);
            each(key_.data(), layer.key.rows(), layer.key_norm);
        });
    }

    /// state += weight * in; where there is more to it: state += scale * norm(weight * in + bias).
    void add_product(const input_copies& copies, const matrix& weight, const float* in, const std::vector<float>& bias,
                     const std::vector<float>& norm) {
        const auto whole = product_of(copies, weight, in, rows_.size(), change_.data());
        const bool is_sum = bias.empty() && norm.empty() && config_.residual_scale == 1;
        for_panels(weight.panels(), [&](std::size_t first, std::size_t last) {
            multiply_panels(whole, first, last);
            add_bias(bias, change_.data(), rows_.size(), first, last);
            if (!is_sum) return;
            const std::size_t from = first * backend::host::panel_rows;
            const std::size_t to = std::min(last * backend::host::panel_rows, weight.rows());
            for (std::size_t row = 0; row < rows_.size(); ++row) {
                float* state = state_.data() + row * weight.rows();
                const float* change = change_.data() + row * weight.rows();
                for (std::size_t i = from; i < to; ++i) state[i] += change[i];
            }
        });
        if (!is_sum) add_changes(norm);
    }

    /// state += scale * norm(change).
    void add_changes(const std::vector<float>& norm) {
        for_rows(rows_.size(), [&](std::size_t row) {
            const std::size_t width = config_.width;
            float *state = state_.data() + row * width, *change = change_.data() + row * width;
            if (!norm.empty()) kernels_.rms_norm(change, norm.data(), change, width, config_.norm_epsilon);
            for (std::size_t i = 0; i < width; ++i) state[i] = std::fma(change[i], config_.residual_scale, state[i]);
        });
    }

    const weights& weights_;
    logit_rule logit_rule_;
    std::vector<std::size_t> wanted_;
    backend::host::float_buffer state_, normed_, change_, fused_, logits_;
};

}  // namespace augur::llama
