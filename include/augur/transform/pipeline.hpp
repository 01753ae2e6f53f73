#pragma once
// From a row of logits to the distribution that is sampled: one pipeline, one order, the same on every model.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <utility>

#include "augur/detail/exponential.hpp"
#include "augur/transform/bias.hpp"
#include "augur/transform/min_p.hpp"
#include "augur/transform/penalties.hpp"
#include "augur/transform/temperature.hpp"
#include "augur/transform/top_k.hpp"
#include "augur/transform/top_p.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/scores.hpp"

namespace augur::transform {

/// Removes tokens (sets logits to -infinity) by what stands before the position: a grammar, for example. It is asked
/// anew at every position, drafted ones included, and must depend on its arguments only. What it throws passes through.
using mask = std::function<void(std::span<float> logits, const prefix& before)>;

/// What a user sets. The defaults change nothing: plain softmax.
struct settings {
    transform::bias bias{};
    transform::penalties penalties{};
    transform::mask mask{};
    transform::temperature temperature{};
    transform::top_k top_k{};
    transform::top_p top_p{};
    transform::min_p min_p{};
};

/// bias, penalties, mask, temperature, top-k, top-p, min-p, softmax: transformers' order (docs/transform/pipeline.md).
/// Checked against the vocabulary at construction; applying it to rows of that size throws nothing of its own.
/// Cost: O(vocabulary) per row; greedy decoding without penalties is one scan for the largest logit.
class pipeline {
 public:
    using distribution_type = distribution;

    pipeline(settings chosen, std::size_t vocabulary_size)
        : settings_(std::move(chosen)), vocabulary_size_(vocabulary_size) {
        if (vocabulary_size == 0) augur::detail::fail("the vocabulary size is 0; there is nothing to draw from");
        settings_.bias.check(vocabulary_size);
        settings_.penalties.check(vocabulary_size);
        settings_.temperature.check(vocabulary_size);
        settings_.top_k.check(vocabulary_size);
        settings_.top_p.check(vocabulary_size);
        settings_.min_p.check(vocabulary_size);
    }

    const settings& chosen() const { return settings_; }
    std::size_t vocabulary_size() const { return vocabulary_size_; }
    bool greedy() const { return settings_.temperature.value == 0; }

    /// The distribution of the token that follows `before`. A row holding NaN or +infinity, or nothing finite after the
    /// transforms, gives an empty distribution: nothing can be drawn from it.
    void apply(logit_row row, const prefix& before, distribution& out) const {
        const bool edits_logits = settings_.bias.active() || settings_.penalties.active() || settings_.mask;
        if (greedy() && !edits_logits) return take_largest(row, out);
        bool valid = true;
        out.refill(row.size(), [&](std::span<float> work) {
            valid = copy_checked(row, work);
            if (!valid) return;
            edit(work, before);
            valid = exponentiate(work);
        });
        if (!valid) return out.become_empty(row.size());
        if (greedy()) out.become_point(out.mode(), row.size());
    }

    distribution operator()(logit_row row, const prefix& before) const {
        distribution out;
        apply(row, before, out);
        return out;
    }

 private:
    void edit(std::span<float> work, const prefix& before) const {
        if (settings_.bias.active()) settings_.bias(work, before);
        if (settings_.penalties.active()) settings_.penalties(work, before);
        if (settings_.mask) settings_.mask(work, before);
        if (settings_.temperature.active()) settings_.temperature(work, before);
        if (settings_.top_k.active()) settings_.top_k(work, before);
        if (settings_.top_p.active()) settings_.top_p(work, before);
        if (settings_.min_p.active()) settings_.min_p(work, before);
    }

    static bool copy_checked(logit_row row, std::span<float> work) {
        int invalid = 0;
        for (std::size_t i = 0; i < row.size(); ++i) {
            work[i] = row[i];
            invalid |= static_cast<int>(!(row[i] < std::numeric_limits<float>::infinity()));
        }
        return invalid == 0;
    }

    /// Softmax up to its normaliser, in place. False when nothing finite is left.
    static bool exponentiate(std::span<float> work) {
        float maximum = -std::numeric_limits<float>::infinity();
        for (float x : work) maximum = maximum < x ? x : maximum;
        if (!std::isfinite(maximum)) {
            std::fill(work.begin(), work.end(), 0.0f);
            return false;
        }
        for (float& x : work) x = augur::detail::exp_nonpositive(x - maximum);
        return true;
    }

    static void take_largest(logit_row row, distribution& out) {
        float maximum = -std::numeric_limits<float>::infinity();
        int invalid = 0;
        for (float x : row) {
            maximum = maximum < x ? x : maximum;
            invalid |= static_cast<int>(!(x < std::numeric_limits<float>::infinity()));
        }
        if (invalid != 0 || !std::isfinite(maximum)) return out.become_empty(row.size());
        out.become_point(static_cast<token>(std::find(row.begin(), row.end(), maximum) - row.begin()), row.size());
    }

    settings settings_;
    std::size_t vocabulary_size_;
};

}  // namespace augur::transform
