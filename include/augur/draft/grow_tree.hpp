#pragma once
// Grows draft trees depth by depth from rows: a tree that the policy plans, or one that the rows suggest.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <span>
#include <utility>

#include "augur/detail/largest.hpp"
#include "augur/draft/context.hpp"
#include "augur/draft/draw_next.hpp"
#include "augur/draft/tree_work.hpp"
#include "augur/flow/task.hpp"
#include "augur/types/error.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"
#include "augur/types/token_selector.hpp"
#include "augur/types/topology.hpp"

namespace augur::draft {

/// How far a tree grows that rows decide (EAGLE-2). Of each depth the `top_k` nodes of the largest value get `top_k`
/// children each; the value of a node is the product of the probabilities that the drafter gives the tokens on its
/// path. Of all nodes made so, the `nodes` with the largest values are drafted; of equals the shallower, then the
/// earlier. A plan with a growth_budget has these as limits, and probabilities that it believes.
/// As the token selector of a drafter: argmax, and where no plan names a tree one that grows, also under a length.
struct dynamic_tree {
    using draft_distribution_type = point_mass;

    std::size_t depth = 5;
    std::size_t top_k = 4;
    std::size_t nodes = 12;

    void check() const {
        if (depth > 0 && top_k > 0 && nodes > 0) return;
        augur::detail::fail("dynamic_tree: depth is ", depth, ", top_k ", top_k, ", nodes ", nodes,
                            "; each has to be at least 1");
    }

    token pick(const auto& row, auto& draws) const { return argmax{}.pick(row, draws); }

    friend bool operator==(const dynamic_tree&, const dynamic_tree&) = default;
    friend std::ostream& operator<<(std::ostream& out, const dynamic_tree& t) {
        return out << "dynamic_tree{.depth=" << t.depth << ", .top_k=" << t.top_k << ", .nodes=" << t.nodes << '}';
    }
};

/// Token selectors of drafters that can grow trees: nodes are the largest logits.
template <class TokenSelector>
inline constexpr bool grows_always = std::same_as<TokenSelector, dynamic_tree>;
template <class TokenSelector>
inline constexpr bool picks_largest = grows_always<TokenSelector> || std::same_as<TokenSelector, argmax>;

/// The limits of such a tree: the token selector's own, or the usual ones.
template <class TokenSelector>
dynamic_tree limits_of(const TokenSelector& token_selector) {
    if constexpr (grows_always<TokenSelector>) {
        return token_selector;
    } else {
        return {};
    }
}

/// Shows the policy the rows of the greedy chain that it looks at before it plans, and keeps them: as many as `source`
/// has, as in fill_plan.
template <class Source, class State>
flow::task look_ahead(const Source& source, State& state, auto& context, tree_work& work) {
    bool wanted = context.rows_ahead() > 0;
    const auto see = [&](std::int32_t node, logit_row row) {
        work.keep(row);
        if (!context.wants_more(work.known - 1, row) || work.known >= context.rows_ahead()) return;
        const token best = work.ranked_child(row, context, 0, 1);
        wanted = best != no_token;
        if (wanted) work.chain.push(best, node);
    };
    while (std::exchange(wanted, false)) {
        work.level.assign(1, static_cast<std::int32_t>(work.chain.size()) - 1);
        co_await source.rows_after(state, context, std::as_const(work.chain), work.level, see);
    }
}

/// Fills the tree that the policy plans, or a chain where it decides a length, one depth after the other; nodes get
/// their numbers in this order. `co_await source.rows_after(state, context, tree, nodes, see)` calls see(node, row) for
/// the nodes, which are of one depth (at first after_prefix), wherever the prefix of the context is the path to the
/// node; and leaves out those for which its context is too short. `draw(row, node, sibling, count)` adds child number
/// `sibling`, of `count` that are wanted, or says false. What cannot be drawn is left out with what is beneath it. A
/// token that repeats its sibling has its own beneath it: a criterion may need a shape that no draw changes.
/// A policy that looks ahead is shown rows of the greedy chain first. Where children are `ranked`, the best first, the
/// chain's nodes are the tree's, as far as it has them, and `source` is not asked again: work.inner, where it uses
/// that, then begins with them. Where its context ends the chain comes first.
template <class Source, class State, class DraftDistribution, class Draw>
flow::task fill_plan(const Source& source, State& state, auto& context, proposal<DraftDistribution>& proposed,
                     tree_work& work, const Draw& draw, bool ranked) {
    std::span<const std::int32_t> plan;
    std::size_t depth = 0;
    bool wanted = true;
    const auto place_of = [&](std::int32_t node) {
        return node == after_prefix ? node : work.planned[static_cast<std::size_t>(node)];
    };
    const auto see = [&](std::int32_t node, logit_row row) {
        const bool shown = node == after_prefix || (plan.empty() && node == work.level.front());  // a plan stays
        if (shown && work.known == 0) wanted = context.wants_more(depth, row);
        if (wanted && node == after_prefix) {
            plan = context.plan();  // which may ask the policy
            wanted = context.wants_more(depth);
            work.keep_those_of(plan, ranked);
        }
        if (!wanted) return;
        const std::int32_t place = place_of(node);
        const std::size_t count = planned_children(plan, place);
        std::size_t child = 0;
        for (std::size_t sibling = 0; sibling < count && draw(row, node, sibling, count); ++sibling, ++child) {
            child = parents::next_child(plan, plan.size(), place, child);
            work.planned.push_back(static_cast<std::int32_t>(child));
        }
    };
    work.begin();
    if (plans_trees<decltype(context)> && context.rows_ahead() > 0) co_await look_ahead(source, state, context, work);
    work.level.assign(1, after_prefix);
    while (wanted && !work.level.empty()) {
        const std::size_t first = proposed.size();
        std::span<const std::int32_t> asked = work.level;
        if (depth < work.known) {
            const at_node path(context, proposed, asked.front());
            if (depth > 0 && depth <= work.inner.size()) work.inner.nodes[depth - 1] = asked.front();
            see(asked.front(), work.rows[depth].row());
            asked = asked.subspan(1);
        }
        if (!asked.empty()) co_await source.rows_after(state, context, std::as_const(proposed), asked, see);
        ++depth;
        work.level.clear();
        for (std::size_t node = first; node < proposed.size() && context.wants_more(depth); ++node) {
            const auto number = static_cast<std::int32_t>(node);
            if (planned_children(plan, place_of(number)) == 0) continue;
            work.level.push_back(number);
        }
    }
}

/// A child that is certain: with a row that holds its token alone, where rows are kept.
template <class DraftDistribution>
void add_certain(proposal<DraftDistribution>& proposed, token picked, std::int32_t node, std::size_t vocabulary) {
    if constexpr (!std::same_as<DraftDistribution, point_mass>) proposed.next_row().become_point(picked, vocabulary);
    add_next(proposed, picked, node);
}

/// The same with children that are picked from the row after their parent as a token selector says: the largest logits
/// (argmax, and every token selector at temperature 0); draws without replacement (sampled), or with it
/// (sampled_with_replacement); the first arrivals of the noise that belongs to the position (shared_noise). Where
/// nothing can be drawn with replacement, though the shape is planned, which no row may change, token 0 is drafted, as
/// a row with that token alone. `spare` is storage of rows.
template <class TokenSelector, class Source, class State, class DraftDistribution>
flow::task fill_picked(const TokenSelector& token_selector, const Source& source, State& state, auto& context,
                       proposal<DraftDistribution>& proposed, tree_work& work, distribution& spare) {
    const bool ranked = picks_largest<TokenSelector> || context.transform().greedy();
    const auto draw = [&](logit_row row, std::int32_t node, std::size_t sibling, std::size_t count) {
        token picked = 0;
        if (ranked) {
            picked = work.ranked_child(row, context, sibling, count);
            if (picked == no_token) return false;
        } else {
            if (draw_next(token_selector, row, context, proposed, spare, node, sibling) != no_token) return true;
            if (!with_replacement<TokenSelector> || !plans_trees<decltype(context)>) return false;
        }
        add_certain(proposed, picked, node, row.size());
        return true;
    };
    co_await fill_plan(source, state, context, proposed, work, draw, ranked);
}

/// Grows the tree that the rows suggest, as dynamic_tree says, in as many depths as the policy wants: it is shown the
/// row after the best node of each. `source` as in fill_plan.
/// The nodes are a function of rows alone, hence point masses. To choose among tokens that were drawn, by what they are
/// worth, would change their distribution.
template <class Source, class State>
flow::task grow_by_value(const dynamic_tree& limits, const Source& source, State& state, auto& context,
                         proposal<point_mass>& proposed, tree_work& work) {
    std::size_t depth = 0;
    bool wanted = true;
    const auto see = [&](std::int32_t node, logit_row row) {
        if (node == work.level.front()) wanted = context.wants_more(depth, row);
        if (wanted) work.add_children(limits.top_k, node, row, context);
    };
    work.begin();
    work.grown.clear();
    work.values.clear();
    work.level.assign(1, after_prefix);
    while (wanted && !work.level.empty()) {
        const std::size_t first = work.grown.size();
        co_await source.rows_after(state, context, std::as_const(work.grown), work.level, see);
        ++depth;
        work.level.clear();
        if (depth == limits.depth || !context.wants_more(depth)) break;
        augur::detail::largest_of(std::span(work.values).subspan(first), limits.top_k, work.level);
        const std::size_t after = context.wants_after(depth, work.values_of(work.level, first));
        work.level.resize(std::min(work.level.size(), after));
        for (std::int32_t& node : work.level) node += static_cast<std::int32_t>(first);
    }
    if (depth > 0) work.choose_best(limits.nodes, depth, context, proposed);
}

}  // namespace augur::draft
