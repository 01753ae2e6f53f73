#pragma once
// Drafts trees with an EAGLE layer: EAGLE's fixed tree, or EAGLE-2's dynamic one.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/detail/owned_or_borrowed.hpp"
#include "augur/draft/concept.hpp"
#include "augur/draft/draw_next.hpp"
#include "augur/draft/grow_tree.hpp"
#include "augur/flow/task.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/fused_sequence.hpp"
#include "augur/model/same_vocabulary.hpp"

namespace augur::draft {

/// Drafts trees with `Source`, a FusedModel by value, or `M&` by reference: the tree that the policy plans, where child
/// number r of a node is the token of the r-th largest logit after its path; or, where the policy decides a length,
/// EAGLE-2's dynamic tree of so many depths at most. Inputs are those of eagle: the target's states up to the root, the
/// layer's own along each path. Deterministic: its draft distribution is point_mass. After a prompt of one token, and
/// where its context ends, it proposes nothing. Cost: one pass for each depth over its inner nodes and those above,
/// where the source is a FusedTreeModel; else a pass for each inner node, of as many inputs as its path does not share
/// with the one before. The first of a round also runs what was committed since. Effect on the distribution: none; that
/// is the criterion's.
template <class Source>
class eagle_tree {
 public:
    using model_type = typename detail::owned_or_borrowed<Source>::type;
    static_assert(FusedModel<model_type>);
    using draft_distribution_type = point_mass;
    struct state_type : model::fused_sequence<model_type> {
        using model::fused_sequence<model_type>::fused_sequence;
        tree_work work{};
        distribution row{};           ///< storage
        std::vector<float> inputs{};  ///< of each inner node, the state that comes with its token
        std::vector<float> own{};     ///< of the root, then of each inner node, the state of its row
        std::vector<std::int32_t> path{},
            last{};                   ///< inner nodes, where they are run one path at a time: this and the one before
        std::vector<token> tokens{};  ///< that this path lacks, and their states
        std::vector<float> states{};
    };
    static constexpr bool shows_rows = true;
    static constexpr bool branches = true;
    static constexpr bool grows = true;

    explicit eagle_tree(Source&& source, dynamic_tree limits = {})
        : model_(std::forward<Source>(source)), limits_(limits) {
        limits.check();
    }

    const model_type& model() const { return model_.get(); }
    std::size_t vocabulary_size() const { return model().vocabulary_size(); }
    std::string vocabulary_fingerprint() const { return augur::detail::vocabulary_fingerprint_of(model()); }
    std::size_t hidden_size() const { return model().hidden_size(); }

    state_type make_state() const { return state_type(model()); }

    void on_commit(state_type& state, const prefix& committed, const auto& states) const {
        state.follow(committed, states);
    }

    /// Runs what is left of the prompt's states, so that the first round need not.
    void prepare(state_type& state, const prefix& prompt) const { state.catch_up(prompt); }

    flow::task propose(state_type& state, auto& context, proposal<point_mass>& proposed) const {
        const std::size_t root = context.prefix().size() - 1;  // states that there are
        if (!context.wants_more(0) || root == 0 || state.known() != root) co_return;
        state.inputs.clear();
        state.own.clear();
        state.path.clear();
        if (plans_trees<decltype(context)>) {
            co_await fill_picked(argmax{}, *this, state, context, proposed, state.work, state.row);
        } else {
            co_await grow_by_value(limits_, *this, state, context, proposed, state.work);
        }
    }

    /// See fill_plan.
    template <class See>
    flow::task rows_after(state_type& state, auto& context, const proposal<point_mass>& tree,
                          std::span<const std::int32_t> nodes, const See& see) const {
        using rows_type = typename state_type::rows_type;
        if (nodes.front() == after_prefix) {
            std::optional<rows_type> rows;
            co_await flow::alone{[&] { rows.emplace(state.root(context.prefix())); }};
            keep_states(state, 1);
            see(after_prefix, (*rows)[rows->size() - 1]);
        } else if constexpr (FusedTreeModel<model_type>) {
            forget_all_but_inner(state);
            const std::size_t before = state.work.inner.size(), room = model().context_length() - state.known();
            for (const std::int32_t node : nodes) {
                if (state.work.inner.size() < room) add(state, tree, node);
            }
            const std::size_t added = state.work.inner.size() - before;
            if (added == 0) co_return;
            std::optional<rows_type> rows;
            co_await flow::alone{[&] {
                rows.emplace(model().extend_tree(state.sequence(), state.work.inner.tokens, state.inputs,
                                                 state.work.inner.parents, added));
            }};
            keep_states(state, added);
            for (std::size_t i = 0; i < added; ++i) {
                const std::int32_t node = state.work.inner.nodes[before + i];
                const at_node path(context, tree, node);
                see(node, (*rows)[i]);
            }
        } else {
            forget_all_but_inner(state);
            for (const std::int32_t node : nodes) {
                const at_node path(context, tree, node);
                if (context.prefix().size() - 1 > model().context_length()) co_return;
                add(state, tree, node);
                const std::size_t shared = find_path(state);
                std::optional<rows_type> rows;
                co_await flow::alone{[&] { rows.emplace(state.extend(shared, state.tokens, state.states)); }};
                keep_states(state, 1);
                see(node, (*rows)[rows->size() - 1]);
            }
        }
    }

 private:
    /// The states of the last rows.
    void keep_states(state_type& state, std::size_t rows) const {
        const auto states = model().hidden(std::as_const(state.sequence()));
        for (std::size_t i = states.size() - rows; i < states.size(); ++i) {
            state.own.insert(state.own.end(), states[i].begin(), states[i].end());
        }
    }

    /// What belongs to nodes that were looked at and are not the tree's.
    void forget_all_but_inner(state_type& state) const {
        const auto kept = static_cast<std::int32_t>(state.work.inner.size());
        state.inputs.resize(static_cast<std::size_t>(row_of(kept)));
        state.own.resize(static_cast<std::size_t>(row_of(kept + 1)));
        std::erase_if(state.path, [kept](std::int32_t node) { return node >= kept; });
    }

    /// To the inner nodes, with the state of its parent's row.
    void add(state_type& state, const auto& tree, std::int32_t node) const {
        state.work.inner.add(tree, node);
        const auto from = state.own.begin() + row_of(state.work.inner.parents.back() + 1);
        state.inputs.insert(state.inputs.end(), from, from + row_of(1));
    }

    /// Makes the path to the inner node that was added last the state's; returns how many inputs of it the sequence
    /// has.
    std::size_t find_path(state_type& state) const {
        std::swap(state.path, state.last);
        state.path.clear();
        for (auto at = static_cast<std::int32_t>(state.work.inner.size()) - 1; at != after_prefix;
             at = state.work.inner.parents[static_cast<std::size_t>(at)]) {
            state.path.push_back(at);
        }
        std::reverse(state.path.begin(), state.path.end());
        const auto first =
            std::mismatch(state.path.begin(), state.path.end(), state.last.begin(), state.last.end()).first;
        state.tokens.clear();
        state.states.clear();
        for (auto at = first; at != state.path.end(); ++at) {
            state.tokens.push_back(state.work.inner.tokens[static_cast<std::size_t>(*at)]);
            const auto from = state.inputs.begin() + row_of(*at);
            state.states.insert(state.states.end(), from, from + row_of(1));
        }
        return static_cast<std::size_t>(first - state.path.begin());
    }

    std::ptrdiff_t row_of(std::int32_t i) const { return i * static_cast<std::ptrdiff_t>(hidden_size()); }

    detail::owned_or_borrowed<Source> model_;
    dynamic_tree limits_;
};

template <class Source>
eagle_tree(Source&&) -> eagle_tree<Source>;
template <class Source>
eagle_tree(Source&&, dynamic_tree) -> eagle_tree<Source>;

}  // namespace augur::draft
