#pragma once
// Self-speculation for the on-device loop: the target's lower layers draft, its upper layers verify.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "augur/decode/device/loop_draft.hpp"
#include "augur/decode/device/loop_drafter.hpp"
#include "augur/decode/device/loop_state.hpp"
#include "augur/draft/exit_head.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/types/observation.hpp"
#include "augur/types/token.hpp"

namespace augur::decode::device {

/// A ResidentModel whose layers can be launched in two parts:
///   `launch_shallow(text, at, from, layers)`   the first `layers` layers of the token at *at; state() is its state
///                                              then, which is also kept as number *at - *from, below most_rows();
///   `launch_deep(text, from, count, layers)`   the other layers of the tokens from *from on, from the states that were
///                                              kept: logits() of all. States of numbers that were not kept make rows
///                                              that say nothing, and change no other;
///   `layer_count()`, `hidden_size()` of a state.
/// Law: shallow, then deep, is launch, bit for bit. Models: llama::device::resident.
template <class M>
concept ResidentSplitModel = ResidentModel<M> &&
    requires(const M& model, const token* text, const std::uint32_t* at, std::size_t count) {
    model.launch_shallow(text, at, at, count);
    model.launch_deep(text, at, count, count);
    { model.state() } -> std::same_as<const float*>;
    { model.layer_count() } -> std::convertible_to<std::size_t>;
    { model.hidden_size() } -> std::convertible_to<std::size_t>;
};

/// draft::ExitHead for states in a system's memory: `launch(state)` launches, and nothing else, what makes the row of
/// one state; `logits()` is where it is. Models: llama::device::device_exit.
template <class H>
concept ResidentHead = requires(const H& head, const float* state) {
    { head.layer() } -> std::convertible_to<std::size_t>;
    { head.vocabulary_size() } -> std::convertible_to<std::size_t>;
    { head.hidden_size() } -> std::convertible_to<std::size_t>;
    head.launch(state);
    { head.logits() } -> std::same_as<const float*>;
};

/// Models LoopDrafter, in the target's own cache: no layer runs twice over a token. Target and head must outlive it.
template <class View, class TokenSelector, ResidentSplitModel Target, ResidentHead Head>
class draft_by_split {
 public:
    static constexpr signals shown = rows_to_tokens<View, TokenSelector>::shown;

    template <class Named>
    draft_by_split(const Named& named, const Target& target, const loop_sizes& sizes)
        : target_(target), head_(named.head()), tokens_(target.system(), sizes) {
        draft::check_exit_sizes(head_, target);
    }

    static constexpr std::size_t capacity() { return std::numeric_limits<std::size_t>::max(); }
    void start(const token*, std::size_t) const {}

    /// The first layers of the last committed token and of each that is drafted, the last one included.
    void launch(const View& in) const {
        in.on.repeat_while(&in.state->wants_more, [&] {
            launch_shallow(in);
            head_.launch(target_.state());
            tokens_.launch(in, head_.logits());
        });
        in.change(aim_at_last{});
        in.on.repeat_while(&in.state->behind, [&] {
            launch_shallow(in);
            in.change(catch_up{});
        });
    }

    void launch_rows(const View& in, std::size_t rows) const {
        target_.launch_deep(in.text, &in.state->verify_from, rows, head_.layer());
    }

    auto chain(const token* text) const { return tokens_.chain(text); }

 private:
    void launch_shallow(const View& in) const {
        target_.launch_shallow(in.text, &in.state->draft_from, &in.state->verify_from, head_.layer());
    }

    const Target& target_;
    const Head& head_;
    rows_to_tokens<View, TokenSelector> tokens_;
};

/// draft::self_speculation in a speculation_loop: the target's first layers run over the last committed token and over
/// each token drafted, this head guesses what follows, and the target's rows are made by the other layers, from the
/// states that wait there. The head must outlive the loop.
/// Effect on the distribution: none. Cost: the first layers and the head for each row looked at, a token at a time.
/// Source: Liu et al. 2024, Kangaroo (arXiv 2404.18911).
template <ResidentHead Head>
class split_draft {
 public:
    template <class View, class TokenSelector, class Target>
    using in_loop = draft_by_split<View, TokenSelector, Target, Head>;

    explicit split_draft(const Head& head) : head_(head) {}

    const Head& head() const { return head_; }
    std::size_t vocabulary_size() const { return head_.vocabulary_size(); }
    std::string vocabulary_fingerprint() const { return augur::detail::vocabulary_fingerprint_of(head_); }

 private:
    const Head& head_;
};

}  // namespace augur::decode::device
