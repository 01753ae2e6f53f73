#pragma once
// Min-p: keeps the tokens whose probability is at least a fraction of the most probable one's.

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"

namespace augur::transform {

/// Removes logits below maximum + ln(p), that is probabilities below p times the largest (Nguyen et al. 2024,
/// "Min-p sampling"). O(vocabulary).
struct min_p {
    float p = 0;  ///< in [0, 1]; 0 is off

    bool active() const { return p > 0; }

    void check(std::size_t) const {
        if (!(p >= 0 && p <= 1)) augur::detail::fail("min_p is ", p, "; it must be in [0, 1]");
    }

    void operator()(std::span<float> logits, const prefix&) const {
        const float floor = *std::max_element(logits.begin(), logits.end()) + std::log(p);
        for (float& logit : logits) {
            if (logit < floor) logit = -std::numeric_limits<float>::infinity();
        }
    }
};

}  // namespace augur::transform
