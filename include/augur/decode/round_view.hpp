#pragma once
// What watchers are shown of a round.

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include "augur/commit/apply.hpp"
#include "augur/detail/named_member.hpp"
#include "augur/policy/concept.hpp"
#include "augur/types/observation.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/statistics.hpp"
#include "augur/types/verdict.hpp"

namespace augur::decode {

/// Of a target that shows no hidden states.
struct no_states {};

/// One round, after its commit. Rows and states lie where the target left them, until it is run again.
template <class Proposal, class Rows, class States>
struct round_view {
    const augur::prefix& prefix;  ///< committed, this round included
    std::size_t length_before;    ///< committed tokens before it
    const Proposal& proposed;     ///< what was drafted, with the claims
    const Rows& rows;      ///< the target's, untransformed: [0] follows the prefix before the round, [1 + i] node i
    const States& states;  ///< hidden_states of the tokens that were committed but the last; or no_states
    const verdict& decided;
    std::span<const commit::committed_token> committed;  ///< stop conditions have cut it
    const observation& decided_on;                       ///< what the policy saw last before the target's pass
    const time_spent& seconds;                           ///< draft, verify and accept
};

/// Is shown every round: `watcher.watch(view)`, after it is committed. What it throws goes to who ran the round, which is then over.
template <class W, class View>
concept Watches = requires(W& watcher, const View& view) {
    { watcher.watch(view) } -> std::same_as<void>;
};

/// What a round came to, in numbers.
template <class View>
outcome outcome_of(const View& view) {
    return {view.decided_on, view.decided.drafted, view.decided.accepted, view.seconds.draft, view.seconds.verify};
}

/// Shows a policy the round, if it learns: by watch(view), or by learn(outcome).
template <SpeculationPolicy P, class View>
void show(P& policy, const View& view) {
    static_assert(
        !augur::detail::NamesWatch<P> || Watches<P, View>,
        "augur: this policy has a member watch that cannot be called as void watch(const auto& view), so that "
        "nobody would call it");
    if constexpr (Watches<P, View>) {
        policy.watch(view);
    } else if constexpr (LearnsFromOutcomes<P>) {
        policy::learn(policy, outcome_of(view));
    }
}

}  // namespace augur::decode
