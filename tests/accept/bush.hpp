#pragma once
// Draft trees from a model's rows, for whole decodings; and what a round over a tree accepts, by enumeration.

#include <augur/draft/calls.hpp>
#include <augur/draft/draw_next.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/tree_round.hpp>
#include <boost/test/unit_test.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "sanitized.hpp"

namespace augur::testing {

/// Children of the prefix, and of one another, in the order of their parents: from the rows of a model, drawn as
/// `TokenSelector` says.
template <class TokenSelector>
struct bush {
    using draft_distribution_type = typename TokenSelector::draft_distribution_type;
    static constexpr bool branches = true;
    struct state_type {
        model::cached_sequence<function_model> cache;
        distribution spare{};
    };

    const function_model& source;
    std::vector<std::int32_t> parents{-1, -1, -1, 0, 0, 1, 3, 3, 6};

    state_type make_state() const { return {model::cached_sequence<function_model>(source)}; }
    flow::task propose(state_type& state, auto& context, proposal<draft_distribution_type>& proposed) const {
        for (std::size_t node = 0, sibling = 0; node < parents.size(); ++node) {
            const bool again = node > 0 && parents[node] == parents[node - 1];
            sibling = again ? sibling + 1 : 0;
            if (!context.wants_more(parents::depth_of(parents, parents[node]))) co_return;
            const draft::at_node here(context, proposed, parents[node]);
            const auto rows = co_await state.cache.ask(context.prefix().tokens(), 1);
            if (draft::draw_next(TokenSelector{}, rows[0], context, proposed, state.spare, parents[node], sibling) ==
                no_token) {
                co_return;
            }
        }
    }
    void on_commit(state_type& state, const prefix& committed) const { state.cache.rewind(committed.tokens()); }
};

/// What a criterion decides about a round.
template <class Criterion, class TokenSelector>
verdict judged(const Criterion& criterion, const TokenSelector& token_selector, const tree_round& round, auto chooser) {
    proposal<typename TokenSelector::draft_distribution_type> proposed;
    accept::walk_storage<transform::pipeline, Criterion> storage;
    return round.judged(criterion, token_selector, chooser, proposed, storage);
}

/// Accepted tokens of a round, in expectation over drafts and coins.
template <class Criterion, class TokenSelector>
double expected_accepted(const Criterion& criterion, const TokenSelector& token_selector, const tree_round& round) {
    const text_distribution counts = enumerate([&](const enumerating_chooser& chooser) {
        return std::vector<token>{static_cast<token>(judged(criterion, token_selector, round, chooser).accepted)};
    });
    double expected = 0;
    for (const auto& [accepted, probability] : counts.probability) expected += probability * accepted[0];
    return expected;
}

/// The criterion keeps its promise in this round, by enumeration; where tokens are drawn, with and without replacement.
template <class TokenSelector, class Criterion>
void keeps_its_promise(const Criterion& criterion, tree_round round) {
    for (const bool replacement : {false, true}) {
        if (replacement && !std::same_as<TokenSelector, draft::sampled>) continue;
        round.replacement = replacement;
        const std::string found = broken_promise(criterion, round, TokenSelector{});
        BOOST_TEST(found == "", describe(round.shape.parents())
                                    << (replacement ? " with replacement: " : ": ") << found);
    }
}

/// Trees over three tokens: every kind of place that a node can have, with one to three paths.
inline const topology every_small_shape[] = {{-1, -1},       {-1, -1, -1},   {-1, 0, 0},     {-1, -1, 0, 1},
                                             {-1, 0, 0, -1}, {-1, -1, 1, 1}, {-1, 0, -1, 1}, {-1, -1, 0, 1, 2}};
inline const std::span small_shapes =
    std::span(every_small_shape).first(unless_sanitized(std::size(every_small_shape), std::size_t{4}));

}  // namespace augur::testing
