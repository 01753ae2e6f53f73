#pragma once
// Adapts a stage (drafter, verifier, policy, criterion) to a Drafter: what its verifier accepts is the next stage's
// draft.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "augur/accept/walk.hpp"
#include "augur/detail/owned_or_borrowed.hpp"
#include "augur/detail/stopwatch.hpp"
#include "augur/draft/calls.hpp"
#include "augur/flow/task.hpp"
#include "augur/model/cache_bytes.hpp"
#include "augur/model/cached_sequence.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/limits.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/random/nested_chooser.hpp"
#include "augur/round/judged_round.hpp"
#include "augur/scheme/fit.hpp"
#include "augur/scheme/inside.hpp"
#include "augur/scheme/stage_judge.hpp"
#include "augur/scheme/stage_states.hpp"
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
/// round (nested_chooser). Where `Inner` drafts trees they are judged (inside.hpp); where it follows hidden states it
/// is shown the model's, of tokens that are committed, and drafts in the first round after a commit: what is wanted
/// beyond that round the model writes alone. Where the criterion keeps the model's own text and the policy above reads
/// no rows, the model's device judges, if it can, and rows stay there. Cost: the rounds inside; a row is kept for every
/// token. Source: Byun et al. 2025, PyramidSD, section 3; that a token keeps the row it was drawn from is ours.
template <Drafter Inner, class Source, SpeculationPolicy Policy, class Criterion,
          proposed_rows ProposedRows = proposed_rows::what_it_drew>
class stage {
 public:
    using model_type = typename detail::owned_or_borrowed<Source>::type;
    using draft_distribution_type = typename augur::detail::draft_distribution_inside<Criterion>::type;
    using inner_type = Inner;
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
    static_assert(!ReadsStates<Inner> || HiddenStateModel<model_type>,
                  "augur: inside a cascade this drafter follows the hidden states of the model that verifies it, but "
                  "that model does not show them; it has to be a HiddenStateModel (hidden_size() and "
                  "hidden(sequence))");
    static_assert(augur::detail::fit_together<Inner, Policy, Criterion>::done);

    static constexpr bool trees = drafts_trees<Inner, Policy>;
    using policy_type = Policy;
    using criterion_type = Criterion;
    /// How it judges: whose tokens are drawn from a row that is stated, by that row.
    using judge_type = typename judge_of<Criterion, inner_draft_distribution, trees>::type;

    static constexpr bool proposes_what_it_drew = ProposedRows == proposed_rows::what_it_drew;
    /// Of a model that verifies where its rows are made, where nothing but its verdict is needed of them.
    using device_verifier_type =
        std::conditional_t<proposes_what_it_drew && !drafts_in_target<Inner>,
                           stage_verifier_t<Inner, model_type, Criterion>, rounds::no_device_verifier>;

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
        verdict decided{};
        states_of_verifier<Inner> states{};
        std::optional<device_verifier_type> verifier{};  ///< of this sequence, once it has been asked for
    };
    static constexpr bool shows_rows = true;

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
        augur::detail::check_hidden_size(inner_, model());
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

    /// Of all models inside.
    std::size_t cache_bytes(std::size_t tokens) const requires(CountsCacheBytes<Inner>&& CountsCacheBytes<model_type>) {
        return inner_.cache_bytes(tokens) +
               model().cache_bytes(std::min<std::size_t>(tokens, model().context_length()));
    }

    void prepare(state_type& state, const prefix& prompt) const {
        const bool fits = prompt.size() <= model().context_length();
        state.cache.reserve(prompt.capacity());
        if constexpr (ReadsStates<Inner>) {
            if (fits) state.states.prepare(state.cache, inner_, state.inner, prompt);
            draft::prepare(inner_, state.inner, prompt);
        } else {
            draft::prepare(inner_, state.inner, prompt);
            if (fits) state.cache.fill(prompt.tokens().first(prompt.size() - 1));
        }
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
        if constexpr (ReadsStates<Inner>) {
            state.states.forget();
            const bool drafts = context.wants_more(0) && context.prefix().size() <= model().context_length();
            if (drafts && state.states.lack(context.prefix())) {
                co_await flow::alone{
                    [&] { state.states.catch_up(state.cache, inner_, state.inner, context.prefix()); }};
            }
        }
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
        if constexpr (ReadsStates<Inner>) {
            state.states.commit(state.cache, inner_, state.inner, committed);
        } else {
            inner_.on_commit(state.inner, committed);
        }
    }

    void abandon(state_type& state) const {
        state.now = state.settled;
        if constexpr (ReadsStates<Inner>) state.states.forget();
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
        std::size_t most = proposed.empty() && wanted == 1 ? 1 : wanted - 1;  // see the class
        if constexpr (ReadsStates<Inner>) {
            if (!state.states.are_of(before)) most = 0;
        }
        const std::size_t budget =
            model::most_drafted(model(), std::min<std::size_t>(most, model().context_length() - before.size()));
        seen.prefix_length = before.size();
        draft::context within(before, context.transform(), chooser, state.now.policy, seen, budget, shown_by<Inner>,
                              &context.frames(), draft::lent<Inner>(state.cache));
        within.be_timed(context.timed());
        within.fit_trees(model::room_for_tree(model()));
        augur::detail::stopwatch watch(context.timed());
        time_spent seconds;
        stage_judge judge(*this, state, context, chooser, before, within.seen(), watch, seconds, proposed, speculative);
        co_await rounds::judged_round<trees>(inner_, state.inner, within, state.cache, state.block, watch, seconds,
                                             judge);
        more = judge.may_go_on();
    }

    Inner inner_;
    detail::owned_or_borrowed<Source> model_;
    Policy policy_;
    Criterion criterion_;
};

}  // namespace scheme
}  // namespace augur
