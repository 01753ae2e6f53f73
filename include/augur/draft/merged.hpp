#pragma once
// Merges the trees of two drafters.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "augur/draft/calls.hpp"
#include "augur/draft/grow_tree.hpp"
#include "augur/draft/named.hpp"
#include "augur/draft/several.hpp"
#include "augur/flow/task.hpp"
#include "augur/types/error.hpp"
#include "augur/types/proposal.hpp"

namespace augur::draft {

/// Both draft, `A` first; the tree has A's nodes, then those of B's that A's lacks. At most `nodes` of them, and of a
/// policy that plans a tree no more than that has: what does not fit is left out with what is beneath it. The policy
/// sees which one is asking (observation::source) and decides for each; what it saw of the first one's chain holds for
/// the second, where that shows none. Both follow what is committed. Its draft distribution is a point mass, and it
/// takes nothing else: of two draws from different rows that are one node nobody could say what it was drawn from. Name
/// what you would name as a drafter (draft/named.hpp).
/// Effect on the distribution: none. Randomness: its drafters'. Cost: both, and for each node a look at those before.
template <class A, class B>
class merged {
    static_assert(AllDraft<A, B>, "augur::draft::merged: name drafters, models, layers or heads on hidden states");
};

template <class A, class B>
merged(A&&, B&&) -> merged<named_t<A>, named_t<B>>;
template <class A, class B>
merged(A&&, B&&, std::size_t) -> merged<named_t<A>, named_t<B>>;

template <class A, class B>
requires AllDraft<A, B>
class merged<A, B> : public several<A, B> {
 public:
    static_assert(std::same_as<typename A::draft_distribution_type, point_mass> &&
                      std::same_as<typename B::draft_distribution_type, point_mass>,
                  "augur::draft::merged: both drafters need the draft distribution point_mass, but one draws from "
                  "rows; let it pick "
                  "by draft::argmax or draft::shared_noise");
    static_assert(
        !augur::drafts_in_target<A> && !augur::drafts_in_target<B>,
        "augur::draft::merged: a drafter in the target's own sequence drafts a chain that the target finishes "
        "where it lies, so that it cannot be merged into a tree; ask one after the other by draft::fallback");
    using draft_distribution_type = point_mass;
    struct state_type {
        std::tuple<typename A::state_type, typename B::state_type> drafters;
        proposal<point_mass> drafted{};       ///< by one of them
        std::vector<std::int32_t> numbers{};  ///< of its nodes in the tree
    };
    static constexpr bool branches = true;
    static constexpr bool grows = augur::grows<A> || augur::grows<B>;
    static constexpr std::size_t most_nodes = 256;

    /// Refuses drafters of different vocabularies, and no nodes.
    template <class First, class Second>
    requires(std::same_as<named_t<First>, A>&& std::same_as<named_t<Second>, B>)
        merged(First&& first, Second&& second, std::size_t nodes = most_nodes)
        : several<A, B>("merged: its drafters", std::forward<First>(first), std::forward<Second>(second)),
          nodes_(nodes) {
        if (nodes == 0) augur::detail::fail("merged: nodes is 0; a tree has at least one");
    }

    std::size_t nodes() const { return nodes_; }

    state_type make_state() const { return {this->make_states()}; }

    flow::task propose(state_type& state, auto& context, proposal<point_mass>& proposed) const {
        context.begin(0, shown_by<A>);
        co_await draft::proposing(std::get<0>(this->drafters()), std::get<0>(state.drafters), context, state.drafted);
        add(state, proposed, budget(context));
        context.keep_chain();
        context.begin(1, shown_by<B>);
        co_await draft::proposing(std::get<1>(this->drafters()), std::get<1>(state.drafters), context, state.drafted);
        add(state, proposed, budget(context));
    }

 private:
    std::size_t budget(auto& context) const {
        if (!plans_trees<decltype(context)>) return nodes_;
        const std::size_t planned = context.plan().size();
        return std::min(nodes_, std::max(planned, context.wanted()));
    }

    static void add(state_type& state, proposal<point_mass>& proposed, std::size_t most) {
        state.numbers.clear();
        for (std::size_t node = 0; node < state.drafted.size(); ++node) {
            const std::int32_t parent = state.drafted.parent(node);
            const std::int32_t number =
                trie_node(proposed, parent == after_prefix ? parent : state.numbers[static_cast<std::size_t>(parent)],
                          state.drafted.tokens()[node], most);
            if (number == no_node) return;  // no other fits
            state.numbers.push_back(number);
        }
    }

    std::size_t nodes_;
};

/// One of its drafters awaits its token selector.
template <class A, class B>
requires SomeAwaitSelector<A, B>
class merged<A, B> : public several_awaiting_selector<augur::draft::merged, A, B> {
 public:
    template <class First, class Second>
    requires(std::same_as<named_t<First>, A>&& std::same_as<named_t<Second>, B>)
        merged(First&& first, Second&& second, std::size_t nodes = 256)
        : several_awaiting_selector<augur::draft::merged, A, B>(std::forward<First>(first),
                                                                std::forward<Second>(second)),
          nodes_(nodes) {}

    template <class TokenSelector>
    auto with_selector(TokenSelector) const& {
        return this->template drawn<TokenSelector>(this->drafters_, nodes_);
    }
    template <class TokenSelector>
    auto with_selector(TokenSelector) && {
        return this->template drawn<TokenSelector>(std::move(this->drafters_), nodes_);
    }

 private:
    std::size_t nodes_;
};

}  // namespace augur::draft
