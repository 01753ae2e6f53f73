#pragma once
// Adapts a stage (drafter, verifier, policy, criterion) to a Drafter: what its verifier accepts is the next stage's
// draft.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "augur/accept/walk.hpp"
#include "augur/detail/owned_or_borrowed.hpp"
#include "augur/detail/stopwatch.hpp"
#include "augur/draft/concept.hpp"
#include "augur/flow/task.hpp"
#include "augur/model/cached_sequence.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/limits.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/random/nested_chooser.hpp"
#include "augur/round/judged_round.hpp"
#include "augur/scheme/fit.hpp"
#include "augur/scheme/inside.hpp"
#include "augur/types/error.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/statistics.hpp"
#include "augur/types/verdict.hpp"

namespace augur {

namespace scheme {

/// `Inner` drafts, `Source` (a model by value, or `M&` by reference) verifies, and so on until the accepted tokens are
/// as many as the stage above wants. Immutable; the state is the caller's. The last of them is the model's own, so that
/// one token less is drafted than is wanted; but where one is wanted in all, one is drafted and judged, so that no
/// model is idle. Effect on the distribution: that of the stage above. Randomness: its own, by position, level and
/// round (nested_chooser). Where `Inner` drafts trees they are judged (inside.hpp). Cost: the rounds inside; a row is
/// kept for every token. Source: Byun et al. 2025, PyramidSD, section 3; that a token keeps the row it was drawn from
/// is ours.
template <Drafter Inner, class Source, SpeculationPolicy Policy, class Criterion,
          proposed_rows ProposedRows = proposed_rows::what_it_drew>
class stage {
 public:
    using model_type = typename detail::owned_or_borrowed<Source>::type;
    using draft_distribution_type = typename augur::detail::draft_distribution_inside<Criterion>::type;
    using inner_draft_distribution = typename Inner::draft_distribution_type;
    static_assert(Model<model_type>);
    static_assert(
        AcceptanceCriterionFor<Criterion, typename Inner::draft_distribution_type>,
        "augur: inside a cascade, this link's criterion cannot judge its drafter's draft distribution (point_mass or "
        "distribution)");
    static_assert(
        !AcceptanceCriterionFor<Criterion, typename Inner::draft_distribution_type> ||
            StandsInside<Criterion, typename Inner::draft_distribution_type>,
        "augur: inside a cascade a token is proposed to the next model with the row that it was drawn from, so that a "
        "link's criterion has to say which: add `const distribution& drawn_from(const distribution& target, const "
        "drafted_token<DraftDistribution>& drafted, distribution& storage) const`, which returns target, *drafted.row "
        "or "
        "what it made in storage; or `static constexpr bool certain = true`, if what is accepted is fixed by the "
        "target's row and the noise");
    static_assert(!ReadsStates<Inner>, "augur: inside a cascade no hidden states are available");
    static_assert(augur::detail::fit_together<Inner, Policy, Criterion>::done);

    static constexpr bool trees = drafts_trees<Inner, Policy>;
    /// How it judges: whose tokens are drawn from a row that is stated, by that row.
    using judge_type = typename judge_of<Criterion, inner_draft_distribution, trees>::type;

    /// What it has learned and counted.
    struct progress {
        Policy policy;
        stage_statistics counts{};
        observation seen{};  ///< what the policy is shown next, its round and prefix aside
    };
    struct state_type {
        typename Inner::state_type inner;
        model::cached_sequence<model_type> cache;
        progress now;                                               ///< this round's proposal included
        progress settled;                                           ///< up to the last commit
        proposal<typename Inner::draft_distribution_type> block{};  ///< from here on storage
        accept::walk_storage<transform::pipeline, judge_type> rows{};
        distribution mixed{};
    };
    static constexpr bool shows_rows = true;
    static constexpr bool proposes_what_it_drew = ProposedRows == proposed_rows::what_it_drew;

    /// Refuses a drafter of another vocabulary.
    stage(Inner inner, Source&& source, Policy policy, Criterion criterion)
        : stage(std::move(inner), detail::owned_or_borrowed<Source>(std::forward<Source>(source)), std::move(policy),
                std::move(criterion)) {}
    stage(Inner inner, detail::owned_or_borrowed<Source> held, Policy policy, Criterion criterion)
        : inner_(std::move(inner)),
          model_(std::move(held)),
          policy_(std::move(policy)),
          criterion_(std::move(criterion)) {
        detail::check_same_vocabulary("the models of a cascade", "one", inner_, "the next", model());
        draft::check_target(inner_, model());
    }

    const Inner& inner() const { return inner_; }
    const model_type& model() const { return model_.get(); }
    const Policy& policy() const { return policy_; }
    const Criterion& criterion() const { return criterion_; }
    std::size_t vocabulary_size() const { return model().vocabulary_size(); }
    /// The model's; of those that draft for it where it has none.
    std::string vocabulary_fingerprint() const {
        std::string own = detail::vocabulary_fingerprint_of(model());
        return own.empty() ? detail::vocabulary_fingerprint_of(inner_) : own;
    }

    state_type make_state() const {
        return {inner_.make_state(), model::cached_sequence<model_type>(model()), {policy_}, {policy_}};
    }

    void prepare(state_type& state, const prefix& prompt) const {
        draft::prepare(inner_, state.inner, prompt);
        state.cache.reserve(prompt.capacity());
        if (prompt.size() <= model().context_length()) state.cache.fill(prompt.tokens().first(prompt.size() - 1));
    }

    /// Refuses what its criterion or its drafter refuses.
    void check(const transform::settings& chosen) const {
        accept::check(criterion_, chosen);
        draft::check(inner_, chosen);
    }

    /// This one, and those inside its drafter.
    static constexpr std::size_t stages = draft::stages_in<Inner> + 1;
    void report(const state_type& state, std::span<stage_statistics> counts) const {
        draft::report(inner_, state.inner, counts.first(stages - 1));
        counts.back().reserve(state.now.counts.positions.size());  // for the report after the commit
        counts.back() = state.settled.counts;
    }

    flow::task propose(state_type& state, auto& context, proposal<draft_distribution_type>& proposed) const {
        speculative_suffix speculative(context.prefix());
        bool more = true;
        for (std::size_t attempt = 0; more && context.wants_more(proposed.size()) && attempt < most_rounds; ++attempt) {
            if (context.prefix().size() > model().context_length()) break;
            state.now.seen.round = context.rounds_inside() * most_rounds + attempt;
            co_await run_round(state, context, proposed, speculative, more);
        }
    }

    void on_commit(state_type& state, const prefix& committed) const {
        state.settled.counts = state.now.counts;
        state.settled.seen = state.now.seen;
        state.settled.policy = state.now.policy;
        state.cache.rewind(committed.tokens());
        inner_.on_commit(state.inner, committed);
    }

    void abandon(state_type& state) const {
        state.now = state.settled;
        draft::abandon(inner_, state.inner);
    }

 private:
    static constexpr std::size_t most_rounds =
        64;  ///< inside one of the stage above; bits of a round's number, level by level

    /// Drafts, verifies, and adds what is accepted to the proposal; says whether there may be more.
    flow::task run_round(state_type& state, auto& context, proposal<draft_distribution_type>& proposed,
                         speculative_suffix& speculative, bool& more) const {
        prefix& before = context.prefix();
        observation& seen = state.now.seen;
        using chooser_type = nested_chooser<std::remove_reference_t<decltype(context.chooser())>>;
        chooser_type chooser(context.chooser());  // deduced, that of a nested one would be a copy
        const std::size_t wanted = context.wanted() - proposed.size();
        const std::size_t most = proposed.empty() && wanted == 1 ? 1 : wanted - 1;  // see the class
        const std::size_t budget =
            model::most_drafted(model(), std::min<std::size_t>(most, model().context_length() - before.size()));
        seen.prefix_length = before.size();
        draft::context within(before, context.transform(), chooser, state.now.policy, seen, budget, shown_by<Inner>,
                              &context.frames(), draft::lent<Inner>(state.cache));
        within.be_timed(context.timed());
        within.fit_trees(model::room_for_tree(model()));
        augur::detail::stopwatch watch(context.timed());
        time_spent seconds;
        const auto judge = [&](const auto& rows) {
            const std::size_t first = proposed.size();
            const verdict decided = judge_block(state, context, chooser, seen.round, rows, proposed);
            seconds.accept = watch.lap();
            for (const token t : proposed.tokens().subspan(first)) speculative.push(t);
            more = !decided.invalid_row();
            learn(state, before, rows, decided, within.seen(), seconds);
            if constexpr (trees) {
                if (!state.block.is_chain()) state.cache.keep(std::span(decided.path).first(decided.accepted));
            }
        };
        co_await rounds::judged_round<trees>(inner_, state.inner, within, state.cache, state.block, watch, seconds,
                                             judge);
    }

    /// Judges the block and adds the accepted tokens to the proposal.
    verdict judge_block(state_type& state, auto& context, auto& chooser, std::size_t round, const auto& rows,
                        proposal<draft_distribution_type>& proposed) const {
        const distribution* from = nullptr;
        const additions<std::remove_reference_t<decltype(context)>, std::remove_cvref_t<decltype(rows)>> added{
            criterion_, state, context, rows, proposed, from};
        verdict decided;
        const auto walk = [&](const auto& criterion) {
            accept::walk(criterion, rounds::as_judged<trees, Criterion>(state.block), rows, context.transform(),
                         context.prefix(), chooser, round, state.rows, decided, added);
        };
        if constexpr (std::same_as<judge_type, Criterion>) {
            walk(criterion_);
        } else {
            walk(judge_type{criterion_, state.mixed, from});
        }
        return decided;
    }

    /// Counts the round, and shows it to the policy.
    void learn(state_type& state, const prefix& after, const auto& rows, const verdict& decided,
               const observation& decided_on, const time_spent& seconds) const {
        observation& seen = state.now.seen;
        state.settled.counts.reserve(state.block.size());  // that on_commit need not
        state.now.counts.add(state.block.size(), decided.accepted);
        const no_states states;
        policy::show(
            state.now.policy,
            round_view{after, seen.prefix_length, state.block, rows, states, decided, {}, decided_on, seconds});
        seen.last_drafted = state.block.size();
        seen.last_accepted = decided.accepted;
        if (decided.accepted > 0 || decided.next != no_token) {
            const std::size_t last = decided.next == no_token ? decided.accepted - 1 : decided.accepted;
            policy::see_target<Policy>(seen, rows, last == 0 ? 0 : 1 + decided.node(last - 1));
        }
    }

    /// Watches a walk: each token is proposed with the row that it was drawn from.
    template <class Context, class Rows>
    struct additions {
        const Criterion& criterion;
        state_type& state;
        Context& context;
        const Rows& rows;
        proposal<draft_distribution_type>& proposed;
        const distribution*& from;  ///< as found when the token was judged, or null

        bool wants(std::size_t row) const { return context.wants_more(proposed.size(), rows[row]); }
        void took(std::size_t row, const distribution& target, token taken) const {
            const distribution* found = std::exchange(from, nullptr);
            if (const std::size_t node = judged_at(row, taken); found == nullptr && node < state.block.size()) {
                found = &row_of(criterion, target, state.block[node], state.mixed);
            }
            distribution& stated = proposed.next_row();
            if constexpr (!proposes_what_it_drew) {
                stated = target;
            } else if constexpr (LeavesNothingOpen<Criterion>) {
                stated.become_point(taken, target.size());
            } else {
                stated = found == nullptr ? target : *found;
            }
            proposed.complete(taken);
        }

        /// The node that was judged after this row: the one that was taken, else the first; none where none follows.
        std::size_t judged_at(std::size_t row, token taken) const {
            const auto parents = parents_of(state.block);
            const std::size_t size = state.block.size();
            const auto after = static_cast<std::int32_t>(row) - 1;
            const std::size_t first = parents::next_child(parents, size, after, row);
            for (std::size_t node = first; node < size; node = parents::next_child(parents, size, after, node + 1)) {
                if (state.block.tokens()[node] == taken) return node;
            }
            return first;
        }
    };

    Inner inner_;
    detail::owned_or_borrowed<Source> model_;
    Policy policy_;
    Criterion criterion_;
};

}  // namespace scheme
}  // namespace augur
