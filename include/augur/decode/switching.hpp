#pragma once
// Entropy adaptive decoding: models take turns at writing, and nothing is verified.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "augur/accept/coupled.hpp"
#include "augur/cascade/switching_scheme.hpp"
#include "augur/commit/apply.hpp"
#include "augur/decode/session.hpp"
#include "augur/decode/step.hpp"
#include "augur/detail/stopwatch.hpp"
#include "augur/measure/entropy.hpp"
#include "augur/types/error.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/statistics.hpp"
#include "augur/verify/ask.hpp"

namespace augur::decode {

/// One decoding by models that take turns. Members as in every session; `writer` is the model whose turn it is.
template <cascade::SwitchingPolicy Policy, class... Held, Chooser C>
struct session<cascade::switching_scheme<Policy, Held...>, C> {
    using scheme_type = cascade::switching_scheme<Policy, Held...>;

    session(const scheme_type& scheme, std::span<const token> prompt, transform::settings sampling,
            commit::stop_conditions conditions, C with)
        : committed(checked_prompt(prompt, scheme.vocabulary_size(), scheme.context_length())),
          caches(scheme.make_caches()),
          policy(scheme.policy()),
          writer(scheme.options().first),
          transform(std::move(sampling), scheme.vocabulary_size()),
          stops(std::move(conditions), scheme.vocabulary_size(), scheme.context_length()),
          chooser(std::move(with)) {
        const std::size_t room = stops.room(0, committed.size());
        committed.reserve(committed.size() + std::min(room, most_reserved));
        counts.models.resize(sizeof...(Held));
        if (room == 0) finished = finish_reason::max_tokens;
        const augur::detail::stopwatch watch;
        for (std::size_t i = 0; i < sizeof...(Held); ++i) {
            with_cache(i, [&](auto& cache) { cache.reserve(committed.capacity()); });
            if (i == writer || scheme.options().keep_warm) fill(i);
        }
        counts.seconds.prefill = watch.seconds();
    }

    prefix committed;
    typename scheme_type::caches_type caches;
    Policy policy;
    std::size_t writer;
    transform::pipeline transform;
    commit::stop_watcher stops;
    C chooser;
    statistics counts;
    finish_reason finished = finish_reason::running;
    std::string fault;
    round_record<proposal<point_mass>> last;
    distribution row;  ///< storage

    /// use(cache of model i).
    template <class Use>
    void with_cache(std::size_t i, const Use& use) {
        const auto each = [&]<std::size_t... I>(std::index_sequence<I...>) {
            (void)((I == i && (use(std::get<I>(caches)), true)) || ...);
        };
        each(std::index_sequence_for<Held...>());
    }

    /// Lets model i read all but the last committed token.
    void fill(std::size_t i) {
        with_cache(i, [&](auto& cache) {
            const auto all = committed.tokens().first(committed.size() - 1);
            cache.rewind(all);
            if (cache.tokens().size() == all.size()) return;
            const augur::detail::stopwatch watch;
            const std::size_t missing = all.size() - cache.tokens().size();
            cache.fill(all);
            counts.models[i].caught_up += missing;
            ++counts.models[i].passes;
            counts.models[i].seconds += watch.seconds();
        });
    }
};

namespace detail {

/// In messages: the last is the target.
inline std::string model_name(std::size_t writer, std::size_t models) {
    if (writer + 1 == models) return "target";
    return models == 2 ? "draft" : "model " + std::to_string(writer + 1) + " of " + std::to_string(models);
}

/// Rows after the prefix and the first tokens of the proposal, as verify::chain has them; counted.
auto rows_of(auto& cache, model_statistics& counted, prefix& before, const proposal<point_mass>& proposed) {
    const augur::detail::stopwatch watch;
    cache.rewind(before.tokens().first(before.size() - 1));  // a pass that threw may have left what was speculative
    const std::size_t missing = before.size() - 1 - cache.tokens().size();
    const auto rows = verify::chain(cache, before, proposed);
    counted.caught_up += missing;
    ++counted.passes;
    counted.seconds += watch.seconds();
    return rows;
}

/// A token for the position after the prefix, from s.row, with that position's noise.
template <class Session>
token draw_next(Session& s) {
    position_draws draws(s.chooser, s.committed.size(), s.counts.rounds());
    return accept::coupled{}.draw(s.row, draws);
}

/// The model before the writer guesses up to `length` tokens, with the noise that the writer will draw with.
template <class Session>
void draft_for_writer(Session& s, std::size_t length) {
    auto& proposed = s.last.proposed;
    length = std::min(length, s.stops.room(s.committed.generated().size(), s.committed.size()) - 1);
    speculative_suffix speculative(s.committed);
    s.with_cache(s.writer - 1, [&](auto& cache) {
        model_statistics& counted = s.counts.models[s.writer - 1];
        while (proposed.size() < length) {
            const auto rows = rows_of(cache, counted, s.committed, {});
            s.transform.apply(rows[0], s.committed, s.row);
            if (s.row.empty()) break;
            proposed.push(draw_next(s));
            speculative.push(proposed.tokens().back());
            ++counted.drafted;
        }
    });
}

/// The writer writes from its rows, for as long as it was foreseen and it remains the writer.
template <class Session>
void write(Session& s, const auto& rows, const step_options& chosen, commit::patient_sink& sink) {
    auto& record = s.last;
    const std::size_t writer = s.writer;
    const auto drafted = record.proposed.tokens();
    record.decided = verdict{.drafted = drafted.size()};
    bool foreseen = true;
    for (std::size_t i = 0; foreseen && s.writer == writer && s.finished == finish_reason::running; ++i) {
        s.transform.apply(rows[i], s.committed, s.row);
        if (s.row.empty()) {
            s.finished = finish_reason::invalid_logits;
            s.fault = describe_fault(rows[i], s.committed.size(), model_name(writer, s.counts.models.size()));
            break;
        }
        const token drawn = draw_next(s);
        foreseen = i < drafted.size() && drafted[i] == drawn;
        if (foreseen) {
            ++record.decided.accepted;
        } else {
            record.decided.next = drawn;
        }
        record.committed.push_back({drawn, foreseen ? origin::accepted : record.decided.next_origin()});
        commit::admit(s, record.committed.back(), sink);
        if (chosen.log_probabilities) record.log_probabilities.push_back(measure::log_probability(rows[i], drawn));
        ++s.counts.models[writer].written;
        s.writer = s.policy.next_model(writer, measure::entropy_bits(rows[i]));
    }
    s.counts.stages.back().add(drafted.size(), record.decided.accepted);
}

}  // namespace detail

/// One round: at least one token, unless the writer's row cannot be drawn from. See switching_scheme. Watchers are
/// shown the writer's rows. It runs at once: it cannot be opened.
template <cascade::SwitchingPolicy Policy, class... Held, Chooser C, class... Watchers>
const auto& step(const cascade::switching_scheme<Policy, Held...>& scheme,
                 session<cascade::switching_scheme<Policy, Held...>, C>& s, const step_options& chosen = {},
                 Watchers&&... watchers) {
    augur::detail::stopwatch watch(chosen.timed);
    auto& record = s.last;
    commit::patient_sink sink(chosen.on_token);
    record.proposed.clear();
    record.committed.clear();
    record.log_probabilities.clear();
    if (s.writer > 0 && scheme.options().draft_length > 0) detail::draft_for_writer(s, scheme.options().draft_length);
    record.seconds = time_spent{.draft = watch.lap()};
    s.with_cache(s.writer, [&](auto& cache) {
        const auto rows = detail::rows_of(cache, s.counts.models[s.writer], s.committed, record.proposed);
        record.seconds.verify = watch.lap();
        const std::size_t before = s.committed.size();
        const observation none{.round = s.counts.rounds(), .prefix_length = before};
        detail::write(s, rows, chosen, sink);
        record.seconds.accept = watch.lap();
        const no_states states;
        const round_view view{s.committed,      before, record.proposed, rows, states, record.decided,
                              record.committed, none,   record.seconds};
        (watchers.watch(view), ...);
        watch.lap();  // what watchers took is in no part
    });
    for (std::size_t i = 0; i < sizeof...(Held); ++i) {
        if (scheme.options().keep_warm) {
            s.fill(i);
        } else {
            s.with_cache(i, [&](auto& cache) { cache.rewind(s.committed.tokens()); });
        }
    }
    record.seconds.other = watch.lap();
    s.counts.seconds += record.seconds;
    sink.rethrow(s.finished);
    return record;
}

}  // namespace augur::decode
