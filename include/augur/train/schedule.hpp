#pragma once
// The schedule of the loss weights during training.

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "augur/types/error.hpp"

namespace augur::train {

/// How lambda, the share of KL, falls.
enum class lambda_kind {
    decay,    ///< exp(-t / tau)
    ramp,     ///< 1 for `warm_up` updates, then in a line to the floor within `ramp` updates
    constant  ///< the floor: 1 is KL alone, 0 is the policy alone
};

/// A number that starts at `first` and is at `last` after `over` updates, in a line; `last` at once where that is 0.
struct annealed {
    double first = 1, last = 1;
    std::size_t over = 0;

    double at(std::size_t t) const {
        if (t >= over) return last;
        return std::lerp(first, last, static_cast<double>(t) / static_cast<double>(over));
    }
    friend bool operator==(const annealed&, const annealed&) = default;
};

/// `t` counts updates of the head that were applied, from 0 on: not tokens, and not updates that were dropped.
struct schedule {
    lambda_kind lambda = lambda_kind::decay;
    double tau = 1000;          ///< of decay: updates until KL's share has fallen to 37 %
    std::size_t warm_up = 200;  ///< updates of KL alone, of ramp; accepted-only sampling waits for it in any case
    std::size_t ramp = 800;
    double floor = 0.05;                ///< lambda never falls below
    annealed anchor{0.20, 0.20, 0};     ///< weight of cross-entropy on the verifier's top-1
    annealed temperature{1.0, 1.0, 0};  ///< of the teacher
    double entropy = 0;                 ///< weight of the draft's entropy, as a bonus

    double lambda_at(std::size_t t) const {
        const double updates = static_cast<double>(t);
        if (lambda == lambda_kind::constant) return floor;
        if (lambda == lambda_kind::decay) return std::max(floor, std::exp(-updates / tau));
        if (t < warm_up) return 1;
        const double after = updates - static_cast<double>(warm_up);
        return std::max(floor, ramp == 0 ? floor : 1 - (1 - floor) * after / static_cast<double>(ramp));
    }

    /// Throws, with the value, where one is no weight.
    void check() const {
        const auto within = [](const char* what, double value, double least, double most) {
            if (value >= least && value <= most) return;
            detail::fail("schedule: ", what, " is ", value, "; it must be between ", least, " and ", most);
        };
        within("floor", floor, 0, 1);
        within("tau", tau, 1e-9, 1e12);
        within("entropy", entropy, 0, 1e3);
        for (const double weight : {anchor.first, anchor.last}) within("anchor", weight, 0, 1e3);
        for (const double warmth : {temperature.first, temperature.last}) within("temperature", warmth, 0.01, 100);
    }
    friend bool operator==(const schedule&, const schedule&) = default;
};

}  // namespace augur::train
