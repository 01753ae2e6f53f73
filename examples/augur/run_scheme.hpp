#pragma once
// A decoding from its first round to what it leaves behind, for the sources that compose schemes.

#include <augur/decode/generate.hpp>
#include <augur/decode/resume.hpp>
#include <augur/detail/stopwatch.hpp>
#include <augur/measure/entropy.hpp>
#include <augur/switching/step.hpp>
#include <cmath>
#include <cstddef>
#include <optional>
#include <sstream>
#include <tuple>
#include <type_traits>
#include <vector>

#include "scheme.hpp"
#include "terminal.hpp"

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
    constexpr bool promises = !std::is_same_v<guarantee_of<Scheme>, guarantee::none>;
    if constexpr (promises && requires { bound_of(scheme.criterion().promised()); }) {
        text += bound_of(scheme.criterion().promised());
    }
    return text;
}

/// Where a step counts the time that the sink takes: models that take turns commit as they judge.
template <class Session>
constexpr double time_spent::*part_with_sink() {
    return requires(Session & s) {
        s.caches;
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

/// Of every token that a round committed, from the row that it was drawn from.
std::vector<row_reading> readings_of(const auto& view) {
    std::vector<row_reading> all;
    for (std::size_t i = 0; i < view.committed.size(); ++i) {
        const logit_row row = view.rows[i == 0 ? 0 : 1 + view.decided.node(i - 1)];
        const measure::softmax_moments m = measure::moments(row);
        const float logit = row[static_cast<std::size_t>(view.committed[i].id)];
        all.push_back(
            {measure::entropy_nats(m), std::exp(static_cast<double>(logit) - m.log_sum()), logit >= m.maximum});
    }
    return all;
}

/// Notes where tokens come from, and shows a request its rounds, less the time in the sink.
template <class Session>
struct round_notes {
    const run_request& request;
    run_result& result;
    const double& in_sink;
    double time_spent::*sink_part;
    const Session& session;
    double in_sink_before = 0;
    std::vector<stage_statistics> inside_before{};

    void watch(const auto& view) {
        for (const auto& t : view.committed) result.origins.push_back(t.from);
        if (!request.on_round) return;
        const auto drafted = view.proposed.tokens();
        const auto parents = parents_of(view.proposed);
        time_spent seconds = view.seconds;
        seconds.*sink_part = std::max(0.0, seconds.*sink_part - (in_sink - in_sink_before));
        in_sink_before = in_sink;
        round_summary summary{view.length_before,
                              {drafted.begin(), drafted.end()},
                              {parents.begin(), parents.end()},
                              view.decided,
                              {view.committed.begin(), view.committed.end()},
                              seconds,
                              view.decided_on};
        if constexpr (requires { session.policy.tree(); }) summary.tree = session.policy.tree();
        summary.writer = writer_of(session);  // the turn changes after the watchers were shown the round
        summary.inside = since_before();
        if (request.reads_rows) summary.readings = readings_of(view);
        request.on_round(summary);
    }

    /// Of a cascade's stages but the last, what they did since this was called before.
    std::vector<stage_round> since_before() {
        const auto& all = session.counts.stages;
        inside_before.resize(all.size() - 1);
        std::vector<stage_round> done;
        for (std::size_t i = 0; i + 1 < all.size(); ++i) {
            const stage_statistics& before = inside_before[i];
            done.push_back(
                {all[i].rounds - before.rounds, all[i].drafted - before.drafted, all[i].accepted - before.accepted});
            inside_before[i] = all[i];
        }
        return done;
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

/// A text of a session that has read its prompt, from its first round to what it leaves behind. The sink's own time is
/// taken out of what the round took; what watchers take that learn is `other`.
template <class Scheme, class... Watchers>
run_result run_text(const Scheme& scheme, decode::session<Scheme>& s, const run_request& request,
                    Watchers&... watchers) {
    const decode::options& chosen = request.options;
    double in_sink = 0, in_watchers = 0;
    const commit::token_sink sink = [&](const commit::committed_token& t) {
        const detail::stopwatch watch;
        const bool go_on = !chosen.on_token || chosen.on_token(t);
        in_sink += watch.seconds();
        return go_on;
    };
    run_result result;
    result.guarantee = guarantee_text(scheme);
    constexpr auto sink_part = part_with_sink<decode::session<Scheme>>();
    round_notes<decode::session<Scheme>> notes{request, result, in_sink, sink_part, s};
    while (s.finished == finish_reason::running) {
        if (!unless_interrupted([&] {
                decode::step(scheme, s, {.on_token = sink}, notes, timed_watcher<Watchers>{watchers, in_watchers}...);
            })) {
            s.finished = finish_reason::cancelled;
            break;
        }
    }
    if (s.finished == finish_reason::invalid_logits) detail::fail(s.fault);
    s.stops.text().finish();
    s.counts.seconds.*sink_part -= in_sink;
    s.counts.seconds.other += in_watchers;
    result.ids.assign(s.committed.generated().begin(), s.committed.generated().end());
    result.text = s.stops.text().text();
    result.finish = s.finished;
    result.detail = s.stops.matched();
    result.counts = s.counts;
    std::ostringstream policy;
    policy << s.policy;
    result.policy = policy.str();
    if constexpr (requires { s.policy.edges_nats(); }) {
        const auto copied = [](const auto& of) { return std::vector(of.begin(), of.end()); };
        result.bins = {copied(s.policy.edges_nats()), copied(s.policy.lengths()), copied(s.policy.bins())};
    }
    if constexpr (requires { s.policy.counts(); }) result.switches = s.policy.counts();
    if constexpr (requires { s.policy.learned(); }) result.learned = s.policy.learned();
    if constexpr (requires { s.policy.allowance(); }) result.allowance = s.policy.allowance();
    result.cache_bytes = cache_bytes_of(s);
    return result;
}

/// Where Ctrl-C came while a prompt was read.
inline run_result cancelled_at_prompt(const statistics& so_far) {
    run_result result;
    result.finish = finish_reason::cancelled;
    result.counts = so_far;
    return result;
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

}  // namespace augur::program
