#pragma once
// Repetition, frequency and presence penalties on earlier tokens.

#include <cmath>
#include <span>

#include "augur/detail/host_device.hpp"
#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"

namespace augur::transform {

/// Repetition divides positive logits (multiplies negative ones) of every token that occurs in prompt or output
/// (Keskar et al., CTRL, 2019, section 4.1). Presence subtracts a constant, frequency a constant per occurrence, for
/// tokens in the output alone. Per position: what was drafted before a position counts there, and only there.
/// O(distinct tokens in the prefix).
struct penalties {
    float repetition = 1;  ///< > 0; 1 is off
    float presence = 0;
    float frequency = 0;

    bool active() const { return repetition != 1 || presence != 0 || frequency != 0; }

    void check(std::size_t) const {
        if (!(repetition > 0) || !std::isfinite(repetition)) {
            augur::detail::fail("repetition penalty is ", repetition, "; it must be positive and finite (1 is off)");
        }
        if (!std::isfinite(presence)) augur::detail::fail("presence penalty is ", presence, "; it must be finite");
        if (!std::isfinite(frequency)) augur::detail::fail("frequency penalty is ", frequency, "; it must be finite");
    }

    void operator()(std::span<float> logits, const prefix& before) const {
        for (const auto& [t, count] : before.counts()) {
            if (static_cast<std::size_t>(t) >= logits.size()) continue;
            apply(logits[static_cast<std::size_t>(t)], static_cast<float>(count.generated));
        }
    }

    /// Whether -infinity stays what it is: whatever is subtracted, of up to 2^32 occurrences, is finite.
    bool keep_impossible() const { return std::abs(presence) < 1e38f && std::abs(frequency) < 1e28f; }

    /// To one token that occurs, so often in the output.
    AUGUR_HOST_DEVICE void apply(float& logit, float generated) const {
        if (repetition != 1) logit = logit > 0 ? logit / repetition : logit * repetition;
        if (generated > 0) logit -= presence + frequency * generated;
    }
};

}  // namespace augur::transform
