#pragma once
// Schemes that do not promise the target's text or distribution: fuzzy acceptance, and models that take turns.

#include "scheme.hpp"

namespace augur::program {

/// As resolve, for these.
scheme_options resolve_lossy(scheme_options chosen, std::size_t drafts);

/// As run, for these.
run_result run_lossy(const scheme_options& resolved, const engine& target, const members& drafters,
                     const run_request& request);

}  // namespace augur::program
