#pragma once
// Top-p (nucleus): keeps the smallest set of most probable tokens with total probability p.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "augur/detail/exponential.hpp"
#include "augur/detail/mass.hpp"
#include "augur/detail/selection.hpp"
#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"

namespace augur::transform {

/// Keeps tokens in order of falling probability (ties: lower id first) until their mass reaches p; at least one stays
/// (Holtzman et al. 2020, equation 2). Mass is counted in units of 2^-44 of the largest probability (detail/mass.hpp),
/// so that it is the same in whatever order it is added up. O(vocabulary) to weigh, plus a sort of the part that holds
/// the mass.
struct top_p {
    float p = 1;  ///< in (0, 1]; 1 is off

    bool active() const { return p < 1; }

    void check(std::size_t vocabulary_size) const {
        if (!(p > 0 && p <= 1)) augur::detail::fail("top_p is ", p, "; it must be in (0, 1]");
        if (active() && vocabulary_size > augur::detail::most_counted) {
            augur::detail::fail("top_p counts the mass of at most ", augur::detail::most_counted,
                                " tokens, but the vocabulary has ", vocabulary_size);
        }
    }

    void operator()(std::span<float> logits, const prefix&) const {
        const float maximum = *std::max_element(logits.begin(), logits.end());
        if (!std::isfinite(maximum)) return;
        std::vector<augur::detail::weighted_token> tokens;
        std::vector<float> weights(logits.size());
        for (std::size_t i = 0; i < logits.size(); ++i) {
            weights[i] = augur::detail::exp_nonpositive(logits[i] - maximum);
            if (weights[i] > 0) tokens.push_back({weights[i], i});
        }
        std::uint64_t total = 0;
        for (const augur::detail::weighted_token& t : tokens) total += augur::detail::mass_of(t.weight);
        const std::size_t needed =
            augur::detail::rank_until(tokens, augur::detail::units_in_share(static_cast<double>(p), total));
        const auto kept = std::span(tokens).last(needed > 0 ? needed : tokens.size());
        for (augur::detail::weighted_token& t : kept) t.weight = logits[t.index];
        std::fill(logits.begin(), logits.end(), -std::numeric_limits<float>::infinity());
        for (const augur::detail::weighted_token& t : kept) logits[t.index] = t.weight;
    }
};

}  // namespace augur::transform
