#pragma once
// Who guesses.

#include <concepts>

#include "augur/draft/context.hpp"
#include "augur/model/hidden_states.hpp"
#include "augur/policy/fixed_length.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"

namespace augur {

namespace detail {
/// A context for checking concepts with: a drafter must work with any policy and chooser.
using any_draft_context = draft::context<policy::fixed_length, random::philox_chooser>;
}  // namespace detail

/// `drafter.make_state()`: what it keeps for one sequence, owned by the caller.
template <class D>
concept MakesDraftState = std::movable<typename D::state_type> && requires(const D& drafter) {
    { drafter.make_state() } -> std::same_as<typename D::state_type>;
};

/// `drafter.propose(state, context)` returns a proposal, whose type says what is claimed about its tokens: `claim_type`.
template <class D>
concept ReturnsProposal = requires(const D& drafter, typename D::state_type& state,
                                   detail::any_draft_context& context) {
    typename D::claim_type;
    { drafter.propose(state, context) } -> ChainProposalOf<typename D::claim_type>;
};

/// `drafter.follow(state, prefix)`: these tokens are committed; forget everything else.
template <class D>
concept FollowsPrefix = requires(const D& drafter, typename D::state_type& state, const prefix& committed) {
    { drafter.follow(state, committed) } -> std::same_as<void>;
};

/// `drafter.follow(state, prefix, states)`, in place of the former: and these are the target's hidden states at positions of
/// the prefix (hidden_states, of any rows). Called for the parts of the prompt, then after every commit. Positions come in
/// order and without a gap, up to the one before the last token's, for which there is no state yet.
template <class D>
concept FollowsStates = requires(const D& drafter, typename D::state_type& state, const prefix& committed,
                                 const hidden_states<>& states) {
    { drafter.follow(state, committed, states) } -> std::same_as<void>;
};

/// Makes a proposal after a prefix, for as long as the context wants more.
/// Define: state_type, claim_type, make_state(), propose(), follow().
///         Optional: vocabulary_size(), compared with the target's at construction; so is hidden_size() of one that
///         follows states;
///         prepare(state, prefix) const, called once with the prompt, whose time counts as prefill;
///         prefilled(state, prefix) const, the same after all of the prompt's states have been followed;
///         reuse(state, proposal&&) const, given the last round's proposal for its storage;
///         `static constexpr bool shows_rows = true` when it passes each row to context.wants_more(drafted, row) before
///         drawing from it, which policies on the draft's entropy or confidence need.
/// Laws:   never more tokens than are wanted, and none is no error; after propose the prefix is as before;
///         a claim `distribution` carries the very row that the token was drawn from, after the transform;
///         whether a further token is drafted depends on rows and earlier tokens, never on the value of the token at hand;
///         after follow, proposals are those of a fresh state, so that no history of rejections shows.
/// Models: draft::draft_model, draft::prompt_lookup, draft::nothing. Smallest: tests/draft/concept.cpp.
template <class D>
concept Drafter = MakesDraftState<D> && ReturnsProposal<D> &&(FollowsPrefix<D> || FollowsStates<D>);

namespace draft {

/// Tells a drafter what is committed, with the target's states if it follows them: for drafters made of drafters.
template <Drafter D>
void follow(const D& drafter, typename D::state_type& state, const prefix& committed, const auto& states) {
    if constexpr (FollowsStates<D>) {
        drafter.follow(state, committed, states);
    } else {
        drafter.follow(state, committed);
    }
}

}  // namespace draft

/// A drafter that tells the policy how long its matches are: `static constexpr bool shows_matches = true`, and
/// context.matched(length) before each proposal that rests on one.
template <class D>
inline constexpr bool shows_matches = requires {
    requires static_cast<bool>(D::shows_matches);
};

/// A drafter that shows its rows to the policy.
template <class D>
inline constexpr bool shows_rows = requires {
    requires static_cast<bool>(D::shows_rows);
};

/// The signals that a drafter shows.
template <class D>
inline constexpr signals shown_by = (shows_rows<D> ? signals::draft_entropy | signals::draft_confidence
                                                   : signals::none) |
                                    (shows_matches<D> ? signals::match_length : signals::none);

}  // namespace augur
