#pragma once
// What a stage of a cascade does with a round's rows: judges the block, and proposes what is accepted.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "augur/accept/walk.hpp"
#include "augur/detail/stopwatch.hpp"
#include "augur/draft/calls.hpp"
#include "augur/policy/concept.hpp"
#include "augur/random/chooser.hpp"
#include "augur/random/nested_chooser.hpp"
#include "augur/round/device_verifier.hpp"
#include "augur/round/judged_round.hpp"
#include "augur/scheme/inside.hpp"
#include "augur/types/guarantee.hpp"
#include "augur/types/observation.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/round_view.hpp"
#include "augur/types/statistics.hpp"
#include "augur/types/topology.hpp"
#include "augur/types/verdict.hpp"

namespace augur::scheme {

/// A stage as rounds::device_verifier_t asks for it.
template <class Inner, class M, class Criterion>
struct verified_stage {
    using drafter_type = Inner;
    using target_type = M;
    using criterion_type = Criterion;
};

/// What verifies for a stage on its model's device. None unless the criterion keeps the model's own text, whose noise
/// belongs to the position: no stage has numbers of its own then, and its tokens are proposed as point masses, which
/// need no row on the host.
template <class Inner, class M, class Criterion>
struct stage_verifier : std::type_identity<rounds::no_device_verifier> {};
template <class Inner, class M, class Criterion>
requires(LeavesNothingOpen<Criterion> &&
         (std::same_as<typename Criterion::guarantee, guarantee::same_greedy_text> ||
          std::same_as<typename Criterion::guarantee, guarantee::same_seeded_text>)) struct stage_verifier<Inner, M,
                                                                                                           Criterion> {
    using type = rounds::device_verifier_t<verified_stage<Inner, M, Criterion>, random::philox_chooser>;
};
template <class Inner, class M, class Criterion>
using stage_verifier_t = typename stage_verifier<Inner, M, Criterion>::type;

/// The judge of one round of `Stage` (rounds::judged_round), whose proposal goes to who asked, `Context`.
template <class Stage, class Context, class NestedChooser>
class stage_judge {
    using state_type = typename Stage::state_type;
    using criterion_type = typename Stage::criterion_type;
    using judge_type = typename Stage::judge_type;
    using policy_type = typename Stage::policy_type;
    using proposal_type = proposal<typename Stage::draft_distribution_type>;
    using shared_chooser = std::remove_reference_t<decltype(outermost(std::declval<Context&>().chooser()))>;
    static constexpr bool trees = Stage::trees;
    static constexpr bool verifies_there =
        !std::same_as<typename Stage::device_verifier_type, rounds::no_device_verifier> &&
        std::same_as<shared_chooser, random::philox_chooser> &&
        !includes(signals_of<draft::policy_of<Context>>, signals::draft_entropy | signals::draft_confidence);

 public:
    /// `before` is the context's prefix; `decided_on`, what the policy saw last, and `seconds` change with the round.
    stage_judge(const Stage& of, state_type& state, Context& context, NestedChooser& chooser, const prefix& before,
                const observation& decided_on, augur::detail::stopwatch& watch, time_spent& seconds,
                proposal_type& proposed, speculative_suffix& speculative)
        : of_(of),
          state_(state),
          context_(context),
          chooser_(chooser),
          before_(before),
          decided_on_(decided_on),
          watch_(watch),
          seconds_(seconds),
          proposed_(proposed),
          speculative_(speculative) {}

    void operator()(const auto& rows) {
        const std::size_t first = proposed_.size();
        judge_block(rows);
        seconds_.accept = watch_.lap();
        finish(rows, first);
    }

    /// Where the model's device can judge this block.
    bool takes(const auto& /*block*/) requires verifies_there {
        constexpr bool leaves_states =
            !ReadsStates<typename Stage::inner_type> || PrefillsStates<typename Stage::model_type>;
        auto& verifier = state_.verifier;
        if (!verifier) {
            verifier.emplace(of_.model().make_device_verifier(of_.criterion(), context_.transform().chosen(),
                                                              outermost(context_.chooser())));
        }
        return *verifier && (!trees || (leaves_states && verifier->takes_trees()));
    }
    void judge_there(const auto& block) requires verifies_there {
        rounds::verify_on_device(*state_.verifier, state_.cache, before_, block, state_.now.seen.round, state_.decided);
    }
    void finish_there() requires verifies_there {
        const std::size_t first = proposed_.size();
        const no_rows targets;
        accept::show_walk(state_.block, targets, state_.decided,
                          point_additions{context_, proposed_, of_.vocabulary_size()});
        finish(rounds::rows_on_device(*state_.verifier, state_.cache), first);
    }

    /// Whether another round may add tokens to the proposal.
    bool may_go_on() const { return !state_.decided.invalid_row(); }

 private:
    /// Judges the block and adds the accepted tokens to the proposal.
    void judge_block(const auto& rows) {
        const distribution* from = nullptr;
        const additions<std::remove_cvref_t<decltype(rows)>> added{of_.criterion(), state_, context_, rows,
                                                                   proposed_,       from};
        const auto walk = [&](const auto& criterion) {
            accept::walk(criterion, rounds::as_judged<trees, std::remove_cvref_t<decltype(criterion)>>(state_.block),
                         rows, context_.transform(), context_.prefix(), chooser_, state_.now.seen.round, state_.rows,
                         state_.decided, added);
        };
        if constexpr (std::same_as<judge_type, criterion_type>) {
            walk(of_.criterion());
        } else {
            walk(judge_type{of_.criterion(), state_.mixed, from});
        }
    }

    /// What follows a verdict, whose tokens are proposed from number `first` on.
    void finish(const auto& rows, std::size_t first) {
        const verdict& decided = state_.decided;
        for (const token t : proposed_.tokens().subspan(first)) speculative_.push(t);
        learn(rows);
        if constexpr (trees) {
            if (!state_.block.is_chain()) state_.cache.keep(std::span(decided.path).first(decided.accepted));
        }
        if constexpr (ReadsStates<typename Stage::inner_type>) {
            state_.states.keep(state_.cache, state_.now.seen.prefix_length + decided.accepted);
        }
    }

    /// Counts the round, and shows it to the policy.
    void learn(const auto& rows) {
        const verdict& decided = state_.decided;
        observation& seen = state_.now.seen;
        state_.settled.counts.reserve(state_.block.size());  // that on_commit need not
        state_.now.counts.add(state_.block.size(), decided.accepted);
        const no_states states;
        policy::show(
            state_.now.policy,
            round_view{before_, seen.prefix_length, state_.block, rows, states, decided, {}, decided_on_, seconds_});
        seen.last_drafted = state_.block.size();
        seen.last_accepted = decided.accepted;
        if (decided.accepted > 0 || decided.next != no_token) {
            const std::size_t last = decided.next == no_token ? decided.accepted - 1 : decided.accepted;
            policy::see_target<policy_type>(seen, rows, last == 0 ? 0 : 1 + decided.node(last - 1));
        }
    }

    /// Watches a walk: each token is proposed with the row that it was drawn from.
    template <class Rows>
    struct additions {
        const criterion_type& criterion;
        state_type& state;
        Context& context;
        const Rows& rows;
        proposal_type& proposed;
        const distribution*& from;  ///< as found when the token was judged, or null

        bool wants(std::size_t row) const { return context.wants_more(proposed.size(), rows[row]); }
        void took(std::size_t row, const distribution& target, token taken) const {
            const distribution* found = std::exchange(from, nullptr);
            if (const std::size_t node = judged_at(row, taken); found == nullptr && node < state.block.size()) {
                found = &row_of(criterion, target, state.block[node], state.mixed);
            }
            distribution& stated = proposed.next_row();
            if constexpr (!Stage::proposes_what_it_drew) {
                stated = target;
            } else if constexpr (LeavesNothingOpen<criterion_type>) {
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

    /// Watches what was judged elsewhere, without rows: each token is proposed as a point mass.
    struct no_rows {
        no_states operator[](std::size_t /*row*/) const { return {}; }
    };
    struct point_additions {
        Context& context;
        proposal_type& proposed;
        std::size_t vocabulary;

        bool wants(std::size_t /*row*/) const { return context.wants_more(proposed.size()); }
        void took(std::size_t /*row*/, const no_states& /*target*/, token taken) const {
            proposed.next_row().become_point(taken, vocabulary);
            proposed.complete(taken);
        }
    };

    const Stage& of_;
    state_type& state_;
    Context& context_;
    NestedChooser& chooser_;
    const prefix& before_;
    const observation& decided_on_;
    augur::detail::stopwatch& watch_;
    time_spent& seconds_;
    proposal_type& proposed_;
    speculative_suffix& speculative_;
};

}  // namespace augur::scheme
