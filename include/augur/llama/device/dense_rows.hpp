#pragma once
// Row kernels of decoders that have more than a Llama: scales, biases, norms after, other activations and soft caps.

#include <cmath>
#include <cstddef>

#include "augur/backend/device/element.hpp"
#include "augur/backend/device/skinny_product.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/backend/device/tiles.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/device/rows.hpp"

namespace augur::llama::device {

/// state[row][width] *= scale. A block for each row.
struct scale_rows {
    static constexpr unsigned threads = 256;

    float* state;
    std::size_t width;
    float scale;

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        float* const own = state + team.block() * width;
        team.each([&](unsigned thread) {
            for (std::size_t i = thread; i < width; i += threads) own[i] *= scale;
        });
    }
};

/// find_turns for several lists of frequencies, one after the other, of which the first's cosines and sines are scaled.
struct find_all_turns {
    static constexpr unsigned threads = 64;

    const row_place* rows;
    const double* frequencies;  ///< lists x pairs, in radians per position
    std::size_t pairs, lists;
    double scale;
    float* turns;  ///< rows x lists x 2 * pairs

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const auto position = static_cast<double>(rows[team.block()].position);
        float* const own = turns + team.block() * lists * 2 * pairs;
        team.each([&](unsigned thread) {
            for (std::size_t i = thread; i < lists * pairs; i += threads) {
                float* const cosine = own + i / pairs * 2 * pairs + i % pairs;
                const double angle = position * frequencies[i], by = i < pairs ? scale : 1.0;
                cosine[0] = static_cast<float>(by * std::cos(angle));
                cosine[pairs] = static_cast<float>(by * std::sin(angle));
            }
        });
    }
};

/// What a layer's product adds to the state, and what the next product reads of it: state += scale * norm(change +
/// bias), then out = norm(state), both norms RMS. A block for each row; squares are added by thread, then pair by pair.
template <class Element>
struct add_and_normalise {
    static constexpr unsigned threads = 256;

    float* state;  ///< rows x width
    std::size_t width;
    float epsilon;
    float* change;                   ///< rows x width, changed; null: none is added
    const float *bias, *after_norm;  ///< of the change; null: none
    float scale;
    const float* norm;  ///< of the state; null: out is the state itself
    Element* out;       ///< null: nothing is read
    std::size_t stride;

    static constexpr std::size_t shared_bytes() { return threads * sizeof(float); }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        float* const own = state + team.block() * width;
        if (change != nullptr) add(team, own, change + team.block() * width);
        if (out == nullptr) return;
        const float by = norm == nullptr ? 1.0f : factor(team, own);
        team.each([&](unsigned thread) {
            for (std::size_t i = thread; i < width; i += threads) {
                out[team.block() * stride + i] = Element::of(norm == nullptr ? own[i] : own[i] * by * norm[i]);
            }
        });
    }

 private:
    template <class Team>
    AUGUR_KERNEL void add(const Team& team, float* own, float* added) const {
        team.each([&](unsigned thread) {
            for (std::size_t i = thread; bias != nullptr && i < width; i += threads) added[i] += bias[i];
        });
        const float by = after_norm == nullptr ? 1.0f : factor(team, added);
        team.each([&](unsigned thread) {
            for (std::size_t i = thread; i < width; i += threads) {
                own[i] += (after_norm == nullptr ? added[i] : added[i] * by * after_norm[i]) * scale;
            }
        });
    }

    template <class Team>
    AUGUR_KERNEL float factor(const Team& team, const float* x) const {
        float* const sums = team.template shared<float>();
        team.each([&](unsigned thread) {
            float sum = 0;
            for (std::size_t i = thread; i < width; i += threads) sum += x[i] * x[i];
            sums[thread] = sum;
        });
        kernels::combine_shared(team, sums, threads, [](float a, float b) { return a + b; });
        const float found = 1.0f / std::sqrt(sums[0] / static_cast<float>(width) + epsilon);
        team.each([](unsigned) {});  // all have read before another writes
        return found;
    }
};

/// kernels::gate_sums with biases and any activation that a device has.
template <class Element>
struct gate_sums_by {
    Element* out;
    std::size_t size, stride;
    const float *gate_bias, *up_bias;  ///< null: none
    activation through;

    AUGUR_KERNEL void operator()(const kernels::panel_sums& sums, std::size_t panel, unsigned row,
                                 std::size_t column) const {
        const std::size_t at = panel * (kernels::tile_layout::rows / 2) + row;
        if (row >= kernels::tile_layout::rows / 2 || at >= size) return;
        float gate = sums(row, column), other = sums(row + 8, column);
        if (gate_bias != nullptr) gate += gate_bias[at];
        if (up_bias != nullptr) other += up_bias[at];
        out[column * stride + at] = Element::of(activated(gate) * other);
    }

 private:
    /// GELU's tanh is taken by 1 / (1 + e^-2u).
    AUGUR_KERNEL float activated(float x) const {
        if (through == activation::gelu) return 0.5f * x * (1 + std::erf(x * 0.70710678f));
        if (through == activation::silu) return x / (1 + std::exp(-x));
        return x / (1 + std::exp(x * (-1.5957691216f - 0.0713548163f * (x * x))));
    }
};

/// kernels::store_sums of logits: out[column][row] = cap * tanh(scale * sum / cap).
struct store_by_rule {
    float* out;
    std::size_t rows, stride;
    float scale, cap;  ///< cap 0: none

    AUGUR_KERNEL void operator()(const kernels::panel_sums& sums, std::size_t panel, unsigned row,
                                 std::size_t column) const {
        const std::size_t at = panel * kernels::tile_layout::rows + row;
        if (at >= rows) return;
        const float logit = scale * sums(row, column);
        out[column * stride + at] = cap == 0 ? logit : cap * std::tanh(logit / cap);
    }
};

/// What is done to logits: see config::logit_scale and config::logit_cap.
struct head_rule {
    float scale = 1, cap = 0;

    explicit head_rule(const config& c) : scale(c.logit_scale), cap(c.logit_cap) {}

    bool is_plain() const { return scale == 1 && cap == 0; }
};

/// Launches the head times `count` normalised rows: logits, count x head.rows.
template <class Head, kernels::System S>
void multiply_head(const S& on, const Head& head, const typename Head::element* inputs, std::size_t count,
                   float* logits, const head_rule& rule) {
    for (std::size_t first = 0; first < count; first += kernels::most_columns) {
        const auto* const from = inputs + first * head.padded_depth();
        float* const to = logits + first * head.rows;
        const std::size_t columns = count - first < kernels::most_columns ? count - first : kernels::most_columns;
        if (rule.is_plain()) {
            kernels::multiply(on, head, from, columns, kernels::store_sums{to, head.rows, head.rows});
        } else {
            kernels::multiply(on, head, from, columns, store_by_rule{to, head.rows, head.rows, rule.scale, rule.cap});
        }
    }
}

}  // namespace augur::llama::device
