#pragma once
// The laws of SpeculationPolicy.

#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "augur/accept/rejection_sampling.hpp"
#include "augur/decode/generate.hpp"
#include "augur/draft/prompt_lookup.hpp"
#include "augur/policy/concept.hpp"
#include "augur/testing/choices.hpp"
#include "augur/testing/models.hpp"
#include "augur/testing/promise.hpp"
#include "augur/testing/random_inputs.hpp"
#include "augur/testing/report.hpp"

namespace augur::testing {

/// A policy whose clock is made up: it learns the same from the same tokens, so that its decodings can be enumerated.
template <SpeculationPolicy Policy>
struct clockless : Policy {
    explicit clockless(const Policy& policy) : Policy(policy) {}

    void learn(outcome happened) {
        happened.draft_seconds = 0.01 * static_cast<double>(happened.drafted);
        happened.verify_seconds = 1 + 0.05 * static_cast<double>(happened.drafted);
        policy::learn<Policy>(*this, happened);
    }
};

/// Every law is a function of one random input that says what is wrong, or nothing.
template <SpeculationPolicy Policy>
class policy_law_cases {
 public:
    explicit policy_law_cases(const Policy& policy) : policy_(policy) {}

    std::string equal_observations_equal_lengths(choices& from) const {
        const observation seen = some_observation(from, {0.0, 0.5, 1.0, 2.0, 20.0});
        const Policy copy = policy_;
        const std::size_t expected = policy_.length(seen);
        for (const Policy* each : {&policy_, &copy}) {
            const std::size_t got = each->length(seen);
            if (got != expected) return described(seen) + augur::detail::message(": ", expected, ", then ", got);
        }
        return "";
    }

    std::string every_observation_has_an_answer(choices& from) const {
        using limits = std::numeric_limits<double>;
        const observation seen = some_observation(from, {limits::quiet_NaN(), limits::infinity(), -limits::infinity(),
                                                         -1.0, 0.0, limits::max(), limits::denorm_min()});
        const std::size_t first = policy_.length(seen);
        const std::size_t second = policy_.length(seen);
        return first == second ? "" : described(seen) + augur::detail::message(": ", first, ", then ", second);
    }

    std::string equal_pasts_equal_lengths(choices& from) const requires LearnsFromOutcomes<Policy> {
        Policy one = policy_;
        Policy other = policy_;
        std::string past;
        for (std::size_t i = from.below(6); i > 0; --i) {
            const outcome happened = some_outcome(from, past);
            one.learn(happened);
            other.learn(happened);
        }
        const observation seen = some_observation(from, {0.0, 0.5, 1.0, 2.0, 20.0});
        const std::size_t expected = one.length(seen);
        const std::size_t got = other.length(seen);
        if (got == expected) return "";
        return described(seen) + augur::detail::message(", having learned", past, ": ", expected, " and ", got);
    }

    std::string a_copy_learns_apart(choices& from) const requires LearnsFromOutcomes<Policy> {
        const observation seen = some_observation(from, {0.0, 0.5, 1.0, 2.0, 20.0});
        const std::size_t expected = policy_.length(seen);
        Policy copy = policy_;
        std::string past;
        for (std::size_t i = from.below(20); i > 0; --i) copy.learn(some_outcome(from, past));
        const std::size_t got = policy_.length(seen);
        if (got == expected) return "";
        return described(seen) +
               augur::detail::message(": ", expected, ", and ", got, " once a copy has learned", past);
    }

    std::string keeps_the_distribution(choices& from) const {
        const std::size_t vocabulary = from.between(2, 3);
        decode::options chosen;
        chosen.stop.max_tokens = from.between(1, 3);
        const auto target_rows = random_table(from, vocabulary);
        const auto draft_rows = random_table(from, vocabulary);
        const auto prompt = from.tokens(1, 4, vocabulary);
        const auto target = markov_model(target_rows);
        const auto drafted_by = [&](auto&& drafter) {
            const auto scheme = speculate(std::forward<decltype(drafter)>(drafter), target, clockless<Policy>(policy_),
                                          accept::rejection_sampling{});
            return broken_promise(scheme, prompt, chosen);
        };
        std::string found;
        if constexpr (!includes(needs_of<Policy>, signals::match_length)) found = drafted_by(markov_model(draft_rows));
        if constexpr (includes(signals_of<Policy>, signals::match_length)) {
            if (found.empty()) found = drafted_by(draft::prompt_lookup(1, 2));
        }
        if (found.empty()) return found;
        return augur::detail::message("target ", describe_table(target_rows), ", draft ", describe_table(draft_rows),
                                      ", prompt ", describe(prompt), ", at most ", chosen.stop.max_tokens, ": ", found);
    }

 private:
    static observation some_observation(choices& from, const std::vector<double>& values) {
        constexpr signals pending[] = {signals::none, signals::match_length, signals::draft_entropy,
                                       signals::match_length | signals::draft_entropy};
        const auto value = [&] { return values[from.below(values.size())]; };
        observation made;
        made.round = from.below(4);
        made.prefix_length = from.below(100);
        made.drafted = from.below(5);
        made.last_drafted = from.below(5);
        made.last_accepted = from.below(made.last_drafted + 1);
        made.source = from.below(6);
        made.pending = pending[from.below(4)];
        made.match_length = from.below(9);
        made.draft_entropy_nats = value();
        made.first_draft_entropy_nats = made.drafted == 0 ? made.draft_entropy_nats : value();
        made.target_entropy_nats = value();
        made.draft_confidence = value();
        made.path_value = value();
        return made;
    }

    static outcome some_outcome(choices& from, std::string& past) {
        outcome made;
        made.decided_on = some_observation(from, {0.0, 0.5, 1.0, 2.0, 20.0});
        made.drafted = from.below(6);
        made.accepted = from.below(made.drafted + 1);
        made.draft_seconds = 0.01 * static_cast<double>(from.below(10));
        made.verify_seconds = 0.1 * static_cast<double>(from.below(10));
        past += augur::detail::message(' ', made.accepted, '/', made.drafted, " in ", made.draft_seconds, '+',
                                       made.verify_seconds, " s");
        return made;
    }

    static std::string described(const observation& o) {
        return augur::detail::message("observation{round ", o.round, ", prefix ", o.prefix_length, ", drafted ",
                                      o.drafted, ", last ", o.last_accepted, '/', o.last_drafted, ", source ", o.source,
                                      ", pending ", static_cast<unsigned>(o.pending), ", match ", o.match_length,
                                      ", draft entropy ", o.draft_entropy_nats, " (first ", o.first_draft_entropy_nats,
                                      "), target entropy ", o.target_entropy_nats, ", confidence ", o.draft_confidence,
                                      ", path value ", o.path_value, '}');
    }

    const Policy& policy_;
};

/// Checks every law on random observations and outcomes, and that decodings with sampled drafts (and, for policies on
/// matches, n-gram drafts) keep plain sampling's law exactly, whatever the policy learns meanwhile.
template <SpeculationPolicy Policy>
report policy_laws(const Policy& policy, const effort& tries = {}) {
    report r{"policy_laws"};
    using c = policy_law_cases<Policy>;
    const c cases(policy);
    const auto law = [&](const char* name, auto member) {
        check(r, name, tries, [&](choices& from) { return (cases.*member)(from); });
    };
    law("equal observations, equal lengths", &c::equal_observations_equal_lengths);
    law("every observation has an answer", &c::every_observation_has_an_answer);
    if constexpr (LearnsFromOutcomes<Policy>) {
        law("a copy learns apart", &c::a_copy_learns_apart);
        law("equal pasts, equal lengths", &c::equal_pasts_equal_lengths);
    }
    law("the distribution is kept", &c::keeps_the_distribution);
    return r;
}

}  // namespace augur::testing
