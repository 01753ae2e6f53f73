#pragma once
// One round: draft, verify, accept, commit.

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/accept/walk.hpp"
#include "augur/commit/apply.hpp"
#include "augur/decode/session.hpp"
#include "augur/detail/stopwatch.hpp"
#include "augur/draft/context.hpp"
#include "augur/types/observation.hpp"
#include "augur/types/verdict.hpp"
#include "augur/verify/chain.hpp"
#include "augur/verify/device_verifier.hpp"

namespace augur::decode {

struct step_options {
    commit::token_sink on_token{};
    bool log_probabilities = false;
    bool timed = true;
};

namespace detail {

/// Of one of the target's rows, where it lies if it can be.
template <class Policy, class Rows>
double target_entropy(const Rows& rows, std::size_t i) {
    if constexpr (!MeasuresEntropy<Policy> && requires { rows.entropy_nats(i); }) {
        return rows.entropy_nats(i);
    } else {
        return policy::entropy_nats<Policy>(rows[i]);
    }
}

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

}  // namespace detail

/// Tells the session and a learning policy what became of the round.
template <class Session, class Rows>
void conclude(Session& s, const auto& record, const Rows& rows, const observation& decided_on) {
    using policy_type = decltype(s.policy);
    if (s.finished == finish_reason::invalid_logits) {
        s.fault = detail::describe_fault(rows[record.decided.accepted], s.committed.size());
    }
    policy::learn(s.policy, outcome{decided_on, record.decided.drafted, record.decided.accepted, record.seconds.draft,
                                    record.seconds.verify});
    s.seen = observation{.round = decided_on.round + 1,
                         .prefix_length = s.committed.size(),
                         .last_drafted = record.decided.drafted,
                         .last_accepted = record.decided.accepted};
    if constexpr (includes(signals_of<policy_type>, signals::target_entropy)) {
        s.seen.target_entropy_nats = detail::target_entropy<policy_type>(rows, record.decided.accepted);
    }
}

/// What follows a verdict on `rows`, the target's: one more than drafted tokens.
template <class Scheme, Chooser C, class Rows>
void finish_step(const Scheme& scheme, session<Scheme, C>& s, const step_options& chosen, const observation& decided_on,
                 const Rows& rows, augur::detail::stopwatch& watch) {
    auto& record = s.last;
    record.committed =
        commit::apply(scheme, s, record.proposed, record.decided, chosen.on_token, std::move(record.committed));
    record.log_probabilities.clear();
    for (std::size_t i = 0; chosen.log_probabilities && i < record.committed.size(); ++i) {
        record.log_probabilities.push_back(measure::log_probability(rows[i], record.committed[i].id));
    }
    conclude(s, record, rows, decided_on);
    draft::report(scheme.drafter(), s.drafter_state, std::span(s.counts.stages).first(s.counts.stages.size() - 1));
    record.seconds.other = watch.lap();
    s.counts.seconds += record.seconds;
}

/// Drafts, verifies, accepts and commits, in a session that is running. At least one token is committed, unless the target's
/// row cannot be drawn from. What a model throws passes through: nothing is committed then, and the step can be repeated.
/// Returns what the round did, which is the session's until its next step. Allocates nothing once storage has grown to what a
/// round needs, beside text that is asked for.
/// Cost: the policy's and drafter's, one forward pass of the target over the drafted tokens and one more, the criterion's.
/// Where the target has a device verifier for the criterion, rows stay where they were made, unless they are asked for.
template <class Scheme, Chooser C>
const auto& step(const Scheme& scheme, session<Scheme, C>& s, const step_options& chosen = {}) {
    augur::detail::stopwatch watch(chosen.timed);
    const std::size_t room = s.stops.room(s.committed.generated().size(), s.committed.size());
    s.seen.prefix_length = s.committed.size();
    draft::context context(s.committed, s.transform, s.chooser, s.policy, s.seen, room - 1,
                           shown_by<typename Scheme::drafter_type>);

    auto& record = s.last;
    draft::propose(scheme.drafter(), s.drafter_state, context, record.proposed);
    record.seconds = {.draft = watch.lap()};
    if constexpr (verify::has_device_verifier<Scheme, C>) {
        if (s.device_verifier) {
            record.decided =
                verify::verify_on_device(s.device_verifier, s.target, s.committed, record.proposed, s.seen.round);
            record.seconds.verify = watch.lap();  // acceptance included
            finish_step(scheme, s, chosen, context.seen(), verify::rows_on_device(s.device_verifier, s.target), watch);
            return record;
        }
    }
    const auto rows = verify::chain(s.target, s.committed, record.proposed);
    record.seconds.verify = watch.lap();
    accept::walk(scheme.criterion(), record.proposed, rows, s.transform, s.committed, s.chooser, s.seen.round,
                 s.target_rows, record.decided);
    record.seconds.accept = watch.lap();
    finish_step(scheme, s, chosen, context.seen(), rows, watch);
    return record;
}

}  // namespace augur::decode
