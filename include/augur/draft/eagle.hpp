#pragma once
// Adapts an EAGLE layer (on the target's last hidden states) to a Drafter.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/detail/owned_or_borrowed.hpp"
#include "augur/draft/calls.hpp"
#include "augur/draft/draw_next.hpp"
#include "augur/draft/exit_rows.hpp"
#include "augur/draft/grow_tree.hpp"
#include "augur/flow/task.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/fused_sequence.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/types/token_selector.hpp"

namespace augur::draft {

/// Decodes ahead with `Source`, a FusedModel by value, or `M&` by reference. Its input for a token is the token and the
/// hidden state of the position before: the target's as far as it is known, which is up to the root (the state before
/// the last committed token), and from there on its own, along each path. Only true inputs stay in its cache. Picks
/// tokens as `TokenSelector` says, by default as the criterion asks. After a prompt of one token, and where its context
/// ends, it proposes nothing.
/// Where the policy plans trees it fills them (fill_picked); by argmax it grows them where a plan says so, and with a
/// `dynamic_tree` in place of a token selector always (EAGLE-2); else it drafts a chain.
/// Cost: one pass of the source per row looked at; the first of a round also runs what was committed since. Of a tree
/// one pass for each depth over its inner nodes and those above, where the source is a FusedTreeModel; else a pass for
/// each inner node, of as many inputs as its path does not share with the one before.
/// Effect on the distribution: none; that is the criterion's. A row from which nothing can be drawn ends its path.
template <class Source, class TokenSelector = as_asked>
class eagle {
 public:
    using model_type = typename detail::owned_or_borrowed<Source>::type;
    static_assert(FusedModel<model_type>);
    using draft_distribution_type = typename TokenSelector::draft_distribution_type;
    struct state_type : model::fused_sequence<model_type> {
        using model::fused_sequence<model_type>::fused_sequence;
        exit_rows exit_states{};  ///< that the source's rows of the last chain were made of
        distribution row{};
        tree_work work{};
        std::vector<float> inputs{};  ///< of each inner node, the state that comes with its token
        std::vector<float> own{};     ///< of the root, then of each inner node, the state of its row
        std::vector<std::int32_t> path{},
            last{};                   ///< inner nodes, where they are run one path at a time: this and the one before
        std::vector<token> tokens{};  ///< that this path lacks, and their states
        std::vector<float> states{};

        void begin_tree() {
            inputs.clear();
            own.clear();
            path.clear();
        }
    };
    static constexpr bool shows_rows = true;
    static constexpr bool fills_trees = true;
    static constexpr bool grows = picks_largest<TokenSelector>;
    static constexpr bool branches = grows_always<TokenSelector>;

    explicit eagle(Source&& source, TokenSelector token_selector = {})
        : model_(std::forward<Source>(source)), token_selector_(token_selector) {
        limits_of(token_selector_).check();
    }

    const model_type& model() const { return model_.get(); }
    std::size_t vocabulary_size() const { return model().vocabulary_size(); }
    std::string vocabulary_fingerprint() const { return augur::detail::vocabulary_fingerprint_of(model()); }
    /// Of the target's states.
    std::size_t hidden_size() const { return target_hidden_size_of(model()); }

    state_type make_state() const { return state_type(model()); }

    void on_commit(state_type& state, const prefix& committed, const auto& states) const {
        state.follow(committed, states);
    }

    /// Runs what is left of the prompt's states, so that the first round need not.
    void prepare(state_type& state, const prefix& prompt) const { state.catch_up(prompt); }

    flow::task propose(state_type& state, auto& context, proposal<draft_distribution_type>& proposed) const {
        if constexpr (plans_trees<decltype(context)>) {
            return draft_tree(state, context, proposed);
        } else if constexpr (drafts_trees<eagle, policy_of<decltype(context)>>) {
            return grow_tree(state, context, proposed);
        } else {
            return draft_chain(state, context, proposed);
        }
    }

    /// See fill_plan.
    template <class DraftDistribution, class See>
    flow::task rows_after(state_type& state, auto& context, const proposal<DraftDistribution>& tree,
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
    /// Whether there is something to draft, and the target's states are known up to the root.
    static bool is_at_root(const state_type& state, auto& context) {
        const std::size_t root = context.prefix().size() - 1;
        return context.wants_more(0) && root > 0 && state.known() == root;
    }

    flow::task draft_chain(state_type& state, auto& context, proposal<draft_distribution_type>& proposed) const {
        if (!is_at_root(state, context)) co_return;
        const std::size_t root = state.known();
        speculative_suffix speculative(context.prefix());
        std::optional<typename state_type::rows_type> rows;
        co_await flow::alone{[&] { rows.emplace(state.root(context.prefix())); }};
        state.exit_states.begin(context.prefix().size());
        while (true) {
            const std::span<const float> own = state.exit_states.push(state.last_state());
            const logit_row row = (*rows)[rows->size() - 1];
            if (!context.wants_more(proposed.size(), row)) break;
            const token picked = draw_next(token_selector_, row, context, proposed, state.row);
            if (picked == no_token) break;
            if (!context.wants_more(proposed.size())) break;
            if (root + proposed.size() > model().context_length()) break;
            speculative.push(picked);
            const std::size_t before = proposed.size() - 1;
            co_await flow::alone{[&] { rows.emplace(state.extend(before, std::span(&picked, 1), own)); }};
        }
    }

    flow::task draft_tree(state_type& state, auto& context, proposal<draft_distribution_type>& proposed) const {
        if (!is_at_root(state, context)) co_return;
        state.begin_tree();
        co_await fill_picked(token_selector_, *this, state, context, proposed, state.work, state.row);
    }

    /// Or a chain, where the plan asks for no tree.
    flow::task grow_tree(state_type& state, auto& context, proposal<draft_distribution_type>& proposed) const {
        if (grows_always<TokenSelector> || context.wants_growth()) {
            if (!is_at_root(state, context)) co_return;
            state.begin_tree();
            co_await grow_by_value(limits_of(token_selector_), *this, state, context, proposed, state.work);
        } else {
            co_await draft_chain(state, context, proposed);
        }
    }

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

    std::ptrdiff_t row_of(std::int32_t i) const { return i * static_cast<std::ptrdiff_t>(model().hidden_size()); }

    detail::owned_or_borrowed<Source> model_;
    TokenSelector token_selector_;
};

/// With the token selector that the criterion will set.
template <class Source>
class eagle<Source, as_asked> : public awaiting_selector<eagle, Source> {
    static_assert(FusedModel<typename detail::owned_or_borrowed<Source>::type>);

 public:
    using awaiting_selector<augur::draft::eagle, Source>::awaiting_selector;
};

template <class Source>
eagle(Source&&) -> eagle<Source, as_asked>;
template <class Source>
eagle(Source&&, dynamic_tree) -> eagle<Source, dynamic_tree>;
template <class Source, class TokenSelector>
eagle(Source&&, TokenSelector) -> eagle<Source, TokenSelector>;

}  // namespace augur::draft
