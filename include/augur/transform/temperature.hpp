#pragma once
// Temperature: sharpens or flattens the distribution.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"

namespace augur::transform {

/// logit = (logit - largest) / temperature, so that no temperature overflows. 0 is the limit: only the first largest
/// logit stays. O(vocabulary).
struct temperature {
    float value = 1;  ///< >= 0; 1 is off, 0 is greedy

    bool active() const { return value != 1; }

    void check(std::size_t) const {
        if (!(value >= 0) || !std::isfinite(value)) {
            augur::detail::fail("temperature is ", value, "; it must be 0 (greedy) or positive and finite");
        }
        if (value > 0 && !std::isfinite(1 / value)) {
            augur::detail::fail("temperature ", value, " is too small to divide by; use 0 for greedy decoding");
        }
    }

    void operator()(std::span<float> logits, const prefix&) const {
        if (value == 0) return keep_first_largest(logits);
        const float largest = *std::max_element(logits.begin(), logits.end());
        if (!std::isfinite(largest)) return;
        const float factor = 1 / value;
        for (float& logit : logits) logit = (logit - largest) * factor;
    }

 private:
    static void keep_first_largest(std::span<float> logits) {
        std::size_t best = 0;
        for (std::size_t i = 1; i < logits.size(); ++i) {
            if (logits[i] > logits[best]) best = i;
        }
        for (std::size_t i = 0; i < logits.size(); ++i) {
            if (i != best) logits[i] = -std::numeric_limits<float>::infinity();
        }
    }
};

}  // namespace augur::transform
