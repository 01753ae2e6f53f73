#pragma once
// One round: draft, verify, accept, commit.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/accept/walk.hpp"
#include "augur/commit/apply.hpp"
#include "augur/decode/session.hpp"
#include "augur/detail/stopwatch.hpp"
#include "augur/draft/context.hpp"
#include "augur/flow/task.hpp"
#include "augur/measure/entropy.hpp"
#include "augur/model/limits.hpp"
#include "augur/round/device_verifier.hpp"
#include "augur/round/judged_round.hpp"
#include "augur/types/observation.hpp"
#include "augur/types/round_view.hpp"
#include "augur/types/verdict.hpp"

namespace augur::decode {

struct step_options {
    commit::token_sink on_token{};
    bool log_probabilities = false;
    bool timed = true;
    bool shares_passes = false;           ///< a round stops for an allotment of rows (round/allotment.hpp)
    std::size_t most_drafted = no_limit;  ///< tokens on the longest path of a draft, whatever the policy wants
};

namespace detail {

/// Names the first value of a row that is not a finite logit or -infinity, and the model whose row it is.
inline std::string describe_fault(logit_row row, std::size_t position, std::string_view model = "target") {
    for (std::size_t i = 0; i < row.size(); ++i) {
        if (!(row[i] < std::numeric_limits<float>::infinity())) {
            return augur::detail::message("the ", model, "'s logit of token ", i, " at position ", position, " is ",
                                          row[i]);
        }
    }
    return augur::detail::message("no token can follow at position ", position, ": none of the ", model, "'s ",
                                  row.size(), " logits is left after the transforms");
}

/// Tells a drafter what it threw at, or had no memory for, when it was told before.
template <class Scheme, class Session>
void settle_debts(const Scheme& scheme, Session& s) {
    using commit::owed_to_drafter;
    if (s.owed == owed_to_drafter::abandon) draft::abandon(scheme.drafter(), s.drafter_state);
    if (s.owed == owed_to_drafter::commit) {
        if constexpr (ReadsStates<typename Scheme::drafter_type>) {
            rounds::show_states(s.target, scheme.drafter(), s.drafter_state, s.committed, s.shown);
        } else {
            scheme.drafter().on_commit(s.drafter_state, s.committed);
        }
    }
    s.owed = owed_to_drafter::nothing;
}

/// Counts of the stages inside the drafter.
template <class Scheme, class Session>
void report_stages(const Scheme& scheme, Session& s) {
    draft::report(scheme.drafter(), s.drafter_state, std::span(s.counts.stages).first(s.counts.stages.size() - 1));
}

}  // namespace detail

/// A round that is about to be committed: what of it could fail has been done.
template <class States>
struct ready_round {
    std::vector<commit::committed_token> block;
    std::vector<double> log_probabilities;
    States states;
    std::string fault{};  ///< of the row behind the block
    observation next{};   ///< what the policy is shown in the next round
    std::size_t whole = block.size();
};

/// The part of what follows a verdict on `rows` that can fail: where it throws the session is as before.
template <bool Looks, class Scheme, Chooser C, class Rows>
auto prepare_step(const Scheme& scheme, session<Scheme, C>& s, const step_options& chosen,
                  const observation& decided_on, const Rows& rows) {
    using policy_type = typename Scheme::policy_type;
    constexpr bool looks = Looks || ReadsStates<typename Scheme::drafter_type>;
    auto& record = s.last;
    const verdict& decided = record.decided;
    const std::size_t before = s.committed.size();
    const auto row_after = [&](std::size_t accepted) { return accepted == 0 ? 0 : 1 + decided.node(accepted - 1); };
    detail::report_stages(scheme, s);  // nothing new, but that it has the memory when there is
    auto block = commit::prepare(scheme, s, record.proposed, decided, std::move(record.committed));
    auto states = commit::states_of<looks>(s, block.size());
    ready_round<decltype(states)> ready{std::move(block), std::move(record.log_probabilities), std::move(states)};
    for (std::size_t i = 0; chosen.log_probabilities && i < ready.whole; ++i) {
        ready.log_probabilities.push_back(measure::log_probability(rows[row_after(i)], ready.block[i].id));
    }
    const std::size_t last_row = row_after(decided.accepted);
    if (decided.invalid_row()) ready.fault = detail::describe_fault(rows[last_row], before + decided.accepted);
    ready.next =
        observation{.round = decided_on.round + 1, .last_drafted = decided.drafted, .last_accepted = decided.accepted};
    policy::see_target<policy_type>(ready.next, rows, last_row);
    const round_view view{s.committed, before,      record.proposed, rows,          ready.states,
                          decided,     ready.block, decided_on,      record.seconds};
    if constexpr (policy::may_throw_learning<policy_type, decltype(view)>) {
        speculative_suffix ahead(s.committed);
        for (const commit::committed_token& t : ready.block) ahead.push(t.id);
        s.next_policy = s.policy;
        policy::show(s.next_policy, view);
    }
    return ready;
}

/// What follows a verdict on `rows`, the target's: one more than drafted tokens. Nothing is committed where the first
/// part throws; then all takes place, whatever is thrown, and the first exception is heard at the end.
template <class Scheme, Chooser C, class Rows, class... Watchers>
void finish_step(const Scheme& scheme, session<Scheme, C>& s, const step_options& chosen, const observation& decided_on,
                 const Rows& rows, augur::detail::stopwatch& watch, Watchers&... watchers) {
    using policy_type = typename Scheme::policy_type;
    constexpr bool looks = sizeof...(Watchers) > 0 || augur::detail::HasMemberWatch<policy_type>;
    auto& record = s.last;
    const std::size_t before = s.committed.size();
    auto ready = prepare_step<looks>(scheme, s, chosen, decided_on, rows);

    commit::first_thrown thrown;
    commit::settle(scheme, s, record.proposed, record.decided, ready.block, ready.states, chosen.on_token, thrown);
    const std::size_t kept = ready.block.size();
    while (ready.log_probabilities.size() > kept) ready.log_probabilities.pop_back();
    record.committed = std::move(ready.block);
    record.log_probabilities = std::move(ready.log_probabilities);
    if (s.finished == finish_reason::invalid_logits) s.fault = std::move(ready.fault);
    s.seen = ready.next;
    s.seen.prefix_length = s.committed.size();
    thrown.attempt([&] { detail::report_stages(scheme, s); });
    record.seconds.other = watch.lap();
    s.counts.seconds += record.seconds;
    const round_view view{s.committed,    before,           record.proposed, rows,          ready.states,
                          record.decided, record.committed, decided_on,      record.seconds};
    if (policy::may_throw_learning<policy_type, decltype(view)> && kept == ready.whole) {
        std::swap(s.policy, s.next_policy);  // which has learned of this very block
    } else {
        thrown.attempt([&] { policy::show(s.policy, view); });
    }
    (thrown.attempt([&] { watchers.watch(view); }), ...);
    commit::rewind_target(s, thrown);
    thrown.rethrow();
}

/// What a step does with a round's rows: it judges the proposal, and commits.
template <class Scheme, Chooser C, class Context, class... Watchers>
class step_judge {
    using drafter_type = typename Scheme::drafter_type;
    using proposal_type = typename session<Scheme, C>::proposal_type;
    static constexpr bool trees = drafts_trees<drafter_type, typename Scheme::policy_type>;

 public:
    step_judge(const Scheme& scheme, session<Scheme, C>& s, const step_options& chosen, const Context& context,
               augur::detail::stopwatch& watch, Watchers&... watchers)
        : scheme_(scheme), s_(s), chosen_(chosen), context_(context), watch_(watch), watchers_(watchers...) {}

    void operator()(model::pass_rows<typename Scheme::target_type>& rows) {
        auto& record = s_.last;
        accept::walk(scheme_.criterion(), rounds::as_judged<trees, typename Scheme::criterion_type>(record.proposed),
                     rows, s_.transform, s_.committed, s_.chooser, s_.seen.round, s_.target_rows, record.decided);
        record.seconds.accept = watch_.lap();
        constexpr bool looks = sizeof...(Watchers) > 0 || augur::detail::HasMemberWatch<typename Scheme::policy_type>;
        if (looks && chosen_.on_token && model::limits_of(scheme_.target()).rows_end_with_next_run) {
            rows.keep();  // on_token may run other sequences
        }
        finish(rows);
    }

    /// Where the target's device can judge this proposal.
    bool takes(const proposal_type&) const
        requires(rounds::has_device_verifier<Scheme, C> && !drafts_in_target<drafter_type>) {
        constexpr bool leaves_states = !ReadsStates<drafter_type> || PrefillsStates<typename Scheme::target_type>;
        return s_.device_verifier && (!trees || (leaves_states && s_.device_verifier.takes_trees()));
    }
    void judge_there(const proposal_type& proposed) {
        rounds::verify_on_device(s_.device_verifier, s_.target, s_.committed, proposed, s_.seen.round, s_.last.decided);
    }
    void finish_there() { finish(rounds::rows_on_device(s_.device_verifier, s_.target)); }

 private:
    void finish(const auto& rows) {
        std::apply(
            [&](auto&... watchers) { finish_step(scheme_, s_, chosen_, context_.seen(), rows, watch_, watchers...); },
            watchers_);
    }

    const Scheme& scheme_;
    session<Scheme, C>& s_;
    const step_options& chosen_;
    const Context& context_;
    augur::detail::stopwatch& watch_;
    std::tuple<Watchers&...> watchers_;
};

/// What one round of a session needs beside the session, while it is open.
template <class Scheme, Chooser C, class... Watchers>
class round_parts {
    using drafter_type = typename Scheme::drafter_type;
    using session_type = session<Scheme, C>;
    using lent_type = std::remove_pointer_t<decltype(draft::lent<drafter_type>(std::declval<session_type&>().target))>;
    using context_type = draft::context<typename Scheme::policy_type, C, lent_type>;

 public:
    round_parts(const Scheme& scheme, session_type& s, const step_options& chosen, Watchers&... watchers)
        : scheme_(scheme),
          s_(s),
          watch_(chosen.timed),
          most_drafted_(std::min(begin(scheme, s), chosen.most_drafted)),
          context_(s.committed, s.transform, s.chooser, s.policy, s.seen, most_drafted_, shown_by<drafter_type>,
                   &s.frames(), draft::lent<drafter_type>(s.target)),
          judge_(scheme, s, chosen, context_, watch_, watchers...) {
        context_.be_timed(chosen.timed);
        context_.share_passes(chosen.shares_passes);
        context_.fit_trees(model::room_for_tree(scheme.target()));
    }
    round_parts(const round_parts&) = delete;
    round_parts& operator=(const round_parts&) = delete;

    /// The round as a coroutine: drafts, verifies, accepts and commits; stops wherever it needs a model.
    flow::task run() {
        return rounds::judged_round<drafts_trees<drafter_type, typename Scheme::policy_type>>(
            scheme_.drafter(), s_.drafter_state, context_, s_.target, s_.last.proposed, watch_, s_.last.seconds,
            judge_);
    }

 private:
    /// Returns how many tokens may be drafted.
    static std::size_t begin(const Scheme& scheme, session_type& s) {
        const std::size_t budget = s.stops.budget(s.committed.generated().size(), s.committed.size());
        s.seen.prefix_length = s.committed.size();
        detail::settle_debts(scheme, s);
        if constexpr (ReadsStates<drafter_type>) {  // a round that ended early showed it nothing
            s.target.rewind(s.committed.tokens().first(s.shown));
        }
        return model::most_drafted(scheme.target(), budget - 1);
    }

    const Scheme& scheme_;
    session_type& s_;
    augur::detail::stopwatch watch_;
    std::size_t most_drafted_;
    context_type context_;
    step_judge<Scheme, C, context_type, Watchers...> judge_;
};

/// A round that is open: it waits for work that somebody does, and goes on. While it is open the session is its own.
/// Destroyed before it is done, or ended by an exception, it leaves the session as it was, `last` aside: the round can
/// be repeated, with the same result. Its address must not change; scheme, session, options and watchers must outlive
/// it.
template <class Scheme, Chooser C, class... Watchers>
class open_round {
 public:
    /// Begins, up to the first work. Refuses a session that is not running.
    open_round(const Scheme& scheme, session<Scheme, C>& s, const step_options& chosen, Watchers&... watchers)
        : undo_{&scheme, &s, s.seen, s.counts.rounds()},
          parts_(scheme, begun(s), chosen, watchers...),
          run_(parts_.run()) {
        undo_.needed = run_.wanted() != nullptr;
    }

    /// What it waits for: flow::work::run() does it; model::pass_work<M>::of() says which pass it is. Null when the
    /// round is done.
    flow::work* wanted() const { return run_.wanted(); }
    bool done() const { return run_.wanted() == nullptr; }

    /// Goes on, once that work is done. Throws what its model, or anything else in it, throws.
    void resume() {
        run_.resume();
        undo_.needed = run_.wanted() != nullptr;
    }
    /// Does all work itself.
    void finish() {
        while (!done()) {
            wanted()->run_and_go_on();
            resume();
        }
    }

 private:
    static session<Scheme, C>& begun(session<Scheme, C>& s) {
        if (s.finished != finish_reason::running) {
            augur::detail::fail("a round was begun in a session that has ended: ", name_of(s.finished));
        }
        s.last.committed.clear();  // so far; where the round does not take place, nothing was
        s.last.log_probabilities.clear();
        return s;
    }

    /// Goes after the coroutine, which takes its speculative tokens back. A round that is counted took place.
    struct on_end {
        const Scheme* scheme;
        session<Scheme, C>* s;
        observation seen;
        std::size_t rounds;
        bool needed = true;

        ~on_end() {
            using commit::owed_to_drafter;
            if (!needed || s->counts.rounds() != rounds) return;
            s->seen = seen;
            if (s->owed != owed_to_drafter::nothing) return;  // it has not been asked to propose
            s->owed = owed_to_drafter::abandon;
            try {
                draft::abandon(scheme->drafter(), s->drafter_state);
                s->owed = owed_to_drafter::nothing;
            } catch (...) {  // it is told again, before it proposes
            }
        }
    };

    on_end undo_;
    round_parts<Scheme, C, Watchers...> parts_;
    flow::runner run_;
};

/// Drafts, verifies, accepts and commits, in a session that is running. At least one token is committed, unless the
/// target's row cannot be drawn from. What is thrown passes through, and the text can go on with the next step: what
/// models, text_of and memory throw before the first token is committed undoes the round, which the step repeats; what
/// on_token, the drafter, the policy, a watcher or a rewind throw after that is heard when the round is complete
/// (docs/decode/faults.md). Watchers are shown what the round did. Returns the same, which is the session's until its
/// next step. Allocates nothing once storage has grown to what a round needs, beside text that is asked for. Cost: the
/// policy's and drafter's, one forward pass of the target over the drafted tokens and one more, the criterion's. Where
/// the target has a device verifier for the criterion, rows stay where they were made, unless they are asked for.
template <class Scheme, Chooser C, class... Watchers>
const auto& step(const Scheme& scheme, session<Scheme, C>& s, const step_options& chosen = {}, Watchers&&... watchers) {
    open_round<Scheme, C, std::remove_reference_t<Watchers>...>(scheme, s, chosen, watchers...).finish();
    return s.last;
}

}  // namespace augur::decode
