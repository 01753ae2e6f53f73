#pragma once
// The observation: what a speculation policy reads.

#include <cstddef>
#include <limits>

namespace augur {

/// Signals that cost something to compute. A policy declares those that it reads (signals_read, policy/concept.hpp).
enum class signals : unsigned {
    none = 0,
    draft_entropy = 1,       ///< entropy of the row that the next drafted token would come from
    target_entropy = 2,      ///< entropy of the target's row that the last committed token came from
    match_length = 8,        ///< how much of the text before it a draft by n-grams rests on; free
    draft_confidence = 4,    ///< largest probability of the draft row, and its product along the draft (path value)
    target_confidence = 16,  ///< largest probability of the target's row that the last committed token came from
};
constexpr signals operator|(signals a, signals b) {
    return static_cast<signals>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr signals operator&(signals a, signals b) {
    return static_cast<signals>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
/// The first set without the second.
constexpr signals without(signals set, signals taken) {
    return static_cast<signals>(static_cast<unsigned>(set) & ~static_cast<unsigned>(taken));
}
constexpr bool includes(signals set, signals one) {
    return (set & one) != signals::none;
}

/// The state of a decoding just before one more token may be drafted. It holds rows' properties and the past, never the
/// value of a token that could still be thrown away because of it. Signals that were not asked for, or are not known
/// yet, are NaN.
struct observation {
    static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

    std::size_t round = 0;          ///< rounds finished before this one
    std::size_t prefix_length = 0;  ///< committed tokens, prompt included
    std::size_t drafted = 0;        ///< tokens drafted in this round so far
    std::size_t last_drafted = 0;   ///< in the round before
    std::size_t last_accepted = 0;  ///< in the round before
    std::size_t source = 0;         ///< which drafter is asking, where there are several (draft/fallback.hpp)
    signals pending =
        signals::none;  ///< those the policy uses that it will be asked again with, unless the draft ends here

    double draft_entropy_nats = unknown;        ///< of the row at hand
    double first_draft_entropy_nats = unknown;  ///< of this round's first row
    double target_entropy_nats = unknown;
    double target_confidence =
        unknown;  ///< largest probability in the target's row that the last committed token came from
    double draft_confidence = unknown;  ///< largest probability in the row at hand
    std::size_t match_length = 0;       ///< tokens that matched, for drafts by n-grams; 0 where there is no match
    double path_value = unknown;        ///< product of draft_confidence over this round's rows, this one included
    double path_value_sum = unknown;    ///< of the path values of this round's rows
};

/// What became of a round, for policies that learn: the observation its length was decided on, and the outcome.
struct outcome {
    observation decided_on;
    std::size_t drafted = 0;
    std::size_t accepted = 0;
    double draft_seconds = 0;
    double verify_seconds = 0;
    double accept_seconds = 0;  ///< 0 where it is within verify_seconds

    /// What the round's rows took: the pass over them, and judging and drawing from them. What a row costs is learned
    /// from this, so that a rule that passes over the vocabulary for a node counts.
    double row_seconds() const { return verify_seconds + accept_seconds; }
    /// What the round took until tokens were accepted.
    double seconds() const { return draft_seconds + row_seconds(); }
};

}  // namespace augur
