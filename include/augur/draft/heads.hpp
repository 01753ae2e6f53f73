#pragma once
// Drafts with Medusa or Hydra heads: each predicts one token further ahead from one hidden state.

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/detail/owned_or_borrowed.hpp"
#include "augur/draft/calls.hpp"
#include "augur/draft/draw_next.hpp"
#include "augur/draft/exit_head.hpp"
#include "augur/draft/grow_tree.hpp"
#include "augur/flow/task.hpp"
#include "augur/model/hidden_states.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/token_selector.hpp"
#include "augur/types/topology.hpp"

namespace augur {

namespace draft {

/// Drafts with `Source`, heads by value, or `H&` by reference, from the target's hidden state before the last committed
/// token, which is all that it keeps, or from what heads that read the text make of all of them; after a prompt of one
/// token nothing. Picks tokens as `TokenSelector` says, by
/// default as the criterion asks.
/// A chain has at most one token per head. Where the policy plans trees: children of a node at depth d are picked from
/// the row of head d (fill_picked), given the path to the node (Hydra), or whatever the path is (Medusa: by argmax the
/// Cartesian product of the heads). Nodes deeper than there are heads are left out, as are children of which a row has
/// no more tokens to offer. A policy that looks ahead is shown the rows of the greedy chain first, which the tree then
/// uses.
/// Cost: one head per row looked at; of a tree per inner node, or per depth where heads do not see tokens, and a look
/// at the row for each inner node.
/// Effect on the distribution: none; that is the criterion's. A row from which nothing can be drawn ends its path.
template <class Source, class TokenSelector = as_asked>
class heads {
 public:
    using heads_type = typename detail::owned_or_borrowed<Source>::type;
    static_assert(DraftHeads<heads_type>);
    using draft_distribution_type = typename TokenSelector::draft_distribution_type;
    struct state_type {
        typename heads_type::workspace_type workspace;
        std::vector<float> last{};  ///< the target's state at position known - 1
        std::size_t known = 0;
        distribution row{};
        std::vector<kept_row> rows{};  ///< of a tree, by depth, of heads that see no tokens
        tree_work work{};
    };
    static constexpr bool shows_rows = true;
    static constexpr bool fills_trees = true;

    explicit heads(Source&& source, TokenSelector token_selector = {})
        : source_(std::forward<Source>(source)), token_selector_(token_selector) {}

    const heads_type& source() const { return source_.get(); }
    std::size_t vocabulary_size() const { return source().vocabulary_size(); }
    std::string vocabulary_fingerprint() const { return augur::detail::vocabulary_fingerprint_of(source()); }
    std::size_t hidden_size() const { return source().hidden_size(); }

    state_type make_state() const { return {.workspace = source().make_workspace()}; }

    void on_commit(state_type& state, const prefix& committed, const auto& states) const {
        if (states.size() == 0) return;
        if (reads_text()) {
            if constexpr (ReadsText<heads_type>) source().follow(state.workspace, committed, states);
        } else {
            const auto last = states[states.size() - 1];
            state.last.assign(last.begin(), last.end());
        }
        state.known = states.first() + states.size();
    }

    /// Runs what is left of the prompt's states, so that the first round need not.
    void prepare(state_type& state, const prefix& prompt) const {
        if (!reads_text()) return;
        if constexpr (ReadsText<heads_type>) source().catch_up(state.workspace, prompt);
    }

    /// Of trees a flow::task.
    auto propose(state_type& state, auto& context, proposal<draft_distribution_type>& proposed) const {
        if constexpr (plans_trees<decltype(context)>) {
            return draft_tree(state, context, proposed);
        } else {
            draft_chain(state, context, proposed);
        }
    }

    /// See fill_plan.
    template <class DraftDistribution, class See>
    std::suspend_never rows_after(state_type& state, auto& context, const proposal<DraftDistribution>& tree,
                                  std::span<const std::int32_t> nodes, const See& see) const {
        const std::size_t depth = parents::depth_of(tree.parents(), nodes.front());
        for (const std::int32_t node : nodes) {
            if (depth == source().head_count()) break;
            const at_node path(context, tree, node);
            see(node, row_of(state, context.prefix().tokens().subspan(state.known), depth));
        }
        return {};
    }

 private:
    /// Whether the state that it knows is not the one before the last committed token.
    static bool is_stale(const state_type& state, auto& context) {
        return state.known == 0 || state.known + 1 != context.prefix().size();
    }

    void draft_chain(state_type& state, auto& context, proposal<draft_distribution_type>& proposed) const {
        if (is_stale(state, context)) return;
        speculative_suffix speculative(context.prefix());
        while (context.wants_more(proposed.size()) && proposed.size() < source().head_count()) {
            if (proposed.empty()) find_state(state, context.prefix());
            const auto after = context.prefix().tokens().subspan(state.known);
            const logit_row row = source().row(state.workspace, state.last, after, proposed.size());
            if (!context.wants_more(proposed.size(), row)) break;
            const token picked = draw_next(token_selector_, row, context, proposed, state.row);
            if (picked == no_token) break;
            speculative.push(picked);
        }
    }

    flow::task draft_tree(state_type& state, auto& context, proposal<draft_distribution_type>& proposed) const {
        if (is_stale(state, context) || !context.wants_more(0)) co_return;
        find_state(state, context.prefix());
        state.rows.resize(source().head_count());
        for (kept_row& row : state.rows) row.logits.clear();
        co_await fill_picked(token_selector_, *this, state, context, proposed, state.work, state.row);
    }

    /// Of the head of this depth after these tokens. Kept for all nodes of the depth where heads see no tokens.
    logit_row row_of(state_type& state, std::span<const token> after, std::size_t depth) const {
        if (sees_tokens()) return source().row(state.workspace, state.last, after, depth);
        kept_row& kept = state.rows[depth];
        if (kept.logits.empty()) kept.assign(source().row(state.workspace, state.last, after, depth));
        return kept.row();
    }

    bool reads_text() const {
        if constexpr (ReadsText<heads_type>) {
            return source().reads_text();
        } else {
            return false;
        }
    }

    /// What heads that read the text read now.
    void find_state(state_type& state, const prefix& committed) const {
        if (!reads_text()) return;
        if constexpr (ReadsText<heads_type>) {
            const std::span<const float> now = source().state(state.workspace, committed);
            state.last.assign(now.begin(), now.end());
        }
    }

    bool sees_tokens() const {
        if constexpr (SaysWhatHeadsSee<heads_type>) {
            return source().see_tokens();
        } else {
            return true;
        }
    }

    detail::owned_or_borrowed<Source> source_;
    TokenSelector token_selector_;
};

/// With the token selector that the criterion will set.
template <class Source>
class heads<Source, as_asked> : public awaiting_selector<heads, Source> {
    static_assert(DraftHeads<typename detail::owned_or_borrowed<Source>::type>);

 public:
    using awaiting_selector<augur::draft::heads, Source>::awaiting_selector;
};

template <class Source>
heads(Source&&) -> heads<Source, as_asked>;
template <class Source, class TokenSelector>
heads(Source&&, TokenSelector) -> heads<Source, TokenSelector>;

}  // namespace draft
}  // namespace augur
