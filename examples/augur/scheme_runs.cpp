#include <algorithm>
#include <augur/draft/fallback.hpp>
#include <augur/draft/ngram_store.hpp>
#include <augur/draft/no_draft.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <type_traits>
#include <utility>

#include "chain_rules.hpp"
#include "lossy.hpp"
#include "run_scheme.hpp"
#include "trees.hpp"

namespace augur::program {

std::pair<draft::prompt_lookup, draft::ngram_store> lookups_of(const scheme_options& resolved,
                                                               const members& drafters) {
    constexpr std::size_t surer_than_network = 5;  // tokens of the table's contexts
    const std::size_t least = drafters.eagle ? std::min(surer_than_network, drafters.ngrams->orders().longest) : 1;
    // What the text itself repeats is the better guess, unless it rests on a single token.
    return {draft::prompt_lookup(std::max<std::size_t>(resolved.lookup_min, 2), resolved.lookup_max),
            draft::ngram_store(*drafters.ngrams, least)};
}

run_result run(const scheme_options& resolved, const engine& target, const members& drafters,
               const run_request& request) {
    if (is_lossy(resolved.scheme)) return run_lossy(resolved, target, drafters, request);
    if (drafts_trees(resolved)) return run_trees(resolved, target, drafters, request);
    const auto compose = [&](auto criterion) {
        const auto as_it_pays = [&](const auto& drafter) {
            return run_scheme(speculate(drafter, target, planned_length(resolved, request), criterion), request);
        };
        if (resolved.scheme == "lookup") {
            return as_it_pays(draft::prompt_lookup(resolved.lookup_min, resolved.lookup_max));
        }
        if (drafters.ngrams) {
            const auto [lookup, store] = lookups_of(resolved, drafters);
            if (!drafters.eagle) return as_it_pays(draft::fallback(lookup, store));
            return as_it_pays(draft::fallback(lookup, store, *drafters.eagle));
        }
        if (drafters.eagle) return as_it_pays(*drafters.eagle);
        if (drafters.heads) return as_it_pays(*drafters.heads);
        if (resolved.scheme == "eaad" && resolved.learn_bins) {
            return run_scheme(speculate(*drafters.draft, target, learned_bins_of(resolved), criterion), request);
        }
        if (resolved.scheme == "eaad") {
            return run_scheme(speculate(*drafters.draft, target, bins_of(resolved), criterion), request);
        }
        if constexpr (std::is_same_v<decltype(criterion), accept::exact>) {
            if (resolved.scheme == "eaad_as_published") {
                const auto bins = bins_of<policy::entropy_form::offset>(resolved);
                return run_scheme(speculate(*drafters.draft, target, bins, criterion), request);
            }
        }
        if (resolved.scheme == "hysteresis") {
            return run_scheme(speculate(*drafters.draft, target, hysteresis_of(resolved), criterion), request);
        }
        const auto as_it_learns = [&](auto& learned) {
            if (resolved.scheme == "kangaroo") {
                const auto as_it_is = [&](const auto& head) {
                    return run_scheme(speculate(head, target, stop_of(resolved), criterion), request);
                };
                if constexpr (std::is_same_v<std::remove_cvref_t<decltype(learned)>, learned_attending>) {
                    return as_it_is(learned.head());
                } else {
                    return as_it_is(draft::frozen_head(learned.head()));
                }
            }
            const auto run_by = [&](const auto& until, auto& watcher) {
                return run_scheme(speculate(learned.head(), target, until, criterion), request, watcher);
            };
            learning_watcher learns(learned);
            if (resolved.length) return run_by(stop_of(resolved), learns);
            return run_by(policy::cost_aware({.credit = untaught_credit}), learns);
        };
        if (drafters.learned) return as_it_learns(*drafters.learned);
        if (drafters.learned_layer) return as_it_learns(*drafters.learned_layer);
        if (drafters.learned_attention) return as_it_learns(*drafters.learned_attention);
        if (resolved.scheme == "kangaroo") {
            return run_scheme(speculate(*drafters.exit, target, stop_of(resolved), criterion), request);
        }
        if (resolved.scheme == "sd") {
            const policy::fixed_length fixed{*resolved.length};
            return run_scheme(speculate(*drafters.draft, target, fixed, criterion), request);
        }
        return run_scheme(speculate(draft::no_draft{}, target, policy::fixed_length{0}, criterion), request);
    };
    return std::visit(compose, criterion_of(resolved.accept));
}

}  // namespace augur::program
