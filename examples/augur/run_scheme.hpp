#pragma once
// A decoding from its first round to what it leaves behind, for the sources that compose schemes.

#include <augur/decode/generate.hpp>
#include <augur/decode/resume.hpp>
#include <augur/detail/stopwatch.hpp>
#include <augur/draft/suffix_lookup.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/switching/step.hpp>
#include <cstddef>
#include <optional>
#include <sstream>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "scheme.hpp"
#include "terminal.hpp"
#include "text_run.hpp"

namespace augur::program {

/// Of a drafter's state, and of the stages inside it.
std::size_t drafter_cache_bytes(const auto& state) {
    if constexpr (requires {
                      state.inner;
                      state.cache;
                  }) {
        return state.cache.sequence().memory_bytes() + drafter_cache_bytes(state.inner);
    } else if constexpr (requires { state.drafters; }) {
        return std::apply([](const auto&... each) { return (drafter_cache_bytes(each) + ...); }, state.drafters);
    } else if constexpr (requires { state.sequence().memory_bytes(); }) {
        return state.sequence().memory_bytes();
    } else if constexpr (requires { state.sequence.memory_bytes(); }) {
        return state.sequence.memory_bytes();
    } else {
        return 0;
    }
}

std::size_t cache_bytes_of(const auto& session) {
    if constexpr (requires { session.caches; }) {
        return std::apply([](auto&... each) { return (each.sequence().memory_bytes() + ...); }, session.caches);
    } else if constexpr (requires { session.voices; }) {
        return std::apply([](auto&... each) { return (each.cache.sequence().memory_bytes() + ...); }, session.voices);
    } else {
        return session.target.sequence().memory_bytes() + drafter_cache_bytes(session.drafter_state);
    }
}

template <template <class> class Bounded, class D>
std::string bound_of(const Bounded<D>& promised) {
    return detail::message(": ", D::name, " of at most ", promised.bound);
}
inline std::string bound_of(const guarantee::minimum_probability& promised) {
    return detail::message(": min(", promised.epsilon, ", ", promised.delta, " exp(-entropy_nats))");
}

/// What the scheme's type promises, and its bound where it has one.
template <class Scheme>
std::string guarantee_text(const Scheme& scheme) {
    std::string text(guarantee_of<Scheme>::name);
    if constexpr (requires { scheme.criterion().promise(); }) {  // of a rule that is known at run time
        if (std::is_base_of_v<guarantee::none, guarantee_of<Scheme>>) return text;
        constexpr std::string_view rounded = ", within numerics";
        return scheme.criterion().promise() + std::string(text.ends_with(rounded) ? rounded : "");
    } else {
        constexpr bool promises = !std::is_same_v<guarantee_of<Scheme>, guarantee::none>;
        if constexpr (promises && requires { bound_of(scheme.criterion().promised()); }) {
            text += bound_of(scheme.criterion().promised());
        }
        return text;
    }
}

/// Where a step counts the time that the sink takes: models that take turns commit as they judge.
template <class Session>
constexpr double time_spent::*part_with_sink() {
    return requires(Session & s) {
        s.writers;
    }
    ? &time_spent::accept : &time_spent::other;
}

/// False if Ctrl-C ended it.
bool unless_interrupted(const auto& work) {
    try {
        work();
        return true;
    } catch (const interrupted&) {
        return false;
    }
}

/// The model that writes the round, where they take turns.
std::optional<std::size_t> writer_of(const auto& session) {
    if constexpr (requires { session.writer; }) return session.writer;
    return std::nullopt;
}

/// Shows a request the rounds of a session.
template <class Session>
struct round_notes {
    text_run& run;
    const Session& session;

    void watch(const auto& view) {
        if (!run.note(view.length_before, view.proposed.tokens(), parents_of(view.proposed), view.decided,
                      view.committed, view.decided_on, view.seconds, session.counts.stages)) {
            return;
        }
        if constexpr (requires { session.policy.tree(); }) run.summary().tree = session.policy.tree();
        run.summary().writer = writer_of(session);  // the turn changes after the watchers were shown the round
        for (std::size_t i = 0; run.reads_rows() && i < view.committed.size(); ++i) {
            run.read(view.rows[i == 0 ? 0 : 1 + view.decided.node(i - 1)], view.committed[i].id);
        }
        run.show();
    }
};

/// Tokens that its models have room for.
std::size_t context_of(const auto& scheme) {
    if constexpr (requires { scheme.target(); }) {
        return scheme.target().context_length();
    } else {
        return scheme.context_length();
    }
}

/// Whether a watcher looks on for a measurement that nobody waits for who decodes: its seconds are not counted.
template <class Watcher>
inline constexpr bool only_measures = false;

/// A watcher, with the seconds that it takes: who learns in rounds decodes for that much longer.
template <class Watcher>
struct timed_watcher {
    Watcher& inner;
    double& seconds;

    void watch(const auto& view) {
        const detail::stopwatch watch;
        inner.watch(view);
        if (!only_measures<Watcher>) seconds += watch.seconds();
    }
};

/// What a policy says of itself after a text.
template <class Policy>
void describe_policy(const Policy& policy, run_result& result) {
    if constexpr (requires { policy.visit([](const auto&) {}); }) {
        return policy.visit([&](const auto& chosen) { describe_policy(chosen, result); });
    }
    std::ostringstream text;
    text << policy;
    result.policy = text.str();
    if constexpr (requires { policy.edges_nats(); }) {
        const auto copied = [](const auto& of) { return std::vector(of.begin(), of.end()); };
        result.bins = {copied(policy.edges_nats()), copied(policy.lengths()), copied(policy.bins())};
    }
    if constexpr (requires { policy.counts(); }) result.switches = policy.counts();
    if constexpr (requires { policy.switches(); }) {
        const auto rounds = policy.rounds();
        result.trees = {{rounds.begin(), rounds.end()}, policy.switches()};
    }
    if constexpr (requires { policy.learned(); }) result.learned = policy.learned();
    if constexpr (requires { policy.allowance(); }) result.allowance = policy.allowance();
}

/// A text of a session that has read its prompt, from its first round to what it leaves behind. The sink's own time is
/// taken out of what the round took; what watchers take that learn is `other`.
template <class Scheme, class... Watchers>
run_result run_text(const Scheme& scheme, decode::session<Scheme>& s, const run_request& request,
                    Watchers&... watchers) {
    double in_watchers = 0;
    text_run run(request, part_with_sink<decode::session<Scheme>>());
    round_notes<decode::session<Scheme>> notes{run, s};
    const decode::step_options chosen{.on_token = run.sink()};
    while (s.finished == finish_reason::running) {
        if (!unless_interrupted([&] {
                decode::step(scheme, s, chosen, notes, timed_watcher<Watchers>{watchers, in_watchers}...);
            })) {
            s.finished = finish_reason::cancelled;
        }
    }
    run_result& result = run.conclude(s.stops, s.committed.generated(), s.finished, s.fault, s.counts, in_watchers);
    result.guarantee = guarantee_text(scheme);
    describe_policy(s.policy, result);
    result.cache_bytes = cache_bytes_of(s);
    if constexpr (requires { s.writers; }) result.writers = s.writers;
    return std::move(result);
}

/// All that decoding by `Scheme` leaves behind, and for as long as request.next_turn has more tokens, the next text
/// after them, in the same session. Watchers are attached to it first.
template <class Scheme, class... Watchers>
run_result run_scheme(const Scheme& scheme, const run_request& request, Watchers&... watchers) {
    const decode::options& chosen = request.options;
    std::optional<decode::session<Scheme>> s;
    std::vector<token> added(request.prompt.begin(), request.prompt.end());
    statistics before;  // there was a session
    while (true) {
        const detail::stopwatch since;
        const bool is_first = !s;
        const bool has_read = unless_interrupted([&] {
            if (is_first) {
                s.emplace(scheme, added, chosen.sampling, chosen.stop, random::philox_chooser(chosen.seed));
                decode::attach(*s, watchers...);
            } else {
                decode::resume(scheme, *s, added, chosen.stop);
            }
        });
        if (has_read && is_first) s->counts.seconds.prefill += before.seconds.prefill;
        statistics& so_far = s ? s->counts : before;
        if (!has_read) so_far.seconds.prefill += since.seconds();
        run_result result = has_read ? run_text(scheme, *s, request, watchers...) : cancelled_at_prompt(so_far);
        if (!request.next_turn) return result;
        result.context_left = context_of(scheme) - (s ? s->committed.size() : added.size());
        std::vector<token> more = request.next_turn(result);
        if (more.empty()) return result;
        if (s) added.clear();
        added.insert(added.end(), more.begin(), more.end());
    }
}

/// Decoding with what followed the suffixes of its own text, or of a conversation's.
run_result run_by_suffixes(const auto& target, const auto& policy, const auto& criterion, const run_request& request) {
    draft::suffix_memory memory(target.vocabulary_size());
    draft::suffix_watcher reads(memory);
    reads.read(request.prompt);
    return run_scheme(speculate(draft::suffix_lookup(memory), target, policy, criterion), request, reads);
}

}  // namespace augur::program
