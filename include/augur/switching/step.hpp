#pragma once
// Entropy adaptive decoding, round by round: the model whose turn it is writes; nothing is verified.

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "augur/accept/coupled.hpp"
#include "augur/commit/apply.hpp"
#include "augur/decode/session.hpp"
#include "augur/decode/step.hpp"
#include "augur/detail/stopwatch.hpp"
#include "augur/measure/entropy.hpp"
#include "augur/model/limits.hpp"
#include "augur/random/chooser.hpp"
#include "augur/round/ask.hpp"
#include "augur/switching/scheme.hpp"
#include "augur/switching/session.hpp"
#include "augur/switching/speaker.hpp"
#include "augur/types/observation.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/round_view.hpp"
#include "augur/types/statistics.hpp"
#include "augur/types/verdict.hpp"

namespace augur::decode {

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

/// A token for a position of the text, from s.row, with that position's noise.
template <class Session>
token draw_at(Session& s, std::size_t position) {
    position_draws draws(s.chooser, position, s.counts.rounds());
    return accept::coupled{}.draw(s.row, draws);
}

/// The model before the writer guesses up to `length` tokens, with the noise that the writer will draw with.
template <class Session>
void draft_for_writer(Session& s, std::size_t length) {
    auto& proposed = s.last.proposed;
    length = std::min(length, s.stops.budget(s.committed.generated().size(), s.committed.size()) - 1);
    const std::size_t position = s.committed.size();
    s.with_voice(s.writer - 1, [&](auto& voice) {
        speculative_suffix speculative(voice.own);
        model_statistics& counted = s.counts.models[s.writer - 1];
        while (proposed.size() < length) {
            const auto rows = rows_of(voice.cache, counted, voice.own, {});
            voice.transform.apply(rows[0], voice.own, s.row);
            if (s.row.empty()) break;
            proposed.push(draw_at(s, position + proposed.size()));
            speculative.push(proposed.tokens().back());
            ++counted.drafted;
        }
    });
}

/// What the writer will write from its rows, for as long as it was foreseen and its turn is to go on.
struct switching_plan {
    std::vector<commit::committed_token> block;
    std::vector<double> log_probabilities;
    std::size_t tokens = 0;  ///< of the block, before stop conditions cut it
    std::size_t wanted = 0;  ///< whose turn it is to be after them
    std::string fault{};     ///< where the row after them cannot be drawn from
};

/// The part of a round that can fail: it changes nothing that is seen.
template <class Session>
switching_plan plan(Session& s, auto& voice, const auto& rows, const step_options& chosen) {
    auto& record = s.last;
    const auto drafted = record.proposed.tokens();
    record.decided = verdict{.drafted = drafted.size()};
    s.next_policy = s.policy;
    s.entropies_bits.clear();
    switching_plan planned{.block = std::move(record.committed),
                           .log_probabilities = std::move(record.log_probabilities),
                           .wanted = s.wanted};
    const std::size_t before = s.committed.size();
    speculative_suffix ahead(voice.own);
    bool foreseen = true;
    do {
        const std::size_t i = planned.tokens;
        voice.transform.apply(rows[i], voice.own, s.row);
        if (s.row.empty()) {
            planned.fault = describe_fault(rows[i], before + i, model_name(s.writer, s.counts.models.size()));
            break;
        }
        const token drawn = draw_at(s, before + i);
        foreseen = i < drafted.size() && drafted[i] == drawn;
        if (foreseen) {
            ++record.decided.accepted;
        } else {
            record.decided.next = drawn;
        }
        planned.block.push_back({drawn, foreseen ? origin::accepted : record.decided.next_origin(), {}, s.writer});
        ahead.push(drawn);
        if (chosen.log_probabilities) planned.log_probabilities.push_back(measure::log_probability(rows[i], drawn));
        s.entropies_bits.push_back(measure::entropy_bits(rows[i]));
        planned.wanted = s.next_policy.next_model(s.wanted, s.entropies_bits.back());
        ++planned.tokens;
    } while (foreseen && planned.wanted == s.writer);
    s.counts.stages.back().reserve(drafted.size());
    return planned;
}

/// Takes the memory of the block, asks for its text, and lets the writer's side have it: the last that can fail.
template <class Session>
void make_room(Session& s, auto& voice, switching_plan& planned) {
    commit::make_room(s, planned.block, [&] {
        const std::size_t most = s.writers.size() + planned.block.size();
        if (most > s.writers.capacity()) s.writers.reserve(2 * most);
    });
    s.write(voice, planned.block, s.wanted != s.writer);
}

/// The part that takes place whatever is thrown: the block is written, until a stop condition or the sink cuts it.
template <class Session>
void write(Session& s, switching_plan& planned, const step_options& chosen, commit::first_thrown& thrown) {
    auto& record = s.last;
    commit::patient_sink sink(chosen.on_token, thrown);
    const std::size_t kept = commit::admit_all(s, planned.block, sink);
    while (planned.block.size() > kept) planned.block.pop_back();
    while (planned.log_probabilities.size() > kept) planned.log_probabilities.pop_back();
    record.committed = std::move(planned.block);
    record.log_probabilities = std::move(planned.log_probabilities);
    s.writers.insert(s.writers.end(), kept, s.writer);
    if (kept == planned.tokens) {
        std::swap(s.policy, s.next_policy);
        s.wanted = planned.wanted;
        if (!planned.fault.empty() && s.finished == finish_reason::running) {
            s.finished = finish_reason::invalid_logits;
            s.fault = std::move(planned.fault);
        }
    } else {
        record.decided.accepted = std::min(record.decided.accepted, kept);
        record.decided.next = no_token;
        thrown.attempt([&] {
            for (std::size_t i = 0; i < kept; ++i) s.wanted = s.policy.next_model(s.writer, s.entropies_bits[i]);
        });
    }
    s.turn_is_open = s.finished == finish_reason::running;
    s.counts.models[s.writer].written += kept;
    s.counts.stages.back().add(record.decided.drafted, record.decided.accepted);
}

/// The turn changes, where the model whose turn it shall be can take over the text; or the wish is dropped.
template <class Session>
void hand_over(Session& s) {
    const switching::handover outcome = s.take_over(s.wanted, s.stops);
    if (outcome == switching::handover::lost) ++s.counts.turns.lost;
    if (outcome == switching::handover::full) ++s.counts.turns.full;
    if (outcome != switching::handover::taken) {
        s.wanted = s.writer;
        return;
    }
    ++s.counts.turns.switches;
    s.writer = s.wanted;
}

/// What follows a round: the turn changes, or has to wait. Where it throws it can be repeated.
template <class Session>
void end_turn(Session& s) {
    if (s.wanted != s.writer) {
        if (s.may_switch()) {
            hand_over(s);
        } else {
            ++s.counts.turns.waited;
        }
    }
    if (s.full(s.writer)) s.finished = finish_reason::context;
    s.turn_is_open = false;
}

/// Afterwards caches hold committed tokens only; if they are kept `warm`, all but the last.
template <class Session>
void settle_caches(Session& s, bool warm, commit::first_thrown& thrown) {
    for (std::size_t i = 0; i < s.models; ++i) {
        thrown.attempt([&] {
            if (warm) return s.fill(i);
            s.with_voice(i, [&](auto& voice) { voice.cache.rewind(voice.own.tokens()); });
        });
    }
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

/// One round: at least one token, unless the writer's row cannot be drawn from; then the turn may change. See
/// switching_scheme. Watchers are shown the writer's rows and its side of the text, in tokens of its own. It runs at
/// once: it cannot be opened. What is thrown passes through as in every step (docs/decode/faults.md), and the text can
/// go on: where a codec threw at a switch, the next step begins with it, and ends with it if that ends the text.
template <switching::SwitchingPolicy Policy, class... Speakers, Chooser C, class... Watchers>
const auto& step(const switching::switching_scheme<Policy, Speakers...>& scheme,
                 session<switching::switching_scheme<Policy, Speakers...>, C>& s, const step_options& chosen = {},
                 Watchers&&... watchers) {
    augur::detail::stopwatch watch(chosen.timed);
    auto& record = s.last;
    record.proposed.clear();
    record.committed.clear();
    record.log_probabilities.clear();
    record.decided = verdict{};
    if (s.turn_is_open) detail::end_turn(s);
    if (s.finished != finish_reason::running) return record;
    for (std::size_t i = 0; i < s.models && scheme.options().keep_warm; ++i) s.fill(i);  // where that threw
    commit::first_thrown thrown;
    detail::counts_of_round counted(s);
    if (s.writer > 0 && scheme.options().draft_length > 0) detail::draft_for_writer(s, scheme.options().draft_length);
    record.seconds = time_spent{.draft = watch.lap()};
    s.with_voice(s.writer, [&](auto& voice) {
        auto rows = detail::rows_of(voice.cache, s.counts.models[s.writer], voice.own, record.proposed);
        const bool end_early = model::limits_of(voice.cache.model()).rows_end_with_next_run;
        if (sizeof...(Watchers) > 0 && chosen.on_token && end_early) rows.keep();  // on_token may run other sequences
        record.seconds.verify = watch.lap();
        const std::size_t before = voice.own.size();
        const observation none{.round = s.counts.rounds(), .prefix_length = before};
        detail::switching_plan planned = detail::plan(s, voice, rows, chosen);
        detail::make_room(s, voice, planned);
        counted.keep();
        detail::write(s, planned, chosen, thrown);
        record.seconds.accept = watch.lap();
        const no_states states;
        const round_view view{voice.own,        before, record.proposed, rows, states, record.decided,
                              record.committed, none,   record.seconds};
        (thrown.attempt([&] { watchers.watch(view); }), ...);
        watch.lap();  // what watchers took is in no part
    });
    if (s.turn_is_open) thrown.attempt([&] { detail::end_turn(s); });
    detail::settle_caches(s, scheme.options().keep_warm, thrown);
    record.seconds.other = watch.lap();
    s.counts.seconds += record.seconds;
    thrown.rethrow();
    return record;
}

/// Continues a finished session of models that take turns (decode/resume.hpp): the one whose turn it is reads the added
/// tokens and goes on; the others read them when their turn comes. With codecs each model has added tokens of its own,
/// and first takes over what it has not read of the text; refused, with nothing changed, where one cannot. What its
/// writer alone knows, an end token, the others do not have.
template <switching::SwitchingPolicy Policy, class... Speakers, Chooser C>
void resume(const switching::switching_scheme<Policy, Speakers...>& scheme,
            session<switching::switching_scheme<Policy, Speakers...>, C>& s,
            const typename session<switching::switching_scheme<Policy, Speakers...>, C>::added_type& added,
            commit::stop_conditions conditions) {
    s.begin(scheme, s, added, std::move(conditions));
    s.writers.clear();
    s.turn_is_open = false;
    s.counts.turns.switches += s.writer != s.wanted;
    s.writer = s.wanted;
    const augur::detail::stopwatch watch;
    for (std::size_t i = 0; i < s.models; ++i) {
        if (i == s.writer || scheme.options().keep_warm) s.fill(i);
    }
    s.counts.seconds.prefill += watch.seconds();
}

}  // namespace augur::decode
