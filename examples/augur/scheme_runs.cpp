#include <algorithm>
#include <utility>

#include "chain_runs.hpp"
#include "lossy.hpp"
#include "trees.hpp"

namespace augur::program {

std::pair<draft::prompt_lookup<>, draft::ngram_store> lookups_of(const scheme_options& resolved,
                                                                 const draft::ngram_table& table, bool before_layer) {
    constexpr std::size_t surer_than_layer = 5;  // tokens of the table's contexts
    const std::size_t least = before_layer ? std::min(surer_than_layer, table.orders().longest) : 1;
    // What the text itself repeats is the better guess, unless it rests on a single token.
    return {draft::prompt_lookup(std::max<std::size_t>(resolved.lookup_min, 2), resolved.lookup_max),
            draft::ngram_store(table, least)};
}

run_result run(const scheme_options& resolved, const engine& target, const draft_checkpoints& drafters,
               const run_request& request) {
    if (is_lossy(resolved.scheme)) return run_lossy(resolved, target, drafters, request);
    if (drafts_trees(resolved)) return run_trees(resolved, target, drafters, request);
    const auto by = [&](const auto& criterion) {
        return chain_runs(resolved, target, drafters, request, criterion).run();
    };
    return std::visit(by, criterion_of(resolved.accept));
}

}  // namespace augur::program
