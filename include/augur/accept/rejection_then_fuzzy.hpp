#pragma once
// Rejection sampling, and fuzzy acceptance for the tokens that it rejects. Lossy.

#include "augur/accept/concept.hpp"
#include "augur/accept/fuzzy.hpp"
#include "augur/accept/rejection_sampling.hpp"
#include "augur/detail/host_device.hpp"

namespace augur::accept {

/// Judges by rejection_sampling; a token that it rejects is accepted all the same when the divergence between the rows
/// is at most the threshold and the target does not exclude it.
/// Effect: that of fuzzy, and the same distribution where the target excludes nothing that is drafted: within the
/// threshold the draft's row, beyond it the target's. At threshold 0 and at temperature 0 it is rejection_sampling.
/// Randomness and cost: those of rejection_sampling, and a pass over both rows per rejection.
/// Accepts at least as often as fuzzy and as rejection_sampling do.
template <measure::Divergence D>
class rejection_then_fuzzy {
 public:
    using guarantee = guarantee::bounded_divergence<D>;
    using token_selector = draft::sampled;

    /// In the divergence's unit; 0 or more, or infinity.
    explicit rejection_then_fuzzy(double threshold) : second_(threshold) {}

    /// The guarantee, with its bound: the threshold.
    guarantee promised() const { return second_.promised(); }

    AUGUR_WHERE_ARGUMENTS_CAN
    template <class DraftDistribution>
    AUGUR_HOST_DEVICE bool accepts(const auto& target, const drafted_token<DraftDistribution>& drafted,
                                   auto& draws) const {
        return rejection_sampling{}.accepts(target, drafted, draws) || second_.is_near(target, drafted);
    }

    AUGUR_WHERE_ARGUMENTS_CAN
    template <class DraftDistribution>
    AUGUR_HOST_DEVICE auto after_rejection(const auto& target, const drafted_token<DraftDistribution>& drafted) const {
        return rejection_sampling{}.after_rejection(target, drafted);
    }

    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE token draw(const auto& target, auto& draws) const { return second_.draw(target, draws); }

    /// As fuzzy's.
    template <class DraftDistribution>
    const distribution& drawn_from(const distribution& target, const drafted_token<DraftDistribution>& drafted,
                                   distribution& mixed) const {
        return second_.drawn_from(target, drafted, mixed);
    }

 private:
    fuzzy<D> second_;
};

}  // namespace augur::accept
