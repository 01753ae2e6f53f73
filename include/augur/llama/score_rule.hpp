#pragma once
// What is done to attention scores and to logits before they are read: caps, scales and windows.

#include <algorithm>
#include <cstddef>

#include "augur/backend/host/kernels.hpp"
#include "augur/llama/config.hpp"

namespace augur::llama {

/// Of the scores of a layer, before they are weights.
struct score_rule {
    std::size_t window = 0;  ///< see layer_positions
    float cap = 0;

    score_rule() = default;
    score_rule(const config& c, std::size_t layer) : window(c.positions_of(layer).window), cap(c.attention_cap) {}

    bool is_plain() const { return window == 0 && cap == 0; }

    /// Weights of the scores of all `positions` that there are, in place: those outside the window weigh 0.
    void weigh(const backend::host::kernels& kernels, float* scores, std::size_t positions) const {
        if (cap != 0) kernels.soft_cap(scores, positions, cap);
        const std::size_t first = window == 0 || positions <= window ? 0 : positions - window;
        std::fill_n(scores, first, 0.0f);
        kernels.softmax(scores + first, positions - first);
    }
};

/// Of logits, as the head made them.
struct logit_rule {
    float scale = 1, cap = 0;

    explicit logit_rule(const config& c) : scale(c.logit_scale), cap(c.logit_cap) {}

    bool is_plain() const { return scale == 1 && cap == 0; }

    void apply(const backend::host::kernels& kernels, float* logits, std::size_t count) const {
        if (scale != 1) {
            for (std::size_t i = 0; i < count; ++i) logits[i] *= scale;
        }
        if (cap != 0) kernels.soft_cap(logits, count, cap);
    }
};

}  // namespace augur::llama
