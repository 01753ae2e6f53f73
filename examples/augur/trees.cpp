#include "trees.hpp"

#include <algorithm>
#include <array>
#include <augur/io/files/quote.hpp>
#include <string_view>

#include "options.hpp"
#include "tree_choice.hpp"
#include "tree_rules.hpp"

namespace augur::program {
namespace {

/// epsilon and delta, from 0 to 1; only one rule has them.
accept::typical_options typical_of(const scheme_options& chosen) {
    accept::typical_options options;
    const auto take = [&](const char* name, const std::optional<double>& given, double& into) {
        if (!given) return;
        if (chosen.accept != "typical") {
            detail::fail(name, " is ", *given, ", but only --accept typical has one, and --accept is ",
                         chosen.accept.empty() ? "not given" : io::quote(chosen.accept));
        }
        if (!(*given >= 0 && *given <= 1)) detail::fail(name, " is ", *given, "; it must be from 0 to 1");
        into = *given;
    };
    take("--epsilon", chosen.epsilon, options.epsilon);
    take("--delta", chosen.delta, options.delta);
    return options;
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
    const bool is_of_bank =
        feature.feature == policy::tree_feature::path_value_sum || feature.feature == policy::tree_feature::path_value;
    if (thresholds == 0 && !is_of_bank) {
        detail::fail("--tree-feature ", feature.name,
                     " needs --thresholds: a bank's is of path_value_sum or path_value");
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

/// Whose trees --tree can be, and that nothing else says how they are.
void check_tree_options(const scheme_options& chosen) {
    constexpr std::array<std::string_view, 8> with_trees = {"lookup", "suffix", "sd",  "medusa",
                                                            "hydra",  "eagle",  "mtp", "merged"};
    const bool is_hybrid = chosen.scheme == "hybrid" && chosen.automatic_tree;
    if (!is_hybrid && std::find(with_trees.begin(), with_trees.end(), chosen.scheme) == with_trees.end()) {
        detail::fail(
            "--tree is for lookup, suffix, sd, medusa, hydra, eagle, mtp and merged, and with auto for hybrid, but the "
            "scheme is ",
            io::quote(chosen.scheme));
    }
    const bool by_layer = chosen.scheme == "eagle" || chosen.scheme == "mtp";
    if (chosen.dynamic && chosen.scheme != "sd" && !by_layer && chosen.scheme != "merged") {
        detail::fail("--tree ", shown(*chosen.dynamic), " is for sd, eagle, mtp and merged, but the scheme is ",
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

const policy::tree_feature_traits& feature_of(const scheme_options& chosen) {
    const bool says = chosen.tree_feature.empty() && chosen.bank;
    const std::string name = says ? chosen.bank->feature : chosen.tree_feature;
    if (name.empty()) return policy::traits_of(policy::tree_feature::path_value_sum);
    std::string valid;
    for (const auto& each : policy::all_tree_features) {
        if (each.name == name) return each;
        valid += (valid.empty() ? "" : ", ") + std::string(each.name);
    }
    detail::fail("--tree-feature ", io::quote(chosen.tree_feature), " is unknown; valid are ", valid);
}

bool by_ladder(const scheme_options& chosen) {
    return chosen.tree_policy == "ladder";
}

bool one_tree_is_best(const scheme_options& chosen) {
    const io::bank_file& bank = chosen.bank.value();
    const bool never_switches = bank.threshold == 0 && chosen.thresholds.empty();
    return !by_ladder(chosen) && (bank.conservative == bank.aggressive || never_switches);
}

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
    constexpr double most = 2;
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
    const auto check = [&](const auto& criterion) { accept::check(criterion, sampling); };
    of_option("--accept " + chosen.accept, [&] { std::visit(check, tree_criterion_of(chosen)); });
}

}  // namespace augur::program
