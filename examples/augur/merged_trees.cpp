// Trees of two drafters in one: what the text repeats, and what a network guesses.

#include <algorithm>
#include <augur/draft/draft_model.hpp>
#include <augur/draft/eagle.hpp>
#include <augur/draft/heads.hpp>
#include <augur/draft/merged.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/fixed_length.hpp>

#include "run_scheme.hpp"
#include "tree_rules.hpp"
#include "trees.hpp"

namespace augur::program {
namespace {

/// How a draft model picks nodes that are point masses: by the noise that belongs to the position where the criterion
/// draws with it, too, else the likeliest.
template <class Criterion>
using token_selector_of =
    std::conditional_t<std::is_same_v<Criterion, accept::coupled>, draft::shared_noise, draft::argmax>;

/// Both drafted the tree: they are one drafter to whoever is shown it.
round_summary by_one(round_summary round) {
    round.decided_on.source = 0;
    return round;
}

}  // namespace

run_result run_merged(const scheme_options& resolved, const engine& target, const draft_checkpoints& drafters,
                      const run_request& asked) {
    run_request request = asked;
    if (asked.on_round) request.on_round = [&](const round_summary& round) { asked.on_round(by_one(round)); };
    const std::size_t least = std::max<std::size_t>(resolved.lookup_min, 2);  // as hybrid
    const auto compose = [&]<class Criterion>(const Criterion& criterion) -> run_result {
        if constexpr (!judges_draws<Criterion>) {
            const auto planned = [&](const auto& network) {
                const draft::merged both(draft::prompt_lookup(least, resolved.lookup_max), network);
                const planned_tree plan(resolved, request);
                return run_scheme(speculate(both, target, plan, criterion), request);
            };
            const auto suggested = [&](const auto& network) {
                const draft::dynamic_tree& limits = *resolved.dynamic;
                const draft::trie_limits found{.nodes = std::max<std::size_t>(1, limits.nodes / 2),
                                               .depth = limits.depth};
                const draft::merged both(draft::prompt_lookup(least, resolved.lookup_max, found), network,
                                         limits.nodes);
                return run_scheme(speculate(both, target, policy::fixed_length{limits.depth}, criterion), request);
            };
            if (drafters.heads) return planned(draft::heads(*drafters.heads, draft::argmax{}));
            if (drafters.eagle) {
                if (!resolved.dynamic) return planned(draft::eagle(*drafters.eagle, draft::argmax{}));
                return suggested(draft::eagle(*drafters.eagle, *resolved.dynamic));
            }
            if (resolved.dynamic) return suggested(draft::draft_model(*drafters.draft, *resolved.dynamic));
            return planned(draft::draft_model(*drafters.draft, token_selector_of<Criterion>()));
        }
        detail::fail("--accept multipath_block was not expected with merged");
    };
    return std::visit(compose, tree_criterion_of(resolved));
}

}  // namespace augur::program
