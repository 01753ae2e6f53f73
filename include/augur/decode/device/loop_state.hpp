#pragma once
// The state of the on-device loop from round to round, and the small kernels that update it.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "augur/backend/device/accept_chain.hpp"
#include "augur/backend/device/row_edits.hpp"
#include "augur/backend/device/scan_rows.hpp"
#include "augur/backend/device/shared_buffer.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/policy/concept.hpp"
#include "augur/policy/plan_query.hpp"
#include "augur/types/observation.hpp"
#include "augur/types/token.hpp"

namespace augur::decode::device {

using namespace backend::device;  // what kernels are made of

/// Trivially copyable, and asked by functions that kernels can call: plan or length, and learn where it has one, are
/// AUGUR_HOST_DEVICE or constexpr. It plans chains, by the default entropy.
template <class P>
concept KernelPolicy = SpeculationPolicy<P> && std::is_trivially_copyable_v<P> && augur::shape_of<P>
== draft_shape::chain && !reads_of<P>.measures_entropy();

/// What became of a round, for the host: tokens drafted, of these committed, and committed in all.
struct round_note {
    std::uint32_t drafted = 0;
    std::uint32_t accepted = 0;
    std::uint32_t committed = 0;
    std::uint32_t valid = 0;  ///< 0: the target's row after these could not be drawn from
};

/// In memory that the host shares.
struct loop_mail {
    std::uint32_t* rounds;  ///< how many notes there are: published
    std::uint32_t* cancel;  ///< the host's: not 0 ends the decoding after the round
    round_note* notes;      ///< of each round
    token* tokens;          ///< generated ones
};

/// In the system's memory. Words that loops and choices look at are named for what they say.
template <KernelPolicy Policy>
struct loop_state {
    using asks_type = policy::plan_query<Policy>;
    static constexpr std::size_t most_stops = 8;

    std::uint64_t seed = 0;
    std::uint32_t prompt = 0;        ///< tokens of it
    std::uint32_t length = 0;        ///< committed tokens, prompt included
    std::uint32_t limit = 0;         ///< where the text ends
    std::uint32_t draft_limit = 0;   ///< the draft's context
    std::uint32_t most_drafted = 0;  ///< in a round
    std::uint32_t held = 0;          ///< tokens of the text whose keys and values the draft has
    std::uint32_t round = 0;
    std::uint32_t drafted = 0;  ///< in this round; they stand in the text after `length`

    std::uint32_t running = 0;     ///< whether there is another round
    std::uint32_t behind = 0;      ///< whether the draft lacks more than it can take with its first row
    std::uint32_t wants_more = 0;  ///< whether the draft is asked for another row
    std::uint32_t lag = 0;         ///< 1 where the draft takes two tokens for it, else 0
    std::uint32_t draft_from = 0;  ///< the first of these
    std::uint32_t bucket = 0;      ///< how many rows the target makes
    std::uint32_t verify_from = 0;

    std::uint32_t stop_count = 0;
    token stops[most_stops] = {};
    observation next{};  ///< what is seen at the start of the round
    asks_type asks{};
    Policy policy;

    /// What the draft's next row needs.
    AUGUR_HOST_DEVICE void aim() {
        wants_more = drafted < asks.wanted() ? 1 : 0;
        const std::uint32_t at = length - 1 + drafted;
        behind = wants_more != 0 && held + 1 < at ? 1 : 0;
        lag = held < at ? 1 : 0;
        draft_from = at - lag;
    }
    AUGUR_HOST_DEVICE bool stops_at(token t) const {
        for (std::uint32_t i = 0; i < stop_count; ++i) {
            if (stops[i] == t) return true;
        }
        return false;
    }
};

/// Kernel of one thread: `change` to the state.
template <class State, class Change>
struct change_state {
    static constexpr unsigned threads = warp_size;

    State* state;
    Change change;

    static constexpr std::size_t shared_bytes() { return 0; }

    AUGUR_WHERE_ARGUMENTS_CAN
    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        team.each([&](unsigned thread) {
            if (thread == 0) change(*state);
        });
    }
};

/// Asks the policy before anything is drafted.
struct begin_round {
    signals shown;  ///< by the drafter

    AUGUR_WHERE_ARGUMENTS_CAN
    template <class State>
    AUGUR_HOST_DEVICE void operator()(State& s) const {
        std::uint32_t budget = s.limit - s.length - 1;
        const std::uint32_t fits = s.length > s.draft_limit ? 0 : s.draft_limit - s.length + 1;
        if (fits < budget) budget = fits;
        if (s.most_drafted < budget) budget = s.most_drafted;
        s.drafted = 0;
        s.verify_from = s.length - 1;
        s.next.prefix_length = s.length;
        s.asks.begin(s.policy, s.next, budget, shown);
        s.aim();
    }
};

/// Whether the draft lacks the last token of the text, drafted ones included, once all are drafted.
struct aim_at_last {
    template <class State>
    AUGUR_HOST_DEVICE void operator()(State& s) const {
        s.behind = s.held < s.length + s.drafted ? 1 : 0;
    }
};

/// After the draft took one token more.
struct catch_up {
    template <class State>
    AUGUR_HOST_DEVICE void operator()(State& s) const {
        ++s.held;
        s.aim();
    }
};

/// Before the target's pass: of 1, 2, 4, ... rows, one more than drafted tokens at least.
struct begin_verification {
    template <class State>
    AUGUR_HOST_DEVICE void operator()(State& s) const {
        s.bucket = 0;
        while ((1u << s.bucket) < s.drafted + 1) ++s.bucket;
    }
};

/// Commits what a verdict allows, as commit::apply does: a stop token or the limit cuts it. Writes to the text and to
/// the host.
struct commit_round {
    const chain_verdict* decided;
    const scanned_row* rows;  ///< the target's; null where nobody looks at them
    token* text;
    occurrences* counts;  ///< of tokens, or null
    loop_mail mail;

    AUGUR_WHERE_ARGUMENTS_CAN
    template <class State>
    AUGUR_HOST_DEVICE void operator()(State& s) const {
        const chain_verdict verdict = *decided;
        if (verdict.valid != 0) text[s.length + verdict.accepted] = verdict.next;
        const std::uint32_t whole = verdict.accepted + verdict.valid;
        round_note note{s.drafted, 0, 0, verdict.valid};
        bool ended = verdict.valid == 0;
        bool cut = false;
        while (!cut && note.committed < whole) {
            const token t = text[s.length + note.committed];
            mail.tokens[s.length - s.prompt + note.committed] = t;
            if (counts != nullptr) {
                ++counts[t].anywhere;
                ++counts[t].generated;
            }
            ++note.committed;
            cut = s.stops_at(t) || s.length + note.committed >= s.limit;
        }
        ended = ended || cut;
        note.accepted = note.committed < verdict.accepted ? note.committed : verdict.accepted;
        learn(s, verdict);
        if (s.length + verdict.accepted < s.held) s.held = s.length + verdict.accepted;
        s.length += note.committed;
        s.running = ended || published(mail.cancel) != 0 ? 0 : 1;
        mail.notes[s.round++] = note;
        publish(mail.rounds, s.round);
    }

 private:
    AUGUR_WHERE_ARGUMENTS_CAN
    template <class Policy>
    AUGUR_HOST_DEVICE void learn(loop_state<Policy>& s, const chain_verdict& verdict) const {
        if constexpr (LearnsFromOutcomes<Policy>) {
            s.policy.learn(outcome{s.asks.seen(), s.drafted, verdict.accepted, 1e-3, 1e-3});
        }
        observation next;
        next.round = s.round + 1;
        next.last_drafted = s.drafted;
        next.last_accepted = verdict.accepted;
        if (rows != nullptr) {
            const scanned_row& last = rows[verdict.accepted];
            if constexpr (includes(signals_of<Policy>, signals::target_entropy))
                next.target_entropy_nats = last.entropy_nats;
            if constexpr (includes(signals_of<Policy>, signals::target_confidence))
                next.target_confidence = measure::confidence(last.moments);
        }
        s.next = next;
    }
};

/// Kernel: accept_chain on what the state says was drafted. There may be more rows than that.
template <class State, class Criterion, class Chain>
struct judge_round {
    static constexpr unsigned threads = 256;

    accept_chain<Criterion, Chain> judge;  ///< without what the state says
    const State* state;

    std::size_t blocks() const { return judge.blocks(); }
    std::size_t shared_bytes() const { return judge.shared_bytes(); }

    AUGUR_WHERE_ARGUMENTS_CAN
    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        accept_chain<Criterion, Chain> now = judge;
        now.proposed.tokens = judge.proposed.tokens + state->length;
        now.proposed.size = state->drafted;
        now.seed = state->seed;
        now.position = state->length;
        now.round = state->next.round;
        now(team);
    }
};

}  // namespace augur::decode::device
