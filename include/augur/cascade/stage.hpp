#pragma once
// A whole stage as a drafter: what its model lets stand is a draft for a better one.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "augur/accept/judge.hpp"
#include "augur/accept/rejection_sampling.hpp"
#include "augur/detail/stopwatch.hpp"
#include "augur/detail/value_or_reference.hpp"
#include "augur/draft/concept.hpp"
#include "augur/model/cached_sequence.hpp"
#include "augur/model/concepts.hpp"
#include "augur/random/nested_chooser.hpp"
#include "augur/types/error.hpp"
#include "augur/types/statistics.hpp"
#include "augur/verify/chain.hpp"

namespace augur {

/// A criterion that knows the row that a token comes from once it is accepted, whichever token that is:
/// drawn_from(target, drafted, storage) const -> const distribution&, one of the three rows or made in the storage.
template <class C, class Claim>
concept KnowsWhatItDrewFrom = AcceptanceCriterionFor<C, Claim> &&
    requires(const C& criterion, const distribution& target, const drafted_token<Claim>& drafted,
             distribution& storage) {
    { criterion.drawn_from(target, drafted, storage) } -> std::same_as<const distribution&>;
};

/// A criterion that leaves nothing open once the noise is known: `static constexpr bool certain = true`. Inside a cascade its
/// tokens go up as point masses, which is right whatever the noise was used for before.
template <class C>
concept LeavesNothingOpen = requires {
    requires static_cast<bool>(C::certain);
};

/// A criterion for a link inside a cascade.
template <class C, class Claim>
concept StandsInside = AcceptanceCriterionFor<C, Claim> &&(KnowsWhatItDrewFrom<C, Claim> || LeavesNothingOpen<C>);

namespace cascade {

/// Which row goes with a token that a stage proposes.
enum class claims {
    what_it_drew,  ///< the row that it was drawn from: the drafter's where a rule let it stand, else the model's
    own_rows       ///< the model's, whatever the token was drawn from, as published; then nothing exact can rest on it
};

/// `Inner` drafts, `Source` (a model by value, or `M&` by reference) verifies, and so on until the accepted tokens are as many
/// as the stage above wants. Immutable; the state is the caller's. The last of them is the model's own, so that one token less
/// is drafted than is wanted; but where one is wanted in all, one is drafted and judged, so that no model is idle.
/// Effect on the distribution: that of the stage above. Randomness: its own, by position, level and round (nested_chooser).
/// Cost: the rounds inside; a row is kept for every token.
/// Source: Byun et al. 2025, PyramidSD, section 3; that a token keeps the row it was drawn from is ours.
template <Drafter Inner, class Source, SpeculationPolicy Policy, class Criterion, claims Claims = claims::what_it_drew>
class stage {
 public:
    using model_type = typename detail::value_or_reference<Source>::type;
    using claim_type = distribution;
    static_assert(Model<model_type>);
    static_assert(AcceptanceCriterionFor<Criterion, typename Inner::claim_type>,
                  "augur: inside a cascade, this link's criterion cannot judge what its drafter claims (point_mass or "
                  "distribution)");
    static_assert(
        !AcceptanceCriterionFor<Criterion, typename Inner::claim_type> ||
            StandsInside<Criterion, typename Inner::claim_type>,
        "augur: inside a cascade a token goes up with the row that it was drawn from, so that a link's "
        "criterion has to say which: add `const distribution& drawn_from(const distribution& target, const "
        "drafted_token<Claim>& drafted, distribution& storage) const`, which returns target, *drafted.row or "
        "what it made in storage; or `static constexpr bool certain = true`, if what is accepted is fixed by the "
        "target's row and the noise");
    static_assert(!ReadsStates<Inner>, "augur: inside a cascade nobody hands out hidden states");
    static_assert(augur::detail::optional_members_of_drafter<Inner>::fit &&
                  augur::detail::optional_members_of_policy<Policy>::fit &&
                  augur::detail::optional_members_of_criterion<Criterion>::fit);

    struct state_type {
        typename Inner::state_type inner;
        model::cached_sequence<model_type> cache;
        Policy policy;
        stage_statistics counts{};
        proposal<typename Inner::claim_type> block{};  ///< from here on storage
        accept::target_rows<transform::pipeline> rows{};
        distribution mixed{};
    };
    static constexpr bool shows_rows = true;
    static constexpr bool claims_what_it_drew = Claims == claims::what_it_drew;

    /// Refuses a drafter of another vocabulary.
    stage(Inner inner, Source&& source, Policy policy, Criterion criterion)
        : inner_(std::move(inner)),
          model_(std::forward<Source>(source)),
          policy_(std::move(policy)),
          criterion_(std::move(criterion)) {
        if constexpr (HasVocabularySize<Inner>) {
            if (inner_.vocabulary_size() != vocabulary_size()) {
                detail::fail("the models of a cascade must share a vocabulary, but one has ", inner_.vocabulary_size(),
                             " tokens and the next ", vocabulary_size());
            }
        }
    }

    const Inner& inner() const { return inner_; }
    const model_type& model() const { return model_.get(); }
    const Policy& policy() const { return policy_; }
    const Criterion& criterion() const { return criterion_; }
    std::size_t vocabulary_size() const { return model().vocabulary_size(); }

    state_type make_state() const {
        return {inner_.make_state(), model::cached_sequence<model_type>(model()), policy_};
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
        counts.back() = state.counts;
    }

    void propose(state_type& state, auto& context, proposal<distribution>& proposed) const {
        speculative_suffix speculative(context.prefix());
        observation seen{.prefix_length = context.prefix().size()};
        for (std::size_t attempt = 0; context.wants_more(proposed.size()) && attempt < most_rounds; ++attempt) {
            if (context.prefix().size() > model().context_length()) break;
            seen.round = context.rounds_inside() * most_rounds + attempt;
            if (!run_round(state, context, seen, proposed, speculative)) break;
        }
    }

    void on_commit(state_type& state, const prefix& committed) const {
        state.cache.rewind(committed.tokens());
        inner_.on_commit(state.inner, committed);
    }

 private:
    static constexpr std::size_t most_rounds =
        64;  ///< inside one of the stage above; bits of a round's number, level by level

    /// Drafts, verifies, and adds what is accepted to the proposal. Whether there may be more.
    bool run_round(state_type& state, auto& context, observation& seen, proposal<distribution>& proposed,
                   speculative_suffix& speculative) const {
        prefix& before = context.prefix();
        using chooser_type = nested_chooser<std::remove_reference_t<decltype(context.chooser())>>;
        chooser_type chooser(context.chooser());  // deduced, that of a nested one would be a copy
        const std::size_t wanted = context.wanted() - proposed.size();
        const std::size_t most = proposed.empty() && wanted == 1 ? 1 : wanted - 1;  // see the class
        const std::size_t room = std::min(most, model().context_length() - before.size());
        seen.prefix_length = before.size();
        draft::context<Policy, chooser_type> within(before, context.transform(), chooser, state.policy, seen, room,
                                                    shown_by<Inner>);
        augur::detail::stopwatch watch;
        draft::propose(inner_, state.inner, within, state.block);
        const double drafting = watch.lap();
        const auto rows = verify::chain(state.cache, before, state.block);
        const double verifying = watch.lap();
        const auto [accepted, more] = judge(state, context, chooser, seen.round, rows, proposed, speculative);
        state.counts.add(state.block.size(), accepted);
        policy::learn(state.policy, outcome{within.seen(), state.block.size(), accepted, drafting, verifying});
        seen.last_drafted = state.block.size();
        seen.last_accepted = accepted;
        return more;
    }

    struct judged {
        std::size_t accepted;
        bool more;
    };
    judged judge(state_type& state, auto& context, auto& chooser, std::size_t round, const auto& rows,
                 proposal<distribution>& proposed, speculative_suffix& speculative) const {
        if constexpr (ReturnsVerdict<Criterion, typename Inner::claim_type>) {
            return judge_whole(state, context, chooser, round, rows, proposed, speculative);
        } else {
            return judge_each(state, context, chooser, round, rows, proposed, speculative);
        }
    }

    judged judge_each(state_type& state, auto& context, auto& chooser, std::size_t round, const auto& rows,
                      proposal<distribution>& proposed, speculative_suffix& speculative) const {
        if (state.rows.empty()) state.rows.emplace_back();
        distribution& row = state.rows.front();
        for (std::size_t i = 0; i <= state.block.size(); ++i) {
            if (!context.wants_more(proposed.size(), rows[i])) return {i, false};
            context.distribution_of(rows[i], row);
            if (row.empty()) return {i, false};
            position_draws draws(chooser, context.prefix().size(), round);
            if (i == state.block.size()) {
                push(proposed, speculative, criterion_.draw(row, draws), row, row);
                break;
            }
            const auto drafted = state.block[i];
            const distribution& from = drawn_from(row, drafted, state.mixed);
            // A row that was made is drawn from as it is, so that it is no rounding of what the criterion does.
            const decision ruled = &from == &row ? criterion_.judge(row, drafted, draws)
                                                 : accept::rejection_sampling{}.judge(from, drafted, draws);
            push(proposed, speculative, ruled.accepted ? drafted.id : ruled.replacement, from, row);
            if (!ruled.accepted) return {i, true};
        }
        return {state.block.size(), true};
    }

    judged judge_whole(state_type& state, auto& context, auto& chooser, std::size_t round, const auto& rows,
                       proposal<distribution>& proposed, speculative_suffix& speculative) const {
        const verdict decided = accept::judge(criterion_, state.block, rows, context.transform(), context.prefix(),
                                              chooser, round, state.rows);
        for (std::size_t i = 0; i <= decided.accepted; ++i) {
            const bool stands = i < decided.accepted;
            if (!context.wants_more(proposed.size(), rows[i])) return {i, false};
            if (!stands && decided.invalid_row()) return {i, false};
            const distribution& row = state.rows[i];
            const distribution& from = i < state.block.size() ? drawn_from(row, state.block[i], state.mixed) : row;
            push(proposed, speculative, stands ? state.block.tokens()[i] : decided.next, from, row);
        }
        return {decided.accepted, true};
    }

    const distribution& drawn_from(const distribution& row, const auto& drafted, distribution& storage) const {
        if constexpr (LeavesNothingOpen<Criterion>) {
            return row;
        } else {
            return criterion_.drawn_from(row, drafted, storage);
        }
    }

    /// Adds a token that was drawn from `from`, after the model's row.
    static void push(proposal<distribution>& proposed, speculative_suffix& speculative, token drawn,
                     const distribution& from, const distribution& row) {
        distribution& claimed = proposed.next_row();
        if constexpr (!claims_what_it_drew) {
            claimed = row;
        } else if constexpr (LeavesNothingOpen<Criterion>) {
            claimed.become_point(drawn, row.size());
        } else {
            claimed = from;
        }
        proposed.complete(drawn);
        speculative.push(drawn);
    }

    Inner inner_;
    detail::value_or_reference<Source> model_;
    Policy policy_;
    Criterion criterion_;
};

}  // namespace cascade
}  // namespace augur
