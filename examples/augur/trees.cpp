#include "trees.hpp"

#include <algorithm>
#include <array>
#include <augur/draft/eagle_tree.hpp>
#include <augur/draft/fallback.hpp>
#include <augur/draft/head_tree.hpp>
#include <augur/draft/lookup_tree.hpp>
#include <augur/draft/model_tree.hpp>
#include <augur/io/quote.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/policy/hybrid_cost_aware.hpp>
#include <augur/policy/tree_feature.hpp>
#include <augur/policy/tree_hysteresis.hpp>
#include <augur/policy/tree_ladder.hpp>
#include <augur/policy/tree_static.hpp>
#include <string_view>

#include "run_scheme.hpp"
#include "tree_choice.hpp"
#include "tree_rules.hpp"

namespace augur::program {
namespace {

/// epsilon and delta, from 0 to 1; only one rule has them.
accept::typical_options typical_of(const scheme_options& chosen) {
    accept::typical_options made;
    const auto take = [&](const char* name, const std::optional<double>& given, double& into) {
        if (!given) return;
        if (chosen.accept != "typical") {
            detail::fail(name, " is ", *given, ", but only --accept typical has one, and --accept is ",
                         chosen.accept.empty() ? "not given" : io::quote(chosen.accept));
        }
        if (!(*given >= 0 && *given <= 1)) detail::fail(name, " is ", *given, "; it must be from 0 to 1");
        into = *given;
    };
    take("--epsilon", chosen.epsilon, made.epsilon);
    take("--delta", chosen.delta, made.delta);
    return made;
}

const policy::tree_feature_traits& feature_of(const scheme_options& chosen) {
    if (chosen.tree_feature.empty()) return policy::traits_of(policy::tree_feature::path_value);
    std::string valid;
    for (const auto& each : policy::all_tree_features) {
        if (each.name == chosen.tree_feature) return each;
        valid += (valid.empty() ? "" : ", ") + std::string(each.name);
    }
    detail::fail("--tree-feature ", io::quote(chosen.tree_feature), " is unknown; valid are ", valid);
}

bool by_ladder(const scheme_options& chosen) {
    return chosen.tree_policy == "ladder";
}

/// What switches the trees of a bank, and at which values.
void check_scheduler(const scheme_options& chosen) {
    if (!chosen.tree_policy.empty() && !by_ladder(chosen) && chosen.tree_policy != "hysteresis") {
        detail::fail("--tree-policy ", io::quote(chosen.tree_policy), " is unknown; valid are hysteresis, ladder");
    }
    const auto& feature = feature_of(chosen);
    if (chosen.scheme != "entmtp") {
        const bool policy = !chosen.tree_policy.empty();
        if (!policy && chosen.tree_feature.empty()) return;
        detail::fail(policy ? "--tree-policy " : "--tree-feature ", policy ? chosen.tree_policy : chosen.tree_feature,
                     " is for entmtp, but the scheme is ", io::quote(chosen.scheme));
    }
    const std::size_t thresholds = chosen.thresholds.size();
    if (by_ladder(chosen) && thresholds == 0) {
        detail::fail("--tree-policy ladder needs --thresholds, one less than the bank has trees");
    }
    if (thresholds == 0 && feature.feature != policy::tree_feature::path_value) {
        detail::fail("--tree-feature ", feature.name, " needs --thresholds: the bank's is of path_value");
    }
    if (!by_ladder(chosen) && thresholds > 2) {
        detail::fail("scheme 'entmtp' takes one threshold or two, on and off, but --thresholds has ", thresholds);
    }
}

void check_bank_options(const scheme_options& chosen) {
    const bool by_bank = chosen.scheme == "entmtp";
    constexpr std::array<std::string_view, 4> with_one = {"hydra", "medusa", "eagle", "sd"};
    const bool has_one = std::find(with_one.begin(), with_one.end(), chosen.scheme) != with_one.end();
    check_scheduler(chosen);
    if (by_bank && chosen.bank_path.empty()) detail::fail("scheme 'entmtp' needs a bank of trees: give --bank");
    if (!by_bank && !chosen.bank_path.empty() && !(chosen.automatic_tree && has_one)) {
        detail::fail("--bank ", chosen.bank_path,
                     " is for entmtp, and for hydra, medusa, eagle and sd with --tree auto, but the scheme is ",
                     io::quote(chosen.scheme), chosen.automatic_tree ? "" : " without --tree auto");
    }
    if (chosen.automatic_tree && by_bank) {
        detail::fail("--tree auto is one tree of a bank, or what pays; --scheme entmtp switches between a bank's");
    }
    if (chosen.bank_path.empty()) return;
    if (chosen.length) detail::fail("--length is ", *chosen.length, ", but --bank says what is drafted");
    if (chosen.accept == "block") detail::fail("--accept block judges chains, but --bank has trees");
}

/// A scheduler whose kind and feature are known at run time only. Has the signals of all features computed.
class any_scheduler {
 public:
    static constexpr signals needs = signals::target_confidence | signals::target_entropy;
    static constexpr signals uses = signals::draft_confidence;

    template <class Policy>
    explicit any_scheduler(Policy chosen) : chosen_(std::move(chosen)) {}

    const augur::topology& topology(const observation& seen) const {
        const auto shape = [&](const auto& policy) { return &policy.topology(seen); };
        return *std::visit(shape, chosen_);
    }
    std::size_t looks_ahead() const {
        return std::visit([](const auto& policy) { return policy.looks_ahead(); }, chosen_);
    }
    void learn(const outcome& happened) {
        std::visit([&](auto& policy) { policy.learn(happened); }, chosen_);
    }
    std::size_t tree() const {
        return std::visit([](const auto& policy) { return policy.tree(); }, chosen_);
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

template <policy::tree_feature By = policy::tree_feature::path_value>
policy::tree_hysteresis<By> hysteresis_of(const scheme_options& resolved) {
    const io::bank_file& bank = resolved.bank.value();
    const std::vector<double>& at = resolved.thresholds;
    return {bank.trees,
            {.on = at.empty() ? bank.threshold : at.front(), .off = at.empty() ? bank.threshold : at.back()},
            {.conservative = bank.conservative, .aggressive = bank.aggressive, .feature = {.depth = bank.depth}}};
}

template <policy::tree_feature By>
any_scheduler scheduler_by(const scheme_options& resolved) {
    if (!by_ladder(resolved)) return any_scheduler(hysteresis_of<By>(resolved));
    const io::bank_file& bank = resolved.bank.value();
    return any_scheduler(policy::tree_ladder<By>(bank.trees, resolved.thresholds, {.feature = {.depth = bank.depth}}));
}

any_scheduler scheduler_of(const scheme_options& resolved) {
    using enum policy::tree_feature;
    const policy::tree_feature by = feature_of(resolved).feature;
    if (by == path_value_sum) return scheduler_by<path_value_sum>(resolved);
    if (by == target_confidence) return scheduler_by<target_confidence>(resolved);
    if (by == entropy) return scheduler_by<entropy>(resolved);
    if (by == accepted_length) return scheduler_by<accepted_length>(resolved);
    return scheduler_by<path_value>(resolved);
}

run_result run_by_bank(const scheme_options& resolved, const engine& target, const auto& drafter, const auto& criterion,
                       const run_request& request) {
    const io::bank_file& bank = resolved.bank.value();
    if (bank.conservative == bank.aggressive && !by_ladder(resolved)) {
        const policy::tree_static only(bank.trees.shape(bank.aggressive));
        return run_scheme(speculate(drafter, target, only, criterion), request);
    }
    // The usual case has a type of its own, which is asked for fewer signals; others are not worth compiling.
    if constexpr (std::is_same_v<decltype(drafter), const draft::head_tree<const llama::draft_heads&>&>) {
        if (!by_ladder(resolved) && feature_of(resolved).feature == policy::tree_feature::path_value) {
            return run_scheme(speculate(drafter, target, hysteresis_of<>(resolved), criterion), request);
        }
    }
    return run_scheme(speculate(drafter, target, scheduler_of(resolved), criterion), request);
}

/// What is looked up is drafted as a chain; where nothing is, the layer drafts a tree.
run_result run_hybrid(const scheme_options& resolved, const engine& target, const members& drafters,
                      const auto& criterion, const run_request& request) {
    const std::size_t nodes = measured_trees(request.verify_seconds).max_nodes;
    const policy::hybrid_cost_aware as_measured(
        {.chains = 2, .max_nodes = nodes, .verify_seconds = request.verify_seconds}, request.known);
    const auto [lookup, store] = lookups_of(resolved, drafters);
    const draft::fallback hybrid(lookup, store, draft::eagle_tree(*drafters.eagle));
    return run_scheme(speculate(hybrid, target, as_measured, criterion), request);
}

/// Whose trees --tree can be, and that nothing else says how they are.
void check_tree_options(const scheme_options& chosen) {
    constexpr std::array<std::string_view, 6> with_trees = {"lookup", "sd", "medusa", "hydra", "eagle", "merged"};
    const bool is_hybrid = chosen.scheme == "hybrid" && chosen.automatic_tree;
    if (!is_hybrid && std::find(with_trees.begin(), with_trees.end(), chosen.scheme) == with_trees.end()) {
        detail::fail(
            "--tree is for lookup, sd, medusa, hydra, eagle and merged, and with auto for hybrid, but the "
            "scheme is ",
            io::quote(chosen.scheme));
    }
    if (chosen.dynamic && chosen.scheme != "sd" && chosen.scheme != "eagle" && chosen.scheme != "merged") {
        detail::fail("--tree ", shown(*chosen.dynamic), " is for sd, eagle and merged, but the scheme is ",
                     io::quote(chosen.scheme));
    }
    if (chosen.dynamic && chosen.accept == "multipath_block") {
        detail::fail("--accept multipath_block judges trees that were drawn, but of --tree ", shown(*chosen.dynamic),
                     " every node is the likeliest token, and none is drawn");
    }
    if (chosen.length) {
        detail::fail("--length is ", *chosen.length, ", but --tree says ", trees_of(chosen), "; give one of them");
    }
    if (chosen.accept == "block") detail::fail("--accept block judges chains, but --tree says ", trees_of(chosen));
}

}  // namespace

any_tree_criterion tree_criterion_of(const scheme_options& chosen) {
    const std::string& name = chosen.accept;
    if (name == "exact") return accept::exact{};
    if (name == "rejection_sampling") return accept::rejection_sampling{};
    if (name == "coupled") return accept::coupled{};
    if (name == "traversal") return accept::traversal{};
    if (name == "multipath_block") return accept::multipath_block{};
    if (name == "typical") return accept::typical(typical_of(chosen));
    detail::fail("--accept ", io::quote(name),
                 " is unknown for trees; valid are exact, rejection_sampling, coupled, traversal, multipath_block, "
                 "typical");
}

bool auto_drafts_trees(const scheme_options& resolved, const transform::settings& sampling,
                       const std::vector<double>& verify_seconds) {
    constexpr std::size_t rows = 8;
    constexpr double most = 1.5;
    const bool by_layer = resolved.scheme == "eagle" || resolved.scheme == "hybrid";
    // A tree's nodes are point masses, of which this rule accepts less than of a chain's drawn tokens.
    const bool is_drawn = resolved.accept == "rejection_sampling" && sampling.temperature.value > 0;
    return by_layer && resolved.accept != "block" && !is_drawn && verify_seconds.size() >= rows &&
           verify_seconds[rows - 1] < most * verify_seconds.front();
}

bool judges_trees_only(const std::string& accept) {
    return accept == "traversal" || accept == "multipath_block" || accept == "typical";
}

void check_trees(const scheme_options& chosen) {
    static_cast<void>(typical_of(chosen));
    check_bank_options(chosen);
    if (judges_trees_only(chosen.accept) && !drafts_trees(chosen)) {
        detail::fail("--accept ", chosen.accept, " judges trees: it needs --tree or --bank");
    }
    if (chosen.accept == "multipath_block" && chosen.scheme != "sd") {
        detail::fail(
            "--accept multipath_block judges trees that were drawn from a draft model's rows, so it needs "
            "--scheme sd, but the scheme is ",
            io::quote(chosen.scheme));
    }
    if (chosen.tree || chosen.dynamic || chosen.automatic_tree) check_tree_options(chosen);
}

void check_tree_criterion(const scheme_options& chosen, const transform::settings& sampling) {
    std::visit([&](const auto& criterion) { accept::check(criterion, sampling); }, tree_criterion_of(chosen));
}

run_result run_trees(const scheme_options& resolved, const engine& target, const members& drafters,
                     const run_request& request) {
    if (resolved.scheme == "merged") return run_merged(resolved, target, drafters, request);
    const auto compose = [&](const auto& criterion) -> run_result {
        const auto planned = [&](auto&& drafter) {
            if (drafts_trees_that_pay(resolved)) {
                const policy::tree_cost_aware as_measured(measured_trees(request.verify_seconds), request.known);
                return run_scheme(speculate(drafter, target, as_measured, criterion), request);
            }
            return run_scheme(speculate(drafter, target, policy::tree_static(resolved.tree.value()), criterion),
                              request);
        };
        const auto scheduled = [&](auto&& drafter) {
            if (resolved.scheme != "entmtp") return planned(drafter);
            return run_by_bank(resolved, target, drafter, criterion, request);
        };
        const auto suggested = [&](auto&& drafter) {
            return run_scheme(speculate(drafter, target, policy::fixed_length{resolved.dynamic->depth}, criterion),
                              request);
        };
        if constexpr (judges_draws<decltype(criterion)>) {
            if (drafters.draft) return planned(draft::model_tree(*drafters.draft));
        } else {
            if (resolved.scheme == "lookup") {
                const draft::lookup_tree lookup(resolved.lookup_min, resolved.lookup_max);
                return planned(lookup);
            }
            if (resolved.scheme == "hybrid") return run_hybrid(resolved, target, drafters, criterion, request);
            if (drafters.heads) return scheduled(draft::head_tree(*drafters.heads));
            if (drafters.eagle) {
                if (resolved.dynamic) return suggested(draft::eagle_tree(*drafters.eagle, *resolved.dynamic));
                return scheduled(draft::eagle_tree(*drafters.eagle));
            }
            if (resolved.dynamic) return suggested(draft::model_tree(*drafters.draft, *resolved.dynamic));
            return scheduled(draft::model_tree(*drafters.draft));
        }
        detail::fail("--accept multipath_block was not expected with ", resolved.scheme);
    };
    return std::visit(compose, tree_criterion_of(resolved));
}

}  // namespace augur::program
