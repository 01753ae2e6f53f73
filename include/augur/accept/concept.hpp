#pragma once
// The AcceptanceCriterion concept: accepts or replaces drafted tokens; the only part that may change the output.

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "augur/detail/optional_member.hpp"
#include "augur/random/chooser.hpp"
#include "augur/transform/concept.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/guarantee.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/verdict.hpp"

namespace augur {

namespace detail {
/// A chooser for checking concepts with: any one serves, for a criterion must work with all.
using any_draws = position_draws<random::philox_chooser>;
}  // namespace detail

/// `using guarantee = ...`: what decoding with this criterion promises, one of guarantee::*.
template <class C>
concept StatesGuarantee = requires {
    typename C::guarantee;
    requires Guarantee<typename C::guarantee>;
};

/// `accepts(target, drafted, draws) const -> bool`: whether the drafted token is accepted.
template <class C, class DraftDistribution>
concept AcceptsTokens = requires(const C& criterion, const distribution& target,
                                 const drafted_token<DraftDistribution>& drafted, detail::any_draws& draws) {
    { criterion.accepts(target, drafted, draws) } -> std::same_as<bool>;
};

/// `draw(target, draws) const` returns a token from the target's row, or from what is left of it.
template <class C>
concept DrawsToken = requires(const C& criterion, const distribution& target, detail::any_draws& draws) {
    { criterion.draw(target, draws) } -> std::convertible_to<token>;
};

/// `judge_block(targets, proposed, draws) const` returns a verdict on a whole chain: targets[i] follows the first i
/// drafted tokens, draws(i) is the randomness of that position.
template <class C, class DraftDistribution>
concept ReturnsVerdict = requires(const C& criterion, std::span<const distribution> targets,
                                  const proposal<DraftDistribution>& proposed,
                                  detail::any_draws (*draws)(std::size_t)) {
    { criterion.judge_block(targets, proposed, draws) } -> std::same_as<verdict>;
};

namespace detail {
/// The target's rows of a tree, for checking concepts with.
struct any_tree_rows {
    const distribution& operator[](std::size_t row) const;
};
}  // namespace detail

/// `judge_tree(targets, proposed, draws, path) const` judges a whole tree, or a chain: adds the nodes of the accepted
/// path to `path`, from the prefix on, and returns the token that follows. targets[0] is the target's row after the
/// prefix, targets[1 + node] the one after that node and the path to it; one that is empty() cannot be drawn from: then
/// nothing beneath is asked for, and no_token follows there. draws(parent, sibling) is the randomness where child
/// number `sibling` of `parent` is judged; draws(parent, 0) also that of the token that follows `parent` in place of
/// all.
template <class C, class DraftDistribution>
concept JudgesTrees = requires(const C& criterion, const detail::any_tree_rows& targets,
                               const proposal<DraftDistribution>& proposed,
                               detail::any_draws (*draws)(std::int32_t parent, std::size_t sibling),
                               std::vector<std::size_t>& path) {
    { criterion.judge_tree(targets, proposed, draws, path) } -> std::same_as<token>;
};

/// Keeps storage from round to round, so as to allocate nothing: `storage_type`, of which whoever walks keeps one for
/// each text. judge_tree then takes it, too: judge_tree(targets, proposed, draws, path, storage) const. So does
/// after_rejection(target, drafted, storage) const where it is there: of siblings each leaves what the next is made of.
template <class C>
concept KeepsStorage = std::default_initializable<typename C::storage_type>;

/// Judges token by token; who has judge_block or judge_tree beside accepts is asked by that.
template <class C, class DraftDistribution>
concept JudgesEach =
    AcceptsTokens<C, DraftDistribution> && !ReturnsVerdict<C, DraftDistribution> && !JudgesTrees<C, DraftDistribution>;

/// `after_rejection(target, drafted) const`: what is left of the target's row once that token is rejected, for the next
/// sibling and for `draw`. Of what is left, too, and then of the same type, however many siblings are rejected.
template <class C, class DraftDistribution>
concept LeavesAfterRejection = requires(const C& criterion, const distribution& target,
                                        const drafted_token<DraftDistribution>& drafted, detail::any_draws& draws) {
    { criterion.draw(criterion.after_rejection(target, drafted), draws) } -> std::convertible_to<token>;
    { criterion.accepts(criterion.after_rejection(target, drafted), drafted, draws) } -> std::same_as<bool>;
    requires std::same_as<
        std::remove_cvref_t<decltype(criterion.after_rejection(criterion.after_rejection(target, drafted), drafted))>,
        std::remove_cvref_t<decltype(criterion.after_rejection(target, drafted))>>;
};

/// Decides which drafted tokens are accepted, and which token follows.
/// Define: `guarantee`; for the draft distributions that it understands (point_mass, distribution, or both)
///         accepts(target, const drafted_token<DraftDistribution>&, draws&) const -> bool, and draw(target, draws&)
///         const -> token, which is asked once a round: where nothing was drafted, or all siblings of a position were
///         rejected.
///         Optional: after_rejection(target, const drafted_token<DraftDistribution>&) const, what a rejection leaves of
///         the target for the next sibling and for `draw` (default: the target as it was); both then take what it
///         returns, too, and so does it; or, in place of accepts, judge_block for whole chains, or judge_tree for whole
///         trees, chains among them, which may keep storage (KeepsStorage);
///         `token_selector`, how a draft model should pick tokens for it (types/token_selector.hpp; default argmax);
///         `check(const transform::settings&) const`, throwing where it cannot keep its guarantee;
///         for links inside a cascade `drawn_from`, with `draft_distribution`, or `certain` (scheme/stage.hpp).
/// Laws:   a token of target probability 0 is never accepted or drawn; all randomness comes from `draws`; what
///         it claims in `guarantee` holds exactly (testing::text_distribution_of). No argument is empty; all stay
///         unchanged, and outlive what is left of them.
/// Composes: with any policy, and with any drafter of a draft distribution that it understands; on chains, on trees,
/// and on links
///         inside a cascade where it says what a token was drawn from.
///         speculate(draft, target, policy::fixed_length{4}, accept::rejection_sampling{})
/// Models: accept::exact, accept::rejection_sampling, accept::coupled, accept::block, accept::traversal. Smallest:
/// tests/accept/concept.cpp.
template <class C, class DraftDistribution>
concept AcceptanceCriterionFor = StatesGuarantee<C> && DrawsToken<C> &&
    (AcceptsTokens<C, DraftDistribution> || ReturnsVerdict<C, DraftDistribution> || JudgesTrees<C, DraftDistribution>);

/// A criterion for at least one kind of draft distribution.
template <class C>
concept AcceptanceCriterion = AcceptanceCriterionFor<C, point_mass> || AcceptanceCriterionFor<C, distribution>;

namespace detail {

/// Says in one sentence what a criterion lacks to judge tokens with this draft distribution: the first that is missing.
template <class C, class DraftDistribution>
struct check_criterion {
    static constexpr bool judges = AcceptanceCriterionFor<C, DraftDistribution>;
    static constexpr bool complete = StatesGuarantee<C> && DrawsToken<C>;
    static constexpr bool accepts_returns =
        requires(const C& criterion, const distribution& target, const drafted_token<DraftDistribution>& drafted,
                 any_draws& draws) {
        criterion.accepts(target, drafted, draws);
    };
    static constexpr bool names_token_selector = requires { typename C::token_selector; };
    static constexpr bool lacks_token_selector =
        std::same_as<DraftDistribution, point_mass> && !names_token_selector && AcceptanceCriterionFor<C, distribution>;

    static_assert(
        !HasMemberJudge<C>,
        "augur: this criterion has a member `judge`, which would be ignored: write in its place bool accepts(target, "
        "drafted, draws) const, whether the drafted token is accepted; after_rejection(target, drafted) const, what "
        "is left of the target then (may be left out: the target as it was); and token draw(target, draws) const, "
        "which draws from either");
    static_assert(StatesGuarantee<C>,
                  "augur::speculate: this criterion has to say what it promises, as one of augur::guarantee::*; "
                  "`using guarantee = augur::guarantee::none` promises nothing");
    static_assert(DrawsToken<C> || !StatesGuarantee<C>,
                  "augur::speculate: this criterion needs `draw(target, draws) const`, which returns the token that "
                  "follows where nothing was drafted or a drafted token was rejected");
    static_assert(
        judges || !complete || !accepts_returns,
        "augur::speculate: this criterion's `accepts` has to return bool: whether the drafted token is accepted; "
        "the token that follows a rejected one comes from `draw`");
    static_assert(
        judges || !complete || accepts_returns || !lacks_token_selector,
        "augur::speculate: this criterion judges drawn tokens only, but it names no `token_selector`, without which "
        "a model drafts by arg max; add `using token_selector = augur::draft::sampled` to it (this drafter's draft "
        "distribution is point_mass)");
    static_assert(
        judges || !complete || accepts_returns || lacks_token_selector || HasMemberJudge<C>,
        "augur::speculate: this criterion cannot judge this drafter's draft distribution (point_mass or "
        "distribution): it has no `accepts(target, drafted, draws) const` for such tokens, nor a `judge_block` "
        "that returns an augur::verdict, nor a `judge_tree` that returns a token");
    static constexpr bool done = true;
};

/// Whether what a criterion says of rejections will be heard, where it accepts such tokens.
template <class C, class DraftDistribution>
inline constexpr bool heard_after_rejection =
    !HasMemberAfterRejection<C> || !AcceptsTokens<C, DraftDistribution> || LeavesAfterRejection<C, DraftDistribution>;

/// The draft distribution that a stage gives the tokens that a criterion accepts: `using draft_distribution = ...`,
/// else that they were drawn from a row.
template <class C>
struct draft_distribution_inside : std::type_identity<distribution> {};
template <class C>
requires requires {
    typename C::draft_distribution;
}
struct draft_distribution_inside<C> : std::type_identity<typename C::draft_distribution> {};

/// Refuses optional members that cannot be called and would be ignored.
template <class C>
struct optional_members_of_criterion {
    static_assert(!HasMemberCheck<C> || ChecksSettings<C>,
                  "augur: this criterion has a member check that cannot be called as void check(const "
                  "transform::settings&) const, so that it would be ignored");
    static_assert(
        !HasMemberCertain<C> || requires { flag<static_cast<bool>(C::certain)>::value; },
        "augur: this criterion has a member certain that is no static constexpr bool");
    static_assert(!HasMemberJudgeTree<C> || JudgesTrees<C, point_mass> || JudgesTrees<C, distribution>,
                  "augur: this criterion has a member judge_tree that cannot be called as token judge_tree(targets, "
                  "proposed, draws, std::vector<std::size_t>& path) const, so that it would be ignored");
    static_assert(heard_after_rejection<C, point_mass> && heard_after_rejection<C, distribution>,
                  "augur: this criterion has a member after_rejection that cannot be called as after_rejection(target, "
                  "drafted) const for each draft distribution that it accepts; accepts, draw and after_rejection "
                  "itself have to take "
                  "what it returns in the target's place, and it has to return that type again");
    static constexpr bool fit = true;
};

}  // namespace detail

namespace accept {

/// Lets a criterion refuse settings.
template <StatesGuarantee C>
void check(const C& criterion, const transform::settings& chosen) {
    static_assert(augur::detail::optional_members_of_criterion<C>::fit);
    if constexpr (ChecksSettings<C>) criterion.check(chosen);
}

}  // namespace accept

}  // namespace augur
