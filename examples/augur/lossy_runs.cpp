#include "lossy_runs.hpp"

namespace augur::program {

run_result run_lossy(const scheme_options& resolved, const engine& target, const draft_checkpoints& drafters,
                     const run_request& request) {
    return run_lossy_on(resolved, target, drafters, request);
}

}  // namespace augur::program
