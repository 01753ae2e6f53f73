#pragma once
// The AdamW optimizer.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "augur/train/matrix.hpp"
#include "augur/types/error.hpp"

namespace augur::train {

struct adam_w_options {
    double rate = 3e-3;                              ///< of a step, after the warm-up
    double first_decay = 0.9, second_decay = 0.999;  ///< of the moments
    double epsilon = 1e-8;
    double weight_decay = 0.01;  ///< a step takes rate * weight_decay of what decays
    std::size_t warm_up = 50;    ///< steps in which the rate rises to its own, in a line
    double clip = 1;             ///< largest norm of a gradient, over all numbers; 0: unbounded

    void check() const {
        const auto within = [](const char* what, double value, bool fits, const char* bounds) {
            if (!fits) detail::fail("adam_w: ", what, " is ", value, "; it must be ", bounds);
        };
        const auto positive = [](double value) { return value > 0 && std::isfinite(value); };
        within("rate", rate, positive(rate), "positive and finite");
        within("first_decay", first_decay, first_decay >= 0 && first_decay < 1, "0 or more, and less than 1");
        within("second_decay", second_decay, second_decay >= 0 && second_decay < 1, "0 or more, and less than 1");
        within("epsilon", epsilon, positive(epsilon), "positive and finite");
        within("weight_decay", weight_decay, weight_decay >= 0 && rate * weight_decay < 1,
               "0 or more, and less than 1 / rate");
        within("clip", clip, clip >= 0 && std::isfinite(clip), "finite, and 0 or more");
    }
    friend bool operator==(const adam_w_options&, const adam_w_options&) = default;
};

/// Adam with decoupled weight decay. A gradient with a NaN or an infinity, or one that would make such weights or
/// moments, is dropped and counted: weights, moments and the number of steps stay.
/// Cost: five numbers kept for each that is learned, two of them between steps; a few passes over all.
/// Source: Loshchilov and Hutter 2019, algorithm 2, as PyTorch's AdamW; its clip_grad_norm_.
template <class Scalar>
class adam_w {
 public:
    adam_w(std::size_t size, const adam_w_options& chosen) : chosen_(chosen) {
        chosen.check();
        check_decay("first_decay", chosen.first_decay);
        check_decay("second_decay", chosen.second_decay);
        check_size("rate", chosen.rate);
        check_size("epsilon", chosen.epsilon);
        first_ = vector<Scalar>::Zero(detail::index(size));
        second_ = next_second_ = first_;
    }

    std::size_t steps() const { return steps_; }
    std::size_t dropped() const { return dropped_; }
    /// Of the last gradient, before it was clipped.
    double gradient_norm() const { return gradient_norm_; }
    const adam_w_options& options() const { return chosen_; }
    const vector<Scalar>& first() const { return first_; }
    const vector<Scalar>& second() const { return second_; }

    /// What a checkpoint kept.
    void restore(const vector<Scalar>& first, const vector<Scalar>& second, std::size_t steps, std::size_t dropped) {
        if (first.size() != first_.size() || second.size() != second_.size()) {
            detail::fail("adam_w: moments of ", first.size(), " and ", second.size(), " values, but it has ",
                         first_.size());
        }
        first_ = first;
        second_ = second;
        steps_ = steps;
        dropped_ = dropped;
    }

    /// One step; blocks say what decays. Returns false where it was dropped.
    bool step(vector<Scalar>& values, const vector<Scalar>& gradient, std::span<const head_block> blocks) {
        const bool applied = prepare(values, gradient, blocks);
        if (applied) values = next_;
        take(applied);
        return applied;
    }

    /// The part of a step that can fail: what it throws leaves weights, moments and counts as they were. Returns false
    /// where the step is to be dropped.
    bool prepare(const vector<Scalar>& values, const vector<Scalar>& gradient, std::span<const head_block> blocks) {
        gradient_norm_ = std::sqrt(gradient.template cast<double>().squaredNorm());
        if (!std::isfinite(gradient_norm_)) return false;
        const double t = static_cast<double>(steps_ + 1);
        const double warmth = chosen_.warm_up == 0 ? 1 : std::min(1.0, t / static_cast<double>(chosen_.warm_up));
        const double rate = chosen_.rate * warmth;
        const double share = chosen_.clip == 0 ? 1 : std::min(1.0, chosen_.clip / (gradient_norm_ + 1e-6));
        next_ = values;
        for (const head_block& each : blocks) {
            if (!each.decays || each.size() == 0) continue;
            next_.segment(detail::index(each.offset), detail::index(each.size())) *=
                static_cast<Scalar>(1 - rate * chosen_.weight_decay);
        }
        const auto first_decay = static_cast<Scalar>(chosen_.first_decay);
        const auto second_decay = static_cast<Scalar>(chosen_.second_decay);
        // Of the decays themselves: 1 less a decay that is rounded is another share than root's.
        const auto first_share = static_cast<Scalar>(1 - chosen_.first_decay);
        const auto second_share = static_cast<Scalar>(1 - chosen_.second_decay);
        const auto scale = static_cast<Scalar>(share);
        next_first_ = first_decay * first_ + first_share * scale * gradient;
        next_second_.array() = second_decay * second_.array() + second_share * (scale * gradient.array()).square();
        const auto by = static_cast<Scalar>(rate / (1 - std::pow(chosen_.first_decay, t)));
        const auto root = static_cast<Scalar>(std::sqrt(1 - std::pow(chosen_.second_decay, t)));
        next_.array() -=
            by * next_first_.array() / (next_second_.array().sqrt() / root + static_cast<Scalar>(chosen_.epsilon));
        return is_finite(next_) && is_finite(next_first_) && is_finite(next_second_);
    }
    /// The weights after the step that is prepared.
    const vector<Scalar>& prepared() const { return next_; }
    /// The step takes place, or is dropped.
    void take(bool applied) noexcept {
        if (!applied) {
            ++dropped_;
            return;
        }
        first_.swap(next_first_);
        second_.swap(next_second_);
        ++steps_;
    }

 private:
    static void check_decay(const char* what, double decay) {
        if (static_cast<Scalar>(decay) < 1) return;
        detail::fail("adam_w: ", what, " is 1 - ", 1 - decay, ", which is 1 in numbers of ", 8 * sizeof(Scalar),
                     " bits");
    }
    static void check_size(const char* what, double value) {
        const auto rounded = static_cast<Scalar>(value);
        if (rounded > 0 && std::isfinite(rounded)) return;
        detail::fail("adam_w: ", what, " is ", value, ", which is ", rounded, " in numbers of ", 8 * sizeof(Scalar),
                     " bits");
    }
    /// In whole vectors: nothing but a NaN or an infinity times 0 is not 0.
    static bool is_finite(const vector<Scalar>& numbers) { return (numbers.array() * 0).sum() == 0; }

    adam_w_options chosen_;
    vector<Scalar> first_, second_;
    vector<Scalar> next_, next_first_, next_second_;  ///< of a step, until it is known to be finite
    std::size_t steps_ = 0, dropped_ = 0;
    double gradient_norm_ = 0;
};

}  // namespace augur::train
