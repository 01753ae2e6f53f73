#pragma once
// Drafts trees with Medusa or Hydra heads: combines the most probable tokens of each head.

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/detail/owned_or_borrowed.hpp"
#include "augur/draft/concept.hpp"
#include "augur/draft/draw_next.hpp"
#include "augur/draft/grow_tree.hpp"
#include "augur/draft/heads.hpp"
#include "augur/flow/task.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/topology.hpp"

namespace augur {

/// Heads that say whether they look at the tokens drafted before: where `heads.see_tokens()` is false (Medusa), a
/// head's row is made once for all nodes of its depth.
template <class H>
concept SaysWhatHeadsSee = requires(const H& heads) {
    { heads.see_tokens() } -> std::convertible_to<bool>;
};

namespace draft {

/// Fills the tree that the policy plans: child number r of a node at depth d is the token with the r-th largest logit
/// of head d, given the path to the node (Hydra), or whatever the path is (Medusa: the Cartesian product of the heads).
/// A policy that decides lengths gets a chain, and sees each of its rows. Deterministic: its draft distribution is
/// point_mass, for criteria that compare tokens (`exact`, `coupled`, and under rejection sampling as guesses of
/// certainty). Nodes deeper than there are heads are left out, as are children of which a row has no more tokens to
/// offer. A policy that looks ahead is shown the rows of the greedy chain first, which the tree then uses. Cost: one
/// head per inner node of the tree, and per row of the chain that is looked at and is none of these; per depth where
/// heads do not see tokens; and a look at the row for each inner node.
/// Effect on the distribution: none; that is the criterion's.
template <class Source>
class head_tree {
 public:
    using heads_type = typename detail::owned_or_borrowed<Source>::type;
    static_assert(DraftHeads<heads_type>);
    using draft_distribution_type = point_mass;
    static constexpr bool shows_rows = true;
    static constexpr bool branches = true;

    struct state_type {
        typename heads_type::workspace_type workspace;
        std::vector<float> last{};  ///< the target's state at position known - 1
        std::size_t known = 0;
        std::vector<kept_row> rows{};  ///< of this round, by depth, of heads that see no tokens
        tree_work work{};
    };

    explicit head_tree(Source&& source) : source_(std::forward<Source>(source)) {}

    const heads_type& source() const { return source_.get(); }
    std::size_t vocabulary_size() const { return source().vocabulary_size(); }
    std::string vocabulary_fingerprint() const { return augur::detail::vocabulary_fingerprint_of(source()); }
    std::size_t hidden_size() const { return source().hidden_size(); }

    state_type make_state() const { return {.workspace = source().make_workspace()}; }

    void on_commit(state_type& state, const prefix&, const auto& states) const {
        if (states.size() == 0) return;
        const auto last = states[states.size() - 1];
        state.last.assign(last.begin(), last.end());
        state.known = states.first() + states.size();
    }

    flow::task propose(state_type& state, auto& context, proposal<point_mass>& proposed) const {
        if (state.known == 0 || state.known + 1 != context.prefix().size() || !context.wants_more(0)) co_return;
        state.rows.resize(source().head_count());
        for (kept_row& row : state.rows) row.logits.clear();
        co_await fill_ranked(*this, state, context, proposed, state.work);
    }

    /// See fill_plan.
    template <class See>
    std::suspend_never rows_after(state_type& state, auto& context, const proposal<point_mass>& tree,
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
    /// Of the head of this depth after these tokens. Kept for all nodes of the depth where heads see no tokens.
    logit_row row_of(state_type& state, std::span<const token> after, std::size_t depth) const {
        if (sees_tokens()) return source().row(state.workspace, state.last, after, depth);
        kept_row& kept = state.rows[depth];
        if (kept.logits.empty()) kept.assign(source().row(state.workspace, state.last, after, depth));
        return kept.row();
    }

    bool sees_tokens() const {
        if constexpr (SaysWhatHeadsSee<heads_type>) {
            return source().see_tokens();
        } else {
            return true;
        }
    }

    detail::owned_or_borrowed<Source> source_;
};

template <class Source>
head_tree(Source&&) -> head_tree<Source>;

}  // namespace draft
}  // namespace augur
