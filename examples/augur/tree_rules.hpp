#pragma once
// For the sources that compose schemes of trees: what judges them, and what plans them by measured cost.

#include <algorithm>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/multipath_block.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/accept/traversal.hpp>
#include <augur/accept/typical.hpp>
#include <augur/draft/grow_tree.hpp>
#include <augur/policy/cost_aware.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/policy/tree_feature.hpp>
#include <augur/policy/tree_static.hpp>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "planned.hpp"
#include "scheme.hpp"

namespace augur::program {

using any_tree_criterion = std::variant<accept::exact, accept::rejection_sampling, accept::coupled, accept::traversal,
                                        accept::multipath_block, accept::typical>;

/// What `--accept` names, with its settings. Throws where the name is unknown.
any_tree_criterion tree_criterion_of(const scheme_options& chosen);

template <class Criterion>
inline constexpr bool judges_draws = std::is_same_v<std::remove_cvref_t<Criterion>, accept::multipath_block>;

/// Trees that pay, of no more nodes than passes were timed for.
template <draft_shape Shape>
policy::cost_aware_options<Shape> measured_trees(const std::vector<double>& verify_seconds) {
    policy::cost_aware_options<Shape> chosen{.verify_seconds = verify_seconds};
    chosen.max_nodes = std::clamp<std::size_t>(verify_seconds.size(), 2, chosen.max_nodes + 1) - 1;
    return chosen;
}

/// The tree that pays, or the one that was named.
class planned_tree : public planned<policy::tree_static, policy::cost_aware<draft_shape::tree>> {
 public:
    static constexpr draft_shape plans = draft_shape::tree;

    explicit planned_tree(policy::tree_static chosen) : planned(std::move(chosen)) {}
    planned_tree(const scheme_options& resolved, const run_request& request)
        : planned(resolved.tree ? planned(policy::tree_static(*resolved.tree))
                                : planned(policy::cost_aware<plans>(measured_trees<plans>(request.verify_seconds),
                                                                    request.known))) {}

    draft_plan plan(const observation& seen) const {
        return std::visit([&](const auto& policy) { return policy.plan(seen); }, chosen());
    }
    void watch(const auto& view) {
        if (auto* const learns = paying()) learns->watch(view);
    }
};

/// Of trees that the draft's rows suggest: as much as pays, or the whole tree within its limits.
class suggested_tree : public planned<policy::fixed_length, policy::cost_aware<draft_shape::grown_tree>> {
 public:
    static constexpr draft_shape plans = draft_shape::grown_tree;

    /// Of a tree that pays, which has no more nodes than passes were timed for.
    static draft::dynamic_tree limits_of(const scheme_options& resolved, const run_request& request) {
        if (resolved.dynamic) return *resolved.dynamic;
        const auto pays = measured_trees<plans>(request.verify_seconds);
        return {.depth = pays.max_depth, .top_k = 4, .nodes = pays.max_nodes};
    }

    suggested_tree(const scheme_options& resolved, const run_request& request)
        : planned(resolved.dynamic ? planned(policy::fixed_length{resolved.dynamic->depth})
                                   : planned(policy::cost_aware<plans>(measured_trees<plans>(request.verify_seconds),
                                                                       request.known))) {}

    draft_plan plan(const observation& seen) const {
        return std::visit([&](const auto& policy) { return policy::answer(policy, seen); }, chosen());
    }
    void watch(const auto& view) {
        if (auto* const learns = paying()) learns->watch(view);
    }
};

const policy::tree_feature_traits& feature_of(const scheme_options& chosen);
bool by_ladder(const scheme_options& chosen);
/// Whether a loaded bank has nothing to switch between, or says that no threshold is faster than its fastest tree.
bool one_tree_is_best(const scheme_options& chosen);

}  // namespace augur::program
