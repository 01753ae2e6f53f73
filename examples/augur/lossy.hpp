#pragma once
// Schemes that do not promise the target's text or distribution: fuzzy acceptance, and models that take turns.

#include "scheme.hpp"

namespace augur::program {

/// As resolve, for these.
scheme_options resolve_lossy(scheme_options chosen, const transform::settings& sampling, std::size_t drafts);

/// Whether its rule keeps plain greedy decoding's text where rows are points.
bool is_exact_at_temperature_0(const scheme_options& resolved);

/// As run, for these.
run_result run_lossy(const scheme_options& resolved, const engine& target, const draft_checkpoints& drafters,
                     const run_request& request);

}  // namespace augur::program
