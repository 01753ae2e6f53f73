// Schemes that are not lossless on llama.cpp.

#include "lossy_runs.hpp"
#include "scoring_engine.hpp"

namespace augur::program {

run_result run_lossy(const scheme_options& resolved, const model::any_model& target, const scoring_drafters& drafters,
                     const run_request& request) {
    return run_lossy_on(resolved, target, drafters, request);
}

}  // namespace augur::program
