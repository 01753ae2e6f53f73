#pragma once
// The only thing that may change the output's distribution.

#include <concepts>
#include <cstddef>
#include <span>

#include "augur/detail/named_member.hpp"
#include "augur/random/chooser.hpp"
#include "augur/transform/pipeline.hpp"
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

/// `judge(target, drafted, draws) const` returns a decision: the drafted token stands, or another takes its place.
template <class C, class Claim>
concept ReturnsDecision = requires(const C& criterion, const distribution& target, const drafted_token<Claim>& drafted,
                                   detail::any_draws& draws) {
    { criterion.judge(target, drafted, draws) } -> std::same_as<decision>;
};

/// `draw(target, draws) const` returns a token from the target's row, where nothing was drafted.
template <class C>
concept DrawsToken = requires(const C& criterion, const distribution& target, detail::any_draws& draws) {
    { criterion.draw(target, draws) } -> std::convertible_to<token>;
};

/// `judge_block(targets, proposed, draws) const` returns a verdict on a whole chain: targets[i] follows the first i drafted
/// tokens, draws(i) is the randomness of that position.
template <class C, class Claim>
concept ReturnsVerdict = requires(const C& criterion, std::span<const distribution> targets,
                                  const proposal<Claim>& proposed, detail::any_draws (*draws)(std::size_t)) {
    { criterion.judge_block(targets, proposed, draws) } -> std::same_as<verdict>;
};

/// `check(const transform::settings&) const`, throwing where what is promised cannot be kept. Drafters can have one, too.
template <class C>
concept ChecksSettings = requires(const C& criterion, const transform::settings& chosen) {
    { criterion.check(chosen) } -> std::same_as<void>;
};

/// Judges one drafted token against the target's row; or, with judge_block in place of judge, a whole chain.
/// Define: `guarantee`; judge(const distribution& target, const drafted_token<Claim>&, draws&) const -> decision, for the
///         claims it understands (point_mass, distribution, or both); draw(const distribution& target, draws&) const -> token.
///         Optional: `drawing`, how a draft model should pick tokens for it (types/drawing.hpp; default argmax);
///         `check(const transform::settings&) const`, throwing where it cannot keep its guarantee;
///         for links inside a cascade `drawn_from` or `certain` (cascade/stage.hpp).
/// Laws:   a token of target probability 0 is never accepted, drawn or put in a place; all randomness comes from `draws`;
///         what it claims in `guarantee` holds exactly (testing::law_of). Neither argument is empty; both stay unchanged.
/// Models: accept::exact, accept::rejection_sampling, accept::coupled, accept::block. Smallest: tests/accept/concept.cpp.
template <class C, class Claim>
concept AcceptanceCriterionFor = StatesGuarantee<C> && DrawsToken<C> &&
    (ReturnsDecision<C, Claim> || ReturnsVerdict<C, Claim>);

/// A criterion for at least one kind of claim.
template <class C>
concept AcceptanceCriterion = AcceptanceCriterionFor<C, point_mass> || AcceptanceCriterionFor<C, distribution>;

namespace detail {

/// Says in one sentence what a criterion lacks to judge tokens with this claim: the first that is missing.
template <class C, class Claim>
struct check_criterion {
    static constexpr bool judges = AcceptanceCriterionFor<C, Claim>;
    static constexpr bool complete = StatesGuarantee<C> && DrawsToken<C>;
    static constexpr bool judge_returns = requires(const C& criterion, const distribution& target,
                                                   const drafted_token<Claim>& drafted, any_draws& draws) {
        criterion.judge(target, drafted, draws);
    };
    static constexpr bool names_drawing = requires { typename C::drawing; };
    static constexpr bool lacks_drawing =
        std::same_as<Claim, point_mass> && !names_drawing && AcceptanceCriterionFor<C, distribution>;

    static_assert(StatesGuarantee<C>,
                  "augur::speculate: this criterion has to say what it promises, as one of augur::guarantee::*; "
                  "`using guarantee = augur::guarantee::none` promises nothing");
    static_assert(DrawsToken<C> || !StatesGuarantee<C>,
                  "augur::speculate: this criterion needs `draw(target, draws) const`, which returns the token that "
                  "follows where nothing was drafted");
    static_assert(judges || !complete || !judge_returns,
                  "augur::speculate: this criterion's `judge` has to return an augur::decision, decision::accept() or "
                  "decision::replace_with(token); a bool does not say which token takes a rejected one's place");
    static_assert(judges || !complete || judge_returns || !lacks_drawing,
                  "augur::speculate: this criterion judges drawn tokens only, but it names no `drawing`, without which "
                  "a model drafts by arg max; add `using drawing = augur::draft::sampled` to it (this drafter claims "
                  "point_mass)");
    static_assert(judges || !complete || judge_returns || lacks_drawing,
                  "augur::speculate: this criterion cannot judge what this drafter claims (point_mass or "
                  "distribution): it has no `judge(target, drafted, draws) const` for such tokens, nor a `judge_block` "
                  "that returns an augur::verdict");
    static constexpr bool done = true;
};

/// Refuses members that have the names of optional ones and are not what would be called.
template <class C>
struct optional_members_of_criterion {
    static_assert(!NamesCheck<C> || ChecksSettings<C>,
                  "augur: this criterion has a member check that cannot be called as void check(const "
                  "transform::settings&) const, so that nobody would call it");
    static_assert(
        !NamesCertain<C> || requires { flag<static_cast<bool>(C::certain)>::value; },
        "augur: this criterion has a member certain that is no static constexpr bool");
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
