#pragma once
// A whole stage as a drafter: what its model lets stand is a draft for a better one.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "augur/accept/rejection_sampling.hpp"
#include "augur/detail/held.hpp"
#include "augur/detail/stopwatch.hpp"
#include "augur/draft/concept.hpp"
#include "augur/model/cached_sequence.hpp"
#include "augur/model/concepts.hpp"
#include "augur/random/nested_chooser.hpp"
#include "augur/types/error.hpp"
#include "augur/types/statistics.hpp"
#include "augur/verify/chain.hpp"

namespace augur {

/// A criterion that knows the row that a token comes from once it stands, whichever token that is:
/// drawn_from(target, drafted, storage) const -> const distribution&, one of the three rows or made in the storage.
template <class C, class Claim>
concept KnowsWhatItDrewFrom = AcceptanceCriterionFor<C, Claim> &&
    requires(const C& criterion, const distribution& target, const drafted_token<Claim>& drafted,
             distribution& storage) {
    { criterion.drawn_from(target, drafted, storage) } -> std::same_as<const distribution&>;
};

namespace draft {

/// Which row goes with a token that a stage proposes.
enum class claims {
    what_it_drew,  ///< the row that it was drawn from: the drafter's where a rule let it stand, else the model's
    own_rows       ///< the model's, whatever the token was drawn from, as published; then nothing exact can rest on it
};

/// `Inner` drafts, `Source` (a model by value, or `M&` by reference) verifies, and so on until the tokens that stand are as many
/// as the stage above wants. Immutable; the state is the caller's.
/// Effect on the distribution: that of the stage above. Randomness: its own, by position, level and round (nested_chooser).
/// Cost: the rounds inside; a row is kept for every token.
/// Source: Byun et al. 2025, PyramidSD, section 3; that a token keeps the row it was drawn from is ours.
template <Drafter Inner, class Source, SpeculationPolicy Policy, class Criterion, claims Claims = claims::what_it_drew>
class stage {
 public:
    using model_type = typename detail::held<Source>::type;
    using claim_type = distribution;
    static_assert(Model<model_type>);
    static_assert(KnowsWhatItDrewFrom<Criterion, typename Inner::claim_type>,
                  "augur: inside a cascade a link's criterion has to say what a token was drawn from (drawn_from); "
                  "rejection_sampling, fuzzy and rejection_then_fuzzy do");
    static_assert(!FollowsStates<Inner>, "augur: inside a cascade nobody hands out hidden states");

    struct state_type {
        typename Inner::state_type inner;
        model::cached_sequence<model_type> cache;
        Policy policy;
        stage_statistics counts{};
        proposal<distribution> spare{};  ///< from here on storage
        proposal<typename Inner::claim_type> block{};
        distribution row{}, mixed{};
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
        if constexpr (requires { inner_.prepare(state.inner, prompt); }) inner_.prepare(state.inner, prompt);
        state.cache.reserve(prompt.capacity());
        if (prompt.size() <= model().context_length()) state.cache.fill(prompt.tokens().first(prompt.size() - 1));
    }

    void reuse(state_type& state, proposal<distribution>&& last) const { state.spare = std::move(last); }

    proposal<distribution> propose(state_type& state, auto& context) const {
        proposal<distribution> proposed = std::move(state.spare);
        proposed.clear();
        supposition supposed(context.prefix());
        observation seen{.prefix_length = context.prefix().size()};
        for (std::size_t attempt = 0; context.wants_more(proposed.size()) && attempt < most_rounds; ++attempt) {
            if (context.prefix().size() > model().context_length()) break;
            seen.round = context.seen().round * most_rounds + attempt;
            if (!run_round(state, context, seen, proposed, supposed)) break;
        }
        return proposed;
    }

    void follow(state_type& state, const prefix& committed) const {
        state.cache.rewind(committed.tokens());
        inner_.follow(state.inner, committed);
    }

 private:
    static constexpr std::size_t most_rounds =
        64;  ///< inside one of the stage above; bits of a round's number, level by level

    /// Drafts, verifies, and adds what stands to the proposal. Whether there may be more.
    bool run_round(state_type& state, auto& context, observation& seen, proposal<distribution>& proposed,
                   supposition& supposed) const {
        prefix& before = context.prefix();
        using outer_chooser = std::remove_reference_t<decltype(context.chooser())>;
        nested_chooser<outer_chooser> chooser(context.chooser());  // deduced, that of a nested one would be a copy
        const std::size_t wanted = context.wanted() - proposed.size();
        const std::size_t room = std::min(wanted - 1, model().context_length() - before.size());
        seen.prefix_length = before.size();
        draft::context within(before, context.transform(), chooser, state.policy, seen, room, shown_by<Inner>);
        augur::detail::stopwatch watch;
        if constexpr (requires { inner_.reuse(state.inner, std::move(state.block)); }) {
            inner_.reuse(state.inner, std::move(state.block));
        }
        state.block = inner_.propose(state.inner, within);
        const double drafting = watch.lap();
        const auto rows = verify::chain(state.cache, before, state.block);
        const double verifying = watch.lap();
        const auto [accepted, more] = judge(state, context, chooser, seen.round, rows, proposed, supposed);
        state.counts.add(state.block.size(), accepted);
        if constexpr (LearnsFromOutcomes<Policy>) {
            state.policy.learn(outcome{within.seen(), state.block.size(), accepted, drafting, verifying});
        }
        seen.last_drafted = state.block.size();
        seen.last_accepted = accepted;
        return more;
    }

    struct judged {
        std::size_t accepted;
        bool more;
    };
    judged judge(state_type& state, auto& context, auto& chooser, std::size_t round, const auto& rows,
                 proposal<distribution>& proposed, supposition& supposed) const {
        for (std::size_t i = 0; i <= state.block.size(); ++i) {
            if (!context.wants_more(proposed.size(), rows[i])) return {i, false};
            context.distribution_of(rows[i], state.row);
            if (state.row.empty()) return {i, false};
            position_draws draws(chooser, context.prefix().size(), round);
            if (i == state.block.size()) {
                push(proposed, supposed, criterion_.draw(state.row, draws), state.row);
                break;
            }
            const auto drafted = state.block[i];
            const distribution& from = criterion_.drawn_from(state.row, drafted, state.mixed);
            const decision ruled = &from == &state.row ? criterion_.judge(state.row, drafted, draws)
                                                       : accept::rejection_sampling{}.judge(from, drafted, draws);
            const distribution& claimed = claims_what_it_drew ? from : state.row;
            push(proposed, supposed, ruled.accepted ? drafted.id : ruled.replacement, claimed);
            if (!ruled.accepted) return {i, true};
        }
        return {state.block.size(), true};
    }

    static void push(proposal<distribution>& proposed, supposition& supposed, token drawn, const distribution& from) {
        proposed.next_row() = from;
        proposed.complete(drawn);
        supposed.push(drawn);
    }

    Inner inner_;
    detail::held<Source> model_;
    Policy policy_;
    Criterion criterion_;
};

}  // namespace draft
}  // namespace augur
