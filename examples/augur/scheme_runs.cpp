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

std::pair<draft::prompt_lookup<>, draft::ngram_store> lookups_of(const scheme_options& resolved,
                                                                 const draft_checkpoints& drafters) {
    constexpr std::size_t surer_than_network = 5;  // tokens of the table's contexts
    const std::size_t least = drafters.eagle ? std::min(surer_than_network, drafters.ngrams->orders().longest) : 1;
    // What the text itself repeats is the better guess, unless it rests on a single token.
    return {draft::prompt_lookup(std::max<std::size_t>(resolved.lookup_min, 2), resolved.lookup_max),
            draft::ngram_store(*drafters.ngrams, least)};
}

namespace {

/// The chains of one criterion: what runs is composed of what was asked for and of the draft checkpoints that are
/// there.
template <class Criterion>
class chain_runs {
 public:
    chain_runs(const scheme_options& resolved, const engine& target, const draft_checkpoints& drafters,
               const run_request& request, const Criterion& criterion)
        : resolved_(resolved), target_(target), drafters_(drafters), request_(request), criterion_(criterion) {}

    run_result run() const {
        if (resolved_.scheme == "lookup") {
            return as_it_pays(draft::prompt_lookup(resolved_.lookup_min, resolved_.lookup_max));
        }
        if (drafters_.ngrams) {
            const auto [lookup, store] = lookups_of(resolved_, drafters_);
            if (!drafters_.eagle) return as_it_pays(draft::fallback(lookup, store));
            return as_it_pays(draft::fallback(lookup, store, *drafters_.eagle));
        }
        if (drafters_.eagle) return as_it_pays(*drafters_.eagle);
        if (drafters_.heads) return as_it_pays(*drafters_.heads);
        if (drafters_.learned) return learning(*drafters_.learned);
        if (drafters_.learned_layer) return learning(*drafters_.learned_layer);
        if (drafters_.learned_attention) return learning(*drafters_.learned_attention);
        if (resolved_.scheme == "kangaroo") return by(*drafters_.exit, stop_of(resolved_));
        if (resolved_.scheme == "plain") return by(draft::no_draft{}, policy::fixed_length{0});
        return by_draft_model();
    }

 private:
    run_result by(const auto& drafter, const auto& policy) const {
        return run_scheme(speculate(drafter, target_, policy, criterion_), request_);
    }
    run_result as_it_pays(const auto& drafter) const { return by(drafter, planned_length(resolved_, request_)); }

    run_result by_draft_model() const {
        const auto& draft = *drafters_.draft;
        if (resolved_.scheme == "eaad" && resolved_.learn_bins) return by(draft, learned_bins_of(resolved_));
        if (resolved_.scheme == "eaad") return by(draft, bins_of(resolved_));
        if constexpr (std::is_same_v<Criterion, accept::exact>) {
            if (resolved_.scheme == "eaad_as_published") {
                return by(draft, bins_of<policy::entropy_form::offset>(resolved_));
            }
        }
        if (resolved_.scheme == "hysteresis") return by(draft, hysteresis_of(resolved_));
        return by(draft, policy::fixed_length{*resolved_.length});
    }

    run_result learning(auto& learned) const {
        if (resolved_.scheme == "kangaroo") {
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(learned)>, learned_attending>) {
                return by(learned.head(), stop_of(resolved_));
            } else {
                return by(draft::frozen_head(learned.head()), stop_of(resolved_));
            }
        }
        auto learns = watcher_of(learned);
        const auto run_until = [&](const auto& until) {
            return run_scheme(speculate(learned.head(), target_, until, criterion_), request_, learns);
        };
        if (resolved_.length) return run_until(stop_of(resolved_));
        return run_until(policy::cost_aware({.credit = untrained_credit}));
    }

    const scheme_options& resolved_;
    const engine& target_;
    const draft_checkpoints& drafters_;
    const run_request& request_;
    const Criterion& criterion_;
};

}  // namespace

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
