#pragma once
// Trees of what the text repeats and of what a draft model guesses, on any engine: instantiated once for each.

#include <algorithm>
#include <augur/draft/draft_model.hpp>
#include <augur/draft/merged.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/fixed_length.hpp>
#include <type_traits>

#include "run_scheme.hpp"
#include "tree_rules.hpp"
#include "trees.hpp"

namespace augur::program {

/// How a draft model picks nodes that are point masses: by the noise that belongs to the position where the criterion
/// draws with it, too, else the likeliest.
template <class Criterion>
using token_selector_of =
    std::conditional_t<std::is_same_v<Criterion, accept::coupled>, draft::shared_noise, draft::argmax>;

/// Trees for one target, judged by one criterion.
template <class Engine, class Criterion>
class tree_runs {
 public:
    tree_runs(const scheme_options& resolved, const Engine& target, const run_request& request,
              const Criterion& criterion)
        : resolved_(resolved), target_(target), request_(request), criterion_(criterion) {}

    run_result planned(const auto& drafter) const { return by(drafter, planned_tree(resolved_, request_)); }
    run_result suggested(const auto& drafter) const { return by(drafter, suggested_tree(resolved_, request_)); }

    run_result lookup() const { return planned(draft::prompt_lookup(resolved_.lookup_min, resolved_.lookup_max)); }
    run_result by_suffixes() const {
        return run_by_suffixes(target_, planned_tree(resolved_, request_), criterion_, request_);
    }
    run_result of_model(const auto& draft) const {
        if constexpr (!judges_draws<Criterion>) {
            if (resolved_.dynamic || weighs_nodes(resolved_)) {
                return suggested(draft::draft_model(draft, suggested_tree::limits_of(resolved_, request_)));
            }
        }
        return planned(draft::draft_model(draft));
    }

    /// What the text repeats, and what `network` guesses, in one tree.
    run_result merged(const auto& network) const {
        return planned(draft::merged(draft::prompt_lookup(least(), resolved_.lookup_max), network));
    }
    /// The same of a network that suggests the tree itself.
    run_result merged_suggested(const auto& network) const {
        const draft::dynamic_tree& limits = *resolved_.dynamic;
        const draft::trie_limits found{.nodes = std::max<std::size_t>(1, limits.nodes / 2), .depth = limits.depth};
        const draft::prompt_lookup lookup(least(), resolved_.lookup_max, found);
        return by(draft::merged(lookup, network, limits.nodes), policy::fixed_length{limits.depth});
    }
    run_result merged_with_model(const auto& draft) const {
        if (resolved_.dynamic) return merged_suggested(draft::draft_model(draft, *resolved_.dynamic));
        return merged(draft::draft_model(draft, token_selector_of<Criterion>()));
    }

    run_result by(const auto& drafter, const auto& policy) const {
        return run_scheme(speculate(drafter, target_, policy, criterion_), request_);
    }

 private:
    std::size_t least() const { return std::max<std::size_t>(resolved_.lookup_min, 2); }  // as hybrid

    const scheme_options& resolved_;
    const Engine& target_;
    const run_request& request_;
    const Criterion& criterion_;
};

/// Two drafters drafted a merged tree: they are one to whoever is shown it. `asked` must outlive what it returns.
inline run_request as_one_drafter(const run_request& asked) {
    run_request request = asked;
    if (!asked.on_round) return request;
    request.on_round = [&asked](round_summary round) {
        round.decided_on.source = 0;
        asked.on_round(round);
    };
    return request;
}

}  // namespace augur::program
