// Schemes of chains on llama.cpp.

#include "chain_runs.hpp"
#include "scoring_engine.hpp"

namespace augur::program {

run_result run(const scheme_options& resolved, const model::any_model& target, const scoring_drafters& drafters,
               const run_request& request) {
    if (is_lossy(resolved.scheme)) return run_lossy(resolved, target, drafters, request);
    if (drafts_trees(resolved)) return run_trees(resolved, target, drafters, request);
    const auto by = [&](const auto& criterion) {
        return chain_runs(resolved, target, drafters, request, criterion).run();
    };
    return std::visit(by, criterion_of(resolved.accept));
}

}  // namespace augur::program
