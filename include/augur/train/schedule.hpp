#pragma once
// The schedule of the loss weights during training.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "augur/types/error.hpp"

namespace augur::train {

/// How far training has come.
struct progress {
    std::size_t updates = 0;  ///< of the head that were applied: not those that were dropped
    std::size_t tokens = 0;   ///< committed while it learned, in earlier runs too (checkpoint)
    double acceptance = 0;    ///< a moving average over judged tokens (reward_average)
};

/// How lambda, the share of KL, falls.
enum class lambda_kind {
    decay,             ///< exp(-n / tau), n tokens: as many updates later as the time for learning allows in between
    decay_by_updates,  ///< exp(-t / tau_updates), t updates
    acceptance,        ///< 1 below the band of acceptance, the floor above it, in a line within: it rises again, too
    ramp,              ///< 1 for `warm_up` updates, then in a line to the floor within `ramp` updates
    constant           ///< the floor: 1 is KL alone, 0 is the policy alone
};

/// Where what follows acceptance begins and ends.
struct acceptance_band {
    double low = 0.10, high = 0.20;

    /// How much of it `acceptance` has behind it.
    double share(double acceptance) const {
        if (acceptance >= high) return 1;
        return acceptance <= low ? 0 : (acceptance - low) / (high - low);
    }
    /// A switch that goes on at the band's end and off before its beginning.
    bool above(double acceptance, bool was) const { return acceptance >= (was ? low : high); }
    friend bool operator==(const acceptance_band&, const acceptance_band&) = default;
};

/// A number that starts at `first` and is at `last` after `over` updates, in a line; `last` at once where that is 0.
/// Or by acceptance: `first` below the band and `last` above it.
struct annealed {
    double first = 1, last = 1;
    std::size_t over = 0;
    bool by_acceptance = false;

    double at(std::size_t t) const {
        if (t >= over) return last;
        return std::lerp(first, last, static_cast<double>(t) / static_cast<double>(over));
    }
    double at(const progress& now, const acceptance_band& band) const {
        return by_acceptance ? std::lerp(first, last, band.share(now.acceptance)) : at(now.updates);
    }
    friend bool operator==(const annealed&, const annealed&) = default;
};

/// By default lambda is at its floor after 9,886 tokens: a session of 20,000 has one half of decaying KL, and one of
/// the policy with what is left of it.
struct schedule {
    lambda_kind lambda = lambda_kind::decay;
    double tau = 3300;          ///< of decay: tokens until KL's share has fallen to 37 %
    double tau_updates = 1000;  ///< of decay_by_updates: the same in updates
    acceptance_band band{};
    bool accepted_by_acceptance = false;  ///< accepted-only sampling waits for the end of the band, too
    std::size_t warm_up = 200;  ///< updates of KL alone, of ramp; accepted-only sampling waits for it in any case
    std::size_t ramp = 800;
    double floor = 0.05;                ///< lambda never falls below
    annealed anchor{0.20, 0.20, 0};     ///< weight of cross-entropy on the verifier's top-1
    annealed temperature{1.0, 1.0, 0};  ///< of the teacher
    double entropy = 0;                 ///< weight of the draft's entropy, as a bonus

    double lambda_at(const progress& now) const {
        const double updates = static_cast<double>(now.updates), tokens = static_cast<double>(now.tokens);
        if (lambda == lambda_kind::constant) return floor;
        if (lambda == lambda_kind::decay) return std::max(floor, std::exp(-tokens / tau));
        if (lambda == lambda_kind::decay_by_updates) return std::max(floor, std::exp(-updates / tau_updates));
        if (lambda == lambda_kind::acceptance) return std::lerp(1, floor, band.share(now.acceptance));
        if (now.updates < warm_up) return 1;
        const double after = updates - static_cast<double>(warm_up);
        return std::max(floor, ramp == 0 ? floor : 1 - (1 - floor) * after / static_cast<double>(ramp));
    }

    /// Updates before accepted-only sampling, `above` being the switch of the band.
    std::size_t accepted_after(bool above) const {
        return accepted_by_acceptance && !above ? std::numeric_limits<std::size_t>::max() : warm_up;
    }
    double anchor_at(const progress& now) const { return anchor.at(now, band); }
    double temperature_at(const progress& now) const { return temperature.at(now, band); }

    /// Throws, with the value, where one is no weight.
    void check() const {
        const auto within = [](const char* what, double value, double least, double most) {
            if (value >= least && value <= most) return;
            detail::fail("schedule: ", what, " is ", value, "; it must be between ", least, " and ", most);
        };
        within("floor", floor, 0, 1);
        within("tau", tau, 1e-9, 1e12);
        within("tau_updates", tau_updates, 1e-9, 1e12);
        within("the band's end", band.high, 0, 1);
        within("the band's beginning", band.low, 0, band.high);
        within("entropy", entropy, 0, 1e3);
        for (const double weight : {anchor.first, anchor.last}) within("anchor", weight, 0, 1e3);
        for (const double warmth : {temperature.first, temperature.last}) within("temperature", warmth, 0.01, 100);
    }
    friend bool operator==(const schedule&, const schedule&) = default;
};

}  // namespace augur::train
