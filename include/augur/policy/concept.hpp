#pragma once
// The SpeculationPolicy concept: decides what a round drafts.

#include <concepts>
#include <cstddef>

#include "augur/detail/host_device.hpp"
#include "augur/detail/optional_member.hpp"
#include "augur/types/error.hpp"
#include "augur/types/observation.hpp"
#include "augur/types/plan.hpp"
#include "augur/types/round_view.hpp"
#include "augur/types/scores.hpp"

namespace augur {

/// The signals that a policy reads, in its one declaration:
/// `static constexpr signals_read reads{.required = signals::draft_entropy};`.
struct signals_read {
    signals required = signals::none;   ///< with a drafter that does not show them it does not compile
    signals available = signals::none;  ///< shown where the drafter has them
    /// Measures a row's entropy, in nats, in place of measure::entropy_nats.
    double (*entropy_nats)(logit_row) = nullptr;

    constexpr bool measures_entropy() const { return entropy_nats != nullptr; }
};

/// `policy.plan(observation) const -> draft_plan`: what the round should draft.
template <class P>
concept Plans = requires(const P& policy, const observation& seen) {
    { policy.plan(seen) } -> std::same_as<draft_plan>;
};

/// `policy.length(observation) const`: the number of tokens that this round should draft in all.
template <class P>
concept DecidesLength = requires(const P& policy, const observation& seen) {
    { policy.length(seen) } -> std::convertible_to<std::size_t>;
};

/// The SpeculationPolicy concept: decides what a round drafts before the next verification.
/// Define: plan(observation) const; or its shorthand length(observation) const, for chains: a plan of this length that
///         asks again with each row of the draft, where it reads them. A plan holds for the round, but for rows that it
///         wants to see first (draft_plan::look), and signals that are pending. Drafting goes on while fewer tokens
///         than the answer are drafted.
///         Optional: `static constexpr signals_read reads` (default none). Before the required ones are known it is
///         not asked. The available ones, where the drafter shows them, are in observation::pending until they are
///         known: an answer of 0 ends the draft before they are, any other means "ask again". No other signals are
///         computed: they are NaN (or 0 matched), always. A policy that reads one decides on that in silence, but where
///         AUGUR_CHECK_SIGNALS is defined: then it is an error;
///         `static constexpr draft_shape plans` (default chain): what its plans are. A drafter that cannot make that
///         shape is refused at compile time;
///         `void learn(const outcome&)`, called after every round; or `void watch(const auto& view)`, which is shown
///         all of it (types/round_view.hpp). One that is noexcept is called when the round is committed; another
///         before, on a copy that is kept with the round, when the tokens have no text yet.
/// Laws:   equal policies and equal observations, equal answers; 0, or no node, means plain decoding, never an error;
///         any double in an observation, NaN and infinity included, has an answer;
///         it reads no signal that it does not declare, and does not end every draft while one of them is pending;
///         its plans are of the shape that it declares.
///         Suite: testing::policy_laws, which finds all of these.
/// Cannot change the output's distribution; only acceptance can.
/// Composes: with any drafter of its shape, any target and criterion; each decoding has its own copy.
///         struct one_more { std::size_t length(const observation& seen) const { return seen.last_accepted + 1; } };
///         speculate(draft, target, one_more{}, accept::exact{})
/// Models: policy::fixed_length, policy::entropy_bins. Smallest: tests/policy/concept.cpp.
template <class P>
concept SpeculationPolicy = std::copyable<P> &&(Plans<P> || DecidesLength<P>);

/// A policy that is told what became of each round.
template <class P>
concept LearnsFromOutcomes = requires(P& policy, const outcome& happened) {
    { policy.learn(happened) } -> std::same_as<void>;
};

/// What the policy declares to read.
template <SpeculationPolicy P>
inline constexpr signals_read reads_of = [] {
    if constexpr (requires {
                      { P::reads } -> std::same_as<const signals_read&>;
                  }) {
        return P::reads;
    } else {
        return signals_read{};
    }
}();

/// The signals without which the policy is not asked.
template <SpeculationPolicy P>
inline constexpr signals required_signals = reads_of<P>.required;

/// All signals that the policy is shown where there are any.
template <SpeculationPolicy P>
inline constexpr signals signals_of = reads_of<P>.required | reads_of<P>.available;

/// What the policy's plans are.
template <SpeculationPolicy P>
inline constexpr draft_shape shape_of = [] {
    if constexpr (requires {
                      { P::plans } -> std::same_as<const draft_shape&>;
                  }) {
        return P::plans;
    } else {
        return draft_shape::chain;
    }
}();

namespace detail {

/// Refuses members that have the names of optional ones and are not what would be called.
template <class P>
struct optional_members_of_policy {
    static_assert(!HasMemberPlan<P> || Plans<P>,
                  "augur: this policy has a member plan that cannot be called as augur::draft_plan plan(const "
                  "observation&) const, so that it would be ignored");
    static_assert(!DecidesLength<P> || !HasMemberPlan<P>,
                  "augur: this policy has both length(observation) and plan(observation), so that nobody could tell "
                  "which answer is meant; leave one of them out");
    static_assert(
        !requires { P::reads; } ||
            requires {
                { P::reads } -> std::same_as<const signals_read&>;
            },
        "augur: this policy has a member reads that is no static constexpr augur::signals_read");
    static_assert(
        !requires { P::plans; } ||
            requires {
                { P::plans } -> std::same_as<const draft_shape&>;
            },
        "augur: this policy has a member plans that is no static constexpr augur::draft_shape");
    static_assert(!HasMemberLearn<P> || LearnsFromOutcomes<P>,
                  "augur: this policy has a member learn that cannot be called as void learn(const outcome&), so that "
                  "it would be ignored");
    static constexpr bool fit = true;
};

}  // namespace detail

namespace policy {

/// What the policy answers. The plan of a length asks again with each row, where the policy reads rows. `rows`: those
/// that it has seen.
AUGUR_WHERE_ARGUMENTS_CAN
template <SpeculationPolicy P>
AUGUR_HOST_DEVICE constexpr draft_plan answer(const P& asked, const observation& seen, std::size_t rows = 0) {
    if constexpr (Plans<P>) {
        return asked.plan(seen);
    } else {
        return {.length = static_cast<std::size_t>(asked.length(seen)), .look = rows + 1};
    }
}

/// Throws where an answer is of another shape than the policy declares.
template <SpeculationPolicy P>
void check_shape(const draft_plan& answered) {
    if constexpr (Plans<P> && shape_of<P> != draft_shape::tree) {
        if (answered.tree != nullptr) {
            augur::detail::fail("this policy answered with a tree of ", answered.tree->size(),
                                " nodes, but does not declare static constexpr draft_shape plans = draft_shape::tree");
        }
    }
    if constexpr (Plans<P> && shape_of<P> != draft_shape::grown_tree) {
        if (answered.grow != nullptr) {
            augur::detail::fail(
                "this policy answered with a tree that grows, but does not declare static constexpr "
                "draft_shape plans = draft_shape::grown_tree");
        }
    }
}

/// Throws where the answer depends on a signal that the policy does not declare: it is asked once more, with other
/// values of these.
template <SpeculationPolicy P>
void check_signals(const P& asked, const observation& seen, const draft_plan& answered) {
    observation other = seen;
    const auto poison = [](signals one, auto&... values) {
        if (!includes(signals_of<P>, one)) ((values = 1), ...);
    };
    poison(signals::draft_entropy, other.draft_entropy_nats, other.first_draft_entropy_nats);
    poison(signals::target_entropy, other.target_entropy_nats);
    poison(signals::target_confidence, other.target_confidence);
    poison(signals::draft_confidence, other.draft_confidence, other.path_value, other.path_value_sum);
    poison(signals::match_length, other.match_length);
    const draft_plan again = answer(asked, other);
    if (again.length == answered.length && again.tree == answered.tree && again.grow == answered.grow) return;
    augur::detail::fail("this policy reads a signal that it does not declare in reads: it answers a length of ",
                        answered.length, ", and ", again.length, " where the undeclared signals are 1");
}

/// Tells a policy what became of a round, if it learns.
template <SpeculationPolicy P>
void learn(P& from, const outcome& happened) {
    static_assert(augur::detail::optional_members_of_policy<P>::fit);
    if constexpr (LearnsFromOutcomes<P>) from.learn(happened);
}

/// Shows a policy a round, if it learns: by watch(view), or by learn(outcome).
template <SpeculationPolicy P, class View>
void show(P& to, const View& view) {
    static_assert(
        !augur::detail::HasMemberWatch<P> || Watches<P, View>,
        "augur: this policy has a member watch that cannot be called as void watch(const auto& view), so that "
        "it would be ignored");
    if constexpr (Watches<P, View>) {
        to.watch(view);
    } else {
        learn(to, view.result());
    }
}

/// Whether it learns from rounds, in a way that may throw. One whose learn or watch is noexcept is told once a round is
/// committed; of another the copy that is told before is kept, so that it learns with the round or not at all.
template <SpeculationPolicy P, class View>
inline constexpr bool may_throw_learning = [] {
    if constexpr (Watches<P, View>) {
        return !noexcept(std::declval<P&>().watch(std::declval<const View&>()));
    } else if constexpr (LearnsFromOutcomes<P>) {
        return !noexcept(std::declval<P&>().learn(std::declval<const outcome&>()));
    } else {
        return false;
    }
}();

}  // namespace policy

}  // namespace augur
