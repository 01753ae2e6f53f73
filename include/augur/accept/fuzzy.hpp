#pragma once
// Fuzzy acceptance: accepts drafted tokens where the draft's distribution is near the target's. Lossy.

#include "augur/accept/concept.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/measure/divergence.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token_selector.hpp"

namespace augur::accept {

/// Accepts a drafted token when the divergence between the target's row and the draft's is at most the threshold;
/// otherwise, and where the target excludes the token, draws from the target. A point mass is the row that is 1 on its
/// token. Effect: each token is from a distribution within the threshold of the target's. At threshold 0 the target's
/// own; at infinity the draft's, apart from what the target excludes. At temperature 0, where rows are certain, greedy
/// text. Randomness: one draw per round, none per drafted token. Cost: a pass over both rows per drafted token.
/// rejection_then_fuzzy gives the same text's distribution with fewer rejections; this is the rule as published.
/// Source: Holsman et al. 2025, "Fuzzy speculative decoding"; Byun et al. 2025, PyramidSD, section 3.
template <measure::Divergence D>
class fuzzy {
 public:
    using guarantee = guarantee::bounded_divergence<D>;
    using token_selector = draft::sampled;

    /// In the divergence's unit; 0 or more, or infinity.
    explicit fuzzy(double threshold) : promised_{threshold} {
        if (!(threshold >= 0)) {
            detail::fail("a threshold of the divergence ", D::name, " must be 0 or more, but it is ", threshold);
        }
    }

    /// The guarantee, with its bound: the threshold.
    guarantee promised() const { return promised_; }

    AUGUR_WHERE_ARGUMENTS_CAN
    template <class DraftDistribution>
    AUGUR_HOST_DEVICE bool accepts(const auto& target, const drafted_token<DraftDistribution>& drafted,
                                   auto& /*draws*/) const {
        return is_near(target, drafted);
    }

    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE token draw(const auto& target, auto& draws) const {
        return static_cast<token>(draws.choose(target, purpose::correction));
    }

    /// The row that the accepted token was drawn from (scheme/stage.hpp): beyond the threshold the target's, within it
    /// the draft's; and where the target excludes some of that, the target's for that part.
    const distribution& drawn_from(const distribution& target, const drafted_token<distribution>& drafted,
                                   distribution& mixed) const {
        const distribution& draft = *drafted.row;
        if (!within(target, drafted)) return target;
        double excluded = 0;
        for (std::size_t i = 0; i < target.size(); ++i) excluded += target[i] > 0 ? 0 : draft[i];
        if (!(excluded > 0)) return draft;
        const double left = excluded / draft.total();
        mixed.refill(target.size(), [&](std::span<float> weights) {
            for (std::size_t i = 0; i < weights.size(); ++i) {
                const double own = target[i] / target.total();
                weights[i] = static_cast<float>(own > 0 ? draft[i] / draft.total() + left * own : 0);
            }
        });
        return mixed;
    }
    const distribution& drawn_from(const distribution& target, const drafted_token<point_mass>& drafted,
                                   distribution& certain) const {
        if (!is_near(target, drafted)) return target;
        certain.become_point(drafted.id, target.size());
        return certain;
    }

    /// Whether the drafted token is accepted.
    AUGUR_WHERE_ARGUMENTS_CAN
    template <class DraftDistribution>
    AUGUR_HOST_DEVICE bool is_near(const auto& target, const drafted_token<DraftDistribution>& drafted) const {
        return target.probability(drafted.id) > 0 && within(target, drafted);
    }

 private:
    AUGUR_WHERE_ARGUMENTS_CAN
    template <class DraftDistribution>
    AUGUR_HOST_DEVICE bool within(const auto& target, const drafted_token<DraftDistribution>& drafted) const {
        return measure::divergence<D>(target, drafted) <= promised_.bound;
    }

    guarantee promised_;
};

}  // namespace augur::accept
