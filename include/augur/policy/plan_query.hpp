#pragma once
// The questions of one round to a policy, and its answers: the same on the host and in kernels.

#include <cstddef>
#include <span>

#include "augur/detail/host_device.hpp"
#include "augur/measure/entropy.hpp"
#include "augur/policy/concept.hpp"
#include "augur/types/observation.hpp"
#include "augur/types/plan.hpp"
#include "augur/types/scores.hpp"

namespace augur::policy {

/// One round's questions to a policy, and the plan that holds. Values alone: the policy is handed to every call.
template <SpeculationPolicy Policy>
class plan_query {
    static constexpr signals of_rows = signals::draft_entropy | signals::draft_confidence;

 public:
    /// Whether the policy reads the draft's rows at all.
    static constexpr bool reads_rows = includes(signals_of<Policy>, of_rows);

    /// Whether the row after `drafted` tokens of the greedy chain, or of a chain that is drafted, is to be shown.
    AUGUR_HOST_DEVICE bool looks_at_row(std::size_t drafted) const { return reads_rows && drafted < look_; }
    /// Rows of the greedy chain that are wanted before a tree is planned, as far as there is room.
    std::size_t rows_ahead() const { return !reads_rows || budget_ == 0 ? 0 : look_ < budget_ ? look_ : budget_; }

    /// From the start of a round's draft. `budget`: the most tokens that it may have. `shown`: the signals that will
    /// be.
    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE void begin(const Policy& policy, const observation& start, std::size_t budget, signals shown) {
        seen_ = start;
        budget_ = budget;
        rows_ = asked_with_ = 0;
        seen_.pending = shown & signals_of<Policy>;
        if constexpr (includes(required_signals<Policy>, of_rows | signals::match_length)) {
            plan_ = {};
            is_answered_ = false;
            length_ = budget_;
            look_ = 1;
        } else {
            ask(policy);
        }
    }

    /// The row after `drafted` tokens, where the policy looks at it: its signals, those that the policy reads.
    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE void see_row(const Policy& policy, std::size_t drafted, double entropy_nats, double confidence) {
        seen_.drafted = drafted;
        rows_ = drafted + 1;
        if constexpr (includes(signals_of<Policy>, signals::draft_entropy)) {
            seen_.draft_entropy_nats = entropy_nats;
            if (drafted == 0) seen_.first_draft_entropy_nats = entropy_nats;
        }
        if constexpr (includes(signals_of<Policy>, signals::draft_confidence)) {
            seen_.draft_confidence = confidence;
            seen_.path_value = confidence * (drafted == 0 ? 1 : seen_.path_value);
            seen_.path_value_sum = seen_.path_value + (drafted == 0 ? 0 : seen_.path_value_sum);
        }
        if (asked_with_ < rows_ && rows_ < look_ && rows_ < budget_) {  // more of them first
            length_ = budget_;
            return;
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

    /// Tokens that are wanted in all, on the longest path, as far as can be told so far.
    AUGUR_HOST_DEVICE std::size_t wanted() const { return length_; }
    /// The plan, room or not. A policy that waits for more rows is asked without them.
    const draft_plan& plan(const Policy& policy) {
        if constexpr (reads_rows && shape_of<Policy> == draft_shape::tree) {
            if (includes(seen_.pending, of_rows) || asked_with_ < rows_) {
                seen_.pending = without(seen_.pending, of_rows);
                ask(policy);
            }
        }
        return plan_;
    }
    /// The plan that was answered last.
    const draft_plan& planned() const { return plan_; }
    /// Whether there is one: a policy is not asked before what it requires is known.
    bool is_answered() const { return is_answered_; }
    /// What a growth budget sees, of a tree that has grown to this depth.
    const observation& see_depth(std::size_t depth) {
        seen_.drafted = depth;
        return seen_;
    }
    /// Whether a tree was planned by path values of the greedy chain.
    bool looked_ahead() const { return reads_rows && shape_of<Policy> == draft_shape::tree && plan_.look > 0; }
    /// What the policy saw last.
    AUGUR_HOST_DEVICE const observation& seen() const { return seen_; }

 private:
    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE void ask(const Policy& policy) {
        plan_ = answer(policy, seen_, rows_);
        is_answered_ = true;
        asked_with_ = rows_;
        look_ = plan_.look;
        if (look_ == 0 && includes(seen_.pending, of_rows)) look_ = 1;
        length_ = plan_.length;
        if constexpr (shape_of<Policy> == draft_shape::tree) {
            if (plan_.tree != nullptr) length_ = plan_.tree->depth();
        }
        length_ = length_ < budget_ ? length_ : budget_;
    }

    observation seen_;
    std::size_t budget_ = 0;
    std::size_t length_ = 0;
    std::size_t look_ = 0;                   ///< rows that are wanted
    std::size_t rows_ = 0, asked_with_ = 0;  ///< that are known, and were when the policy was asked last
    draft_plan plan_;                        ///< what it points to is the policy's
    bool is_answered_ = false;
};

/// The entropy of a row as the policy measures it.
template <SpeculationPolicy P>
double entropy_nats(logit_row row) {
    if constexpr (reads_of<P>.measures_entropy()) {
        return reads_of<P>.entropy_nats(row);
    } else {
        return measure::entropy_nats(row);
    }
}

/// Notes what the policy's signals ask of the verifier's row that the last token came from, where it lies if it can be.
template <SpeculationPolicy P, class Rows>
void see_target(observation& seen, const Rows& rows, std::size_t row) {
    if constexpr (includes(signals_of<P>, signals::target_entropy)) {
        if constexpr (!reads_of<P>.measures_entropy() && requires { rows.entropy_nats(row); }) {
            seen.target_entropy_nats = rows.entropy_nats(row);
        } else {
            seen.target_entropy_nats = entropy_nats<P>(rows[row]);
        }
    }
    if constexpr (includes(signals_of<P>, signals::target_confidence)) {
        seen.target_confidence = measure::confidence(measure::moments(rows[row]));
    }
}

}  // namespace augur::policy
