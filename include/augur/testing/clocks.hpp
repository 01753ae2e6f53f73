#pragma once
// Exponential clocks conditioned on the winners of some races, and the exact odds of the next race.

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "augur/random/chooser.hpp"
#include "augur/testing/next_weight.hpp"

namespace augur::testing {

/// Independent clocks of rate 1, one per token. A race between weights w is won by the smallest x[k] / w[k], so that
/// its winner i says x[k] >= (w[k] / w[i]) x[i] for every k. What several races say together is a cone of arrival
/// times, and its probability a sum of integrals of exp(-rates . x) over cones with one clock less, by Fourier-Motzkin
/// elimination. Cones without an inside, which only rounding could tell from empty ones, count as empty (`rounding`).
/// Cost: grows with the number of different winners; microseconds for six clocks. Tokens that have had no weight in any
/// race are not kept: a scan of the weights, or of their chunks' sums, is all that they cost.
class clocks {
 public:
    static constexpr double rounding = 1e-14;

    explicit clocks(std::size_t count) : count_(count) {}

    std::size_t size() const { return count_; }

    /// Takes note of a race's winner, whose weight is positive. False when, after the races before, it cannot have won.
    bool won(const Weights auto& weights, std::size_t winner) {
        enter(weights);
        return won_by(weights, place_of(winner));
    }

    /// The probability of each winner of one more race, given those before.
    std::vector<double> odds(const Weights auto& weights) const {
        std::vector<double> odds(size(), 0.0);
        double total = 0;
        if (tokens_.empty()) {  // nothing has raced
            const double all = weights.total();
            for (std::size_t i = next_weight(weights, 0); i < size(); i = next_weight(weights, i + 1)) {
                odds[i] = weights[i] / all;
            }
            return odds;
        }
        clocks entered = *this;
        entered.enter(weights);
        for (std::size_t at = 0; at < entered.tokens_.size(); ++at) {
            const std::size_t i = entered.tokens_[at];
            if (!(weights[i] > 0)) continue;
            clocks then = entered;
            if (then.won_by(weights, at)) total += odds[i] = then.probability();
        }
        for (const std::size_t i : entered.tokens_) odds[i] /= total;
        return odds;
    }

    /// The probability of all winners so far: one clock is integrated out, between every two ends that its interval can
    /// have.
    double probability() const {
        const std::size_t k = first_to_eliminate();
        if (k == nowhere) return 1;
        const ends low = lower_ends(k);
        const ends high = upper_ends(k);
        double sum = 0;
        for (const end& from : low) {
            for (const end& to : high) {
                clocks between = *this;
                between.rates_[k] = 0;
                if (!between.is_interval(from, low, to, high)) continue;
                if (to.clock != nowhere) {
                    clocks beyond = between;
                    beyond.add_rate(to, rates_[k]);
                    sum -= beyond.probability();
                }
                between.add_rate(from, rates_[k]);
                sum += between.probability();
            }
        }
        return sum / rates_[k];
    }

 private:
    /// An end of the interval that a clock's arrival lies in: `factor` times the arrival of `clock`.
    struct end {
        std::size_t clock;  ///< `nowhere` for the ends 0 and infinity
        double factor;
    };
    using ends = std::vector<end>;
    static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

    /// Keeps a clock for every token that has weight, in order.
    void enter(const Weights auto& weights) {
        std::vector<std::size_t> entering, together;
        for (std::size_t i = next_weight(weights, 0); i < size(); i = next_weight(weights, i + 1)) {
            entering.push_back(i);
        }
        std::set_union(tokens_.begin(), tokens_.end(), entering.begin(), entering.end(), std::back_inserter(together));
        if (together.size() == tokens_.size()) return;
        clocks next(size());
        next.tokens_ = std::move(together);
        next.rates_.assign(next.kept(), 1.0);
        next.bounds_.assign(next.kept() * next.kept(), 0.0);
        for (std::size_t k = 0; k < kept(); ++k) {
            for (std::size_t i = 0; i < kept(); ++i)
                next.bound(next.place_of(tokens_[k]), next.place_of(tokens_[i])) = bound(k, i);
        }
        *this = std::move(next);
    }

    /// The clock at `winner` wins. All tokens with weight are kept.
    bool won_by(const Weights auto& weights, std::size_t winner) {
        const double most = weights[tokens_[winner]];
        bool possible = true;
        for (std::size_t k = 0; k < kept(); ++k) {
            if (k != winner) possible = raise(k, winner, weights[tokens_[k]] / most) && possible;
        }
        return possible;
    }

    std::size_t kept() const { return tokens_.size(); }
    std::size_t place_of(std::size_t token) const {
        return static_cast<std::size_t>(std::lower_bound(tokens_.begin(), tokens_.end(), token) - tokens_.begin());
    }
    bool left(std::size_t k) const { return rates_[k] > 0; }
    double& bound(std::size_t k, std::size_t of) { return bounds_[k * kept() + of]; }
    double bound(std::size_t k, std::size_t of) const { return bounds_[k * kept() + of]; }

    /// x[k] >= factor * x[of]. False when nothing is left.
    bool raise(std::size_t k, std::size_t of, double factor) {
        if (k == of) return factor < 1 - rounding;
        bound(k, of) = std::max(bound(k, of), factor);
        return bound(k, of) * bound(of, k) < 1 - rounding;
    }

    ends lower_ends(std::size_t k) const {
        return ends_by(k, [&](std::size_t i) { return bound(k, i); });
    }
    ends upper_ends(std::size_t k) const {
        return ends_by(k, [&](std::size_t i) { return bound(i, k) > 0 ? 1 / bound(i, k) : 0.0; });
    }
    template <class Factor>
    ends ends_by(std::size_t k, const Factor& factor) const {
        ends found;
        for (std::size_t i = 0; i < kept(); ++i) {
            if (i != k && left(i) && factor(i) > 0) found.push_back({i, factor(i)});
        }
        if (found.empty()) found.push_back({nowhere, 0});
        return found;
    }

    /// The clock whose interval has the fewest pairs of ends.
    std::size_t first_to_eliminate() const {
        std::size_t best = nowhere;
        std::size_t fewest = nowhere;
        for (std::size_t k = 0; k < kept(); ++k) {
            if (!left(k)) continue;
            std::size_t low = 0;
            std::size_t high = 0;
            for (std::size_t i = 0; i < kept(); ++i) {
                low += left(i) && bound(k, i) > 0;
                high += left(i) && bound(i, k) > 0;
            }
            const std::size_t pairs = std::max<std::size_t>(low, 1) * std::max<std::size_t>(high, 1);
            if (pairs < fewest) {
                fewest = pairs;
                best = k;
            }
        }
        return best;
    }

    /// Adds that of all lower ends `from` is the largest, of all upper ends `to` the smallest, and above it. False when
    /// nothing is left.
    bool is_interval(const end& from, const ends& low, const end& to, const ends& high) {
        return std::all_of(low.begin(), low.end(),
                           [&](const end& e) { return e.clock == from.clock || order(e, from); }) &&
               std::all_of(high.begin(), high.end(),
                           [&](const end& e) { return e.clock == to.clock || order(to, e); }) &&
               (from.clock == nowhere || to.clock == nowhere || order(from, to));
    }
    bool order(const end& lower, const end& upper) {
        return raise(upper.clock, lower.clock, lower.factor / upper.factor);
    }

    /// The integral of exp(-rate x) from an end on is exp(-rate end) / rate, which adds to the rate of that end's
    /// clock.
    void add_rate(const end& of, double rate) {
        if (of.clock != nowhere) rates_[of.clock] += rate * of.factor;
    }

    std::size_t count_;
    std::vector<std::size_t> tokens_;  ///< of the clocks that are kept, in order
    std::vector<double> rates_;        ///< of each; 0 for clocks that are integrated out
    std::vector<double> bounds_;       ///< x[k] >= bounds_[k * kept() + i] * x[i]
};

}  // namespace augur::testing
