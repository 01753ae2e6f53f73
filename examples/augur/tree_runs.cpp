#include <augur/draft/eagle.hpp>
#include <augur/draft/fallback.hpp>
#include <augur/draft/heads.hpp>
#include <augur/policy/cost_aware.hpp>
#include <augur/policy/tree_hysteresis.hpp>
#include <augur/policy/tree_ladder.hpp>
#include <string_view>

#include "model_trees.hpp"

namespace augur::program {
namespace {

/// A scheduler whose kind and feature are known at run time only. Has the signals of all features computed.
class any_scheduler {
 public:
    static constexpr signals_read reads{.required = signals::target_confidence | signals::target_entropy,
                                        .available = signals::draft_confidence};
    static constexpr draft_shape plans = draft_shape::tree;

    template <class Policy>
    explicit any_scheduler(Policy chosen) : chosen_(std::move(chosen)) {}

    draft_plan plan(const observation& seen) const {
        return std::visit([&](const auto& policy) { return policy.plan(seen); }, chosen_);
    }
    void learn(const outcome& happened) {
        std::visit([&](auto& policy) { policy.learn(happened); }, chosen_);
    }
    std::size_t tree() const {
        return std::visit([](const auto& policy) { return policy.tree(); }, chosen_);
    }
    std::span<const std::size_t> rounds() const {
        return std::visit([](const auto& policy) { return policy.rounds(); }, chosen_);
    }
    std::size_t switches() const {
        return std::visit([](const auto& policy) { return policy.switches(); }, chosen_);
    }
    friend std::ostream& operator<<(std::ostream& out, const any_scheduler& any) {
        std::visit([&](const auto& policy) { out << policy; }, any.chosen_);
        return out;
    }

 private:
    template <policy::tree_feature... By>
    using any = std::variant<policy::tree_hysteresis<By>..., policy::tree_ladder<By>...>;
    using enum policy::tree_feature;

    any<path_value, path_value_sum, target_confidence, entropy, accepted_length> chosen_;
};

template <policy::tree_feature By = policy::tree_feature::path_value_sum>
policy::tree_hysteresis<By> tree_hysteresis_of(const scheme_options& resolved) {
    const io::bank_file& bank = resolved.bank.value();
    const std::vector<double>& at = resolved.thresholds;
    return {bank.trees,
            {.on = at.empty() ? bank.threshold : at.front(), .off = at.empty() ? bank.threshold : at.back()},
            {.conservative = bank.conservative, .aggressive = bank.aggressive, .feature = {.depth = bank.depth}}};
}

template <policy::tree_feature By>
any_scheduler scheduler_by(const scheme_options& resolved) {
    if (!by_ladder(resolved)) return any_scheduler(tree_hysteresis_of<By>(resolved));
    const io::bank_file& bank = resolved.bank.value();
    return any_scheduler(policy::tree_ladder<By>(bank.trees, resolved.thresholds, {.feature = {.depth = bank.depth}}));
}

any_scheduler scheduler_of(const scheme_options& resolved) {
    using enum policy::tree_feature;
    const policy::tree_feature by = feature_of(resolved).feature;
    if (by == path_value) return scheduler_by<path_value>(resolved);
    if (by == target_confidence) return scheduler_by<target_confidence>(resolved);
    if (by == entropy) return scheduler_by<entropy>(resolved);
    if (by == accepted_length) return scheduler_by<accepted_length>(resolved);
    return scheduler_by<path_value_sum>(resolved);
}

run_result run_by_bank(const scheme_options& resolved, const engine& target, const auto& drafter, const auto& criterion,
                       const run_request& request) {
    const io::bank_file& bank = resolved.bank.value();
    if (one_tree_is_best(resolved)) {
        const planned_tree only(policy::tree_static(bank.trees.shape(bank.aggressive)));
        run_result result = run_scheme(speculate(drafter, target, only, criterion), request);
        result.trees = {std::vector<std::size_t>(bank.trees.size()), 0};
        result.trees->rounds[bank.aggressive] = result.counts.rounds();
        return result;
    }
    // The usual case has a type of its own, which is asked for fewer signals; others are not worth compiling.
    if constexpr (std::is_same_v<decltype(drafter), const draft::heads<const llama::draft_heads&, draft::argmax>&>) {
        if (!by_ladder(resolved) && feature_of(resolved).feature == policy::tree_feature::path_value_sum) {
            return run_scheme(speculate(drafter, target, tree_hysteresis_of<>(resolved), criterion), request);
        }
    }
    return run_scheme(speculate(drafter, target, scheduler_of(resolved), criterion), request);
}

/// What is looked up is drafted as a chain; where nothing is, the layer drafts a tree.
run_result run_hybrid(const scheme_options& resolved, const engine& target, const draft_checkpoints& drafters,
                      const auto& criterion, const run_request& request) {
    const draft::dynamic_tree limits = suggested_tree::limits_of(resolved, request);
    const policy::cost_aware<draft_shape::chain, draft_shape::grown_tree> as_measured(
        {.chains = 2, .max_nodes = limits.nodes, .verify_seconds = request.verify_seconds}, request.known);
    const auto [lookup, store] = lookups_of(resolved, *drafters.ngrams, true);
    const draft::fallback hybrid(lookup, store, draft::eagle(*drafters.eagle, limits));
    return run_scheme(speculate(hybrid, target, as_measured, criterion), request);
}

}  // namespace

run_result run_trees(const scheme_options& resolved, const engine& target, const draft_checkpoints& drafters,
                     const run_request& request) {
    if (resolved.scheme == "merged") return run_merged(resolved, target, drafters, request);
    const auto compose = [&]<class Criterion>(const Criterion& criterion) -> run_result {
        const tree_runs<engine, Criterion> trees(resolved, target, request, criterion);
        if constexpr (!judges_draws<Criterion>) {
            const auto scheduled = [&](auto&& drafter) {
                if (resolved.scheme != "entmtp") return trees.planned(drafter);
                return run_by_bank(resolved, target, drafter, criterion, request);
            };
            if (resolved.scheme == "lookup") return trees.lookup();
            if (resolved.scheme == "suffix") return trees.by_suffixes();
            if (resolved.scheme == "hybrid") return run_hybrid(resolved, target, drafters, criterion, request);
            if (drafters.heads) return scheduled(draft::heads(*drafters.heads, draft::argmax{}));
            if (drafters.eagle) {
                const bool is_suggested = resolved.dynamic.has_value() || weighs_nodes(resolved);
                if (!is_suggested) return scheduled(draft::eagle(*drafters.eagle, draft::argmax{}));
                return trees.suggested(draft::eagle(*drafters.eagle, suggested_tree::limits_of(resolved, request)));
            }
            if (resolved.scheme == "entmtp") return scheduled(draft::draft_model(*drafters.draft));
        }
        if (drafters.draft) return trees.of_model(*drafters.draft);
        detail::fail("--accept multipath_block was not expected with ", resolved.scheme);
    };
    return std::visit(compose, tree_criterion_of(resolved));
}

}  // namespace augur::program
