#pragma once
// An EAGLE layer on a target's hidden states with a trainable output head. See docs/train/trained_layer.md.

#include <cstddef>
#include <span>

#include "augur/draft/exit_head.hpp"
#include "augur/model/concepts.hpp"
#include "augur/train/updated_verifier.hpp"
#include "augur/types/error.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"

namespace augur::train {

/// Layers that make states without rows: `model.extend_states(sequence, tokens, states)` appends as extend does, after
/// which hidden(sequence) shows the last states at least.
template <class M>
concept MakesFusedStates = requires(const M& model, sequence_t<M>& sequence, std::span<const token> tokens,
                                    std::span<const float> states) {
    model.extend_states(sequence, tokens, states);
};

/// The layer `M` with the rows of `Head`, a state_head on the states that M makes, in place of M's own: models
/// FusedModel, so that draft::eagle drafts with it; shown by train::watcher. The head may change between rounds. What M
/// computes is as it was, so that the cache of earlier positions stays true: layer and fusing matrix do not learn.
/// Refers to both.
/// Effect on what is decoded: none; a criterion judges what is drafted.
/// Cost: the head's rows, and M's own, which are not used, unless M makes states alone (MakesFusedStates).
/// Source: Li et al. 2024, EAGLE (arXiv 2401.15077); DVI.
template <FusedModel M, draft::ExitHead Head>
class trained_layer : public head_in_place<M, Head> {
    using base_class = head_in_place<M, Head>;

 public:
    using typename base_class::sequence_type;

    /// Throws unless the head reads states of this layer's size and makes rows of its vocabulary.
    trained_layer(const M& layer, const Head& head) : base_class("trained_layer", "layer", layer, head) {}

    const M& layer() const { return *this->model_; }

    scores extend(sequence_type& sequence, std::span<const token> tokens, std::span<const float> states,
                  std::size_t last) const {
        if (last > tokens.size()) {
            detail::fail("trained_layer: ", last, " rows are wanted of ", tokens.size(), " tokens");
        }
        if constexpr (MakesFusedStates<M>) {
            layer().extend_states(sequence.inner, tokens, states);
        } else {
            layer().extend(sequence.inner, tokens, states, last);
        }
        return this->last_rows(sequence, last);
    }
};

}  // namespace augur::train
