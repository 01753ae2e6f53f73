#pragma once
// Block verification: judges the whole draft at once; keeps longer blocks than token-wise rules, same distribution.

#include <algorithm>
#include <cstddef>

#include "augur/accept/concept.hpp"
#include "augur/accept/rejection_sampling.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/token_selector.hpp"
#include "augur/types/verdict.hpp"

namespace augur::accept {

/// Keeps the longest prefix of the draft that one coin per prefix accepts, longest first, where the coin of a prefix
/// weighs how much of the target's mass the whole path to it has used up; then draws from what is left over there.
/// Effect: none, the joint distribution of the block is the target's exactly. Never fewer accepted tokens in
/// expectation than rejection_sampling, and the most that any rule over whole blocks of one draft can have.
/// Randomness: at most one coin per drafted token, one draw per round. Cost: O(vocabulary) per drafted token, and every
/// row is transformed even when an early token falls. Point masses and distributions.
/// Source: Sun et al. 2024, "Block verification accelerates speculative decoding", algorithm 2 and theorem 1.
struct block {
    using guarantee = guarantee::same_distribution;
    using token_selector = draft::sampled;

    /// `targets[i]` follows the first i drafted tokens; there is one more of them than drafted tokens, or fewer where a
    /// row could not be drawn from. `draws(i)` is the randomness of the position after the first i.
    template <ChainProposal Proposal, class Draws>
    verdict judge_block(const auto& targets, const Proposal& proposed, const Draws& draws) const {
        const std::size_t length = std::min(proposed.size(), targets.size());
        std::size_t kept = length;
        while (kept > 0) {
            auto here = draws(kept - 1);
            if (here.flip(stands(worth_of(kept, targets, proposed), kept, length, targets, proposed), purpose::accept))
                break;
            --kept;
        }
        verdict decided{.drafted = proposed.size(), .accepted = kept, .next = no_token};
        if (kept == targets.size()) return decided;
        auto next = draws(kept);
        if (kept < length) {
            const residual_weights residual(targets[kept], proposed[kept], worth_of(kept, targets, proposed));
            if (residual.total() > 0) {
                decided.next = static_cast<token>(next.choose(residual, purpose::correction));
                return decided;
            }
        }
        decided.next = draw(targets[kept], next);
        return decided;
    }

    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE token draw(const auto& target, auto& draws) const {
        return rejection_sampling{}.draw(target, draws);
    }

    /// The row that the accepted token was drawn from (scheme/stage.hpp): always the target's, given those before it.
    template <class DraftDistribution>
    const distribution& drawn_from(const distribution& target, const drafted_token<DraftDistribution>&,
                                   distribution&) const {
        return target;
    }

 private:
    /// min(1, worth); 0 of what is no number, as of a token that neither row has.
    static double least_of_one(double worth) { return worth >= 1 ? 1 : worth > 0 ? worth : 0; }
    /// Of the first i + 1 drafted tokens min(1, worth of i * target(x_i) / draft(x_i)); of none 1.
    template <class Proposal>
    static double worth_of(std::size_t kept, const auto& targets, const Proposal& proposed) {
        double worth = 1;
        for (std::size_t i = 0; i < kept; ++i) {
            const auto drafted = proposed[i];
            const double ratio = targets[i].probability(drafted.id) / drafted.probability(drafted.id);
            worth = least_of_one(worth * ratio);
        }
        return worth;
    }

    /// The probability that the first `kept` tokens are accepted, given that no longer prefix is.
    template <class Proposal>
    static double stands(double worth, std::size_t kept, std::size_t length, const auto& targets,
                         const Proposal& proposed) {
        if (kept == length) return worth;
        const double left = residual_weights(targets[kept], proposed[kept], worth).total();
        const double all = left + (1 - worth);
        return all > 0 ? left / all : 1.0;
    }
};

}  // namespace augur::accept
