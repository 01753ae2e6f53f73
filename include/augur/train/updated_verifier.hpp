#pragma once
// A target whose output head has learned. See docs/train/slow_updates.md.

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/draft/exit_head.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/types/error.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"

namespace augur::train {

/// The model `M` with the rows of `Head` in place of its own: another target. Whatever a scheme over it guarantees, it
/// guarantees of this one: its texts are plain decoding's by the updated verifier, not by M. Refers to model and head;
/// the head may change between texts only, since a text whose verifier changes is nobody's plain decoding.
/// `Head` is a draft::ExitHead on the last hidden states as M leaves them (norm_kind::none, where M has normed them).
/// Cost: M's own output is computed, too, and not used.
template <HiddenStateModel M, draft::ExitHead Head>
class updated_verifier {
 public:
    static constexpr bool bitwise_rows = requires { requires M::bitwise_rows; };

    class sequence_type {
        friend class updated_verifier;
        explicit sequence_type(sequence_t<M> of) : inner(std::move(of)) {}
        sequence_t<M> inner;
        std::vector<float> rows{};
    };

    /// Throws unless the head reads states of this model's size and makes rows of its vocabulary.
    updated_verifier(const M& model, const Head& head) : model_(&model), head_(&head) {
        if (head.hidden_size() != model.hidden_size() || head.vocabulary_size() != model.vocabulary_size()) {
            detail::fail("updated_verifier: the head makes ", head.vocabulary_size(), " logits of ", head.hidden_size(),
                         " numbers, but the model has ", model.vocabulary_size(), " tokens and states of ",
                         model.hidden_size());
        }
    }

    const M& model() const { return *model_; }
    const Head& head() const { return *head_; }
    std::size_t vocabulary_size() const { return model_->vocabulary_size(); }
    std::string vocabulary_fingerprint() const { return augur::detail::vocabulary_fingerprint_of(*model_); }
    std::size_t context_length() const { return model_->context_length(); }
    std::size_t hidden_size() const { return model_->hidden_size(); }

    sequence_type make_sequence() const { return sequence_type(model_->make_sequence()); }
    std::size_t length(const sequence_type& sequence) const { return model_->length(sequence.inner); }
    void truncate(sequence_type& sequence, std::size_t length) const { model_->truncate(sequence.inner, length); }

    scores extend(sequence_type& sequence, std::span<const token> tokens) const {
        const std::size_t size = vocabulary_size();
        model_->extend(sequence.inner, tokens);
        const auto states = model_->hidden(sequence.inner);
        sequence.rows.resize(tokens.size() * size);
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            head_->row(states[i], std::span(sequence.rows).subspan(i * size, size));
        }
        return {sequence.rows.data(), tokens.size(), size};
    }

    auto hidden(const sequence_type& sequence) const { return model_->hidden(sequence.inner); }

 private:
    const M* model_;
    const Head* head_;
};

}  // namespace augur::train
