#pragma once
// Storage of one drafter's trees: their nodes, values and rows while they grow.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "augur/detail/largest.hpp"
#include "augur/measure/entropy.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"
#include "augur/types/topology.hpp"

namespace augur::draft {

/// None of a tree, nor the prefix before it.
inline constexpr std::int32_t no_node = after_prefix - 1;

/// Those nodes of a tree whose rows a model was asked for, numbered by themselves.
struct inner_nodes {
    std::vector<token> tokens{};
    std::vector<std::int32_t> parents{};  ///< among these; after_prefix
    std::vector<std::int32_t> nodes{};    ///< of each, its number in the tree

    std::size_t size() const { return nodes.size(); }
    void clear() { keep(0); }
    /// The first of them, which are of another tree.
    void keep(std::size_t count) {
        count = std::min(count, size());
        tokens.resize(count);
        parents.resize(count);
        nodes.assign(count, no_node);
    }
    /// Its parent is one of these, or after_prefix.
    void add(const auto& tree, std::int32_t node) {
        const auto number = static_cast<std::size_t>(node);
        const auto parent = std::find(nodes.begin(), nodes.end(), tree.parent(number));
        parents.push_back(parent == nodes.end() ? after_prefix : static_cast<std::int32_t>(parent - nodes.begin()));
        tokens.push_back(tree.tokens()[number]);
        nodes.push_back(node);
    }
};

/// Of a node of a plan; an empty plan is a chain without an end.
inline std::size_t planned_children(std::span<const std::int32_t> plan, std::int32_t parent) {
    return plan.empty() ? 1 : static_cast<std::size_t>(std::count(plan.begin(), plan.end(), parent));
}

/// Storage of one drafter.
struct tree_work {
    std::vector<std::int32_t> level{};    ///< nodes whose rows are wanted next, of one depth
    std::vector<std::int32_t> planned{};  ///< of each node of the proposal, which of the plan it is
    std::vector<token> ranked{};
    std::vector<float> edited{};
    proposal<point_mass> grown{};  ///< all nodes of a dynamic tree, by depth
    std::vector<float> values{};   ///< theirs
    std::vector<float> shown{};    ///< of those that a policy is asked about
    std::vector<std::int32_t> best{}, numbers{};
    proposal<point_mass> chain{};  ///< the greedy one, as far as the policy looks ahead
    std::vector<kept_row> rows{};  ///< after the prefix and after each token of the chain
    std::size_t known = 0;         ///< of these rows, in this round
    inner_nodes inner{};           ///< whose rows were asked for in this round, where a drafter keeps them

    /// For a new tree.
    void begin() {
        planned.clear();
        chain.clear();
        inner.clear();
        known = 0;
    }

    /// Keeps the row after the chain.
    void keep(logit_row row) {
        if (rows.size() == known) rows.emplace_back();
        rows[known++].assign(row);
    }

    /// The token of the r-th largest logit of a row, r = `sibling`, of so many that are wanted: of rows one after the
    /// other, each from sibling 0 on. no_token where there are no more.
    token ranked_child(logit_row row, auto& context, std::size_t sibling, std::size_t count) {
        if (sibling == 0) context.transform().rank(row, context.prefix(), count, ranked, edited);
        return sibling < ranked.size() ? ranked[sibling] : no_token;
    }

    /// To a dynamic tree: the best `count` tokens after a node, where the prefix is.
    void add_children(std::size_t count, std::int32_t node, logit_row row, auto& context) {
        const logit_row weighed = context.transform().rank(row, context.prefix(), count, ranked, edited);
        const measure::softmax_moments seen = measure::moments(weighed);
        const double value = node == after_prefix ? 1 : double{values[static_cast<std::size_t>(node)]};
        for (const token t : ranked) {
            const double below = double{weighed[static_cast<std::size_t>(t)]} - double{seen.maximum};
            const auto probability = static_cast<float>(std::exp(below) / seen.sum);
            grown.push(t, node);
            grown.add_confidence(probability);
            values.push_back(static_cast<float>(value * double{context.worth(probability)}));
        }
    }

    /// Once a tree is planned: forgets the rows of the chain that are not the tree's, and their nodes. Where children
    /// are not drafted `best_first` only the first is known to be: no one can say whether the chain will be drawn.
    void keep_those_of(std::span<const std::int32_t> plan, bool best_first) {
        std::size_t kept = std::min<std::size_t>(known, 1);
        std::int32_t node = after_prefix;
        for (; best_first && kept < known; ++kept) {
            const std::size_t child = parents::next_child(plan, plan.size(), node, 0);
            if (child == plan.size()) break;
            node = static_cast<std::int32_t>(child);
            if (planned_children(plan, node) == 0) break;
        }
        known = kept;
        inner.keep(kept == 0 ? 0 : kept - 1);
    }

    /// The values of these nodes, of which the first has the number `first`.
    std::span<const float> values_of(std::span<const std::int32_t> nodes, std::size_t first) {
        shown.clear();
        for (const std::int32_t node : nodes) shown.push_back(values[first + static_cast<std::size_t>(node)]);
        return shown;
    }

    /// The best of a dynamic tree of this depth: as many as are wanted, `count` at most. A node is worth no more than
    /// its parent, which comes before it: that is chosen, too.
    void choose_best(std::size_t count, std::size_t depth, auto& context, proposal<point_mass>& proposed) {
        augur::detail::largest_of(values, count, best);
        best.resize(std::min(best.size(), context.wants_of(depth, values_of(best, 0))));
        std::sort(best.begin(), best.end());
        numbers.assign(grown.size(), after_prefix);
        for (const std::int32_t each : best) {
            const auto node = static_cast<std::size_t>(each);
            const std::int32_t parent = grown.parent(node);
            numbers[node] = static_cast<std::int32_t>(proposed.size());
            proposed.push(grown.tokens()[node],
                          parent == after_prefix ? parent : numbers[static_cast<std::size_t>(parent)]);
            proposed.add_confidence(grown.confidences()[node]);
        }
    }
};

/// The child of `parent` that is this token; where there is none it is added, and no_node where there are `most` nodes
/// already.
inline std::int32_t trie_node(proposal<point_mass>& proposed, std::int32_t parent, token t, std::size_t most) {
    for (std::size_t node = 0; node < proposed.size(); ++node) {
        if (proposed.parent(node) == parent && proposed.tokens()[node] == t) return static_cast<std::int32_t>(node);
    }
    if (proposed.size() >= most) return no_node;
    proposed.push(t, parent);
    return static_cast<std::int32_t>(proposed.size()) - 1;
}

}  // namespace augur::draft
