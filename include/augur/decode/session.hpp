#pragma once
// A session: all state that changes while one sequence is decoded.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/accept/walk.hpp"
#include "augur/commit/apply.hpp"
#include "augur/commit/stop_conditions.hpp"
#include "augur/detail/optional_member.hpp"
#include "augur/detail/stopwatch.hpp"
#include "augur/draft/calls.hpp"
#include "augur/draft/context.hpp"
#include "augur/flow/frames.hpp"
#include "augur/model/cached_sequence.hpp"
#include "augur/random/chooser.hpp"
#include "augur/round/device_verifier.hpp"
#include "augur/round/show_states.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/error.hpp"
#include "augur/types/observation.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/statistics.hpp"
#include "augur/types/verdict.hpp"

namespace augur::decode {

/// The record of one round.
template <class Proposal>
struct round_record {
    Proposal proposed;
    verdict decided;
    std::vector<commit::committed_token> committed;
    std::vector<double> log_probabilities;  ///< of the committed tokens under the target's own rows; when asked for
    time_spent seconds;
};

/// Storage is taken for a text of so many tokens at once; a longer one grows as vectors do.
inline constexpr std::size_t most_reserved = 1 << 14;

/// Brings a target and a drafter to all of the prompt but its last token. `shown`: how many tokens' states a drafter
/// that reads them has been shown.
template <Model Target, Drafter D>
void prefill(model::cached_sequence<Target>& target, const D& drafter, typename D::state_type& state,
             const prefix& prompt, std::size_t& shown) {
    const auto filled = prompt.tokens().first(prompt.size() - 1);
    if constexpr (ReadsStates<D>) {
        rounds::show_states(target, drafter, state, prompt, shown);
    } else if constexpr (FillsTarget<D, Target>) {
        drafter.fill(state, target, filled);
    } else {
        target.fill(filled);
    }
    draft::prepare(drafter, state, prompt);
}

/// When the prompt of a session is computed.
enum class prefilling {
    at_once,  ///< when the session is made
    in_parts  ///< by prefill_part, before the first round
};

/// One decoding by `Scheme`. Members are open to inspection between steps; steps alone change them.
template <class Scheme, Chooser C = random::philox_chooser>
struct session {
    using drafter_type = typename Scheme::drafter_type;
    using target_type = typename Scheme::target_type;
    using policy_type = typename Scheme::policy_type;
    using proposal_type = proposal<typename drafter_type::draft_distribution_type>;

    /// Checks the prompt and the settings, then prefills: all of the prompt but its last token.
    session(const Scheme& scheme, std::span<const token> prompt, transform::settings sampling,
            commit::stop_conditions conditions, C with, prefilling when = prefilling::at_once)
        : device_verifier(make_device_verifier(scheme, sampling, with)),
          committed(checked_prompt(prompt, scheme.target().vocabulary_size(), scheme.target().context_length())),
          target(scheme.target()),
          drafter_state(scheme.drafter().make_state()),
          policy(scheme.policy()),
          next_policy(scheme.policy()),
          transform(std::move(sampling), scheme.target().vocabulary_size()),
          stops(std::move(conditions), scheme.target().vocabulary_size(), scheme.target().context_length()),
          chooser(std::move(with)) {
        accept::check(scheme.criterion(), transform.chosen());
        draft::check(scheme.drafter(), transform.chosen());
        counts.stages.resize(draft::stages_in<drafter_type> + 1);
        const std::size_t most = committed.size() + std::min(stops.budget(0, committed.size()), most_reserved);
        committed.reserve(most);
        target.reserve(most);
        if (stops.budget(0, committed.size()) == 0) finished = finish_reason::max_tokens;
        if (when == prefilling::in_parts) return;
        const augur::detail::stopwatch watch;
        prefill(target, scheme.drafter(), drafter_state, committed, shown);
        prefilled = committed.size() - 1;
        counts.seconds.prefill = watch.seconds();
    }

    rounds::device_verifier_t<Scheme, C>
        device_verifier;  ///< verifies where the target's rows are, if it can; else they come to the host
    prefix committed;
    model::cached_sequence<target_type> target;
    typename drafter_type::state_type drafter_state;
    policy_type policy;
    policy_type next_policy;  ///< storage: with what a round teaches, until it is committed
    transform::pipeline transform;
    commit::stop_watcher stops;
    C chooser;
    statistics counts;
    finish_reason finished = finish_reason::running;
    std::string fault;          ///< for invalid_logits: which value, where
    observation seen;           ///< what the policy will be shown at the start of the next round
    std::size_t shown = 0;      ///< tokens whose states a drafter that reads them has been shown
    std::size_t prefilled = 0;  ///< tokens of the prompt that were computed before the first round; all but its last
    commit::owed_to_drafter owed = commit::owed_to_drafter::nothing;
    round_record<proposal_type> last;  ///< the round before, until the next begins, which has its storage
    accept::walk_storage<transform::pipeline, typename Scheme::criterion_type> target_rows;  ///< storage

    /// Of the coroutines of an open round.
    flow::frames& frames() { return frames_; }

 private:
    flow::frames frames_;

    static rounds::device_verifier_t<Scheme, C> make_device_verifier(const Scheme& scheme,
                                                                     const transform::settings& sampling,
                                                                     const C& with) {
        if constexpr (rounds::has_device_verifier<Scheme, C>) {
            return scheme.target().make_device_verifier(scheme.criterion(), sampling, with);
        } else {
            return {};
        }
    }
};

/// Computes up to `most` further tokens of the prompt, in target and drafter, of a session that was made in parts;
/// returns how many are left. Once none are, the session is the one that was made at once, bit for bit where the models
/// promise bitwise rows. Not for a session that has done a round. Throws what models throw; then it can be called
/// again. Cost: the passes; and the drafter reads the beginning of the prompt anew.
template <class Scheme, Chooser C>
std::size_t prefill_part(const Scheme& scheme, session<Scheme, C>& s, std::size_t most) {
    const std::size_t all = s.committed.prompt_length() - 1;
    const augur::detail::stopwatch watch;
    const std::size_t next = s.prefilled + std::min(most, all - s.prefilled);
    if (next == all) {
        prefill(s.target, scheme.drafter(), s.drafter_state, s.committed, s.shown);
    } else {
        const prefix beginning(s.committed.tokens().first(next + 1));
        prefill(s.target, scheme.drafter(), s.drafter_state, beginning, s.shown);
    }
    s.prefilled = next;
    s.counts.seconds.prefill += watch.seconds();
    return all - next;
}

/// Tells watchers the session whose rounds they will be shown, before the first of them: `attach(session)`, where they
/// have it. generate does it; with step it is the caller's.
template <class Session, class... Watchers>
void attach(const Session& s, Watchers&... watchers) {
    [[maybe_unused]] const auto each = [&](auto& watcher) {
        if constexpr (requires { watcher.attach(s); }) {
            watcher.attach(s);
        } else {
            static_assert(!augur::detail::HasMemberAttach<std::remove_cvref_t<decltype(watcher)>>,
                          "augur: this watcher has a member attach that cannot be called as void attach(const auto& "
                          "session), so that it would be ignored");
        }
    };
    (each(watchers), ...);
}

}  // namespace augur::decode
