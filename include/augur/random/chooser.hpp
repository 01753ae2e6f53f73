#pragma once
// All randomness goes through a chooser. In production it is a counter-based generator keyed by what the number is for;
// in tests the same code is driven down every branch (testing/enumerate.hpp).

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "augur/random/philox.hpp"
#include "augur/types/distribution.hpp"

namespace augur {

/// What a random number decides. Different purposes at one position are independent.
enum class purpose : std::uint32_t { race, draft, accept, correction };

/// Names a random number. `round` separates attempts at the same position: a drafted token that was thrown away must not
/// determine a later one. Noise that has to be shared between models and rounds is keyed with round 0.
struct draw_key {
    std::size_t position = 0;
    purpose why = purpose::race;
    std::size_t round = 0;
};

/// Nonnegative weights, not necessarily normalised: size(), operator[], total().
template <class W>
concept Weights = requires(const W& weights, std::size_t i) {
    { weights.size() } -> std::convertible_to<std::size_t>;
    { weights[i] } -> std::convertible_to<double>;
    { weights.total() } -> std::convertible_to<double>;
};

namespace detail {
struct any_weights {
    std::size_t size() const { return 0; }
    double operator[](std::size_t) const { return 0; }
    double total() const { return 0; }
};
}  // namespace detail

/// Makes every random decision of a decoding.
/// Define: choose(weights, key), an index drawn in proportion to its weight;
///         flip(probability, key), true with that probability;
///         race(weights, position), an index drawn in proportion to its weight by noise that belongs to the position:
///         the first arrival among exponential clocks (equivalently Gumbel-max), so that two weight vectors raced at one
///         position tend to agree.
/// Laws:   never an index of weight zero; never true at probability 0, always at 1; equal arguments, equal answers.
/// Models: random::philox_chooser, testing::enumerating_chooser.
template <class C>
concept Chooser = requires(C& chooser, const detail::any_weights& weights, double probability, draw_key key) {
    { chooser.choose(weights, key) } -> std::convertible_to<std::size_t>;
    { chooser.flip(probability, key) } -> std::same_as<bool>;
    { chooser.race(weights, key.position) } -> std::convertible_to<std::size_t>;
};

/// The chooser as a criterion or a drafter sees it: bound to one position and round.
template <Chooser C>
class position_draws {
 public:
    position_draws(C& chooser, std::size_t position, std::size_t round)
        : chooser_(&chooser), position_(position), round_(round) {}

    std::size_t choose(const Weights auto& weights, purpose why) {
        return chooser_->choose(weights, draw_key{position_, why, round_});
    }
    bool flip(double probability, purpose why) { return chooser_->flip(probability, draw_key{position_, why, round_}); }
    std::size_t race(const Weights auto& weights) { return chooser_->race(weights, position_); }
    /// Where all weight is on one index there is nothing to race.
    std::size_t race(const distribution& row) {
        return row.is_point() ? static_cast<std::size_t>(row.mode()) : chooser_->race(row, position_);
    }

 private:
    C* chooser_;
    std::size_t position_;
    std::size_t round_;
};

namespace random {

/// The production chooser: Philox keyed by (seed, position, purpose, round). Stateless, hence independent of batch mates
/// and of how many numbers were drawn before.
class philox_chooser {
 public:
    explicit philox_chooser(std::uint64_t seed)
        : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)} {}

    /// Inverse transform on a 53-bit uniform; one pass over the weights.
    std::size_t choose(const Weights auto& weights, draw_key key) const {
        const philox_counter words = at(key, 0);
        const double threshold = unit_interval(words[0], words[1]) * weights.total();
        double cumulative = 0;
        std::size_t last_possible = 0;
        for (std::size_t i = 0; i < weights.size(); ++i) {
            const double weight = weights[i];
            if (weight > 0) {
                last_possible = i;
                cumulative += weight;
                if (threshold < cumulative) return i;
            }
        }
        return last_possible;  // the sum, rounded, fell short of the total
    }

    bool flip(double probability, draw_key key) const {
        const philox_counter words = at(key, 0);
        return unit_interval(words[0], words[1]) < probability;
    }

    /// Exponential race: argmin of E_i / weight_i with E_i = -log(1 - u_i). Since E_i >= u_i, the logarithm is taken only
    /// for clocks that can still win. One Philox call per four weights, none for four zeros.
    std::size_t race(const Weights auto& weights, std::size_t position) const {
        std::size_t winner = 0;
        double earliest = std::numeric_limits<double>::infinity();
        for (std::size_t block = 0; block < weights.size(); block += 4) {
            const std::size_t end = std::min(block + 4, static_cast<std::size_t>(weights.size()));
            double largest = 0;
            for (std::size_t i = block; i < end; ++i) largest = std::max(largest, static_cast<double>(weights[i]));
            if (!(largest > 0) || open_unit_interval(0) >= earliest * largest) continue;
            const philox_counter words = at({position, purpose::race, 0}, static_cast<std::uint32_t>(block / 4));
            for (std::size_t i = block; i < end; ++i) {
                const double weight = weights[i];
                const double u = open_unit_interval(words[i - block]);
                if (!(weight > 0) || u >= earliest * weight) continue;
                const double arrival = -std::log1p(-u) / weight;
                if (arrival < earliest) {
                    earliest = arrival;
                    winner = i;
                }
            }
        }
        return winner;
    }

 private:
    philox_counter at(draw_key key, std::uint32_t block) const {
        return philox4x32({block, static_cast<std::uint32_t>(key.why), static_cast<std::uint32_t>(key.position),
                           static_cast<std::uint32_t>(key.round)},
                          key_);
    }

    philox_key key_;
};

static_assert(Chooser<philox_chooser>);

}  // namespace random
}  // namespace augur
