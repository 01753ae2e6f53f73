#pragma once
// Schemes that need not promise the target's text or distribution: cascades, and models that take turns.

#include <augur/model/any_model.hpp>
#include <cstddef>
#include <vector>

#include "scheme.hpp"

namespace augur::program {

/// As resolve, for these.
scheme_options resolve_lossy(scheme_options chosen, const transform::settings& sampling, std::size_t drafts);

/// Whether its rule keeps plain greedy decoding's text where rows are points.
bool is_exact_at_temperature_0(const scheme_options& resolved);

/// Of cascade and ead.
inline constexpr std::size_t most_draft_models = 5;

/// As run, for cascade, and for ead of three models or more; the target is the last. Divergences are not measured.
run_result run_cascade(const scheme_options& resolved, const std::vector<model::any_model>& models,
                       const run_request& request);
run_result run_many_turns(const scheme_options& resolved, const std::vector<model::any_model>& models,
                          const run_request& request);

/// The same for ead of models with vocabularies of their own, which the request has the sides of.
run_result run_bridged_turns(const scheme_options& resolved, const std::vector<model::any_model>& models,
                             const run_request& request);

/// As run, for these.
run_result run_lossy(const scheme_options& resolved, const engine& target, const draft_checkpoints& drafters,
                     const run_request& request);

}  // namespace augur::program
