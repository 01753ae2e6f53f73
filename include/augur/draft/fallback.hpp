#pragma once
// Several drafters: each round the first that has something to say.

#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/draft/concept.hpp"
#include "augur/draft/context.hpp"
#include "augur/draft/named.hpp"
#include "augur/flow/task.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/error.hpp"

namespace augur::draft {

template <class... D>
concept AllDraft = sizeof...(D) > 0 && (Drafter<D> && ...);
template <class... D>
concept SomeAreUndrawn = ((Drafter<D> || Undrawn<D>)&&...) && (Undrawn<D> || ...);

/// A drafter that says how large the hidden states are that it reads.
template <class D>
concept SaysHiddenSize = requires(const D& drafter) {
    drafter.hidden_size();
};

/// Asks its drafters in order; the first proposal that is not empty is the round's. The policy sees which one is asking
/// (observation::source) and decides for it; where it wants none of its tokens, the next is asked. Which matches are good
/// enough is the drafters' own affair: prompt_lookup(2) is silent on a match of one token.
/// The claim is the drafters'. Where some draw from rows, those that claim point masses are given rows that hold one token; a
/// token that the transform bans ends their draft.
/// Name what you would name as a drafter (draft/named.hpp): models, layers and heads draft in the way that the criterion asks for.
/// Effect on the distribution: none. Randomness: its drafters'. Cost: theirs, of those that were asked; all of them follow
/// what is committed. A row for a point mass costs O(vocabulary).
template <class... D>
class fallback {
    static_assert(AllDraft<D...>,
                  "augur::draft::fallback: name drafters, models, layers or heads on hidden states, or schemes");
};

template <class... Named>
fallback(Named&&...) -> fallback<named_t<Named>...>;

template <class... D>
requires AllDraft<D...>
class fallback<D...> {
    static constexpr bool drawn = (std::same_as<typename D::claim_type, distribution> || ...);
    static constexpr bool follows_states = (ReadsStates<D> || ...);

 public:
    using claim_type = std::conditional_t<drawn, distribution, point_mass>;
    static_assert(((std::same_as<typename D::claim_type, point_mass> ||
                    std::same_as<typename D::claim_type, distribution>)&&...),
                  "augur::draft::fallback: its drafters claim point_mass or distribution");
    static_assert(sizeof...(D) <= most_drafters,
                  "augur::draft::fallback: too many drafters for the names of their numbers");
    static_assert(!drawn || (HasVocabularySize<D> || ...),
                  "augur::draft::fallback: rows for point masses need a drafter that knows the vocabulary's size");
    struct state_type {
        std::tuple<typename D::state_type...> drafters;
        proposal<point_mass> points{};  ///< to be given rows
        std::vector<float> row{};
    };
    static constexpr bool shows_rows = (augur::shows_rows<D> && ...);
    static constexpr bool shows_matches = (augur::shows_matches<D> && ...);
    static constexpr bool branches = (augur::branches<D> || ...);
    static_assert(!drawn || !((augur::branches<D> && std::same_as<typename D::claim_type, point_mass>) || ...),
                  "augur::draft::fallback: a drafter of trees of point masses cannot stand beside one that draws from "
                  "rows; let both claim the same");

    /// Refuses drafters of different vocabularies.
    template <class... Named>
    requires(std::same_as<named_t<Named>, D>&&...) explicit fallback(Named&&... drafters)
        : drafters_(draft::named(std::forward<Named>(drafters))...) {
        if constexpr ((HasVocabularySize<D> || ...)) {
            std::apply([&](const auto&... each) { (check_vocabulary(each), ...); }, drafters_);
        }
    }

    const std::tuple<D...>& drafters() const { return drafters_; }

    std::size_t vocabulary_size() const requires(HasVocabularySize<D> || ...) {
        std::size_t size = 0;
        const auto look = [&](const auto& drafter) {
            if constexpr (requires { drafter.vocabulary_size(); }) size = drafter.vocabulary_size();
        };
        std::apply([&](const auto&... each) { (look(each), ...); }, drafters_);
        return size;
    }

    /// Of the first that has one.
    std::string vocabulary_fingerprint() const {
        std::string found;
        const auto look = [&](const auto& drafter) {
            if (found.empty()) found = augur::detail::vocabulary_fingerprint_of(drafter);
        };
        std::apply([&](const auto&... each) { (look(each), ...); }, drafters_);
        return found;
    }

    state_type make_state() const {
        return std::apply([](const auto&... each) { return state_type{{each.make_state()...}}; }, drafters_);
    }

    void prepare(state_type& state, const prefix& prompt) const {
        each(state, [&](const auto& drafter, auto& own) { draft::prepare(drafter, own, prompt); });
    }

    void check(const transform::settings& chosen) const {
        std::apply([&](const auto&... each) { (draft::check(each, chosen), ...); }, drafters_);
    }

    /// Stages inside its drafters, in their order.
    static constexpr std::size_t stages = (stages_in<D> + ...);
    void report(const state_type& state, std::span<stage_statistics> counts) const {
        each(state, [&](const auto& drafter, const auto& own) {
            constexpr std::size_t inside = stages_in<std::remove_cvref_t<decltype(drafter)>>;
            draft::report(drafter, own, counts.first(inside));
            counts = counts.subspan(inside);
        });
    }

    flow::task propose(state_type& state, auto& context, proposal<claim_type>& made) const {
        return ask_from<0>(state, context, made);
    }

    void abandon(state_type& state) const {
        each(state, [](const auto& drafter, auto& own) { draft::abandon(drafter, own); });
    }

    void on_commit(state_type& state, const prefix& committed) const requires(!follows_states) {
        each(state, [&](const auto& drafter, auto& own) { drafter.on_commit(own, committed); });
    }
    void on_commit(state_type& state, const prefix& committed, const auto& states) const requires(follows_states) {
        each(state, [&](const auto& drafter, auto& own) { draft::on_commit(drafter, own, committed, states); });
    }
    /// Of the hidden states that its drafters read, where one says so.
    std::size_t hidden_size() const requires(SaysHiddenSize<D> || ...) {
        std::size_t size = 0;
        const auto look = [&](const auto& drafter) {
            if constexpr (requires { drafter.hidden_size(); }) size = drafter.hidden_size();
        };
        std::apply([&](const auto&... each) { (look(each), ...); }, drafters_);
        return size;
    }

 private:
    /// `use(drafter, its state)`, in order.
    template <class Use>
    void each(auto& state, const Use& use) const {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (use(std::get<I>(drafters_), std::get<I>(state.drafters)), ...);
        }
        (std::index_sequence_for<D...>());
    }

    /// Asks number I, and those after it where that has nothing to say.
    template <std::size_t I>
    flow::task ask_from(state_type& state, auto& context, proposal<claim_type>& made) const {
        using asked = std::tuple_element_t<I, std::tuple<D...>>;
        context.begin(I, shown_by<asked>);
        if constexpr (std::same_as<typename asked::claim_type, claim_type>) {
            co_await draft::proposing(std::get<I>(drafters_), std::get<I>(state.drafters), context, made);
        } else {
            co_await draft::proposing(std::get<I>(drafters_), std::get<I>(state.drafters), context, state.points);
            give_rows(state, context, made);
        }
        if constexpr (I + 1 < sizeof...(D)) {
            if (made.empty()) co_await ask_from<I + 1>(state, context, made);
        }
    }

    /// The row that holds a token alone goes through the transform, so that what is banned is not proposed.
    void give_rows(state_type& state, auto& context, proposal<distribution>& made) const {
        constexpr float nothing = -std::numeric_limits<float>::infinity();
        state.row.resize(vocabulary_size(), nothing);
        speculative_suffix speculative(context.prefix());
        for (token t : state.points.tokens()) {
            distribution& row = made.next_row();
            state.row[static_cast<std::size_t>(t)] = 0;
            context.distribution_of(state.row, row);
            state.row[static_cast<std::size_t>(t)] = nothing;
            if (row.empty()) return;
            row.become_point(t, state.row.size());
            made.complete(t);
            speculative.push(t);
        }
    }

    void check_vocabulary(const auto& drafter) const {
        if constexpr (requires { drafter.vocabulary_size(); }) {
            augur::detail::check_same_vocabulary("fallback: its drafters", "one", drafter, "another", *this);
        }
    }

    std::tuple<D...> drafters_;
};

/// Some of its drafters await their drawing.
template <class... D>
requires SomeAreUndrawn<D...>
class fallback<D...> {
 public:
    using undrawn_type = fallback;

    template <class... Named>
    requires(std::same_as<named_t<Named>, D>&&...) explicit fallback(Named&&... drafters)
        : drafters_(draft::named(std::forward<Named>(drafters))...) {}

    template <class Drawing>
    auto drawn_by(Drawing) const& {
        return drawn<Drawing>(drafters_);
    }
    template <class Drawing>
    auto drawn_by(Drawing) && {
        return drawn<Drawing>(std::move(drafters_));
    }

 private:
    template <class Drawing, class Drafters>
    static auto drawn(Drafters&& drafters) {
        const auto compose = [](auto&&... each) {
            return draft::fallback<drafter_of_t<Drawing, decltype(each)>...>(
                drafter_of<Drawing>(std::forward<decltype(each)>(each))...);
        };
        return std::apply(compose, std::forward<Drafters>(drafters));
    }

    std::tuple<D...> drafters_;
};

}  // namespace augur::draft
