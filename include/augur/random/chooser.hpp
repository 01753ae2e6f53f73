#pragma once
// The Chooser concept: the source of all randomness. In production it is a counter-based generator keyed by what the
// number is for; in tests the same code is driven down every branch (testing/enumerate.hpp).

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "augur/detail/chunks.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/random/exponential_race.hpp"
#include "augur/random/philox.hpp"
#include "augur/random/words_of.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/draw_key.hpp"

namespace augur {

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
///         exponential_race(weights, position), an index drawn in proportion to its weight by noise that belongs to the
///         position: the first arrival among exponential clocks (equivalently Gumbel-max), so that two weight vectors
///         raced at one position tend to agree.
/// Laws:   never an index of weight zero; never true at probability 0, always at 1; equal arguments, equal answers.
/// Models: random::philox_chooser, testing::enumerating_chooser.
template <class C>
concept Chooser = requires(C& chooser, const detail::any_weights& weights, double probability, draw_key key) {
    { chooser.choose(weights, key) } -> std::convertible_to<std::size_t>;
    { chooser.flip(probability, key) } -> std::same_as<bool>;
    { chooser.exponential_race(weights, key.position) } -> std::convertible_to<std::size_t>;
};

/// The chooser as a criterion or a drafter sees it: bound to one position and round, in a tree to a node's children and
/// to one of them (types/draw_key.hpp).
template <Chooser C>
class position_draws {
 public:
    position_draws(C& chooser, std::size_t position, std::size_t round, std::size_t node = 0)
        : chooser_(&chooser), key_{position, purpose::exponential_race, round, node} {}

    /// From here on for this sibling, counted from 0.
    void at_sibling(std::size_t sibling) { key_.sibling = sibling; }

    std::size_t choose(const Weights auto& weights, purpose why) { return chooser_->choose(weights, named(why)); }
    bool flip(double probability, purpose why) { return chooser_->flip(probability, named(why)); }
    std::size_t exponential_race(const Weights auto& weights) {
        return chooser_->exponential_race(weights, key_.position);
    }
    /// Where all weight is on one index there is nothing to race.
    std::size_t exponential_race(const distribution& row) {
        return row.is_point() ? static_cast<std::size_t>(row.mode()) : chooser_->exponential_race(row, key_.position);
    }
    /// The winner of the first race that is run so: one pass over the position's row, however many siblings are
    /// compared to it.
    std::size_t exponential_race_once(const auto& row) {
        if (winner_ == not_raced) winner_ = exponential_race(row);
        return winner_;
    }

 private:
    static constexpr std::size_t not_raced = static_cast<std::size_t>(-1);

    draw_key named(purpose why) const {
        draw_key key = key_;
        key.why = why;
        return key;
    }

    C* chooser_;
    draw_key key_;
    std::size_t winner_ = not_raced;
};

namespace random {

/// The production chooser: Philox keyed by (seed, position, node, sibling, purpose, round). Stateless, hence
/// independent of batch mates and of how many numbers were drawn before.
class philox_chooser {
 public:
    AUGUR_HOST_DEVICE explicit philox_chooser(std::uint64_t seed)
        : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)} {}

    std::uint64_t seed() const { return key_[0] | static_cast<std::uint64_t>(key_[1]) << 32; }

    /// Inverse transform on a 53-bit uniform: over the sums of chunks, then in one chunk. Weights that have no sums()
    /// are added up first.
    std::size_t choose(const Weights auto& weights, draw_key key) const {
        const std::size_t size = weights.size();
        const double threshold = uniform(key) * weights.total();
        if constexpr (requires { weights.sums()[size]; }) {
            return augur::detail::find_in_chunks(weights, size, weights.sums(), threshold);
        } else {
            const augur::detail::chunk_sums<std::remove_cvref_t<decltype(weights)>> sums{weights, size};
            return augur::detail::find_in_chunks(weights, size, sums, threshold);
        }
    }
    std::size_t choose(const distribution& row, draw_key key) const {
        if (row.is_point()) return static_cast<std::size_t>(row.mode());
        return augur::detail::find_in_chunks(row.weights(), row.size(), row.sums(), uniform(key) * row.total());
    }

    AUGUR_HOST_DEVICE bool flip(double probability, draw_key key) const { return uniform(key) < probability; }

    /// Exponential race (random/exponential_race.hpp); one pass over the weights.
    std::size_t exponential_race(const Weights auto& weights, std::size_t position) const {
        return first_arrival(weights, 0, weights.size(), position, key_).index;
    }
    std::size_t exponential_race(const distribution& row, std::size_t position) const {
        if (row.is_point()) return static_cast<std::size_t>(row.mode());
        arrival first;
        for (std::size_t chunk = 0; chunk < row.sums().size(); ++chunk) {
            if (!(row.sums()[chunk] > 0)) continue;
            const std::size_t begin = chunk * augur::detail::chunk_size;
            const std::size_t end = augur::detail::end_of_chunk(begin, row.size());
            first = first_arrival_of_chunk(row.weights(), begin, end, position, key_, first);
        }
        return first.index;
    }

    /// The number of that name, uniform in [0, 1).
    AUGUR_HOST_DEVICE double uniform(draw_key key) const {
        const philox_counter words = words_of(key, 0, key_);
        return unit_interval(words[0], words[1]);
    }

 protected:
    philox_key key_;
};

}  // namespace random
}  // namespace augur
