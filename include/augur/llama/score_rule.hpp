#pragma once
// What is done to attention scores, to logits and to gates: caps, scales, windows, sinks and activations.

#include <algorithm>
#include <cstddef>

#include "augur/backend/host/kernels.hpp"
#include "augur/llama/config.hpp"

namespace augur::llama {

/// Of the scores of a layer, before they are weights.
struct score_rule {
    std::size_t window = 0;  ///< see layer_positions
    float cap = 0;
    const float* sinks = nullptr;  ///< of the heads that share one key-value head; or none

    score_rule() = default;
    score_rule(const config& c, std::size_t layer, const float* sinks_of_heads = nullptr)
        : window(c.positions_of(layer).window), cap(c.attention_cap), sinks(sinks_of_heads) {}

    bool is_plain() const { return window == 0 && cap == 0 && sinks == nullptr; }

    /// Weights of the scores of all `positions` that there are, in place: those outside the window weigh 0. A sink is
    /// one more score: there must be room behind the last.
    void weigh(const backend::host::kernels& kernels, float* scores, std::size_t positions, std::size_t head) const {
        if (cap != 0) kernels.soft_cap(scores, positions, cap);
        const std::size_t first = window == 0 || positions <= window ? 0 : positions - window;
        std::fill_n(scores, first, 0.0f);
        if (sinks != nullptr) scores[positions] = sinks[head];
        kernels.softmax(scores + first, positions - first + (sinks != nullptr ? 1 : 0));
    }
};

/// Of gates, as their matrix made them, with what they gate.
class gate_rule {
 public:
    gate_rule(const config& c, const backend::host::kernels& kernels)
        : clamped_(c.gate == activation::clamped ? kernels.clamped_product : nullptr),
          slope_(c.gate_slope),
          limit_(c.gate_limit),
          product_(c.gate == activation::gelu_tanh ? kernels.gelu_tanh_product
                   : c.gate == activation::gelu    ? kernels.gelu_product
                                                   : kernels.silu_product) {}

    /// gate = activation(gate) * up, in place.
    void apply(float* gate, const float* up, std::size_t size) const {
        clamped_ == nullptr ? product_(gate, up, size) : clamped_(gate, up, size, slope_, limit_);
    }

 private:
    void (*clamped_)(float* gate, const float* up, std::size_t size, float slope, float limit);
    float slope_, limit_;
    void (*product_)(float* gate, const float* up, std::size_t size);
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
