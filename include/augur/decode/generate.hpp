#pragma once
// Generates a text from a prompt: runs rounds until a stop condition holds.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/decode/batch.hpp"
#include "augur/decode/session.hpp"
#include "augur/decode/step.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/types/guarantee.hpp"

namespace augur::decode {

struct options {
    std::uint64_t seed = 0;
    transform::settings sampling{};  ///< the default is plain sampling at temperature 1
    commit::stop_conditions stop{};
    commit::token_sink on_token{};  ///< sees every token as it is committed; false ends the decoding after it
    bool log_probabilities = false;
    /// False: each part of a round counts as a millisecond, so that policies that learn from time can be repeated.
    bool timed = true;
};

/// Each token is the target's most probable one: temperature 0.
inline options greedy() {
    options chosen;
    chosen.sampling.temperature.value = 0;
    return chosen;
}
/// Texts drawn at a temperature above 0; equal seeds give equal texts.
inline options sampled(std::uint64_t seed, float temperature = 1) {
    options chosen;
    chosen.seed = seed;
    chosen.sampling.temperature.value = temperature;
    return chosen;
}

/// A finished decoding.
template <class Policy>
struct generation {
    std::vector<token> tokens{};           ///< generated ids, a stop token included
    std::vector<std::size_t> writers{};    ///< of each token the model, where several take turns (switched); else none
    std::optional<std::string> written{};  ///< what text() gives; nothing without options::stop.text_of
    finish_reason finish = finish_reason::running;
    std::string detail{};  ///< the stop string that matched, or which logit was invalid
    statistics counts{};
    std::vector<double> log_probabilities{};  ///< one per token, under the target's untransformed rows, when asked for
    Policy policy;                            ///< as the run left it, with what it learned
    std::uint64_t seed = 0;

    /// The tokens' text without stop token and stop string. Throws where no text_of was given: there is none then.
    std::string text() const {
        if (!written) augur::detail::fail("there is no text of these ", tokens.size(), " tokens: no text_of was given");
        return *written;
    }
};

/// What a decoding by the scheme starts from: a prompt, if the scheme does not say otherwise.
template <class Scheme>
struct prompt_of {
    using type = std::span<const token>;
};
template <class Scheme>
requires requires {
    typename Scheme::prompt_type;
}
struct prompt_of<Scheme> {
    using type = typename Scheme::prompt_type;
};
template <class Scheme>
using prompt_t = typename prompt_of<Scheme>::type;

namespace detail {

template <class Scheme, class Demanded>
struct keeps_the_guarantee {
    static constexpr bool value = Demanded::template admits<guarantee_of<Scheme>>;
    /// All that is missing is that rows are the same however many are computed together.
    static constexpr bool but_for_numerics = lossless_within_numerics::admits<guarantee_of<Scheme>>;
    static_assert(value || !but_for_numerics,
                  "augur::decode::generate<lossless>: this scheme is lossless within numerics, because its target does "
                  "not promise that its rows are the same however many are computed together; ask for "
                  "generate<lossless_within_numerics>, or, if its rows are, let the model say "
                  "`static constexpr bool bitwise_rows = true`");
    static_assert(value || but_for_numerics,
                  "augur::decode::generate<lossless>: this scheme cannot promise the target's own text or distribution "
                  "(guarantee_of<Scheme> says what it does promise); use a lossless criterion, or ask for less with "
                  "generate<any_guarantee>");
};

/// What a text that ended has come to. `decoded.detail` is the fault, if there was one.
void finish(auto& decoded, auto& text) {
    text.stops.text().finish();
    decoded.tokens.assign(text.committed.generated().begin(), text.committed.generated().end());
    if constexpr (requires { text.writers; }) decoded.writers = std::move(text.writers);
    if (text.stops.has_text()) decoded.written = text.stops.text().text();
    decoded.finish = text.finished;
    if (decoded.finish == finish_reason::stop_string) decoded.detail = text.stops.matched();
    decoded.counts = std::move(text.counts);
}

void add_log_probabilities(auto& decoded, const auto& record) {
    decoded.log_probabilities.insert(decoded.log_probabilities.end(), record.log_probabilities.begin(),
                                     record.log_probabilities.end());
}

void finish_session(auto& decoded, auto& s) {
    decoded.detail = std::move(s.fault);
    finish(decoded, s);
    decoded.policy = std::move(s.policy);
}

}  // namespace detail

/// Decodes until something ends it, with a chooser of the caller's. Watchers are shown every round
/// (types/round_view.hpp), and attached to the session before. `Demanded` is lossless, lossless_within_numerics or
/// any_guarantee; a scheme that promises less does not compile. Throws augur::error for a prompt or settings that
/// cannot be decoded with, before anything is computed.
template <class Demanded = lossless, class Scheme, Chooser C, class... Watchers>
auto generate_with(C chooser, const Scheme& scheme, const prompt_t<Scheme>& prompt, const options& chosen,
                   Watchers&&... watchers) {
    static_assert(detail::keeps_the_guarantee<Scheme, Demanded>::value);
    session<Scheme, C> s(scheme, prompt, chosen.sampling, chosen.stop, std::move(chooser));
    generation<typename Scheme::policy_type> decoded{.policy = s.policy, .seed = chosen.seed};
    const step_options each{chosen.on_token, chosen.log_probabilities, chosen.timed};
    attach(s, watchers...);
    while (s.finished == finish_reason::running) {
        detail::add_log_probabilities(decoded, step(scheme, s, each, watchers...));
    }
    detail::finish_session(decoded, s);
    return decoded;
}

/// The same with the production chooser, seeded by `chosen.seed`.
template <class Demanded = lossless, class Scheme, class... Watchers>
auto generate(const Scheme& scheme, const prompt_t<Scheme>& prompt, const options& chosen = {},
              Watchers&&... watchers) {
    return generate_with<Demanded>(random::philox_chooser(chosen.seed), scheme, prompt, chosen, watchers...);
}

/// Decodes all of them at once: passes of the same model are run together (BatchModel), round by round, and a text that
/// ends makes room for none: the others go on. Text i has the seed `chosen.seed` + i; it is, bit for bit, what generate
/// gives for its prompt and seed, where the models promise bitwise rows. `chosen.on_token` would not know whose token
/// it sees, and must be empty. Throws what generate throws, before anything is decoded; and what a model throws in a
/// pass of one text.
template <class Demanded = lossless, class Scheme>
auto generate_together(const Scheme& scheme, std::span<const std::span<const token>> prompts,
                       const options& chosen = {}) {
    static_assert(detail::keeps_the_guarantee<Scheme, Demanded>::value);
    using session_type = session<Scheme, random::philox_chooser>;
    if (chosen.on_token) {
        augur::detail::fail("generate_together: ", prompts.size(),
                            " texts, but one on_token, which cannot distinguish them");
    }
    std::vector<std::unique_ptr<session_type>> sessions;
    std::vector<generation<typename Scheme::policy_type>> results;
    batch<Scheme, random::philox_chooser> together(scheme, {{}, chosen.log_probabilities, chosen.timed});
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        sessions.push_back(std::make_unique<session_type>(scheme, prompts[i], chosen.sampling, chosen.stop,
                                                          random::philox_chooser(chosen.seed + i)));
        results.push_back({.policy = sessions.back()->policy, .seed = chosen.seed + i});
        together.add(*sessions.back());
    }
    std::vector<std::size_t> rounds(sessions.size());
    for (bool running = true; running;) {
        running = together.advance();
        for (std::size_t i = 0; i < sessions.size(); ++i) {
            const std::size_t before = std::exchange(rounds[i], sessions[i]->counts.rounds());
            if (rounds[i] > before) detail::add_log_probabilities(results[i], sessions[i]->last);
        }
    }
    for (std::size_t i = 0; i < results.size(); ++i) detail::finish_session(results[i], *sessions[i]);
    return results;
}

}  // namespace augur::decode
