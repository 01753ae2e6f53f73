#pragma once
// Observations and outcomes for testing policies with.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "augur/testing/choices.hpp"
#include "augur/types/error.hpp"
#include "augur/types/observation.hpp"

namespace augur::testing {

inline constexpr signals all_signals[] = {signals::draft_entropy, signals::target_entropy, signals::match_length,
                                          signals::draft_confidence, signals::target_confidence};

constexpr std::string_view name_of(signals one) {
    if (one == signals::draft_entropy) return "draft_entropy";
    if (one == signals::target_entropy) return "target_entropy";
    if (one == signals::match_length) return "match_length";
    if (one == signals::target_confidence) return "target_confidence";
    return "draft_confidence";
}

/// As an observation is where this signal was not asked for.
inline void hide(observation& seen, signals hidden) {
    if (hidden == signals::draft_entropy) {
        seen.draft_entropy_nats = seen.first_draft_entropy_nats = observation::unknown;
    }
    if (hidden == signals::target_entropy) seen.target_entropy_nats = observation::unknown;
    if (hidden == signals::match_length) seen.match_length = 0;
    if (hidden == signals::target_confidence) seen.target_confidence = observation::unknown;
    if (hidden == signals::draft_confidence) {
        seen.draft_confidence = seen.path_value = seen.path_value_sum = observation::unknown;
    }
}

inline std::string described(const observation& o) {
    return augur::detail::message(
        "observation{round ", o.round, ", prefix ", o.prefix_length, ", drafted ", o.drafted, ", last ",
        o.last_accepted, '/', o.last_drafted, ", source ", o.source, ", pending ", static_cast<unsigned>(o.pending),
        ", match ", o.match_length, ", draft entropy ", o.draft_entropy_nats, " (first ", o.first_draft_entropy_nats,
        "), target entropy ", o.target_entropy_nats, ", confidence ", o.draft_confidence, ", path value ", o.path_value,
        " (sum ", o.path_value_sum, "), target confidence ", o.target_confidence, '}');
}

/// Of everything, declared or not, with numbers among `values`: by default those of entropies and probabilities.
inline observation some_observation(choices& from, signals declared,
                                    const std::vector<double>& values = {0.0, 0.5, 1.0, 2.0, 20.0, 0.01, 0.2, 0.8,
                                                                         0.99}) {
    constexpr signals pending[] = {signals::none, signals::match_length, signals::draft_entropy,
                                   signals::draft_confidence, signals::match_length | signals::draft_entropy};
    const auto value = [&] { return values[from.below(values.size())]; };
    observation made;
    made.round = from.below(4);
    made.prefix_length = from.below(100);
    made.drafted = from.below(5);
    made.last_drafted = from.below(5);
    made.last_accepted = from.below(made.last_drafted + 1);
    made.source = from.below(6);
    made.pending = pending[from.below(5)] & declared;
    made.match_length = from.below(9);
    made.draft_entropy_nats = value();
    made.first_draft_entropy_nats = made.drafted == 0 ? made.draft_entropy_nats : value();
    made.target_entropy_nats = value();
    made.draft_confidence = value();
    made.path_value = value();
    made.path_value_sum = value();
    made.target_confidence = value();
    return made;
}

/// And its description at the end of `past`.
inline outcome some_outcome(choices& from, signals declared, std::string& past) {
    outcome made;
    made.decided_on = some_observation(from, declared);
    made.drafted = from.below(6);
    made.accepted = from.below(made.drafted + 1);
    made.draft_seconds = 0.01 * static_cast<double>(from.below(10));
    made.verify_seconds = 0.1 * static_cast<double>(from.below(10));
    past += augur::detail::message(' ', made.accepted, '/', made.drafted, " in ", made.draft_seconds, '+',
                                   made.verify_seconds, " s");
    return made;
}

}  // namespace augur::testing
