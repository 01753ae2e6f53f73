#pragma once
// Drafts while the draft model's confidence is above a threshold.

#include <cstddef>
#include <ostream>

#include "augur/policy/concept.hpp"
#include "augur/types/error.hpp"

namespace augur::policy {

struct confidence_stop_options {
    double threshold = 0.6;      ///< of the draft row's largest probability, 0 to 1
    std::size_t max_tokens = 6;  ///< most tokens to draft each round
    std::size_t beyond = 1;      ///< tokens drafted from the first row below the threshold on: 1 as published, or 0
};

/// Ends the draft at the first row whose largest probability is below the threshold: the token that this row gives is
/// the last, or is not drafted at all (`beyond` 0). A row with NaN or infinity is below every threshold but 0.
/// No effect on the distribution, no randomness. Cost: the largest probability of each row looked at.
/// Source: Liu et al. 2024, Kangaroo, section 3.2: eta = 0.6, at most 6 tokens.
class confidence_stop {
 public:
    static constexpr signals_read reads{.required = signals::draft_confidence};

    explicit confidence_stop(confidence_stop_options options = {}) : options_(options) {
        if (!(options_.threshold >= 0 && options_.threshold <= 1)) {
            detail::fail("confidence_stop: the threshold is ", options_.threshold, "; it must be from 0 to 1");
        }
        if (options_.beyond > 1) {
            detail::fail("confidence_stop: ", options_.beyond, " tokens beyond the threshold; it must be 0 or 1");
        }
    }

    const confidence_stop_options& options() const { return options_; }

    std::size_t length(const observation& seen) const {
        const bool is_confident = options_.threshold == 0 || seen.draft_confidence >= options_.threshold;
        const std::size_t wanted = is_confident ? options_.max_tokens : seen.drafted + options_.beyond;
        return wanted < options_.max_tokens ? wanted : options_.max_tokens;
    }

    friend std::ostream& operator<<(std::ostream& out, const confidence_stop& p) {
        return out << "confidence_stop{.threshold=" << p.options_.threshold << ", .max_tokens=" << p.options_.max_tokens
                   << ", .beyond=" << p.options_.beyond << '}';
    }

 private:
    confidence_stop_options options_;
};

}  // namespace augur::policy
