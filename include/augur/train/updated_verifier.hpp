#pragma once
// A target whose output head is trained. See docs/train/slow_updates.md.

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/draft/exit_head.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/pass.hpp"
#include "augur/model/pass_rows.hpp"
#include "augur/model/run.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/types/error.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"

namespace augur::train {

/// A model and a head on its states, both referred to, whose rows take the place of the model's.
template <class M, draft::ExitHead Head>
class head_in_place {
 public:
    struct sequence_type {
        sequence_t<M> inner;
        std::vector<float> rows{};
        std::vector<const float*> places{};  ///< of the rows of a run that begins with this sequence

        std::size_t memory_bytes() const requires requires { inner.memory_bytes(); }
        { return inner.memory_bytes(); }
    };

    const Head& head() const { return *head_; }
    std::size_t vocabulary_size() const { return model_->vocabulary_size(); }
    std::string vocabulary_fingerprint() const { return augur::detail::vocabulary_fingerprint_of(*model_); }
    std::size_t context_length() const { return model_->context_length(); }
    std::size_t hidden_size() const { return model_->hidden_size(); }

    sequence_type make_sequence() const { return {model_->make_sequence()}; }
    std::size_t length(const sequence_type& sequence) const { return model_->length(sequence.inner); }
    void truncate(sequence_type& sequence, std::size_t length) const { model_->truncate(sequence.inner, length); }
    auto hidden(const sequence_type& sequence) const { return model_->hidden(sequence.inner); }

 protected:
    /// Throws unless the head reads states of this model's size and makes rows of its vocabulary.
    head_in_place(const char* who, const char* whose, const M& model, const Head& head) : model_(&model), head_(&head) {
        if (head.hidden_size() != model.hidden_size() || head.vocabulary_size() != model.vocabulary_size()) {
            detail::fail(who, ": the head makes ", head.vocabulary_size(), " logits of ", head.hidden_size(),
                         " numbers, but the ", whose, " has ", model.vocabulary_size(), " tokens and states of ",
                         model.hidden_size());
        }
    }

    /// Rows of the last states that the model shows.
    scores last_rows(sequence_type& sequence, std::size_t last) const {
        const std::size_t size = vocabulary_size();
        const auto states = hidden(sequence);
        sequence.rows.resize(last * size);
        for (std::size_t i = 0; i < last; ++i) {
            head_->row(states[states.size() - last + i], std::span(sequence.rows).subspan(i * size, size));
        }
        return {sequence.rows.data(), last, size, draft::possible_of(*head_)};
    }

    const M* model_;
    const Head* head_;
};

/// Its rows, chain by chain.
template <class M, draft::ExitHead Head>
class whole_verifier : public head_in_place<M, Head> {
    using base_class = head_in_place<M, Head>;

 public:
    using typename base_class::sequence_type;

    const M& model() const { return *this->model_; }

    scores extend(sequence_type& sequence, std::span<const token> tokens) const {
        model().extend(sequence.inner, tokens);
        return this->last_rows(sequence, tokens.size());
    }

 protected:
    using base_class::base_class;
};

/// The same of a model whose layers can be run in two parts.
template <class M, draft::ExitHead Head>
class split_verifier : public whole_verifier<M, Head> {
    using base_class = whole_verifier<M, Head>;

 public:
    static constexpr pass_features passes = pass_features::layers | pass_features::batches;
    using typename base_class::sequence_type;

    std::size_t layer_count() const { return this->model().layer_count(); }
    std::size_t waiting(const sequence_type& sequence) const { return this->model().waiting(sequence.inner); }

    /// Chains, or parts of the layers; together where M runs them so.
    scattered_scores run(std::span<const pass<sequence_type>> asked) const {
        if (asked.empty()) return {};
        std::vector<pass<sequence_t<M>>> own;
        std::vector<model::pass_rows<M>> unused(asked.size());
        std::vector<std::size_t> rows;
        for (const pass<sequence_type>& each : asked) {
            rows.push_back(each.wanted(waiting(*each.sequence)));
            own.push_back({.sequence = &each.sequence->inner,
                           .tokens = each.tokens,
                           .parents = each.parents,
                           .rows = each.rows,
                           .from_layer = each.from_layer,
                           .to_layer = each.to_layer,
                           .states = each.states});
        }
        model::run<M>(this->model(), own, unused);
        std::vector<const float*>& places = asked.front().sequence->places;
        places.clear();
        for (std::size_t i = 0; i < asked.size(); ++i) {
            const scores of_pass = this->last_rows(*asked[i].sequence, rows[i]);
            for (std::size_t row = 0; row < rows[i]; ++row) places.push_back(of_pass[row].data());
        }
        return {places.data(), places.size(), this->vocabulary_size(), draft::possible_of(this->head())};
    }

    /// See LayerInputModel.
    std::size_t layer_input_size() const requires(LayerInputModel<M>) { return this->model().layer_input_size(); }
    logit_row layer_input(const sequence_type& sequence) const requires(LayerInputModel<M>) {
        return this->model().layer_input(sequence.inner);
    }

 protected:
    using base_class::base_class;
};

template <class M, class Head>
using verifier_of = typename std::conditional_t<SplitModel<M>, std::type_identity<split_verifier<M, Head>>,
                                                std::type_identity<whole_verifier<M, Head>>>::type;

/// The model `M` with the rows of `Head` in place of its own: another target. Whatever a scheme over it guarantees, it
/// guarantees of this one: its texts are plain decoding's by the updated verifier, not by M. Refers to model and head;
/// the head may change between texts only, since a text whose verifier changes is nobody's plain decoding.
/// `Head` is a draft::ExitHead on the last hidden states as M leaves them (norm_kind::none, where M has normalised
/// them). Where M is a SplitModel so is this: the head comes after the last layer, so that all layers, their cache and
/// the states after any of them are M's, and whatever drafts from the first of them (draft::self_speculation) reads
/// what it would read of M.
/// Cost: M's own output is computed, too, and not used.
template <HiddenStateModel M, draft::ExitHead Head>
class updated_verifier : public verifier_of<M, Head> {
 public:
    static constexpr bool bitwise_rows = requires { requires M::bitwise_rows; };

    /// Throws unless the head reads states of this model's size and makes rows of its vocabulary.
    updated_verifier(const M& model, const Head& head)
        : verifier_of<M, Head>("updated_verifier", "model", model, head) {}
};

}  // namespace augur::train
