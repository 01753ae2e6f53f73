#pragma once
// Logit bias: a constant added to chosen tokens' logits.

#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/token.hpp"

namespace augur::transform {

/// logit[t] += bias. -infinity bans a token. O(number of biases).
struct bias {
    std::vector<std::pair<token, float>> added;

    bool active() const { return !added.empty(); }

    void check(std::size_t vocabulary_size) const {
        for (const auto& [t, by] : added) {
            if (t < 0 || static_cast<std::size_t>(t) >= vocabulary_size) {
                augur::detail::fail("logit bias names token ", t, ", but the vocabulary has ", vocabulary_size);
            }
            if (!(by < INFINITY))
                augur::detail::fail("logit bias of token ", t, " is ", by, "; it must be below +infinity");
        }
    }

    void operator()(std::span<float> logits, const prefix&) const {
        for (const auto& [t, by] : added) logits[static_cast<std::size_t>(t)] += by;
    }
};

}  // namespace augur::transform
