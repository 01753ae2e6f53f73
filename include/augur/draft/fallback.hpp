#pragma once
// Combines drafters: each round, the first that proposes anything.

#include <concepts>
#include <cstddef>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/draft/calls.hpp"
#include "augur/draft/context.hpp"
#include "augur/draft/named.hpp"
#include "augur/draft/several.hpp"
#include "augur/flow/task.hpp"
#include "augur/types/distribution.hpp"

namespace augur::draft {

/// Asks its drafters in order; the first proposal that is not empty is the round's. The policy sees which one is asking
/// (observation::source) and decides for it; where it wants none of its tokens, the next is asked. Which matches are
/// good enough is the drafters' own affair: prompt_lookup(2) is silent on a match of one token.
/// The draft distribution is the drafters'. Where some draw from rows, those of point masses draft chains, whatever the
/// plan, which are given rows that hold one token; a token that the transform bans ends their draft.
/// Name what you would name as a drafter (draft/named.hpp): models, layers and heads draft in the way that the
/// criterion asks for. Effect on the distribution: none. Randomness: its drafters'. Cost: theirs, of those that were
/// asked; all of them follow what is committed. A row for a point mass costs O(vocabulary).
template <class... D>
class fallback {
    static_assert(AllDraft<D...>,
                  "augur::draft::fallback: name drafters, models, layers or heads on hidden states, or schemes");
};

template <class... Named>
fallback(Named&&...) -> fallback<named_t<Named>...>;

template <class... D>
requires AllDraft<D...>
class fallback<D...> : public several<D...> {
    static constexpr bool drawn = (std::same_as<typename D::draft_distribution_type, distribution> || ...);

 public:
    using draft_distribution_type = std::conditional_t<drawn, distribution, point_mass>;
    static_assert(((std::same_as<typename D::draft_distribution_type, point_mass> ||
                    std::same_as<typename D::draft_distribution_type, distribution>)&&...),
                  "augur::draft::fallback: its drafters' draft distributions have to be point_mass or distribution");
    static_assert(!drawn || (HasVocabularySize<D> || ...),
                  "augur::draft::fallback: rows for point masses need a drafter that knows the vocabulary's size");
    struct state_type {
        std::tuple<typename D::state_type...> drafters;
        proposal<point_mass> points{};  ///< to be given rows
        std::vector<float> row{};
    };
    static constexpr bool branches = (augur::branches<D> || ...);
    static constexpr bool fills_trees = (augur::fills_trees<D> || ...);
    static constexpr bool grows = (augur::grows<D> || ...);
    static_assert(!drawn ||
                      !((augur::branches<D> && std::same_as<typename D::draft_distribution_type, point_mass>) || ...),
                  "augur::draft::fallback: a drafter of trees of point masses cannot be combined with one that draws "
                  "from rows; let both have the same draft distribution");

    /// Refuses drafters of different vocabularies.
    template <class... Named>
    requires(std::same_as<named_t<Named>, D>&&...) explicit fallback(Named&&... drafters)
        : several<D...>("fallback: its drafters", std::forward<Named>(drafters)...) {}

    state_type make_state() const { return {this->make_states()}; }

    flow::task propose(state_type& state, auto& context, proposal<draft_distribution_type>& proposed) const {
        return ask_from<0>(state, context, proposed);
    }

 private:
    /// Asks number I, and those after it where that has nothing to say.
    template <std::size_t I>
    flow::task ask_from(state_type& state, auto& context, proposal<draft_distribution_type>& proposed) const {
        using asked = std::tuple_element_t<I, std::tuple<D...>>;
        constexpr bool as_it_is = std::same_as<typename asked::draft_distribution_type, draft_distribution_type>;
        context.begin(I, shown_by<asked>, !as_it_is);
        if constexpr (as_it_is) {
            co_await draft::proposing(std::get<I>(this->drafters()), std::get<I>(state.drafters), context, proposed);
        } else {
            co_await draft::proposing(std::get<I>(this->drafters()), std::get<I>(state.drafters), context,
                                      state.points);
            give_rows(state, context, proposed);
        }
        if constexpr (I + 1 < sizeof...(D)) {
            if (proposed.empty()) co_await ask_from<I + 1>(state, context, proposed);
        }
    }

    /// The row that holds a token alone goes through the transform, so that what is banned is not proposed.
    void give_rows(state_type& state, auto& context, proposal<distribution>& proposed) const {
        constexpr float nothing = -std::numeric_limits<float>::infinity();
        state.row.resize(this->vocabulary_size(), nothing);
        speculative_suffix speculative(context.prefix());
        for (token t : state.points.tokens()) {
            distribution& row = proposed.next_row();
            state.row[static_cast<std::size_t>(t)] = 0;
            context.distribution_of(state.row, row);
            state.row[static_cast<std::size_t>(t)] = nothing;
            if (row.empty()) return;
            row.become_point(t, state.row.size());
            proposed.complete(t);
            speculative.push(t);
        }
    }
};

/// Some of its drafters await their token selector.
template <class... D>
requires SomeAwaitSelector<D...>
class fallback<D...> : public several_awaiting_selector<augur::draft::fallback, D...> {
 public:
    template <class... Named>
    requires(std::same_as<named_t<Named>, D>&&...) explicit fallback(Named&&... drafters)
        : several_awaiting_selector<augur::draft::fallback, D...>(std::forward<Named>(drafters)...) {}

    template <class TokenSelector>
    auto with_selector(TokenSelector) const& {
        return this->template drawn<TokenSelector>(this->drafters_);
    }
    template <class TokenSelector>
    auto with_selector(TokenSelector) && {
        return this->template drawn<TokenSelector>(std::move(this->drafters_));
    }
};

}  // namespace augur::draft
