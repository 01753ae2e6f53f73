// The part of a decoding that is the same for every scheme.

#include "text_run.hpp"

#include <algorithm>
#include <augur/detail/stopwatch.hpp>
#include <augur/measure/entropy.hpp>
#include <augur/types/error.hpp>
#include <cmath>
#include <utility>

namespace augur::program {

namespace {

/// Of a cascade's stages but the last, what they did since `before`, which becomes what they did.
std::vector<stage_round> since(std::vector<stage_statistics>& before, std::span<const stage_statistics> stages) {
    before.resize(stages.size() - 1);
    std::vector<stage_round> done;
    for (std::size_t i = 0; i + 1 < stages.size(); ++i) {
        done.push_back({stages[i].rounds - before[i].rounds, stages[i].drafted - before[i].drafted,
                        stages[i].accepted - before[i].accepted});
        before[i] = stages[i];
    }
    return done;
}

}  // namespace

commit::token_sink text_run::sink() {
    return [this](const commit::committed_token& t) {
        const detail::stopwatch watch;
        const bool go_on = !request_->options.on_token || request_->options.on_token(t);
        in_sink_ += watch.seconds();
        return go_on;
    };
}

bool text_run::note(std::size_t length_before, std::span<const token> drafted, std::span<const std::int32_t> parents,
                    const verdict& decided, std::span<const commit::committed_token> committed,
                    const observation& decided_on, const time_spent& seconds,
                    std::span<const stage_statistics> stages) {
    for (const auto& t : committed) result_.origins.push_back(t.from);
    if (!request_->on_round) return false;
    time_spent own = seconds;
    own.*sink_part_ = std::max(0.0, own.*sink_part_ - (in_sink_ - std::exchange(in_sink_before_, in_sink_)));
    summary_ = {length_before, {drafted.begin(), drafted.end()},     {parents.begin(), parents.end()},
                decided,       {committed.begin(), committed.end()}, own,
                decided_on};
    summary_.inside = since(inside_before_, stages);
    return true;
}

void text_run::read(logit_row row, token committed) {
    const measure::softmax_moments m = measure::moments(row);
    const float logit = row[static_cast<std::size_t>(committed)];
    const double probability = std::exp(static_cast<double>(logit) - m.log_sum());
    summary_.readings.push_back({measure::entropy_nats(m), probability, logit >= m.maximum});
}

run_result& text_run::conclude(commit::stop_watcher& stops, std::span<const token> generated, finish_reason finished,
                               const std::string& fault, statistics& counts, double in_watchers) {
    if (finished == finish_reason::invalid_logits) detail::fail(fault);
    stops.text().finish();
    counts.seconds.*sink_part_ -= in_sink_;
    counts.seconds.other += in_watchers;
    result_.ids.assign(generated.begin(), generated.end());
    result_.text = stops.text().text();
    result_.finish = finished;
    result_.detail = stops.matched();
    result_.counts = counts;
    return result_;
}

run_result cancelled_at_prompt(const statistics& so_far) {
    run_result result;
    result.finish = finish_reason::cancelled;
    result.counts = so_far;
    return result;
}

}  // namespace augur::program
