// Trees of two drafters in one: what the text repeats, and what a network guesses.

#include <augur/draft/eagle.hpp>
#include <augur/draft/heads.hpp>

#include "model_trees.hpp"

namespace augur::program {

run_result run_merged(const scheme_options& resolved, const engine& target, const draft_checkpoints& drafters,
                      const run_request& asked) {
    const run_request request = as_one_drafter(asked);
    const auto compose = [&]<class Criterion>(const Criterion& criterion) -> run_result {
        if constexpr (!judges_draws<Criterion>) {
            const tree_runs<engine, Criterion> trees(resolved, target, request, criterion);
            if (drafters.heads) return trees.merged(draft::heads(*drafters.heads, draft::argmax{}));
            if (drafters.eagle) {
                if (!resolved.dynamic) return trees.merged(draft::eagle(*drafters.eagle, draft::argmax{}));
                return trees.merged_suggested(draft::eagle(*drafters.eagle, *resolved.dynamic));
            }
            return trees.merged_with_model(*drafters.draft);
        }
        detail::fail("--accept multipath_block was not expected with merged");
    };
    return std::visit(compose, tree_criterion_of(resolved));
}

}  // namespace augur::program
