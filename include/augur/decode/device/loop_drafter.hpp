#pragma once
// The drafter concept of the on-device loop.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "augur/backend/device/system.hpp"
#include "augur/backend/device/weighed_rows.hpp"
#include "augur/decode/device/loop_edits.hpp"
#include "augur/decode/device/loop_state.hpp"
#include "augur/types/observation.hpp"
#include "augur/types/token.hpp"

namespace augur::decode::device {

using namespace backend::device;  // what kernels are made of

/// One sequence whose text lies in the memory of a ControllingSystem:
///   `launch(text, first, count, last)`  launches, and nothing else, the last rows of the tokens from *first to
///                                       *first + count - 1;
///   `logits()`                          where these are;
///   `fill(text, count)`                 keys and values of the text's first tokens;
///   `capacity()`, `most_rows()` of a launch, `vocabulary_size()`, `system()`.
/// Law: rows are those of a Model that is extended by the same text; `bitwise_rows` says what it says there. Models:
/// llama::device::resident.
template <class M>
concept ResidentModel = requires(const M& model, const token* text, const std::uint32_t* first, std::size_t count) {
    requires ControllingSystem<std::remove_cvref_t<decltype(model.system())>>;
    { model.vocabulary_size() } -> std::convertible_to<std::size_t>;
    { model.capacity() } -> std::convertible_to<std::size_t>;
    { model.most_rows() } -> std::convertible_to<std::size_t>;
    model.launch(text, first, count, count);
    model.fill(text, count);
    { model.logits() } -> std::same_as<const float*>;
};

/// The sizes that a loop is built for.
struct loop_sizes {
    std::size_t vocabulary = 0;
    std::size_t capacity = 0;      ///< tokens of the text
    std::size_t most_drafted = 0;  ///< tokens of a draft
};

/// What a loop lends to its drafter. `State` is a loop_state.
template <class State, ControllingSystem S>
struct loop_view {
    using state_type = State;
    using system_type = S;

    const S& on;
    State* state;
    token* text;  ///< committed tokens, then drafted ones; more than the state says are of no meaning
    const weighed_rows<S>& weighed;
    const loop_edits<S>& edits;

    /// Launches a change to the state.
    template <class Change>
    void change(const Change& by) const {
        on.launch(1, change_state<State, Change>{state, by});
    }
};

/// Drafts a chain in each round of a speculation_loop.
/// Define: `shown`: the signals that policies are shown (shown_by of a drafter of the host);
///         `capacity() const`: the longest text that it drafts after;
///         `start(text, count) const`: a text of so many tokens begins; the host waits;
///         `launch(view) const`: launches, and nothing else, what writes tokens behind the text, and their number to
///         the state, as long as state->asks, which the round has begun, wants more;
///         `chain(text) const`: their draft distributions, for accept_chain.
///         Optional: `launch_rows(view, rows) const`, what the target launches over the last committed token and those
///         behind it, for drafters that draft in the target.
/// Laws:   equal texts, seeds and answers of the policy, equal drafts: those of the host's drafter, bit for bit.
/// Models: draft_by_model (loop_draft.hpp), draft_by_lookup (kernel_lookup.hpp), draft_by_split (split_draft.hpp).
template <class D, class View>
concept LoopDrafter = requires(const D& drafter, const View& view, token* text, std::size_t count) {
    { D::shown } -> std::convertible_to<signals>;
    { drafter.capacity() } -> std::convertible_to<std::size_t>;
    drafter.start(text, count);
    drafter.launch(view);
    drafter.chain(text);
};

/// Whether a drafter shows what a policy cannot do without.
constexpr bool shows_all_of(signals needed, signals shown) {
    constexpr signals of_drafts = signals::draft_entropy | signals::draft_confidence | signals::match_length;
    return without(needed & of_drafts, shown) == signals::none;
}

/// The drafter for what a user names, made of (named, target, loop_sizes): a ResidentModel drafts by its rows; anything
/// else says `template <class View, class TokenSelector, class Target> using in_loop`.
template <class Named, class View, class TokenSelector, class Target>
struct drafting_of {
    using type = typename Named::template in_loop<View, TokenSelector, Target>;
};

}  // namespace augur::decode::device
