#pragma once
// Enumerates every branch of a decoder's randomness once, with its probability: the exact distribution of its output.

#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "augur/random/chooser.hpp"
#include "augur/testing/asked_name.hpp"
#include "augur/testing/clocks.hpp"
#include "augur/testing/next_weight.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::testing {

/// Thrown by a chooser of few branches that is asked for a race.
struct cannot_follow : error {
    using error::error;
};

/// A chooser that replays a path of decisions and takes the first possible branch beyond it. Copies share the path.
///
/// choose and flip branch with their exact probabilities, as numbers that are independent of each other. In production
/// they are that only under different names, so a name that is asked for twice on one path throws augur::error, with
/// both questions. exponential_race branches over its winner, given the winners of all races at its position before:
/// the law of shared noise, with every way in which it can make rows agree and differ (clocks.hpp).
class enumerating_chooser {
 public:
    enumerating_chooser() : path_(std::make_shared<path>()) {}
    /// Of choices it follows these branches only, ascending, and of those without any of them the first that is
    /// possible: the paths that it takes have their exact probabilities, and do not add up to 1. No races then.
    explicit enumerating_chooser(std::vector<std::size_t> followed) : enumerating_chooser() {
        path_->followed = std::move(followed);
    }

    std::size_t choose(const Weights auto& weights, draw_key key) {
        const auto share = shares(weights);
        return branch(asked_name::choice(key, weights.size()), share, share, [&](std::size_t from) {
            return path_->followed.empty() ? next_share(weights, from, share) : next_followed(weights, from, share);
        });
    }

    bool flip(double probability, draw_key key) {
        const auto share = [&](std::size_t i) { return i == 0 ? probability : 1 - probability; };
        const auto next = [&](std::size_t from) {
            while (from < 2 && !(share(from) > 0)) ++from;
            return from;
        };
        return branch(asked_name::coin(key, probability), share, share, next) == 0;
    }

    std::size_t exponential_race(const Weights auto& weights, std::size_t position) {
        if (!path_->followed.empty())
            throw cannot_follow("enumerate: a race is followed on all of its branches or not");
        clocks& here = path_->noise.try_emplace(position, weights.size()).first->second;
        if (here.size() != weights.size()) {
            augur::detail::fail("enumerate: a race at position ", position, " is between ", weights.size(),
                                " tokens, and one before it was between ", here.size());
        }
        std::vector<double> odds;
        const auto asked = asked_name::exponential_race(position, weights.size());
        const auto chances = [&](std::size_t i) {
            if (odds.empty()) odds = here.odds(weights);
            return odds[i];
        };
        const std::size_t winner = branch(asked, shares(weights), chances,
                                          [&](std::size_t from) { return next_share(weights, from, chances); });
        here.won(weights, winner);
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
        path_->noise.clear();
        while (!decisions.empty()) {
            decision& last = decisions.back();
            last.taken = last.next;
            if (last.taken < last.asked.among) return true;
            decisions.pop_back();
        }
        return false;
    }

 private:
    struct decision {
        asked_name asked;
        std::size_t taken = 0;
        std::size_t next = 0;  ///< the branch after it that is possible, or `asked.among`
        double probability = 0;
        double share = 0;  ///< what the decoder showed for the branch taken
    };
    struct path {
        std::vector<decision> decisions;
        std::size_t depth = 0;
        std::map<std::size_t, clocks> noise;  ///< by position
        std::vector<std::size_t> followed;    ///< of choices; empty: all
    };

    static auto shares(const Weights auto& weights) {
        return [&weights, total = weights.total()](std::size_t i) { return static_cast<double>(weights[i]) / total; };
    }

    /// The first index from `from` on that is possible.
    static std::size_t next_share(const Weights auto& weights, std::size_t from, const auto& share) {
        from = next_weight(weights, from);
        while (from < weights.size() && !(share(from) > 0)) from = next_weight(weights, from + 1);
        return from;
    }
    std::size_t next_followed(const Weights auto& weights, std::size_t from, const auto& share) const {
        for (const std::size_t i : path_->followed) {
            if (i >= from && i < weights.size() && share(i) > 0) return i;
        }
        return from == 0 ? next_share(weights, 0, share) : weights.size();
    }

    /// Replays a decision, if it is asked under the same name and shows the same share as before; takes the next one,
    /// with its probability, at the path's end. `next`: the first branch from a number on that is possible.
    template <class Share, class Probability, class Next>
    std::size_t branch(const asked_name& asked, const Share& share, const Probability& probability, const Next& next) {
        auto& decisions = path_->decisions;
        if (path_->depth == decisions.size()) {
            for (const decision& before : decisions) {
                if (asked.shares_number_with(before.asked)) refuse_second_question(before.asked, asked);
            }
            const std::size_t first = next(0);
            if (first >= asked.among) {
                augur::detail::fail("enumerate: ", asked, " at ", described_key{asked.key}, " has no possible answer");
            }
            decisions.push_back({.asked = asked, .taken = first});
        }
        decision& here = decisions[path_->depth++];
        if (!(here.asked.key == asked.key) || here.asked.what != asked.what || here.asked.among != asked.among) {
            augur::detail::fail("enumerate: decision ", path_->depth - 1, " was ", here.asked, " at ",
                                described_key{here.asked.key}, " and now is ", asked, " at ", described_key{asked.key},
                                "; the decoder is not a function of its choices");
        }
        if (path_->depth == decisions.size()) {
            here.share = share(here.taken);
            here.probability = probability(here.taken);
            here.next = next(here.taken + 1);
        } else if (here.share != share(here.taken)) {
            augur::detail::fail("enumerate: branch ", here.taken, " of decision ", path_->depth - 1, " had the share ",
                                here.share, " and now has ", share(here.taken),
                                "; the decoder is not a function of its choices");
        }
        return here.taken;
    }

    std::shared_ptr<path> path_;
};

/// The exact joint distribution of the tokens that a decoder returns.
struct text_distribution {
    std::map<std::vector<token>, double> probability;
    std::size_t paths = 0;

    double total() const {
        double sum = 0;
        for (const auto& [tokens, p] : probability) sum += p;
        return sum;
    }
};

/// Runs `decode(chooser)`, which returns the output's tokens, down every branch of the chooser. Nothing is pruned.
/// Throws augur::error when there are more than `limit` paths. `chooser`: a new one.
template <class Decode>
text_distribution enumerate(const Decode& decode, std::size_t limit = 10'000'000, enumerating_chooser chooser = {}) {
    text_distribution found;
    do {
        if (++found.paths > limit) augur::detail::fail("enumerate: more than ", limit, " paths");
        const std::vector<token> tokens = decode(chooser);
        found.probability[tokens] += chooser.probability();
    } while (chooser.advance());
    return found;
}

/// Half the sum of absolute differences: 0 for equal distributions, 1 for disjoint ones.
inline double total_variation(const text_distribution& a, const text_distribution& b) {
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
