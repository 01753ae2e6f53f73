#pragma once
// What `augur tune` measured and what it chose, as a record: docs/report.md has its keys.

#include <augur/tune/search.hpp>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace augur::program {

/// Of one scheme on the prompts of one task.
struct search_outcome {
    std::string scheme, task;
    std::vector<nlohmann::ordered_json> candidates;  ///< settings
    std::vector<tune::rung> rungs;
    std::vector<tune::standing> standings;  ///< of all candidates, those that got furthest first
    std::vector<std::size_t> front;         ///< candidates
    std::size_t chosen = 0;                 ///< a candidate of the front
    double within = 0;                      ///< divergence per token within which the fastest is wanted
};

/// Candidates in the order of the standings; `front` and `chosen` are places there.
nlohmann::ordered_json as_json(const search_outcome& search);

}  // namespace augur::program
