#pragma once
// After how many layers a model should draft for itself, by what was measured: `augur bench schemes --splits`.

#include <augur/tune/split.hpp>
#include <augur/types/statistics.hpp>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "draft_checkpoints.hpp"
#include "engine.hpp"
#include "scheme.hpp"

namespace augur::program {

/// Throws unless the scheme drafts with the model's first layers, always as many tokens: only then is its acceptance by
/// position that of every shorter draft, too.
void check_is_split(const std::string& name, const scheme_options& scheme);

/// Of the first `counts.size()` tokens of a draft, how often each is accepted, given that those before it are.
std::vector<double> acceptance_of(const std::vector<stage_statistics::at_position>& counts);

/// What one scheme's split costs, and what was accepted of its drafts.
struct measured_exit {
    std::string scheme;
    tune::split costs;
    std::vector<stage_statistics::at_position> counts{};  ///< over all texts

    void add(const stage_statistics& of);
};

/// Times the layers before and after the exit that drafts, and its head, for drafts of up to `length` tokens.
measured_exit measure_exit(const std::string& name, const engine& target, const draft_checkpoints& drafters,
                           std::size_t length);

/// Every exit with every length against plain decoding, fastest first, `plain_seconds` being a plain pass. As JSON:
/// plain_seconds, exits[], best (the fastest choice) and choices[].
nlohmann::ordered_json splits_as_json(const std::vector<measured_exit>& exits, double plain_seconds);

/// The same as a table: the best length of each exit.
std::string splits_as_table(const std::vector<measured_exit>& exits, double plain_seconds);

}  // namespace augur::program
