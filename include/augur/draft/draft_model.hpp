#pragma once
// Adapts any smaller model to a Drafter.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/detail/owned_or_borrowed.hpp"
#include "augur/draft/calls.hpp"
#include "augur/draft/draw_next.hpp"
#include "augur/draft/grow_tree.hpp"
#include "augur/flow/task.hpp"
#include "augur/model/cache_bytes.hpp"
#include "augur/model/cached_sequence.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/limits.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/types/token_selector.hpp"

namespace augur::draft {

/// Decodes ahead with `Source` (a model by value, or `M&` by reference) and picks tokens as `TokenSelector` says, by
/// default as the criterion asks. Its rows pass through the same transform as the target's. Rewound to what is
/// committed after every round; where its context ends it proposes nothing.
/// Where the policy plans trees it fills them (fill_picked); by argmax it grows them where a plan says so, and with a
/// `dynamic_tree` in place of a token selector always; else it drafts a chain.
/// Cost: one pass of the model per row looked at: of a chain per drafted token, and one more where the policy ends the
/// draft at a row. The first of a round also runs what was committed since. Of a tree one pass for each depth over its
/// inner nodes and those above, where the model is a TreeModel, in whose cache those that were committed stay; else a
/// pass for each inner node, of as many tokens as its path does not share with the one before.
/// Effect on the distribution: none; that is the criterion's. A row from which nothing can be drawn ends its path,
/// unless a planned tree is drawn with replacement; nodes for which its context is too short are left out.
template <class Source, class TokenSelector = as_asked>
class draft_model {
 public:
    using model_type = typename detail::owned_or_borrowed<Source>::type;
    static_assert(Model<model_type>);
    using draft_distribution_type = typename TokenSelector::draft_distribution_type;
    /// What the model has seen; and storage.
    struct state_type : model::cached_sequence<model_type> {
        using model::cached_sequence<model_type>::cached_sequence;
        distribution row{};
        tree_work work{};           ///< its inner nodes: that were run in this round, by a TreeModel
        bool nodes_wait = false;    ///< in the model, and the next is
        std::size_t committed = 0;  ///< tokens before them
        std::vector<std::size_t> path{};
    };
    static constexpr bool shows_rows = true;
    static constexpr bool fills_trees = true;
    static constexpr bool grows = picks_largest<TokenSelector>;
    static constexpr bool branches = grows_always<TokenSelector>;

    explicit draft_model(Source&& source, TokenSelector token_selector = {})
        : model_(std::forward<Source>(source)), token_selector_(token_selector) {
        limits_of(token_selector_).check();
    }

    const model_type& model() const { return model_.get(); }
    std::size_t vocabulary_size() const { return model().vocabulary_size(); }
    std::string vocabulary_fingerprint() const { return augur::detail::vocabulary_fingerprint_of(model()); }

    /// As far as its context goes.
    std::size_t cache_bytes(std::size_t tokens) const requires CountsCacheBytes<model_type> {
        return model().cache_bytes(std::min<std::size_t>(tokens, model().context_length()));
    }

    state_type make_state() const { return state_type(model()); }

    /// Prefills all of the prompt but its last token, where the model's context holds the prompt.
    void prepare(state_type& state, const prefix& prompt) const {
        state.reserve(prompt.capacity());
        if (prompt.size() <= model().context_length()) state.fill(prompt.tokens().first(prompt.size() - 1));
    }

    flow::task propose(state_type& state, auto& context, proposal<draft_distribution_type>& proposed) const {
        if constexpr (drafts_trees<draft_model, policy_of<decltype(context)>>) {
            return draft_tree(state, context, proposed);
        } else {
            return draft_chain(state, context, proposed);
        }
    }

    void on_commit(state_type& state, const prefix& committed) const {
        if constexpr (TreeModel<model_type>) keep_committed(state, committed.tokens());
        state.rewind(committed.tokens());
    }

    /// See fill_plan.
    template <class DraftDistribution, class See>
    flow::task rows_after(state_type& state, auto& context, const proposal<DraftDistribution>& tree,
                          std::span<const std::int32_t> nodes, const See& see) const {
        const std::size_t context_length = model().context_length();
        if (!model::supports(model(), pass_features::trees) || nodes.front() == after_prefix) {
            for (const std::int32_t node : nodes) {
                const at_node path(context, tree, node);
                if (context.prefix().size() > context_length) co_return;
                const auto rows = co_await state.ask(context.prefix().tokens(), 1);
                see(node, rows[0]);
            }
        } else {
            const std::size_t before = state.work.inner.size(), room = context_length - context.prefix().size();
            for (const std::int32_t node : nodes) {
                if (state.work.inner.size() < room) state.work.inner.add(tree, node);
            }
            const std::size_t added = state.work.inner.size() - before;
            if (added == 0) co_return;
            state.nodes_wait = false;
            const auto rows = co_await state.ask_tree(context.prefix().tokens(), state.work.inner.tokens,
                                                      state.work.inner.parents, added);
            state.nodes_wait = true;
            for (std::size_t i = 0; i < added; ++i) {
                const at_node path(context, tree, state.work.inner.nodes[before + i]);
                see(state.work.inner.nodes[before + i], rows[i]);
            }
        }
    }

 private:
    flow::task draft_chain(state_type& state, auto& context, proposal<draft_distribution_type>& proposed) const {
        speculative_suffix speculative(context.prefix());
        while (context.wants_more(proposed.size()) && context.prefix().size() <= model().context_length()) {
            const auto rows = co_await state.ask(context.prefix().tokens(), 1);
            const logit_row row = rows[0];
            if (!context.wants_more(proposed.size(), row)) break;
            const token picked = draw_next(token_selector_, row, context, proposed, state.row);
            if (picked == no_token) break;
            speculative.push(picked);
        }
    }

    /// Or a chain, where a policy of trees that grow asks for none.
    flow::task draft_tree(state_type& state, auto& context, proposal<draft_distribution_type>& proposed) const {
        state.nodes_wait = false;
        if (!context.wants_more(0) || context.prefix().size() > model().context_length()) co_return;
        state.committed = context.prefix().size();
        if constexpr (plans_trees<decltype(context)>) {
            co_await fill_picked(token_selector_, *this, state, context, proposed, state.work, state.row);
        } else if (grows_always<TokenSelector> || context.wants_growth()) {
            co_await grow_by_value(limits_of(token_selector_), *this, state, context, proposed, state.work);
        } else {
            co_await draft_chain(state, context, proposed);
        }
    }

    /// The sequence keeps those of the nodes that wait whose tokens were committed.
    static void keep_committed(state_type& state, std::span<const token> committed) {
        if (!std::exchange(state.nodes_wait, false)) return;
        auto& path = state.path;
        path.clear();
        std::int32_t last = after_prefix;
        for (std::size_t node = 0; node < state.work.inner.size(); ++node) {
            const std::size_t at = state.committed + path.size();
            if (state.work.inner.parents[node] != last || at >= committed.size()) continue;
            if (state.work.inner.tokens[node] != committed[at]) continue;
            path.push_back(node);
            last = static_cast<std::int32_t>(node);
        }
        state.keep(path);
    }

    detail::owned_or_borrowed<Source> model_;
    TokenSelector token_selector_;
};

/// With the token selector that the criterion will name.
template <class Source>
class draft_model<Source, as_asked> : public awaiting_selector<draft_model, Source> {
    static_assert(Model<typename detail::owned_or_borrowed<Source>::type>);

 public:
    using awaiting_selector<augur::draft::draft_model, Source>::awaiting_selector;
};

template <class Source>
draft_model(Source&&) -> draft_model<Source, as_asked>;
template <class Source>
draft_model(Source&&, dynamic_tree) -> draft_model<Source, dynamic_tree>;
template <class Source, class TokenSelector>
draft_model(Source&&, TokenSelector) -> draft_model<Source, TokenSelector>;

}  // namespace augur::draft
