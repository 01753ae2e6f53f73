#pragma once
// One judged round: a drafter proposes, a model scores the proposal in one pass, and a criterion judges it. A step is
// that and a commit; a stage of a cascade is a loop over it.

#include <concepts>
#include <type_traits>

#include "augur/accept/concept.hpp"
#include "augur/detail/stopwatch.hpp"
#include "augur/draft/calls.hpp"
#include "augur/flow/task.hpp"
#include "augur/model/cached_sequence.hpp"
#include "augur/model/concepts.hpp"
#include "augur/round/allotment.hpp"
#include "augur/round/ask.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/statistics.hpp"

namespace augur::rounds {

/// A judge that can judge where the rows are made, on a device: takes(proposed) says whether it does so this time, and
/// judge_there(proposed) runs the pass and judges; then finish_there().
template <class J, class Proposal>
concept JudgesThere = requires(J& judge, const Proposal& proposed) {
    { judge.takes(proposed) } -> std::convertible_to<bool>;
    judge.judge_there(proposed);
    judge.finish_there();
};

/// Drafts into `proposed` (`Trees`: what may be a tree, see drafts_trees), asks `target` for the row after the
/// context's prefix and after each drafted token, and calls judge(rows). Rows are as in ask_chain and ask_tree; they
/// live until judge returns. `seconds` becomes what drafting and verifying took, by `watch`. A tree that has more nodes
/// than the target has room for, or takes in one pass, loses its last ones. A round whose context shares_passes() stops
/// for an allotment before it asks, and loses what it is not granted. Throws what drafter, target and judge throw; the
/// target's sequence then has what it had, or more that the next pass takes back. Cost beside theirs: one frame, which
/// lies where the context's are.
template <bool Trees, Drafter D, Model M>
flow::task judged_round(const D& drafter, typename D::state_type& state, auto& context,
                        model::cached_sequence<M>& target, proposal<typename D::draft_distribution_type>& proposed,
                        augur::detail::stopwatch& watch, time_spent& seconds, auto& judge) {
    using draft_distribution = typename D::draft_distribution_type;
    co_await draft::proposing(drafter, state, context, proposed);
    seconds = time_spent{.draft = watch.lap() - context.verifying_seconds(), .verify = context.verifying_seconds()};
    prefix& before = context.prefix();
    if constexpr (!Trees) {
        require_chain(proposed);
    } else {
        proposed.shorten(target.model().context_length() - before.size());
        if (const model::tree_room room = target.room_for_tree(before.tokens()); !proposed.is_chain()) {
            proposed.shorten(parents::fitting(proposed.parents(), proposed.size(), room.nodes, room.leaves));
        }
    }
    if (context.shares_passes()) {
        const std::size_t drafted = proposed.size();
        const observation& seen = context.seen();
        proposed.shorten(co_await allotment(proposed, seen, !DeterministicDistribution<draft_distribution>));
        if constexpr (drafts_in_target<D>) {  // whose layers have run over what was drafted
            const speculative_suffix verified(before, proposed.tokens());
            if (proposed.size() < drafted) target.rewind(before.tokens());
        }
    }
    if constexpr (JudgesThere<std::remove_reference_t<decltype(judge)>, decltype(proposed)>) {
        if (judge.takes(proposed)) {
            co_await flow::alone{[&] { judge.judge_there(proposed); }};
            seconds.verify += watch.lap();  // acceptance included
            judge.finish_there();
            co_return;
        }
    }
    model::pass_rows<M> rows;
    if (!Trees || proposed.is_chain()) {
        if constexpr (drafts_in_target<D>) co_await join_chain(target, before, proposed);
        rows = co_await ask_chain(target, before, proposed);
    } else if constexpr (Trees) {
        rows = co_await target.ask_tree(before.tokens(), proposed.tokens(), proposed.parents());
    }
    seconds.verify += watch.lap();
    judge(rows);
}

/// The proposal as `Criterion` judges it fastest: as a type without branches, where the drafter makes none and the
/// criterion judges token by token.
template <bool Trees, class Criterion, class DraftDistribution>
decltype(auto) as_judged(const proposal<DraftDistribution>& proposed) {
    if constexpr (!Trees && JudgesEach<Criterion, DraftDistribution>) {
        return unbranched(proposed);
    } else {
        return (proposed);
    }
}

}  // namespace augur::rounds
