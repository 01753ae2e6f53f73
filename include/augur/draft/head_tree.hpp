#pragma once
// Trees that draft heads make, as Medusa and Hydra do: the most probable tokens of each head, combined.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/detail/value_or_reference.hpp"
#include "augur/draft/concept.hpp"
#include "augur/draft/draw_next.hpp"
#include "augur/draft/heads.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/types/prefix.hpp"
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
/// A policy that decides lengths gets a chain. Deterministic: claims point_mass, for criteria that compare tokens
/// (`exact`, `coupled`, and under rejection sampling as guesses of certainty). Nodes deeper than there are heads are
/// left out, as are children of which a row has no more tokens to offer.
/// A policy that looks ahead is shown the rows of the greedy chain first, which the tree then uses. Cost: one head per
/// inner node of the tree, and per row of the chain that is looked at and is none of these; per depth where heads do
/// not see tokens; and a look at the row for each inner node.
/// Effect on the distribution: none; that is the criterion's.
template <class Source>
class head_tree {
 public:
    using heads_type = typename detail::value_or_reference<Source>::type;
    static_assert(DraftHeads<heads_type>);
    using claim_type = point_mass;
    static constexpr bool shows_rows = true;
    static constexpr bool branches = true;

    struct state_type {
        typename heads_type::workspace_type workspace;
        std::vector<float> last{};  ///< the target's state at position known - 1
        std::size_t known = 0;
        std::vector<std::vector<float>>
            rows{};                  ///< kept in this round, by depth: of heads that see no tokens, or on the chain
        std::vector<token> chain{};  ///< the greedy one, as far as the policy looked ahead
        std::vector<std::vector<token>> ranked{};  ///< children of the prefix, then of each node, the best first
        std::vector<std::size_t> used{};           ///< how many of them are drafted
        std::vector<std::int32_t> numbers{};       ///< of the plan's nodes in the proposal; after_prefix: left out
        std::vector<token> best{};
        std::vector<float> work{};
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

    void propose(state_type& state, auto& context, proposal<point_mass>& proposed) const {
        if (state.known == 0 || state.known + 1 != context.prefix().size() || !context.wants_more(0)) return;
        state.rows.resize(source().head_count());
        for (auto& row : state.rows) row.clear();
        look_ahead(state, context);
        const auto plan = context.plan();
        if (!context.wants_more(0)) return;
        const std::size_t nodes = plan.empty() ? context.wanted() : plan.size();
        state.numbers.assign(nodes, after_prefix);
        state.used.assign(nodes + 1, 0);
        for (auto& each : state.ranked) each.clear();
        state.ranked.resize(std::max(state.ranked.size(), nodes + 1));
        for (std::size_t node = 0; node < nodes; ++node) {
            const std::int32_t planned = parents::of(plan, node);
            const std::int32_t parent =
                planned == after_prefix ? planned : state.numbers[static_cast<std::size_t>(planned)];
            if (planned != after_prefix && parent == after_prefix) continue;  // its parent was left out
            const token next = next_child(state, context, proposed, parent, children_of(plan, nodes, planned));
            if (next == no_token) continue;
            state.numbers[node] = static_cast<std::int32_t>(proposed.size());
            proposed.push(next, parent);
        }
    }

 private:
    /// Shows the policy the rows that it wants to see first. They are kept, for the tree will want them, too.
    void look_ahead(state_type& state, auto& context) const {
        state.chain.clear();
        speculative_suffix speculative(context.prefix());
        const std::size_t rows = std::min<std::size_t>(context.rows_ahead(), source().head_count());
        for (std::size_t depth = 0; depth < rows; ++depth) {
            const logit_row row = row_of(state, context.prefix(), depth, true);
            if (!context.wants_more(depth, row) || depth + 1 == rows) return;
            context.transform().rank(row, context.prefix(), 1, state.best, state.work);
            if (state.best.empty()) return;
            state.chain.push_back(state.best.front());
            speculative.push(state.best.front());
        }
    }

    static std::size_t children_of(std::span<const std::int32_t> plan, std::size_t nodes, std::int32_t parent) {
        std::size_t count = 0;
        for (std::size_t at = parents::next_child(plan, nodes, parent, 0); at < nodes;
             at = parents::next_child(plan, nodes, parent, at + 1)) {
            ++count;
        }
        return count;
    }

    /// The best token beneath `parent` that is not drafted yet, of as many as it is to have.
    token next_child(state_type& state, auto& context, const proposal<point_mass>& proposed, std::int32_t parent,
                     std::size_t wanted) const {
        const auto place = static_cast<std::size_t>(parent + 1);
        std::vector<token>& ranked = state.ranked[place];
        if (state.used[place] == 0) {
            const std::size_t depth = parents::depth_of(proposed.parents(), parent);
            if (depth >= source().head_count()) return no_token;
            const at_node path(context, proposed, parent);
            const logit_row row = row_of(state, context.prefix(), depth);
            context.transform().rank(row, context.prefix(), wanted, ranked, state.work);
        }
        return state.used[place] < ranked.size() ? ranked[state.used[place]++] : no_token;
    }

    /// Of the head of this depth after the prefix. Kept for all nodes of the depth where heads see no tokens, and where
    /// `on_chain` for the node there.
    logit_row row_of(state_type& state, const prefix& before, std::size_t depth, bool on_chain = false) const {
        const auto after = before.tokens().subspan(state.known);
        std::vector<float>& kept = state.rows[depth];
        const bool same =
            !sees_tokens() ||
            std::equal(after.begin() + 1, after.end(), state.chain.begin(),
                       state.chain.begin() + static_cast<std::ptrdiff_t>(std::min(depth, state.chain.size())));
        if (same && !kept.empty()) return kept;
        const logit_row made = source().row(state.workspace, state.last, after, depth);
        if (sees_tokens() && !on_chain) return made;
        kept.assign(made.begin(), made.end());
        return kept;
    }

    bool sees_tokens() const {
        if constexpr (SaysWhatHeadsSee<heads_type>) {
            return source().see_tokens();
        } else {
            return true;
        }
    }

    detail::value_or_reference<Source> source_;
};

template <class Source>
head_tree(Source&&) -> head_tree<Source>;

}  // namespace draft
}  // namespace augur
