#pragma once
// augur advise --hierarchy: the fastest cascade of the models at hand.

#include <augur/transform/pipeline.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "options.hpp"
#include "scoring_engine.hpp"

namespace augur::program {

/// `model.context`: tokens before each pass that is timed.
struct hierarchy_options {
    model_options model;
    engine_options engine;
    prompt_options prompt;
    std::optional<std::string> prompts;
    std::vector<std::string> drafts;
    transform::settings sampling{.temperature = {0}};
    std::uint64_t seed = 0;
    std::size_t max_tokens = 64, longest = 8, turns = 9;
    bool json = false;
};

/// Returns their names.
std::vector<std::string> add_hierarchy_options(CLI::App& command, hierarchy_options& into);

/// Times passes of all models, has the target write texts, measures on them how often each model's tokens would be
/// accepted by each other, and prints the fastest hierarchies of no draft model, of one, of two, ..., and how to run
/// the best.
void advise_hierarchy(const hierarchy_options& chosen);

}  // namespace augur::program
