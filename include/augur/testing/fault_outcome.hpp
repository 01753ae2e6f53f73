#pragma once
// The outcome of a decoding: everything that a fault may not change.

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "augur/decode/session.hpp"
#include "augur/policy/concept.hpp"
#include "augur/switching/scheme.hpp"
#include "augur/switching/session.hpp"
#include "augur/testing/choices.hpp"
#include "augur/testing/compare_rows.hpp"
#include "augur/testing/random_observations.hpp"
#include "augur/testing/report.hpp"
#include "augur/types/statistics.hpp"

namespace augur::testing {

/// Of one text. Tokens three times: as committed, as the sink was shown them, and as `last` said after each step.
struct fault_outcome {
    std::vector<token> tokens{}, shown{}, recorded{}, watched{};
    std::string text{}, shown_text{};
    std::string finish{};  ///< and the fault, if there was one
    std::vector<double> log_probabilities{};
    std::string counts{};  ///< rounds, drafts, positions, origins
    std::string policy{};  ///< what it has learned, as far as it can be seen
    std::string caches{};  ///< what is wrong with them
};

/// In one line each, for messages.
inline std::string described(const statistics& counts) {
    std::ostringstream out;
    for (const stage_statistics& stage : counts.stages) {
        out << "rounds " << stage.rounds << ", drafted " << stage.drafted << ", accepted " << stage.accepted << " (";
        for (const auto& at : stage.positions) out << at.accepted << '/' << at.drafted << ' ';
        out << "); ";
    }
    for (const model_statistics& model : counts.models) {
        out << "written " << model.written << ", drafted " << model.drafted << "; ";
    }
    out << counts.turns.switches << " switches; origins";
    for (const std::size_t origin : counts.origins) out << ' ' << origin;
    return out.str();
}

/// What a policy has learned: as it is printed, and as it answers.
template <class P>
std::string learned_by(const P& policy) {
    std::ostringstream out;
    if constexpr (requires { out << policy; }) out << policy;
    if constexpr (SpeculationPolicy<P>) {
        choices from(7);
        for (std::size_t i = 0; i < 24; ++i) {
            const draft_plan plan = policy::answer(policy, some_observation(from, required_signals<P>));
            out << ' ' << plan.length;
            if (plan.tree != nullptr) out << '/' << plan.tree->size();
        }
    }
    if constexpr (requires { policy.acceptance(std::size_t{0}, std::size_t{0}); }) {
        out << ' ' << policy.acceptance(std::size_t{0}, std::size_t{0});
    }
    if constexpr (switching::SwitchingPolicy<P>) {
        P asked = policy;
        std::size_t writer = 0;
        for (std::size_t i = 0; i < 24; ++i) {
            writer = asked.next_model(writer, 0.2 * static_cast<double>(i * 7 % 11));
            out << ' ' << writer;
        }
    }
    return out.str();
}

/// What a cache makes of the text beside a sequence that is made anew; empty where that is the same.
template <Model M>
std::string fault_in_cache(model::cached_sequence<M>& cache, const prefix& committed) {
    const M& model = cache.model();
    const auto tokens = committed.tokens();
    if (tokens.size() > static_cast<std::size_t>(model.context_length())) return {};
    auto sequence = model.make_sequence();
    const auto expected = last_of(copy_of(model.extend(sequence, tokens)), 1);
    const auto got = last_of(copy_of(cache.score(tokens, 1)), 1);
    if (static_cast<std::size_t>(model.length(cache.sequence())) != tokens.size()) {
        return augur::detail::message("it holds ", model.length(cache.sequence()), " tokens, not ", tokens.size());
    }
    return difference(expected, got, has_bitwise_rows<M> ? 0 : 1e-3);
}

/// Models take turns at writing, each token with the noise of its position.
template <class Scheme>
inline constexpr bool is_switching = false;
template <class Policy, class... Speakers>
inline constexpr bool is_switching<switching::switching_scheme<Policy, Speakers...>> = true;

/// So do they with codecs, which say what a token's text is.
template <class Scheme>
inline constexpr bool has_codecs = false;
template <class Policy, class... Speakers>
inline constexpr bool has_codecs<switching::switching_scheme<Policy, Speakers...>> =
    switching::switching_scheme<Policy, Speakers...>::has_codecs;

template <class Scheme, class C>
std::string fault_in_caches(decode::session<Scheme, C>& s) {
    return fault_in_cache(s.target, s.committed);
}
template <class Policy, class... Speakers, class C>
std::string fault_in_caches(decode::session<switching::switching_scheme<Policy, Speakers...>, C>& s) {
    std::string found;
    for (std::size_t i = 0; i < s.models && found.empty(); ++i) {
        s.with_voice(i, [&](auto& voice) { found = fault_in_cache(voice.cache, voice.own); });
    }
    return found;
}

/// After the last step.
template <class Session>
void conclude(fault_outcome& outcome, Session& s) {
    const auto generated = s.committed.generated();
    outcome.tokens.assign(generated.begin(), generated.end());
    s.stops.text().finish();
    outcome.text = s.stops.text().text();
    outcome.finish = std::string(name_of(s.finished)) + (s.fault.empty() ? "" : ", " + s.fault);
    outcome.counts = described(s.counts);
    outcome.policy = learned_by(s.policy);
    outcome.caches = fault_in_caches(s);
}

/// How far a disturbed run has to agree with the undisturbed one.
enum class agreement {
    all,
    text,  ///< blocks may have been cut elsewhere: rounds are others, and what was learned
    none   ///< so may tokens: of the distribution of the text nothing can be seen here
};

/// What is wrong with a run; empty where nothing is.
inline std::string difference(const fault_outcome& expected, const fault_outcome& got, agreement how) {
    const auto tokens_differ = [](const char* what, const std::vector<token>& a, const std::vector<token>& b) {
        return a == b ? std::string() : augur::detail::message(what, ' ', describe(b), ", not ", describe(a));
    };
    const auto texts_differ = [](const char* what, const std::string& a, const std::string& b) {
        return a == b ? std::string() : augur::detail::message(what, " \"", b, "\", not \"", a, '"');
    };
    std::string found = tokens_differ("on_token was shown", got.tokens, got.shown);
    if (found.empty()) found = tokens_differ("session.last had", got.tokens, got.recorded);
    if (found.empty()) found = tokens_differ("watchers were shown", got.tokens, got.watched);
    if (found.empty() && !got.caches.empty()) found = "a cache is not one rebuilt: " + got.caches;
    if (found.empty() && how == agreement::none && got.finish.starts_with("running")) found = "the text has not ended";
    if (!found.empty() || how == agreement::none) return found;
    found = tokens_differ("the tokens are", expected.tokens, got.tokens);
    if (found.empty()) found = texts_differ("the text is", expected.text, got.text);
    if (found.empty()) found = texts_differ("on_token was shown the text", expected.shown_text, got.shown_text);
    if (found.empty()) found = texts_differ("it finished with", expected.finish, got.finish);
    if (found.empty() && expected.log_probabilities != got.log_probabilities) found = "log probabilities differ";
    if (!found.empty() || how == agreement::text) return found;
    found = texts_differ("counts are", expected.counts, got.counts);
    if (found.empty()) found = texts_differ("the policy is", expected.policy, got.policy);
    return found;
}

}  // namespace augur::testing
