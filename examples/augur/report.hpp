#pragma once
// What a run was like: a table for people, one JSON object for programs.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bridge.hpp"
#include "compare.hpp"
#include "scheme.hpp"

namespace augur::program {

/// Everything there is to say about one call of `augur generate`.
struct generation_report {
    std::vector<token> prompt;
    std::vector<token> stop_ids{};  ///< tokens that end the text
    scheme_options scheme;          ///< resolved
    std::string requested_scheme;
    std::uint64_t seed = 0;
    double load_seconds = 0;
    std::size_t weight_bytes = 0;
    std::vector<double> parameters{};                   ///< of the models that take turns, as in composed.counts.models
    const std::vector<bridged_side>* bridge = nullptr;  ///< of these, where vocabularies differ
    nlohmann::ordered_json settings;
    run_result composed;
    std::string ended{};              ///< why, in words
    std::optional<run_result> plain;  ///< the same request, decoded plainly
    paired_speeds speeds{};           ///< of both, where there is a plain run and both wrote something
    std::optional<std::size_t> compared_state_texts{};  ///< that the scheme's runs in these began with, with --state

    /// Index of the first generated token in which the two differ; nothing if they are the same.
    std::optional<std::size_t> first_difference() const;
    /// Of models that take turns: parameters that wrote a token on average, over the model's.
    double parameter_ratio() const;
    /// Tokens per second; means where there are several runs.
    double rate() const { return speeds.pairs() > 0 ? speeds.scheme() : composed.tokens_per_second(); }
    double plain_rate() const { return speeds.pairs() > 0 ? speeds.plain() : 0; }
};

nlohmann::ordered_json as_json(const generation_report& report);

/// By activity.
nlohmann::ordered_json seconds_as_json(const time_spent& spent);

/// Of every verifier what it judged, innermost first.
nlohmann::ordered_json stages_as_json(const statistics& counts);

/// Several lines, each ended; with colour if it may.
std::string as_table(const generation_report& report, bool colour);

}  // namespace augur::program
