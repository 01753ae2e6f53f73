#pragma once
// Random rows, models and transforms that shrink.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/testing/choices.hpp"
#include "augur/testing/models.hpp"
#include "augur/testing/report.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/topology.hpp"

namespace augur::testing {

/// Weights in {0, ..., 4}, at least one above 0: zeros and ties are common.
inline std::vector<double> random_weights(choices& from, std::size_t vocabulary) {
    std::vector<double> row(vocabulary);
    double total = 0;
    for (double& weight : row) total += weight = static_cast<double>(from.below(5));
    if (!(total > 0)) row[0] = 1;
    return row;
}

/// The conditionals of a markov_model.
inline std::vector<std::vector<double>> random_table(choices& from, std::size_t vocabulary) {
    std::vector<std::vector<double>> rows(vocabulary);
    for (auto& row : rows) row = random_weights(from, vocabulary);
    return rows;
}

inline std::string describe_table(const std::vector<std::vector<double>>& rows) {
    std::string text;
    for (const auto& row : rows) text += (text.empty() ? "" : " ") + describe(row);
    return text;
}

/// Logits as a model could give them: multiples of 1/2, with ties, now and then far above or below the others or
/// -infinity, at least one finite.
inline std::vector<float> random_logits(choices& from, std::size_t vocabulary) {
    std::vector<float> row(vocabulary);
    for (float& logit : row) {
        const std::size_t n = from.below(18);
        const float far = n == 15 ? 100.0f : (n == 16 ? -1e4f : -std::numeric_limits<float>::infinity());
        logit = n >= 15 ? far : (n % 2 == 0 ? 0.5f : -0.5f) * static_cast<float>(n);
    }
    row[from.below(vocabulary)] = 1;
    return row;
}

/// A mask that depends on the token just before, be it committed or only drafted: it makes that one less likely.
inline void avoid_repeating(std::span<float> logits, const prefix& before) {
    if (before.size() > 0) logits[static_cast<std::size_t>(before.tokens().back())] -= 1.5f;
}

/// Every transform, each on or off; off is the simplest. No token is banned, so that something always stays.
inline transform::settings random_settings(choices& from, std::size_t vocabulary) {
    transform::settings chosen;
    chosen.temperature.value = from.one_of({1.0f, 0.5f, 1.7f, 0.0f});
    chosen.top_k.k = from.one_of<std::size_t>({0, 2, 1});
    chosen.top_p.p = from.one_of({1.0f, 0.7f, 0.3f});
    chosen.min_p.p = from.one_of({0.0f, 0.2f, 0.5f});
    chosen.penalties.repetition = from.one_of({1.0f, 1.4f, 0.7f});
    chosen.penalties.presence = from.one_of({0.0f, 0.5f, -0.3f});
    chosen.penalties.frequency = from.one_of({0.0f, 0.6f});
    const float by = from.one_of({0.0f, 1.5f, -0.8f});
    if (by != 0) chosen.bias.added = {{static_cast<token>(from.below(vocabulary)), by}};
    if (from.below(3) == 2) chosen.mask = avoid_repeating;
    return chosen;
}

inline std::string describe_settings(const transform::settings& s) {
    std::string text = augur::detail::message("temperature ", s.temperature.value, ", top_k ", s.top_k.k, ", top_p ",
                                              s.top_p.p, ", min_p ", s.min_p.p, ", penalties ", s.penalties.repetition,
                                              ' ', s.penalties.presence, ' ', s.penalties.frequency);
    for (const auto& [t, by] : s.bias.added) text += augur::detail::message(", bias of token ", t, ' ', by);
    if (s.mask) text += ", a mask by the token before";
    return text;
}

/// A tree of up to `most` nodes.
inline topology some_topology(choices& from, std::size_t most = 5) {
    std::vector<std::int32_t> parents(from.below(most + 1));
    for (std::size_t node = 0; node < parents.size(); ++node) {
        parents[node] = static_cast<std::int32_t>(from.below(node + 1)) - 1;
    }
    return topology(std::move(parents));
}

}  // namespace augur::testing
