#pragma once
// What decides how far to guess.

#include <concepts>
#include <cstddef>
#include <span>

#include "augur/detail/named_member.hpp"
#include "augur/measure/entropy.hpp"
#include "augur/types/observation.hpp"
#include "augur/types/round_view.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/topology.hpp"

namespace augur {

/// `policy.length(observation) const`: the number of tokens this round should draft in all.
template <class P>
concept DecidesLength = requires(const P& policy, const observation& seen) {
    { policy.length(seen) } -> std::convertible_to<std::size_t>;
};

/// `policy.topology(observation) const -> const augur::topology&`: the tree that this round should draft. The policy
/// keeps it.
template <class P>
concept DecidesTopology = requires(const P& policy, const observation& seen) {
    { policy.topology(seen) } -> std::same_as<const topology&>;
};

/// `policy.looks_ahead() const`: how many rows of the draft's greedy chain it has to see before it decides on a tree.
template <class P>
concept LooksAhead = DecidesTopology<P> && requires(const P& policy) {
    { policy.looks_ahead() } -> std::convertible_to<std::size_t>;
};

/// Of a tree that the draft's own rows suggest (draft::dynamic_tree):
/// `policy.expected(float) const`: the probability that a token is accepted after its parent, by the one that the
/// drafter gives it. The product along a node's path is its value.
/// `policy.expands(observation, values) const`: after how many of the deepest nodes the tree should grow;
/// `policy.keeps(observation, values) const`: how many of all its nodes should be drafted. Of these nodes' values the
/// largest come first, and observation::drafted is the depth that was reached.
template <class P>
concept WeighsNodes = DecidesLength<P> &&
    requires(const P& policy, const observation& seen, float probability, std::span<const float> values) {
    { policy.expected(probability) } -> std::convertible_to<float>;
    { policy.expands(seen, values) } -> std::convertible_to<std::size_t>;
    { policy.keeps(seen, values) } -> std::convertible_to<std::size_t>;
};

/// What a round should draft: a length, or a tree.
template <class P>
concept DecidesPlan = DecidesLength<P> || DecidesTopology<P>;

/// Decides how far to guess, or in what shape, before the next verification.
/// Define: length(observation) const, or topology(observation) const in its place.
///         A length is asked once before drafting; but where the policy needs a signal of the draft's rows, before each
///         token instead, with that token's row observed and its value not yet chosen. Drafting goes on while fewer
///         tokens than the answer are drafted.
///         Optional: `static constexpr signals needs` (default none), without which it does not compile;
///         `static constexpr signals uses` (default none), shown where the drafter has them: then it is asked before
///         drafting, too, with those that are to come in observation::pending; an answer of 0 there ends the draft
///         before they are known, any other means "ask again". No other signals are computed: what is in neither is NaN
///         (or 0 matched), always, and a policy that reads it decides on that in silence;
///         `static constexpr bool asked_once = true`, when the round's first row decides and the others need no
///         measuring;
///         `static double entropy_nats(logit_row)`, to be measured with instead of measure::entropy_nats;
///         `void learn(const outcome&)`, called after every round; or `void watch(const auto& view)`, which is shown
///         all of it (types/round_view.hpp). One that is noexcept is called when the round is committed; another
///         before, on a copy that is kept with the round, when the tokens have no text yet.
///         A topology is asked as with asked_once: before drafting, or with the round's first row; or, where
///         `looks_ahead() const` is more than 1, with so many rows of the greedy chain: after the prefix, after its
///         best token, ...
///         A policy on lengths may weigh the nodes of dynamic trees, too (WeighsNodes); its length is their depth then.
/// Laws:   equal policies and equal observations, equal answers; 0, or no node, means plain decoding, never an error;
///         any double in an observation, NaN and infinity included, has an answer;
///         it reads no signal that it does not declare, and does not end every draft while one that it uses is pending.
///         Suite: testing::policy_laws, which finds all of these.
/// Cannot change the output's distribution; only acceptance can.
/// Composes: with any drafter, target and criterion; each decoding has its own copy.
///         struct one_more { std::size_t length(const observation& seen) const { return seen.last_accepted + 1; } };
///         speculate(draft, target, one_more{}, accept::exact{})
/// Models: policy::fixed_length, policy::entropy_bins. Smallest: tests/policy/concept.cpp.
template <class P>
concept SpeculationPolicy = std::copyable<P> && DecidesPlan<P>;

/// A policy that is told what became of each round.
template <class P>
concept LearnsFromOutcomes = requires(P& policy, const outcome& happened) {
    { policy.learn(happened) } -> std::same_as<void>;
};

/// A policy that measures entropy in its own way.
template <class P>
concept MeasuresEntropy = requires(logit_row row) {
    { P::entropy_nats(row) } -> std::convertible_to<double>;
};

/// The signals that a policy needs.
template <SpeculationPolicy P>
inline constexpr signals needs_of = [] {
    if constexpr (requires { P::needs; }) {
        return P::needs;
    } else {
        return signals::none;
    }
}();

/// All signals that the policy is shown where there are any.
template <SpeculationPolicy P>
inline constexpr signals signals_of = [] {
    if constexpr (requires { P::uses; }) {
        return needs_of<P> | P::uses;
    } else {
        return needs_of<P>;
    }
}();

/// Whether the policy decides on the first of a round's rows.
template <SpeculationPolicy P>
inline constexpr bool asked_once = (DecidesTopology<P> && !LooksAhead<P>) || requires {
    requires static_cast<bool>(P::asked_once);
};

namespace detail {

/// Refuses members that have the names of optional ones and are not what would be called.
template <class P>
struct optional_members_of_policy {
    static_assert(
        !DecidesLength<P> || !DecidesTopology<P>,
        "augur: this policy has both length(observation) and topology(observation), so that nobody could tell "
        "which plan is meant; leave one of them out");
    static_assert(!NamesTopology<P> || DecidesTopology<P>,
                  "augur: this policy has a member topology that cannot be called as const augur::topology& "
                  "topology(const observation&) const, so that nobody would call it");
    static_assert(!NamesLooksAhead<P> || LooksAhead<P>,
                  "augur: this policy has a member looks_ahead, but none that can be called as std::size_t "
                  "looks_ahead() const beside topology(observation), so that nobody would call it");
    static_assert(
        !(NamesExpected<P> || NamesExpands<P> || NamesKeeps<P>) || WeighsNodes<P>,
        "augur: this policy has a member expected, expands or keeps, but not all three that can be called as "
        "float expected(float) const, std::size_t expands(const observation&, std::span<const float>) const "
        "and std::size_t keeps(const observation&, std::span<const float>) const, beside length(observation), "
        "so that nobody would call it");
    static_assert(!NamesLearn<P> || LearnsFromOutcomes<P>,
                  "augur: this policy has a member learn that cannot be called as void learn(const outcome&), so that "
                  "nobody would call it");
    static_assert(!NamesEntropyNats<P> || MeasuresEntropy<P>,
                  "augur: this policy has a member entropy_nats that cannot be called as static double "
                  "entropy_nats(logit_row), so that nobody would call it");
    static_assert(
        !NamesAskedOnce<P> || requires { flag<static_cast<bool>(P::asked_once)>::value; },
        "augur: this policy has a member asked_once that is no static constexpr bool");
    static constexpr bool fit = true;
};

}  // namespace detail

namespace policy {

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
        !augur::detail::NamesWatch<P> || Watches<P, View>,
        "augur: this policy has a member watch that cannot be called as void watch(const auto& view), so that "
        "nobody would call it");
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

/// The entropy of a row as the policy measures it.
template <SpeculationPolicy P>
double entropy_nats(logit_row row) {
    static_assert(augur::detail::optional_members_of_policy<P>::fit);
    if constexpr (MeasuresEntropy<P>) {
        return P::entropy_nats(row);
    } else {
        return measure::entropy_nats(row);
    }
}

/// Notes what the policy's signals ask of the verifier's row that the last token came from, where it lies if it can be.
template <SpeculationPolicy P, class Rows>
void see_target(observation& seen, const Rows& rows, std::size_t row) {
    if constexpr (includes(signals_of<P>, signals::target_entropy)) {
        if constexpr (!MeasuresEntropy<P> && requires { rows.entropy_nats(row); }) {
            seen.target_entropy_nats = rows.entropy_nats(row);
        } else {
            seen.target_entropy_nats = entropy_nats<P>(rows[row]);
        }
    }
    if constexpr (includes(signals_of<P>, signals::target_confidence)) {
        seen.target_confidence = measure::confidence(measure::moments(rows[row]));
    }
}

}  // namespace policy

}  // namespace augur
