#pragma once
// The Drafter concept: proposes tokens for verification.

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include "augur/detail/optional_member.hpp"
#include "augur/flow/task.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/hidden_states.hpp"
#include "augur/policy/concept.hpp"
#include "augur/policy/fixed_length.hpp"
#include "augur/random/chooser.hpp"
#include "augur/transform/concept.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/statistics.hpp"

namespace augur {

namespace model {
template <Model M>
class cached_sequence;  // model/cached_sequence.hpp
}  // namespace model

namespace draft {
struct no_target;
template <SpeculationPolicy Policy, Chooser C, class Target = no_target>
class context;  // draft/context.hpp
}  // namespace draft

namespace detail {
/// A context for checking concepts with: a drafter must work with any policy and chooser.
using any_draft_context = draft::context<policy::fixed_length, random::philox_chooser>;
}  // namespace detail

/// `drafter.make_state()`: what it keeps for one sequence, owned by the caller.
template <class D>
concept MakesDraftState = std::movable<typename D::state_type> && requires(const D& drafter) {
    { drafter.make_state() } -> std::same_as<typename D::state_type>;
};

/// `void drafter.propose(state, context, out) const` fills a proposal, which is empty and keeps the storage of the last
/// one. Its type says the draft distribution of its tokens: `draft_distribution_type`.
template <class D>
concept ProposesAtOnce = requires(const D& drafter, typename D::state_type& state, detail::any_draft_context& context,
                                  proposal<typename D::draft_distribution_type>& out) {
    { drafter.propose(state, context, out) } -> std::same_as<void>;
};

/// The same as a coroutine, `flow::task propose(state, context, out) const`: it stops wherever it co_awaits a model's
/// rows (model::cached_sequence::ask), so that a batch can run its passes together with other rounds'. One that fills
/// trees may do the one for chains and the other for trees, by the type of the context.
template <class D>
concept ProposesInSteps = requires(const D& drafter, typename D::state_type& state, detail::any_draft_context& context,
                                   proposal<typename D::draft_distribution_type>& out) {
    { drafter.propose(state, context, out) } -> std::same_as<flow::task>;
};

/// Either.
template <class D>
concept FillsProposal = ProposesAtOnce<D> || ProposesInSteps<D>;

/// `drafter.on_commit(state, prefix)`: these tokens are committed; forget everything else. Where it throws it is called
/// again, with the prefix as it is then, before the next proposal.
template <class D>
concept HearsCommits = requires(const D& drafter, typename D::state_type& state, const prefix& committed) {
    { drafter.on_commit(state, committed) } -> std::same_as<void>;
};

/// `drafter.on_commit(state, prefix, states)`, in place of the former: and these are the target's hidden states at
/// positions of the prefix (hidden_states, of any rows). Called for the parts of the prompt, then after every commit.
/// Positions come in order and without a gap, up to the one before the last token's, for which there is no state yet.
template <class D>
concept ReadsStates = requires(const D& drafter, typename D::state_type& state, const prefix& committed,
                               const hidden_states<>& states) {
    { drafter.on_commit(state, committed, states) } -> std::same_as<void>;
};

/// `drafter.prepare(state, prefix) const`: with the prompt, after its states have been followed; counts as prefill.
/// Once, or first with beginnings of the prompt, each longer than the one before, where it is computed in parts.
template <class D>
concept Prepares = requires(const D& drafter, typename D::state_type& state, const prefix& prompt) {
    { drafter.prepare(state, prompt) } -> std::same_as<void>;
};

/// `drafter.abandon(state) const`: the round that it last proposed in does not take place. The state becomes what it
/// was after the last on_commit, as far as proposals and reports show it. For drafters that learn while they propose.
template <class D>
concept Abandons = requires(const D& drafter, typename D::state_type& state) {
    { drafter.abandon(state) } -> std::same_as<void>;
};

/// A drafter with stages inside it (scheme/stage.hpp): `static constexpr std::size_t stages`, and
/// `drafter.report(state, counts) const`, which overwrites the counts of so many stages, innermost first.
template <class D>
concept ReportsStages = requires(const D& drafter, const typename D::state_type& state,
                                 std::span<stage_statistics> counts) {
    { D::stages } -> std::convertible_to<std::size_t>;
    { drafter.report(state, counts) } -> std::same_as<void>;
};

/// Makes a proposal after a prefix, for as long as the context wants more.
/// Define: state_type, draft_distribution_type, make_state(), propose(), on_commit().
///         Optional: vocabulary_size() and vocabulary_fingerprint(), compared with the target's at construction; so is
///         hidden_size() of one that follows states; prepare() (Prepares); abandon() (Abandons);
///         `check(const transform::settings&) const`, throwing where it cannot draft under these settings;
///         `static constexpr bool shows_rows = true` when it passes each row to context.wants_more(drafted, row) before
///         drawing from it, which policies on the draft's entropy or confidence need;
///         `static constexpr bool shows_matches = true` when it tells context.matched(length) before each proposal that
///         rests on a match.
///         `static constexpr bool fills_trees = true` when it fills the tree that a plan names, and drafts a chain
///         where it names none; `static constexpr bool grows = true` when it grows one by value where a plan says so;
///         `static constexpr bool branches = true` when its proposals can be trees whatever the plan. What it drafts
///         under a policy follows (drafts_trees): criteria of whole chains refuse trees.
///         `static constexpr bool drafts_in_target = true` when it drafts in the target's own sequence
///         (DraftsInTarget). A member of one of these names that is written otherwise does not compile.
/// Laws:   never a path of more tokens than are wanted, and none is no error; after propose the prefix is as before;
///         a draft distribution `distribution` carries the very row that the token was drawn from, after the transform;
///         whether a further token is drafted depends on rows and earlier tokens, never on the value of the token at
///         hand; after on_commit, proposals are those of a fresh state, so that no history of rejections shows.
/// Composes: in front of any target; in turn with others, or merged with them; a scheme drafts for a better model.
///         speculate(draft::fallback(draft::prompt_lookup(2), small), target, policy::fixed_length{4}, accept::exact{})
/// Models: draft::draft_model, draft::prompt_lookup, draft::no_draft. Smallest: tests/draft/concept.cpp.
template <class D>
concept Drafter = MakesDraftState<D> && FillsProposal<D> &&(HearsCommits<D> || ReadsStates<D>);

namespace detail {

/// Refuses members that have the names of optional ones and are not what would be called.
template <class D>
struct optional_members_of_drafter {
    static_assert(!HasMemberPrepare<D> || Prepares<D>,
                  "augur: this drafter has a member prepare that cannot be called as void prepare(state_type&, const "
                  "prefix&) const, so that it would be ignored");
    static_assert(!HasMemberCheck<D> || ChecksSettings<D>,
                  "augur: this drafter has a member check that cannot be called as void check(const "
                  "transform::settings&) const, so that it would be ignored");
    static_assert(!HasMemberReport<D> || ReportsStages<D>,
                  "augur: this drafter has a member report, but not static constexpr std::size_t stages and void "
                  "report(const state_type&, std::span<stage_statistics>) const, so that it would be ignored");
    static_assert(!HasMemberAbandon<D> || Abandons<D>,
                  "augur: this drafter has a member abandon that cannot be called as void abandon(state_type&) const, "
                  "so that it would be ignored");
    static_assert(
        !HasMemberShowsRows<D> || requires { flag<static_cast<bool>(D::shows_rows)>::value; },
        "augur: this drafter has a member shows_rows that is no static constexpr bool");
    static_assert(
        !HasMemberBranches<D> || requires { flag<static_cast<bool>(D::branches)>::value; },
        "augur: this drafter has a member branches that is no static constexpr bool");
    static_assert(
        !HasMemberFillsTrees<D> || requires { flag<static_cast<bool>(D::fills_trees)>::value; },
        "augur: this drafter has a member fills_trees that is no static constexpr bool");
    static_assert(
        !HasMemberShowsMatches<D> || requires { flag<static_cast<bool>(D::shows_matches)>::value; },
        "augur: this drafter has a member shows_matches that is no static constexpr bool");
    static_assert(
        !HasMemberDraftsInTarget<D> || requires { flag<static_cast<bool>(D::drafts_in_target)>::value; },
        "augur: this drafter has a member drafts_in_target that is no static constexpr bool");
    static constexpr bool fit = true;
};

}  // namespace detail

/// A drafter whose proposals can be trees whatever the plan.
template <class D>
inline constexpr bool branches = requires {
    requires static_cast<bool>(D::branches);
};

/// A drafter that fills the tree that a plan names, and drafts a chain where it names none.
template <class D>
inline constexpr bool fills_trees = requires {
    requires static_cast<bool>(D::fills_trees);
};

/// A drafter that can grow trees by value (growth_budget).
template <class D>
inline constexpr bool grows = requires {
    requires static_cast<bool>(D::grows);
};

/// Whether a drafter's proposals can be trees under the plans of a policy. Where not, what verifies them compiles for
/// chains alone.
template <class D, SpeculationPolicy Policy>
inline constexpr bool drafts_trees = branches<D> || (fills_trees<D> && shape_of<Policy> == draft_shape::tree) ||
                                     (grows<D> && shape_of<Policy> == draft_shape::grown_tree);

/// A drafter that drafts in the target's own sequence (self-speculation): it runs the target's first layers, whose
/// positions wait there for the others, and is given that sequence by context.target().
template <class D>
inline constexpr bool drafts_in_target = requires {
    requires static_cast<bool>(D::drafts_in_target);
};

/// It says `void check_target(const M&) const`, which throws unless it can draft in this target.
template <class D, class M>
concept DraftsInTarget = drafts_in_target<D> && SplitModel<M> && requires(const D& drafter, const M& target) {
    { drafter.check_target(target) } -> std::same_as<void>;
};

/// It brings its target to a prompt, and is shown on the way what the first layers made of it:
/// `drafter.fill(state, cache, tokens) const`, with the target's cached_sequence, which then holds exactly `tokens`.
template <class D, class M>
concept FillsTarget = drafts_in_target<D> && SplitModel<M> &&
    requires(const D& drafter, typename D::state_type& state, model::cached_sequence<M>& cache,
             std::span<const token> tokens) {
    { drafter.fill(state, cache, tokens) } -> std::same_as<void>;
};

/// A drafter that tells the policy how long its matches are.
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
