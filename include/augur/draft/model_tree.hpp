#pragma once
// Adapts any smaller model to a Drafter of trees.

#include <concepts>
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
#include "augur/model/cached_sequence.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/types/token_selector.hpp"

namespace augur::draft {

/// Fills the tree that the policy plans with the tokens of `Source` (a model by value, or `M&` by reference). Children
/// of a node are picked from the row after its path as `TokenSelector` says, by default as the criterion asks: the
/// largest logits (argmax, and every token selector at temperature 0); draws without replacement (sampled), or with it
/// (sampled_with_replacement); the first arrivals of the noise that belongs to the position (shared_noise). Where the
/// policy plans a length it drafts a chain, that of draft_model; with a `dynamic_tree`, or where the plan asks for one,
/// the tree that the rows suggest, of point masses.
/// Cost: one pass for each depth over its inner nodes and those above, where the model is a TreeModel; else a pass for
/// each inner node, of as many tokens as its path does not share with the one before. What was committed of the nodes
/// that it ran stays in the cache of a TreeModel.
/// Effect on the distribution: none; that is the criterion's. Nodes for which its context is too short are left out, as
/// is what is beneath a row from which nothing can be drawn; in a planned tree that is drawn with replacement, whose
/// shape no row may change, token 0 is drafted there, as a row with that token alone.
template <class Source, class TokenSelector = as_asked>
class model_tree {
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
    static constexpr bool branches = true;
    static constexpr bool grows = std::same_as<TokenSelector, argmax>;

    explicit model_tree(Source&& source, TokenSelector token_selector = {})
        : model_(std::forward<Source>(source)), token_selector_(token_selector) {}
    model_tree(Source&& source, dynamic_tree limits) requires(std::same_as<TokenSelector, argmax>)
        : model_(std::forward<Source>(source)), limits_(limits) {
        limits.check();
    }

    const model_type& model() const { return model_.get(); }
    std::size_t vocabulary_size() const { return model().vocabulary_size(); }
    std::string vocabulary_fingerprint() const { return augur::detail::vocabulary_fingerprint_of(model()); }

    state_type make_state() const { return state_type(model()); }

    /// Prefills all of the prompt but its last token, where the model's context holds the prompt.
    void prepare(state_type& state, const prefix& prompt) const {
        state.reserve(prompt.capacity());
        if (prompt.size() <= model().context_length()) state.fill(prompt.tokens().first(prompt.size() - 1));
    }

    flow::task propose(state_type& state, auto& context, proposal<draft_distribution_type>& proposed) const {
        state.nodes_wait = false;
        if (!context.wants_more(0) || context.prefix().size() > model().context_length()) co_return;
        state.committed = context.prefix().size();
        if constexpr (std::same_as<TokenSelector, argmax>) {
            if ((limits_ || context.wants_growth()) && !plans_trees<decltype(context)>) {
                co_await grow_by_value(limits_.value_or(dynamic_tree{}), *this, state, context, proposed, state.work);
                co_return;
            }
        }
        co_await fill_picked(token_selector_, *this, state, context, proposed, state.work, state.row);
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
        if (!TreeModel<model_type> || nodes.front() == after_prefix) {
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
    TokenSelector token_selector_{};
    std::optional<dynamic_tree> limits_{};
};

/// With the token selector that the criterion will name.
template <class Source>
class model_tree<Source, as_asked> : public awaiting_selector<model_tree, Source> {
    static_assert(Model<typename detail::owned_or_borrowed<Source>::type>);

 public:
    using awaiting_selector<augur::draft::model_tree, Source>::awaiting_selector;
};

template <class Source>
model_tree(Source&&) -> model_tree<Source, as_asked>;
template <class Source>
model_tree(Source&&, dynamic_tree) -> model_tree<Source, argmax>;
template <class Source, class TokenSelector>
model_tree(Source&&, TokenSelector) -> model_tree<Source, TokenSelector>;

}  // namespace augur::draft
