#pragma once
// Fuzzy acceptance for greedy decoding: accepts the draft's argmax where its distribution is near the target's. Lossy.

#include "augur/accept/concept.hpp"
#include "augur/measure/divergence.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/error.hpp"
#include "augur/types/guarantee.hpp"
#include "augur/types/token_selector.hpp"

namespace augur::accept {

/// Accepts the draft's most probable token when it is the target's, too, or when the divergence between their rows is
/// at most the threshold and the target does not exclude it; otherwise gives the target's most probable token. Nothing
/// is sampled: the settings' temperature, above 0, is the one that rows are compared at. A point mass is the row that
/// is 1 on its token. Effect: each token is the most probable one of a row within the threshold of the target's. At
/// threshold 0 plain greedy text, up to ties between weights (the lowest id); at infinity the draft's. Randomness:
/// none. Cost: a pass over both rows per drafted token that is not the target's own.
/// Source: Holsman et al. 2025, "Fuzzy speculative decoding", applied to greedy decoding, where rows of temperature 0
/// are points.
template <measure::Divergence D>
class fuzzy_greedy {
 public:
    using guarantee = guarantee::greedy_within<D>;
    using token_selector = draft::argmax_with_row;
    using draft_distribution = mode_of_row;  ///< what a stage says of the tokens that are accepted (scheme/stage.hpp)

    /// In the divergence's unit; 0 or more, or infinity.
    explicit fuzzy_greedy(double threshold) : promised_{threshold} {
        if (!(threshold >= 0)) {
            detail::fail("a threshold of the divergence ", D::name, " must be 0 or more, but it is ", threshold);
        }
    }

    /// The guarantee, with its bound: the threshold.
    guarantee promised() const { return promised_; }

    /// Refuses temperature 0.
    void check(const transform::settings& chosen) const {
        if (chosen.temperature.value == 0) {
            detail::fail(
                "accept::fuzzy_greedy compares rows at the temperature of the settings, which is 0, but must be above "
                "0; "
                "its text is greedy at any temperature");
        }
    }

    template <DeterministicDistribution DraftDistribution>
    bool accepts(const distribution& target, const drafted_token<DraftDistribution>& drafted, auto& /*draws*/) const {
        return drafted.id == target.mode() || is_near(target, drafted);
    }

    token draw(const distribution& target, auto& /*draws*/) const { return target.mode(); }

    /// The row that the accepted token is the most probable one of (scheme/stage.hpp).
    template <DeterministicDistribution DraftDistribution>
    const distribution& drawn_from(const distribution& target, const drafted_token<DraftDistribution>& drafted,
                                   distribution& certain) const {
        if (drafted.id == target.mode() || !is_near(target, drafted)) return target;
        return row_of(drafted, target.size(), certain);
    }

 private:
    template <class DraftDistribution>
    bool is_near(const distribution& target, const drafted_token<DraftDistribution>& drafted) const {
        return target.probability(drafted.id) > 0 && distance(target, drafted) <= promised_.bound;
    }

    static double distance(const distribution& target, const drafted_token<point_mass>& drafted) {
        return measure::divergence<D>(target, drafted);
    }
    static double distance(const distribution& target, const drafted_token<mode_of_row>& drafted) {
        return measure::divergence<D>(target, static_cast<const distribution&>(*drafted.row));
    }

    static const distribution& row_of(const drafted_token<point_mass>& drafted, std::size_t size,
                                      distribution& certain) {
        certain.become_point(drafted.id, size);
        return certain;
    }
    static const distribution& row_of(const drafted_token<mode_of_row>& drafted, std::size_t, distribution&) {
        return *drafted.row;
    }

    guarantee promised_;
};

}  // namespace augur::accept
