#pragma once
// A layer on a target's hidden states, as EAGLE's, whose output head learns. See docs/train/taught_layer.md.

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/draft/exit_head.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/same_vocabulary.hpp"
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

/// The layer `M` with the rows of `Head`, an exit_head on the states that M makes, in place of M's own: models
/// FusedModel, so that draft::eagle drafts with it; shown by train::watcher. The head may change between rounds. What M
/// computes is as it was, so that the cache of earlier positions stays true: layer and fusing matrix do not learn.
/// Refers to both.
/// Effect on what is decoded: none; a criterion judges what is drafted.
/// Cost: the head's rows, and M's own, which are not used, unless M makes states alone (MakesFusedStates).
/// Source: Li et al. 2024, EAGLE (arXiv 2401.15077); DVI.
template <FusedModel M, draft::ExitHead Head>
class taught_layer {
 public:
    class sequence_type {
        friend class taught_layer;
        explicit sequence_type(sequence_t<M> of) : inner(std::move(of)) {}
        sequence_t<M> inner;
        std::vector<float> rows{};
    };

    /// Throws unless the head reads states of this layer's size and makes rows of its vocabulary.
    taught_layer(const M& layer, const Head& head) : layer_(&layer), head_(&head) {
        if (head.hidden_size() != layer.hidden_size() || head.vocabulary_size() != layer.vocabulary_size()) {
            detail::fail("taught_layer: the head makes ", head.vocabulary_size(), " logits of ", head.hidden_size(),
                         " numbers, but the layer has ", layer.vocabulary_size(), " tokens and states of ",
                         layer.hidden_size());
        }
    }

    const M& layer() const { return *layer_; }
    const Head& head() const { return *head_; }
    std::size_t vocabulary_size() const { return layer_->vocabulary_size(); }
    std::string vocabulary_fingerprint() const { return augur::detail::vocabulary_fingerprint_of(*layer_); }
    std::size_t context_length() const { return layer_->context_length(); }
    std::size_t hidden_size() const { return layer_->hidden_size(); }

    sequence_type make_sequence() const { return sequence_type(layer_->make_sequence()); }
    std::size_t length(const sequence_type& s) const { return layer_->length(s.inner); }
    void truncate(sequence_type& s, std::size_t length) const { layer_->truncate(s.inner, length); }

    scores extend(sequence_type& s, std::span<const token> tokens, std::span<const float> states,
                  std::size_t last) const {
        if (last > tokens.size()) {
            detail::fail("taught_layer: ", last, " rows are wanted of ", tokens.size(), " tokens");
        }
        if constexpr (MakesFusedStates<M>) {
            layer_->extend_states(s.inner, tokens, states);
        } else {
            layer_->extend(s.inner, tokens, states, last);
        }
        const std::size_t size = vocabulary_size();
        const auto made = layer_->hidden(std::as_const(s.inner));
        s.rows.resize(last * size);
        for (std::size_t i = 0; i < last; ++i) {
            head_->row(made[made.size() - last + i], std::span(s.rows).subspan(i * size, size));
        }
        return {s.rows.data(), last, size};
    }

    auto hidden(const sequence_type& s) const { return layer_->hidden(s.inner); }

 private:
    const M* layer_;
    const Head* head_;
};

}  // namespace augur::train
