#pragma once
// What a policy is asked while a draft grows, and what it answered: the same on the host and in kernels.

#include <cstddef>

#include "augur/detail/host_device.hpp"
#include "augur/policy/concept.hpp"
#include "augur/types/observation.hpp"

namespace augur::policy {

/// One round's questions to a policy: of one that decides topologies, the length is its tree's depth. Values alone: the
/// policy is handed to every call.
template <SpeculationPolicy Policy>
class length_query {
    static constexpr signals of_rows = signals::draft_entropy | signals::draft_confidence;

 public:
    /// Whether the policy looks at the row after `drafted` tokens before it says more; one that looks ahead, at
    /// rows_ahead of them.
    AUGUR_HOST_DEVICE static constexpr bool looks_at_row(std::size_t drafted) {
        return includes(signals_of<Policy>, of_rows) && !(asked_once<Policy> && drafted > 0);
    }
    /// Rows of the draft's greedy chain that a policy on topologies sees before it is asked, as far as there is room.
    std::size_t rows_ahead(const Policy& policy) const {
        std::size_t rows = looks_at_row(0) ? 1 : 0;
        if constexpr (LooksAhead<Policy>) rows *= static_cast<std::size_t>(policy.looks_ahead());
        return rows < room_ ? rows : room_;
    }

    /// From the start of a round's draft. `room`: the most tokens that it may have. `shown`: the signals that will be.
    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE void begin(const Policy& policy, const observation& start, std::size_t room, signals shown) {
        seen_ = start;
        room_ = room;
        seen_.pending = shown & signals_of<Policy>;
        if constexpr (includes(needs_of<Policy>, of_rows | signals::match_length)) {
            length_ = room_;
        } else {
            ask(policy);
        }
    }

    /// The row after `drafted` tokens, where the policy looks at it: its signals, those that the policy needs.
    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE void see_row(const Policy& policy, std::size_t drafted, double entropy_nats, double confidence) {
        seen_.drafted = drafted;
        if constexpr (includes(signals_of<Policy>, signals::draft_entropy)) {
            seen_.draft_entropy_nats = entropy_nats;
            if (drafted == 0) seen_.first_draft_entropy_nats = entropy_nats;
        }
        if constexpr (includes(signals_of<Policy>, signals::draft_confidence)) {
            seen_.draft_confidence = confidence;
            seen_.path_value = confidence * (drafted == 0 ? 1 : seen_.path_value);
            seen_.path_value_sum = seen_.path_value + (drafted == 0 ? 0 : seen_.path_value_sum);
        }
        if constexpr (LooksAhead<Policy>) {
            if (drafted + 1 < rows_ahead(policy)) return take(room_);
        }
        seen_.pending = without(seen_.pending, of_rows);
        ask(policy);
    }

    /// The draft will rest on a match of so many tokens. Asks a policy that wants to know.
    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE void see_match(const Policy& policy, std::size_t length) {
        if constexpr (includes(signals_of<Policy>, signals::match_length)) {
            seen_.match_length = length;
            seen_.pending = without(seen_.pending, signals::match_length);
            ask(policy);
        }
    }

    /// Tokens that are wanted in all, as far as can be told so far.
    AUGUR_HOST_DEVICE std::size_t wanted() const { return length_; }
    /// The tree that is wanted, room or not; null where a length is. A policy that waits for more rows is asked without
    /// them.
    const topology* plan(const Policy& policy) {
        if constexpr (DecidesTopology<Policy>) {
            if (includes(seen_.pending, of_rows)) {
                seen_.pending = without(seen_.pending, of_rows);
                ask(policy);
            }
        }
        return plan_;
    }
    /// What a policy that weighs nodes sees, of a tree that has grown to this depth.
    const observation& see_depth(std::size_t depth) {
        seen_.drafted = depth;
        return seen_;
    }
    /// What the policy saw last.
    AUGUR_HOST_DEVICE const observation& seen() const { return seen_; }

 private:
    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE void ask(const Policy& policy) {
        if constexpr (DecidesTopology<Policy>) {
            plan_ = &policy.topology(seen_);
            take(plan_->depth());
        } else {
            take(static_cast<std::size_t>(policy.length(seen_)));
        }
    }

    AUGUR_HOST_DEVICE void take(std::size_t answer) { length_ = answer < room_ ? answer : room_; }

    observation seen_;
    std::size_t room_ = 0;
    std::size_t length_ = 0;
    const topology* plan_ = nullptr;  ///< the policy's
};

}  // namespace augur::policy
