#include "text_facts.hpp"

#include <algorithm>
#include <augur/detail/largest.hpp>
#include <augur/measure/divergence.hpp>
#include <augur/measure/entropy.hpp>
#include <cmath>
#include <cstdint>

namespace augur::program {
namespace {

row_facts facts_of(logit_row row, token next, std::size_t best) {
    row_facts facts{.entropy_nats = measure::entropy_nats(row)};
    if (next != no_token) facts.next_probability = std::exp(measure::log_probability(row, next));
    std::vector<std::int32_t> places;
    detail::largest_of(row, best, places);
    const double log_sum = measure::moments(row).log_sum();
    for (const std::int32_t place : places) {
        facts.best.emplace_back(place, std::exp(static_cast<double>(row[static_cast<std::size_t>(place)]) - log_sum));
    }
    return facts;
}

pair_facts compare(logit_row draft, logit_row target, const row_facts& of_draft, const row_facts& of_target) {
    const double apart = measure::divergence<measure::total_variation>(target, draft);
    const bool known = !of_draft.best.empty() && !of_target.best.empty();
    return {.agree = known && of_draft.best.front().first == of_target.best.front().first,
            .acceptance = std::max(0.0, 1 - apart),  // the sum of the lesser probabilities
            .total_variation = apart,
            .kl_nats = measure::divergence<measure::kl>(target, draft),
            .reverse_kl_nats = measure::divergence<measure::reverse_kl>(target, draft)};
}

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> model_pairs(std::size_t models) {
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    for (std::size_t cheap = 0; cheap < models; ++cheap) {
        for (std::size_t better = cheap + 1; better < models; ++better) pairs.emplace_back(cheap, better);
    }
    return pairs;
}

position_facts text_observer::look(std::span<const logit_row> rows, std::size_t position, token next) {
    position_facts facts{.position = position, .next = next};
    for (const logit_row row : rows) facts.models.push_back(facts_of(row, next, best_));
    for (const auto& [cheap, better] : model_pairs(rows.size())) {
        facts.pairs.push_back(compare(rows[cheap], rows[better], facts.models[cheap], facts.models[better]));
    }
    const double entropy = facts.models.front().entropy_nats;
    facts.bin = bins_.bin_of(entropy);
    facts.length = bins_.plan({.first_draft_entropy_nats = entropy}).length;
    facts.writer = writer_;
    const double bits = (writer_ == 0 ? entropy : facts.models.back().entropy_nats) / std::log(2.0);
    const std::size_t next_writer = turns_.next_model(writer_, bits);
    if (rows.size() > 1) writer_ = next_writer;
    facts.rolling_bits = turns_.mean_bits();
    return facts;
}

void fact_sums::add(const position_facts& at) {
    sums_.entropy_nats.resize(at.models.size());
    sums_.next_nats.resize(at.models.size());
    sums_.pairs.resize(at.pairs.size());
    ++sums_.positions;
    if (at.next != no_token) ++sums_.followed;
    for (std::size_t i = 0; i < at.models.size(); ++i) {
        sums_.entropy_nats[i] += at.models[i].entropy_nats;
        if (at.next != no_token) sums_.next_nats[i] -= std::log(at.models[i].next_probability);
    }
    for (std::size_t i = 0; i < at.pairs.size(); ++i) {
        sums_.pairs[i].agree += at.pairs[i].agree;
        sums_.pairs[i].acceptance += at.pairs[i].acceptance;
        sums_.pairs[i].total_variation += at.pairs[i].total_variation;
        sums_.pairs[i].kl_nats += at.pairs[i].kl_nats;
        sums_.pairs[i].reverse_kl_nats += at.pairs[i].reverse_kl_nats;
    }
    sums_.length += static_cast<double>(at.length);
    sums_.written_by_cheapest += at.writer == 0;
}

fact_means fact_sums::means() const {
    fact_means averages = sums_;
    const auto count = static_cast<double>(std::max<std::size_t>(1, averages.positions));
    const auto followed = static_cast<double>(std::max<std::size_t>(1, averages.followed));
    for (double& each : averages.entropy_nats) each /= count;
    for (double& each : averages.next_nats) each /= followed;
    for (auto& each : averages.pairs) {
        each = {each.agree / count, each.acceptance / count, each.total_variation / count, each.kl_nats / count,
                each.reverse_kl_nats / count};
    }
    averages.length /= count;
    averages.written_by_cheapest /= count;
    return averages;
}

}  // namespace augur::program
