#pragma once
// The common base of drafters that combine several others.

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "augur/draft/calls.hpp"
#include "augur/draft/context.hpp"
#include "augur/draft/named.hpp"
#include "augur/model/cache_bytes.hpp"
#include "augur/model/same_vocabulary.hpp"

namespace augur::draft {

template <class... D>
concept AllDraft = sizeof...(D) > 0 && (Drafter<D> && ...);
template <class... D>
concept SomeAwaitSelector = ((Drafter<D> || AwaitsSelector<D>)&&...) && (AwaitsSelector<D> || ...);

/// A drafter that says how large the hidden states are that it reads.
template <class D>
concept SaysHiddenSize = requires(const D& drafter) {
    drafter.hidden_size();
};

/// A drafter's base: everything but how to propose. All of its drafters are told what is committed. The state of the
/// drafter has theirs in `drafters`, made by make_states.
template <class... D>
class several {
    static constexpr bool follows_states = (ReadsStates<D> || ...);

 public:
    static_assert(sizeof...(D) <= most_drafters,
                  "augur::draft: too many drafters in one for the names of their numbers");
    static constexpr bool shows_rows = (augur::shows_rows<D> && ...);
    static constexpr bool shows_matches = (augur::shows_matches<D> && ...);
    static constexpr bool drafts_in_target = (augur::drafts_in_target<D> || ...);

    /// Refuses drafters of different vocabularies. `who` opens the message.
    template <class... Named>
    explicit several(std::string_view who, Named&&... drafters)
        : drafters_(draft::named(std::forward<Named>(drafters))...) {
        if constexpr ((HasVocabularySize<D> || ...)) {
            std::apply([&](const auto&... each) { (check_vocabulary(who, each), ...); }, drafters_);
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

    std::size_t cache_bytes(std::size_t tokens) const requires(CountsCacheBytes<D>&&...) {
        return std::apply([&](const auto&... each) { return (each.cache_bytes(tokens) + ...); }, drafters_);
    }

    void prepare(auto& state, const prefix& prompt) const {
        each(state, [&](const auto& drafter, auto& own) { draft::prepare(drafter, own, prompt); });
    }

    void check(const transform::settings& chosen) const {
        std::apply([&](const auto&... each) { (draft::check(each, chosen), ...); }, drafters_);
    }

    void check_target(const auto& target) const requires drafts_in_target {
        std::apply([&](const auto&... each) { (draft::check_target(each, target), ...); }, drafters_);
    }

    /// Stages inside its drafters, in their order.
    static constexpr std::size_t stages = (stages_in<D> + ...);
    void report(const auto& state, std::span<stage_statistics> counts) const {
        each(state, [&](const auto& drafter, const auto& own) {
            constexpr std::size_t inside = stages_in<std::remove_cvref_t<decltype(drafter)>>;
            draft::report(drafter, own, counts.first(inside));
            counts = counts.subspan(inside);
        });
    }

    void abandon(auto& state) const {
        each(state, [](const auto& drafter, auto& own) { draft::abandon(drafter, own); });
    }

    void on_commit(auto& state, const prefix& committed) const requires(!follows_states) {
        each(state, [&](const auto& drafter, auto& own) { drafter.on_commit(own, committed); });
    }
    void on_commit(auto& state, const prefix& committed, const auto& states) const requires(follows_states) {
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

 protected:
    std::tuple<typename D::state_type...> make_states() const {
        return std::apply(
            [](const auto&... each) { return std::tuple<typename D::state_type...>{each.make_state()...}; }, drafters_);
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

    void check_vocabulary(std::string_view who, const auto& drafter) const {
        if constexpr (requires { drafter.vocabulary_size(); }) {
            augur::detail::check_same_vocabulary(who, "one", drafter, "another", *this);
        }
    }

    std::tuple<D...> drafters_;
};

/// The same before the criterion has named how to draw: `Kind<D...>` is a drafter where all of `D` are.
template <template <class...> class Kind, class... D>
class several_awaiting_selector {
 public:
    using awaiting_selector_type = several_awaiting_selector;

    template <class... Named>
    explicit several_awaiting_selector(Named&&... drafters)
        : drafters_(draft::named(std::forward<Named>(drafters))...) {}

 protected:
    /// What it becomes: `make(drafter of each...)`.
    template <class TokenSelector, class Drafters>
    static auto drawn(Drafters&& drafters, const auto&... more) {
        const auto compose = [&](auto&&... each) {
            return Kind<drafter_of_t<TokenSelector, decltype(each)>...>(
                drafter_of<TokenSelector>(std::forward<decltype(each)>(each))..., more...);
        };
        return std::apply(compose, std::forward<Drafters>(drafters));
    }

    std::tuple<D...> drafters_;
};

}  // namespace augur::draft
