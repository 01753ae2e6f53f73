#pragma once
// The exact law of what a decoder returns: every branch of its randomness is taken, once, with its probability.

#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include "augur/random/chooser.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::testing {

/// A chooser that replays a path of decisions and takes the first possible branch beyond it. Copies share the path.
///
/// choose and flip branch with their exact probabilities. race branches over the noise itself: each clock takes one of
/// three arrival times with equal weight, remembered by (position, index), so that every vector of noise on that grid is
/// met. What holds on all of them (the text of a coupled scheme equals plain sampling's) is proved for shared noise as
/// such; that one race draws in proportion to the weights is a property of philox_chooser, tested there.
class enumerating_chooser {
 public:
    enumerating_chooser() : path_(std::make_shared<path>()) {}

    std::size_t choose(const Weights auto& weights, draw_key) {
        const double total = weights.total();
        return branch(weights.size(), [&](std::size_t i) { return static_cast<double>(weights[i]) / total; });
    }

    bool flip(double probability, draw_key) {
        return branch(2, [&](std::size_t i) { return i == 0 ? probability : 1 - probability; }) == 0;
    }

    std::size_t race(const Weights auto& weights, std::size_t position) {
        std::size_t winner = 0;
        double earliest = INFINITY;
        for (std::size_t i = 0; i < weights.size(); ++i) {
            const double weight = weights[i];
            if (!(weight > 0)) continue;
            const double arrival = clock(position, i) / weight;
            if (arrival < earliest) {
                earliest = arrival;
                winner = i;
            }
        }
        return winner;
    }

    /// Probability of the path taken.
    double probability() const {
        double product = 1;
        for (const decision& d : path_->decisions) product *= d.probability;
        return product;
    }

    /// Moves to the next path, by the last decision that has a branch left; false when there is none.
    bool advance() {
        auto& decisions = path_->decisions;
        path_->depth = 0;
        path_->clocks.clear();
        while (!decisions.empty()) {
            decision& last = decisions.back();
            last.taken = last.next;
            if (last.taken < last.branches) return true;
            decisions.pop_back();
        }
        return false;
    }

 private:
    struct decision {
        std::size_t taken = 0;
        std::size_t next = 0;  ///< the branch after it that is possible, or `branches`
        std::size_t branches = 0;
        double probability = 0;
    };
    struct path {
        std::vector<decision> decisions;
        std::size_t depth = 0;
        std::map<std::pair<std::size_t, std::size_t>, double> clocks;
    };

    template <class Probability>
    std::size_t branch(std::size_t branches, const Probability& probability) {
        if (path_->depth == path_->decisions.size()) {
            path_->decisions.push_back({.taken = possible(0, branches, probability), .branches = branches});
        }
        decision& here = path_->decisions[path_->depth++];
        if (here.branches != branches || here.taken == branches) {
            augur::detail::fail("enumerate: decision ", path_->depth - 1, " had ", here.branches,
                                " branches and now has ", branches, "; the decoder is not a function of its choices");
        }
        here.probability = probability(here.taken);
        here.next = possible(here.taken + 1, branches, probability);
        return here.taken;
    }

    template <class Probability>
    static std::size_t possible(std::size_t from, std::size_t branches, const Probability& probability) {
        while (from < branches && !(probability(from) > 0)) ++from;
        return from;
    }

    double clock(std::size_t position, std::size_t index) {
        const auto [found, fresh] = path_->clocks.try_emplace({position, index}, 0.0);
        if (fresh) {
            constexpr double arrivals[] = {0.11, 0.53, 1.7};
            // The index breaks ties, as continuous noise would never have them.
            found->second =
                arrivals[branch(3, [](std::size_t) { return 1.0 / 3; })] * (1 + 1e-3 * static_cast<double>(index));
        }
        return found->second;
    }

    std::shared_ptr<path> path_;
};

static_assert(Chooser<enumerating_chooser>);

/// The exact joint law of the tokens that a decoder returns.
struct law {
    std::map<std::vector<token>, double> probability;
    std::size_t paths = 0;

    double total() const {
        double sum = 0;
        for (const auto& [tokens, p] : probability) sum += p;
        return sum;
    }
};

/// Runs `decode(chooser)`, which returns the output's tokens, down every branch of the chooser. Nothing is pruned.
/// Throws augur::error when there are more than `limit` paths.
template <class Decode>
law enumerate(const Decode& decode, std::size_t limit = 10'000'000) {
    law found;
    enumerating_chooser chooser;
    do {
        if (++found.paths > limit) augur::detail::fail("enumerate: more than ", limit, " paths");
        const std::vector<token> tokens = decode(chooser);
        found.probability[tokens] += chooser.probability();
    } while (chooser.advance());
    return found;
}

/// Half the sum of absolute differences: 0 for equal laws, 1 for disjoint ones.
inline double total_variation(const law& a, const law& b) {
    double sum = 0;
    for (const auto& [tokens, p] : a.probability) {
        const auto other = b.probability.find(tokens);
        sum += std::abs(p - (other == b.probability.end() ? 0 : other->second));
    }
    for (const auto& [tokens, p] : b.probability) {
        if (!a.probability.contains(tokens)) sum += p;
    }
    return sum / 2;
}

}  // namespace augur::testing
