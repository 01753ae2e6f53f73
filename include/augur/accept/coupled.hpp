#pragma once
// Coupled sampling with shared Gumbel noise: gives the text that plain sampling gives with the same seed.

#include "augur/accept/concept.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/types/token_selector.hpp"

namespace augur::accept {

/// The target draws its token with the noise that belongs to the position (seed, position), exactly as plain sampling
/// does, and a drafted token is accepted when it is that one, whichever sibling. A draft model draws with the same
/// noise, so that it tends to agree: with probability at least (1 - d) / (1 + d) at total variation distance d between
/// the rows. Effect: none, the text is plain sampling's with the same seed, whatever the drafter; at temperature 0,
/// greedy's. Randomness: one race per row, keyed by position alone, however many siblings. Cost: O(vocabulary) per row.
/// Accepts somewhat less than rejection_sampling; choose it when runs must be repeatable or comparable.
/// Source: Maddison, Tarlow, Minka 2014 (Gumbel-max); Daliri, Musco, Suresh 2025, "Coupling without communication".
struct coupled {
    using guarantee = guarantee::same_seeded_text;
    using token_selector = draft::shared_noise;
    static constexpr bool certain = true;  ///< given the noise, which positions keep from round to round

    AUGUR_WHERE_ARGUMENTS_CAN
    template <class DraftDistribution>
    AUGUR_HOST_DEVICE bool accepts(const auto& target, const drafted_token<DraftDistribution>& drafted,
                                   auto& draws) const {
        return drafted.id == draw(target, draws);
    }

    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE token draw(const auto& target, auto& draws) const {
        return static_cast<token>(draws.exponential_race_once(target));
    }
};

}  // namespace augur::accept
