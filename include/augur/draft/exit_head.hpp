#pragma once
// The concepts of heads, which make rows of logits from hidden states: ExitHead, AttendingHead and DraftHeads.

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>

#include "augur/model/concepts.hpp"
#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"

namespace augur {

/// Heads on a target's last hidden state. `heads.row(workspace, state, tokens, head)` is the row of logits of the token
/// that follows `tokens`, which are head + 1: the one after the state's, and those drafted since. Medusa's heads look
/// at the state only, Hydra's at the tokens too. The row is valid until the next one is made in the same workspace.
template <class H>
concept DraftHeads = HasVocabularySize<H> && std::movable<typename H::workspace_type> &&
    requires(const H& heads, typename H::workspace_type& workspace, std::span<const float> state,
             std::span<const token> tokens, std::size_t head) {
    { heads.hidden_size() } -> std::convertible_to<std::size_t>;
    { heads.head_count() } -> std::convertible_to<std::size_t>;
    { heads.make_workspace() } -> std::same_as<typename H::workspace_type>;
    { heads.row(workspace, state, tokens, head) } -> std::convertible_to<logit_row>;
};

/// Heads that say whether they look at the tokens drafted before: where `heads.see_tokens()` is false (Medusa), a
/// head's row is made once for all nodes of its depth.
template <class H>
concept SaysWhatHeadsSee = requires(const H& heads) {
    { heads.see_tokens() } -> std::convertible_to<bool>;
};

/// Heads that may read a layer over the states of the whole text in place of its last state (Hydra++). Where
/// `heads.reads_text()`, `heads.follow(workspace, committed, states)` is shown the target's states as a drafter is
/// (ReadsStates), `heads.catch_up(workspace, committed)` runs those that wait, and `heads.state(workspace, committed)`
/// is what row() takes; of a text of two tokens at least.
template <class H>
concept ReadsText = DraftHeads<H> &&
    requires(const H& heads, typename H::workspace_type& workspace, const prefix& committed) {
    { heads.reads_text() } -> std::convertible_to<bool>;
    { heads.catch_up(workspace, committed) } -> std::same_as<void>;
    { heads.state(workspace, committed) } -> std::convertible_to<std::span<const float>>;
};

}  // namespace augur

namespace augur::draft {

/// Guesses the next token from the hidden state that a token has after the first `layer()` layers of a model, as these
/// leave it: what the model's last norm does, the head does itself. `head.row(hidden, out)` fills `out`,
/// vocabulary_size() logits, from `hidden`, hidden_size() numbers; a token that the head leaves out has -infinity.
/// Define: layer(), vocabulary_size(), hidden_size(), row(hidden, out) const.
///         Optional: vocabulary_fingerprint() (HasVocabularyFingerprint); possible(), the tokens that it does not leave
///         out, as in logit_row.
/// Laws:   equal states, equal rows, bit for bit, until its weights change, which they may between rounds only;
///         several sequences may ask one head, one after the other.
/// Smallest: tests/draft/exit_mock.hpp.
template <class H>
concept ExitHead = HasVocabularySize<H> &&
    requires(const H& head, std::span<const float> hidden, std::span<float> out) {
    { head.layer() } -> std::convertible_to<std::size_t>;
    { head.hidden_size() } -> std::convertible_to<std::size_t>;
    { head.row(hidden, out) } -> std::same_as<void>;
};

/// An exit head with a past: guesses the next token from the states that all tokens so far have after the first
/// `layer()` layers. What it attends to lies in a sequence of its own (own_sequence), position by position, beside the
/// model's cache.
/// Define: sequence_type, copyable; layer(), vocabulary_size(), hidden_size(); make_sequence(); length(sequence);
///         append(sequence, states), of whole positions in order; truncate(sequence, length), exact; row(sequence,
///         out), vocabulary_size() logits of what follows the last position; states(sequence), all that was appended.
///         Optional: vocabulary_fingerprint() (HasVocabularyFingerprint); possible(), as of an ExitHead.
/// Laws:   equal states, equal rows, however they were appended and truncated, until its weights change, which they may
///         between rounds only; rows are then those of a sequence that is made anew. Several sequences may ask one
///         head, one after the other.
/// Models: train::attending_head. Smallest: tests/draft/attending_mock.hpp.
template <class H>
concept AttendingHead = HasVocabularySize<H> &&
    requires(const H& head, typename H::sequence_type& sequence, std::span<const float> states, std::span<float> out,
             std::size_t length) {
    requires std::copyable<typename H::sequence_type>;
    { head.layer() } -> std::convertible_to<std::size_t>;
    { head.hidden_size() } -> std::convertible_to<std::size_t>;
    { head.make_sequence() } -> std::same_as<typename H::sequence_type>;
    { head.length(sequence) } -> std::convertible_to<std::size_t>;
    { head.append(sequence, states) } -> std::same_as<void>;
    { head.truncate(sequence, length) } -> std::same_as<void>;
    { head.row(sequence, out) } -> std::same_as<void>;
    { head.states(sequence) } -> std::convertible_to<std::span<const float>>;
};

/// The only tokens that a head gives logits above -infinity, as far as it says (logit_row::possible).
std::span<const token> possible_of(const auto& head) {
    if constexpr (requires {
                      { head.possible() } -> std::convertible_to<std::span<const token>>;
                  }) {
        return head.possible();
    } else {
        return {};
    }
}

/// A head that reads what the last of its layers was made of, its target's layer input (LayerInputModel), in place of
/// the state after it: `static constexpr bool reads_layer_input = true`. hidden_size() is then the layer input's.
template <class H>
inline constexpr bool reads_layer_input = requires {
    requires H::reads_layer_input;
};

/// A head that says `static constexpr bool learns = true` is shown a state for every row that the target gives, also of
/// rounds in which nothing is drafted: whoever trains it has the whole text to do so.
template <class H>
inline constexpr bool learns = requires {
    requires H::learns;
};

/// A trained head, frozen: it is shown no more states than it drafts from. Refers to the head.
template <ExitHead H>
class frozen_head {
 public:
    static constexpr bool reads_layer_input = augur::draft::reads_layer_input<H>;

    explicit frozen_head(const H& head) : head_(&head) {}

    std::size_t layer() const { return head_->layer(); }
    std::size_t vocabulary_size() const { return head_->vocabulary_size(); }
    std::string vocabulary_fingerprint() const requires(HasVocabularyFingerprint<H>) {
        return head_->vocabulary_fingerprint();
    }
    std::size_t hidden_size() const { return head_->hidden_size(); }
    std::span<const token> possible() const { return possible_of(*head_); }
    void row(std::span<const float> hidden, std::span<float> out) const { head_->row(hidden, out); }

 private:
    const H* head_;
};

/// What the head reads of the last token that went through its layers.
template <ExitHead H, SplitModel M>
logit_row exit_state(const M& model, const sequence_t<M>& sequence) {
    if constexpr (reads_layer_input<H>) {
        return model.layer_input(sequence);
    } else {
        const auto states = model.hidden(sequence);
        return states[states.size() - 1];
    }
}

/// Throws unless states after so many layers of a model are some that leave others to verify with.
inline void check_exit_layer(std::size_t layer, std::size_t layers) {
    if (layer == 0 || layer >= layers) {
        augur::detail::fail("the exit head reads hidden states after ", layer, " layers; of a target of ", layers,
                            " it must be those after 1 to ", layers - 1);
    }
}

/// Throws unless the head reads hidden states of this model, after layers that leave others to verify with.
void check_exit_sizes(const auto& head, const auto& target) {
    check_exit_layer(head.layer(), target.layer_count());
    const auto fits = [&](const char* what, std::size_t own) {
        if (head.hidden_size() == own) return;
        augur::detail::fail("the exit head reads ", what, " of ", head.hidden_size(),
                            " numbers, but the target's have ", own);
    };
    if constexpr (reads_layer_input<std::remove_cvref_t<decltype(head)>>) {
        static_assert(
            requires { target.layer_input_size(); },
            "augur: this exit head reads layer inputs, which its target has to show (LayerInputModel)");
        fits("layer inputs", target.layer_input_size());
    } else {
        fits("hidden states", target.hidden_size());
    }
}

/// The same of heads and models of the host.
template <ExitHead H, SplitModel M>
void check_exit(const H& head, const M& target) {
    check_exit_sizes(head, target);
}

}  // namespace augur::draft
