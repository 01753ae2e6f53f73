#pragma once
// Predicts a scheme's tokens per second from pass times and acceptance. See docs/tune/throughput.md.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "augur/types/error.hpp"

namespace augur::tune {

/// Tokens of a round, on average: those of a chain that are accepted, and the one that follows. `acceptance[i]` is the
/// probability that the token at position i is accepted, given that those before it are.
inline double expected_length(std::span<const double> acceptance) {
    double length = 1;
    double stands = 1;
    for (const double rate : acceptance) {
        if (!(rate >= 0 && rate <= 1)) augur::detail::fail("an acceptance is ", rate, "; it must be between 0 and 1");
        stands *= rate;
        length += stands;
    }
    return length;
}

/// A link of a cascade: one model verifies what is proposed to it, `length` tokens at a time.
struct verification {
    std::size_t length = 0;   ///< tokens proposed per round
    double kept = 1;          ///< share of length + 1 tokens that a round yields, in (0, 1]
    double pass_seconds = 0;  ///< of the verifying model over length + 1 rows; 1 / V where they cost what one does
};

/// Tokens a second of a cascade whose cheapest model writes `drafter_speed` tokens a second: stage by stage kept *
/// (length + 1) / (length / speed below + pass). With one link it is V_SD (or V_FSD, with the fuzzy rule's share), with
/// two V_PSD. Infinite speed is a drafter that costs nothing.
/// Source: Byun et al. 2025, PyramidSD, equations of section 3.3; any number of links by the same recursion.
inline double throughput(double drafter_speed, std::span<const verification> links) {
    if (!(drafter_speed > 0)) augur::detail::fail("the drafter's speed is ", drafter_speed, "; it must be positive");
    double speed = drafter_speed;
    for (const verification& link : links) {
        if (!(link.kept > 0 && link.kept <= 1)) {
            augur::detail::fail("the share that is kept is ", link.kept, "; it must be above 0 and at most 1");
        }
        if (!(link.pass_seconds > 0)) {
            augur::detail::fail("a pass takes ", link.pass_seconds, " seconds; it must be positive");
        }
        const auto length = static_cast<double>(link.length);
        speed = link.kept * (length + 1) / (length / speed + link.pass_seconds);
    }
    return speed;
}

/// The least probability with which any single guess misses a token drawn from a distribution of this entropy, in nats,
/// over so many tokens: the e with entropy = h(e) + e log(vocabulary - 1). Source: Fano's inequality.
inline double least_error(double entropy_nats, std::size_t vocabulary) {
    if (vocabulary < 2) augur::detail::fail("a vocabulary of ", vocabulary, " leaves nothing to guess");
    const auto others = static_cast<double>(vocabulary - 1);
    if (!(entropy_nats > 0)) return 0;
    const double most = others / (others + 1);
    if (entropy_nats >= std::log(others + 1)) return most;
    const auto entropy = [others](double e) { return -e * std::log(e / others) - (1 - e) * std::log1p(-e); };
    double low = 0, high = most;
    for (int i = 0; i < 200 && low < high; ++i) {
        const double middle = (low + high) / 2;
        if (middle == low || middle == high) break;
        (entropy(middle) < entropy_nats ? low : high) = middle;
    }
    return low;
}

/// No drafter of certain tokens yields more per round, at temperature 1 and on average, whatever it is: an upper bound
/// on expected_length for chains of `length`, from the entropies of the target's rows alone, in nats. The mean over k
/// of the k-th powers of 1 - least_error bounds the probability that k tokens are accepted, however the rows depend on
/// each other (Hoelder).
inline double length_bound(std::span<const double> entropies_nats, std::size_t length, std::size_t vocabulary) {
    if (entropies_nats.empty()) augur::detail::fail("there is no entropy to bound a length by");
    double bound = 0;
    for (const double entropy : entropies_nats) {
        const double most = 1 - least_error(entropy, vocabulary);
        double stands = 1;
        for (std::size_t k = 0; k <= length; ++k, stands *= most) bound += stands;
    }
    return bound / static_cast<double>(entropies_nats.size());
}

/// The best speed over plain decoding that length_bound leaves, over all lengths that a curve covers: pass_seconds[n -
/// 1] is a pass over n rows, drafting a token takes draft_seconds. At least 1, for plain decoding is among the choices.
inline double speedup_bound(std::span<const double> entropies_nats, std::size_t vocabulary,
                            std::span<const double> pass_seconds, double draft_seconds = 0) {
    double best = 1;
    for (std::size_t length = 1; length < pass_seconds.size(); ++length) {
        const double round = pass_seconds[length] + static_cast<double>(length) * draft_seconds;
        best = std::max(best, length_bound(entropies_nats, length, vocabulary) * pass_seconds[0] / round);
    }
    return best;
}

}  // namespace augur::tune
