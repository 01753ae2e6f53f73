#pragma once
// Random observations and outcomes, for testing policies.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "augur/policy/concept.hpp"
#include "augur/testing/choices.hpp"
#include "augur/testing/report.hpp"
#include "augur/types/error.hpp"
#include "augur/types/observation.hpp"
#include "augur/types/plan.hpp"
#include "augur/types/topology.hpp"

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

/// A count, small as a rule; one time in `one_in` a large one.
inline std::size_t some_count(choices& from, std::size_t bound, std::size_t one_in = 8) {
    if (from.below(one_in) + 1 == one_in) return from.one_of<std::size_t>({8, 17, 64, 1000, std::size_t{1} << 20});
    return from.below(bound);
}

/// An entropy or a probability: a usual one, or any of two decimals.
inline double some_value(choices& from) {
    if (from.below(2) == 1) return 0.01 * static_cast<double>(from.below(400));
    return from.one_of({0.0, 0.5, 1.0, 2.0, 20.0, 0.01, 0.2, 0.8, 0.99});
}

/// Of everything, declared or not. Where `extremes` are given the numbers are among them, and counts are as often large
/// as small.
inline observation some_observation(choices& from, signals declared, const std::vector<double>& extremes = {}) {
    constexpr signals pending[] = {signals::none, signals::match_length, signals::draft_entropy,
                                   signals::draft_confidence, signals::match_length | signals::draft_entropy};
    const auto value = [&] { return extremes.empty() ? some_value(from) : extremes[from.below(extremes.size())]; };
    const auto count = [&](std::size_t bound) { return some_count(from, bound, extremes.empty() ? 8 : 2); };
    observation seen;
    seen.round = count(4);
    seen.prefix_length = count(100);
    seen.drafted = count(5);
    seen.last_drafted = count(5);
    seen.last_accepted = from.below(seen.last_drafted + 1);
    seen.source = from.below(6);
    seen.pending = pending[from.below(5)] & declared;
    seen.match_length = count(9);
    seen.draft_entropy_nats = value();
    seen.first_draft_entropy_nats = seen.drafted == 0 ? seen.draft_entropy_nats : value();
    seen.target_entropy_nats = value();
    seen.draft_confidence = value();
    seen.path_value = value();
    seen.path_value_sum = value();
    seen.target_confidence = value();
    return seen;
}

/// And its description at the end of `past`.
inline outcome some_outcome(choices& from, signals declared, std::string& past) {
    outcome happened;
    happened.decided_on = some_observation(from, declared);
    happened.drafted = some_count(from, 6);
    happened.accepted = from.below(happened.drafted + 1);
    happened.draft_seconds = 0.01 * static_cast<double>(from.below(10));
    happened.verify_seconds = 0.1 * static_cast<double>(from.below(10));
    const std::string text = augur::detail::message(' ', happened.accepted, '/', happened.drafted, " in ",
                                                    happened.draft_seconds, '+', happened.verify_seconds, " s");
    from.note([&] { return "learned" + text; });
    past += text;
    return happened;
}

/// What a policy answers, its tree as it is then.
struct kept_plan {
    std::size_t length = 0;
    topology tree{};
    bool has_tree = false;
    bool grows = false;
    std::size_t look = 0;

    friend bool operator==(const kept_plan&, const kept_plan&) = default;
};
template <SpeculationPolicy Policy>
kept_plan plan_of(const Policy& policy, const observation& seen) {
    const draft_plan answered = policy::answer(policy, seen, seen.drafted);
    kept_plan kept{.has_tree = answered.tree != nullptr,
                   .grows = answered.grow != nullptr,
                   .look = Plans<Policy> ? answered.look : 0};
    if (kept.has_tree) kept.tree = *answered.tree;
    kept.length = kept.has_tree ? kept.tree.depth() : answered.length;
    return kept;
}
inline std::string described_plan(const kept_plan& plan) {
    std::string text = plan.has_tree ? "parents " + describe(plan.tree.parents()) : std::to_string(plan.length);
    if (plan.grows) text += ", growing";
    return plan.look > 0 ? text + augur::detail::message(" (look ", plan.look, ')') : text;
}
inline bool is_empty(const kept_plan& plan) {
    return plan.length == 0;
}

}  // namespace augur::testing
