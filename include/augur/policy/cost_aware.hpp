#pragma once
// Drafts what gains most over plain decoding, by measured cost and acceptance: chains, trees, or either by source.

#include <algorithm>
#include <array>
#include <cstddef>
#include <ostream>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/policy/chain_planner.hpp"
#include "augur/policy/concept.hpp"
#include "augur/policy/cost_aware_options.hpp"
#include "augur/policy/growth_planner.hpp"
#include "augur/policy/learned_state.hpp"
#include "augur/policy/tree_planner.hpp"
#include "augur/types/observation.hpp"
#include "augur/types/plan.hpp"
#include "augur/types/topology.hpp"

namespace augur::policy {

/// What plans drafts of a shape, with an account of its own (time_account).
template <draft_shape Shape>
using planner_of = std::conditional_t<Shape == draft_shape::chain, chain_planner<>,
                                      std::conditional_t<Shape == draft_shape::tree, tree_planner<>, growth_planner>>;

/// Drafts of one shape, as its planner says: cost_aware{} chains, cost_aware<draft_shape::tree>{} trees for drafters
/// whose shape is planned, cost_aware<draft_shape::grown_tree>{} trees that the draft's own rows suggest. The time that
/// they lose against plain decoding is bounded, whatever the text does: by the credit, a share of the time, and what
/// two drafts cost more than was estimated. Effect on the distribution: none. Drafts depend on the clock, so the rounds
/// of two runs may differ; under exact and coupled the text does not. No randomness.
template <draft_shape Shape = draft_shape::chain, draft_shape... Later>
class cost_aware : public planner_of<Shape> {
    static_assert(sizeof...(Later) == 0,
                  "augur: cost_aware drafts one shape, or chains and then trees: cost_aware<draft_shape::chain, "
                  "draft_shape::tree> or cost_aware<draft_shape::chain, draft_shape::grown_tree>");

 public:
    /// `before`: what one with the same limits learned in earlier texts; its passes go before verify_seconds. Throws
    /// where an option or a figure is out of its range.
    explicit cost_aware(cost_aware_options<Shape> options = {}, const learned_state& before = {})
        : planner_of<Shape>(std::move(options), before) {}

    friend std::ostream& operator<<(std::ostream& out, const cost_aware& p) {
        constexpr std::array names = {"", "<tree>", "<grown_tree>"};
        return out << "cost_aware" << names[static_cast<std::size_t>(Shape)] << p.options();
    }
};

/// For a fallback (draft/fallback.hpp): its first `chains` drafters, which match n-grams, draft chains, those after
/// them trees, each as cost_aware of that shape alone. Both learn what passes cost from every round; acceptance, each
/// from its own. A round that measures plain decoding is plain for both. Each spends its own savings, so that in sum
/// they lose five passes and a hundredth of the time. Effect on the distribution: none. Cost: both parts'.
template <draft_shape Trees>
requires(Trees != draft_shape::chain) class cost_aware<draft_shape::chain, Trees> {
 public:
    static constexpr signals_read reads{.available = signals::match_length};
    static constexpr draft_shape plans = Trees;

    /// `before`: what one of the same sizes learned in earlier texts.
    explicit cost_aware(const cost_aware_options<draft_shape::chain, Trees>& options = {},
                        const learned_state& before = {})
        : chains_(options.chains),
          chain_(options.of_chains(), of_chains(before)),
          tree_(options.of_trees(), of_trees(before)) {
        for (std::size_t length = 0; Trees == draft_shape::tree && length <= options.max_length; ++length) {
            chains_by_length_.push_back(augur::topology::chain(length));
        }
    }

    /// What the next text's policy can begin with: of the chains, then of the trees.
    learned_state learned() const {
        learned_state all = chain_.learned();
        const learned_state trees = tree_.learned();
        all.passes = trees.passes.size() > all.passes.size() ? trees.passes : all.passes;
        all.drafting.insert(all.drafting.end(), trees.drafting.begin(), trees.drafting.end());
        all.accepted.insert(all.accepted.end(), trees.accepted.begin(), trees.accepted.end());
        return all;
    }

    draft_plan plan(const observation& asked) const {
        observation seen = asked;  // whose rows are not among the signals that it reads
        seen.first_draft_entropy_nats = observation::unknown;
        if constexpr (Trees == draft_shape::tree) {
            if (chain_.measures_plain()) return {.tree = &chains_by_length_.front()};
            if (!drafts_chains(seen)) return tree_.plan(seen);
            return {.tree = &chains_by_length_[chain_.length_on(seen)]};
        } else {
            if (chain_.measures_plain() || tree_.measures_plain()) return {};
            return drafts_chains(seen) ? chain_.plan(seen) : tree_.plan(seen);
        }
    }

    void watch(const auto& view) {
        const outcome happened = view.result();
        if (drafts_chains(happened.decided_on)) {
            chain_.learn(happened);
            tree_.learn_pass(happened);
        } else {
            chain_.learn_pass(happened);
            tree_.watch(view);
        }
    }

    const cost_aware<draft_shape::chain>& chain_part() const { return chain_; }
    const cost_aware<Trees>& tree_part() const { return tree_; }

    friend std::ostream& operator<<(std::ostream& out, const cost_aware& p) {
        return out << "cost_aware<chain, " << (Trees == draft_shape::tree ? "tree" : "grown_tree")
                   << ">{.chains=" << p.chains_ << ", .chain=" << p.chain_ << ", .tree=" << p.tree_ << '}';
    }

 private:
    static constexpr std::size_t of_drafting = planner_of<Trees>::drafting_figures;

    bool drafts_chains(const observation& seen) const { return seen.source < chains_; }

    /// Chains alone have groups of rows: as many as they have groups of drafts, which come first. What drafting trees
    /// takes is last.
    static learned_state of_chains(learned_state before) {
        before.accepted.resize(std::min(before.accepted.size(), before.looks.size()));
        before.drafting.resize(before.drafting.size() - std::min(before.drafting.size(), of_drafting));
        return before;
    }
    static learned_state of_trees(learned_state before) {
        const std::size_t chains = std::min(before.accepted.size(), before.looks.size());
        before.accepted.erase(before.accepted.begin(), before.accepted.begin() + static_cast<std::ptrdiff_t>(chains));
        const std::size_t kept = std::min(before.drafting.size(), of_drafting);
        before.drafting.erase(before.drafting.begin(), before.drafting.end() - static_cast<std::ptrdiff_t>(kept));
        before.looks.clear();
        return before;
    }

    std::size_t chains_;
    cost_aware<draft_shape::chain> chain_;
    cost_aware<Trees> tree_;
    std::vector<augur::topology> chains_by_length_;  ///< where all plans are trees
};

}  // namespace augur::policy
