#pragma once
// Entropy adaptive decoding: models take turns at decoding; nothing is verified.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "augur/accept/coupled.hpp"
#include "augur/commit/apply.hpp"
#include "augur/decode/resume.hpp"
#include "augur/decode/session.hpp"
#include "augur/decode/step.hpp"
#include "augur/detail/stopwatch.hpp"
#include "augur/measure/entropy.hpp"
#include "augur/round/ask.hpp"
#include "augur/switching/scheme.hpp"
#include "augur/types/error.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/statistics.hpp"

namespace augur::decode {

/// One decoding by models that take turns. Members as in every session; `writer` is the model whose turn it is.
template <switching::SwitchingPolicy Policy, class... Held, Chooser C>
struct session<switching::switching_scheme<Policy, Held...>, C> {
    using scheme_type = switching::switching_scheme<Policy, Held...>;

    session(const scheme_type& scheme, std::span<const token> prompt, transform::settings sampling,
            commit::stop_conditions conditions, C with)
        : committed(checked_prompt(prompt, scheme.vocabulary_size(), scheme.context_length())),
          caches(scheme.make_caches()),
          policy(scheme.policy()),
          next_policy(scheme.policy()),
          writer(scheme.options().first),
          transform(std::move(sampling), scheme.vocabulary_size()),
          stops(std::move(conditions), scheme.vocabulary_size(), scheme.context_length()),
          chooser(std::move(with)) {
        const std::size_t budget = stops.budget(0, committed.size());
        committed.reserve(committed.size() + std::min(budget, most_reserved));
        counts.models.resize(sizeof...(Held));
        if (budget == 0) finished = finish_reason::max_tokens;
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
    Policy next_policy;  ///< storage: what the policy will be if the whole block is committed
    std::size_t writer;
    transform::pipeline transform;
    commit::stop_watcher stops;
    C chooser;
    statistics counts;
    finish_reason finished = finish_reason::running;
    std::string fault;
    round_record<proposal<point_mass>> last;
    distribution row;                             ///< from here on storage
    std::vector<double> entropies_bits;           ///< of the rows of a block
    std::vector<model_statistics> models_before;  ///< the counts, when the round began

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

/// Rows after the prefix and the first tokens of the proposal, as rounds::chain has them; counted.
auto rows_of(auto& cache, model_statistics& counted, prefix& before, const proposal<point_mass>& proposed) {
    const augur::detail::stopwatch watch;
    cache.rewind(before.tokens().first(before.size() - 1));  // a pass that threw may have left what was speculative
    const std::size_t missing = before.size() - 1 - cache.tokens().size();
    const auto rows = rounds::chain(cache, before, proposed);
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
    length = std::min(length, s.stops.budget(s.committed.generated().size(), s.committed.size()) - 1);
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

/// What the writer will write from its rows, for as long as it was foreseen and it remains the writer.
struct switching_plan {
    std::vector<commit::committed_token> block;
    std::vector<double> log_probabilities;
    std::size_t tokens = 0;  ///< of the block, before stop conditions cut it
    std::size_t writer = 0;  ///< after them
    std::string fault{};     ///< where the row after them cannot be drawn from
};

/// The part of a round that can fail: it changes nothing that is seen.
template <class Session>
switching_plan plan(Session& s, const auto& rows, const step_options& chosen) {
    auto& record = s.last;
    const auto drafted = record.proposed.tokens();
    record.decided = verdict{.drafted = drafted.size()};
    s.next_policy = s.policy;
    s.entropies_bits.clear();
    switching_plan planned{.block = std::move(record.committed),
                           .log_probabilities = std::move(record.log_probabilities),
                           .writer = s.writer};
    speculative_suffix ahead(s.committed);
    for (bool foreseen = true; foreseen && planned.writer == s.writer; ++planned.tokens) {
        const std::size_t i = planned.tokens;
        s.transform.apply(rows[i], s.committed, s.row);
        if (s.row.empty()) {
            planned.fault = describe_fault(rows[i], s.committed.size(), model_name(s.writer, s.counts.models.size()));
            break;
        }
        const token drawn = draw_next(s);
        foreseen = i < drafted.size() && drafted[i] == drawn;
        if (foreseen) {
            ++record.decided.accepted;
        } else {
            record.decided.next = drawn;
        }
        planned.block.push_back({drawn, foreseen ? origin::accepted : record.decided.next_origin()});
        ahead.push(drawn);
        if (chosen.log_probabilities) planned.log_probabilities.push_back(measure::log_probability(rows[i], drawn));
        s.entropies_bits.push_back(measure::entropy_bits(rows[i]));
        planned.writer = s.next_policy.next_model(s.writer, s.entropies_bits.back());
    }
    s.counts.stages.back().reserve(drafted.size());
    return planned;
}

/// The part that takes place whatever is thrown: the block is written, until a stop condition or the sink cuts it.
template <class Session>
void write(Session& s, switching_plan& planned, const step_options& chosen, commit::first_thrown& thrown) {
    auto& record = s.last;
    const std::size_t writer = s.writer;
    commit::patient_sink sink(chosen.on_token, thrown);
    const std::size_t kept = commit::admit_all(s, planned.block, sink);
    while (planned.block.size() > kept) planned.block.pop_back();
    while (planned.log_probabilities.size() > kept) planned.log_probabilities.pop_back();
    record.committed = std::move(planned.block);
    record.log_probabilities = std::move(planned.log_probabilities);
    if (kept == planned.tokens) {
        std::swap(s.policy, s.next_policy);
        s.writer = planned.writer;
        if (!planned.fault.empty() && s.finished == finish_reason::running) {
            s.finished = finish_reason::invalid_logits;
            s.fault = std::move(planned.fault);
        }
    } else {
        record.decided.accepted = std::min(record.decided.accepted, kept);
        record.decided.next = no_token;
        thrown.attempt([&] {
            for (std::size_t i = 0; i < kept; ++i) s.writer = s.policy.next_model(writer, s.entropies_bits[i]);
        });
    }
    s.counts.models[writer].written += kept;
    s.counts.stages.back().add(record.decided.drafted, record.decided.accepted);
}

/// Takes back what a round counted, unless it takes place.
template <class Session>
class counts_of_round {
 public:
    explicit counts_of_round(Session& s) : s_(&s) { s.models_before = s.counts.models; }
    counts_of_round(const counts_of_round&) = delete;
    counts_of_round& operator=(const counts_of_round&) = delete;
    ~counts_of_round() {
        if (!is_kept_) s_->counts.models.swap(s_->models_before);
    }
    void keep() { is_kept_ = true; }

 private:
    Session* s_;
    bool is_kept_ = false;
};

}  // namespace detail

/// One round: at least one token, unless the writer's row cannot be drawn from. See switching_scheme. Watchers are
/// shown the writer's rows. It runs at once: it cannot be opened. What is thrown passes through as in every step
/// (docs/decode/faults.md), and the text can go on.
template <switching::SwitchingPolicy Policy, class... Held, Chooser C, class... Watchers>
const auto& step(const switching::switching_scheme<Policy, Held...>& scheme,
                 session<switching::switching_scheme<Policy, Held...>, C>& s, const step_options& chosen = {},
                 Watchers&&... watchers) {
    augur::detail::stopwatch watch(chosen.timed);
    auto& record = s.last;
    record.proposed.clear();
    record.committed.clear();
    record.log_probabilities.clear();
    for (std::size_t i = 0; i < sizeof...(Held) && scheme.options().keep_warm; ++i) s.fill(i);  // where that threw
    commit::first_thrown thrown;
    detail::counts_of_round counted(s);
    if (s.writer > 0 && scheme.options().draft_length > 0) detail::draft_for_writer(s, scheme.options().draft_length);
    record.seconds = time_spent{.draft = watch.lap()};
    s.with_cache(s.writer, [&](auto& cache) {
        const auto rows = detail::rows_of(cache, s.counts.models[s.writer], s.committed, record.proposed);
        record.seconds.verify = watch.lap();
        const std::size_t before = s.committed.size();
        const observation none{.round = s.counts.rounds(), .prefix_length = before};
        detail::switching_plan planned = detail::plan(s, rows, chosen);
        commit::make_room(s, planned.block, [] {});
        counted.keep();
        detail::write(s, planned, chosen, thrown);
        record.seconds.accept = watch.lap();
        const no_states states;
        const round_view view{s.committed,      before, record.proposed, rows, states, record.decided,
                              record.committed, none,   record.seconds};
        (thrown.attempt([&] { watchers.watch(view); }), ...);
        watch.lap();  // what watchers took is in no part
    });
    for (std::size_t i = 0; i < sizeof...(Held); ++i) {
        thrown.attempt([&] {
            if (scheme.options().keep_warm) return s.fill(i);
            s.with_cache(i, [&](auto& cache) { cache.rewind(s.committed.tokens()); });
        });
    }
    record.seconds.other = watch.lap();
    s.counts.seconds += record.seconds;
    thrown.rethrow();
    return record;
}

/// Continues a finished session of models that take turns (decode/resume.hpp): the one that wrote last reads the added
/// tokens and goes on; the others read them when their turn comes.
template <switching::SwitchingPolicy Policy, class... Held, Chooser C>
void resume(const switching::switching_scheme<Policy, Held...>& scheme,
            session<switching::switching_scheme<Policy, Held...>, C>& s, std::span<const token> added,
            commit::stop_conditions conditions) {
    detail::begin_text(s, added, std::move(conditions), scheme.vocabulary_size(), scheme.context_length());
    const augur::detail::stopwatch watch;
    for (std::size_t i = 0; i < sizeof...(Held); ++i) {
        if (i == s.writer || scheme.options().keep_warm) s.fill(i);
    }
    s.counts.seconds.prefill += watch.seconds();
}

}  // namespace augur::decode
