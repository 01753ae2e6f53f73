#pragma once
// Greedy verification: accepts a drafted token when it is the target's argmax.

#include "augur/accept/concept.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token_selector.hpp"

namespace augur::accept {

/// Accepts a token equal to the target's most probable one (ties: the lowest id, on every model); otherwise that one
/// takes its place. For temperature 0 only: it refuses any other at construction of the decoding.
/// Effect: none, the text is plain greedy decoding's. Randomness: none. Cost: one scan per row.
/// Use `coupled` or `rejection_sampling` above temperature 0. Source: Stern et al. 2018, section 3; EAAD's criterion.
struct exact {
    using guarantee = guarantee::same_greedy_text;
    using token_selector = draft::argmax;
    static constexpr bool certain = true;

    void check(const transform::settings& chosen) const {
        if (chosen.temperature.value != 0) {
            detail::fail("accept::exact keeps greedy text only, so the temperature must be 0, but it is ",
                         chosen.temperature.value, "; use coupled or rejection_sampling");
        }
    }

    AUGUR_WHERE_ARGUMENTS_CAN
    template <class DraftDistribution>
    AUGUR_HOST_DEVICE bool accepts(const auto& target, const drafted_token<DraftDistribution>& drafted,
                                   auto& /*draws*/) const {
        return drafted.id == target.mode();
    }

    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE token draw(const auto& target, auto& /*draws*/) const { return target.mode(); }
};

}  // namespace augur::accept
