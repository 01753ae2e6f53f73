// Schemes of trees on llama.cpp.

#include "model_trees.hpp"
#include "scoring_engine.hpp"

namespace augur::program {

run_result run_trees(const scheme_options& resolved, const model::any_model& target, const scoring_drafters& drafters,
                     const run_request& asked) {
    const bool is_merged = resolved.scheme == "merged";
    const run_request request = is_merged ? as_one_drafter(asked) : asked;
    const auto compose = [&]<class Criterion>(const Criterion& criterion) -> run_result {
        const tree_runs<model::any_model, Criterion> trees(resolved, target, request, criterion);
        if constexpr (!judges_draws<Criterion>) {
            if (resolved.scheme == "lookup") return trees.lookup();
            if (resolved.scheme == "suffix") return trees.by_suffixes();
            if (is_merged) return trees.merged_with_model(*drafters.draft);
        }
        if (drafters.draft) return trees.of_model(*drafters.draft);
        detail::fail("--accept multipath_block was not expected with ", resolved.scheme);
    };
    return std::visit(compose, tree_criterion_of(resolved));
}

}  // namespace augur::program
