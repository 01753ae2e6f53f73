#pragma once
// Adapts an EAGLE layer (on the target's last hidden states) to a Drafter of chains.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "augur/detail/owned_or_borrowed.hpp"
#include "augur/draft/concept.hpp"
#include "augur/draft/draw_next.hpp"
#include "augur/draft/exit_rows.hpp"
#include "augur/flow/task.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/fused_sequence.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/types/token_selector.hpp"

namespace augur::draft {

/// Decodes ahead with `Source`, a FusedModel by value, or `M&` by reference. Its input for a token is the token and the
/// hidden state of the position before: the target's as far as it is known, which is up to the root (the state before
/// the last committed token), and from there on its own. Only true inputs stay in its cache. Picks tokens as
/// `TokenSelector` says, by default as the criterion asks. After a prompt of one token, and where its context ends, it
/// proposes nothing.
/// Cost: one pass of the source per row looked at; the first of a round also runs what was committed since.
/// Effect on the distribution: none; that is the criterion's. A row from which nothing can be drawn ends the proposal.
template <class Source, class TokenSelector = as_asked>
class eagle {
 public:
    using model_type = typename detail::owned_or_borrowed<Source>::type;
    static_assert(FusedModel<model_type>);
    using draft_distribution_type = typename TokenSelector::draft_distribution_type;
    struct state_type : model::fused_sequence<model_type> {
        using model::fused_sequence<model_type>::fused_sequence;
        exit_rows exit_states{};  ///< that the source's rows of the last round were made of
        distribution row{};
    };
    static constexpr bool shows_rows = true;

    explicit eagle(Source&& source, TokenSelector token_selector = {})
        : model_(std::forward<Source>(source)), token_selector_(token_selector) {}

    const model_type& model() const { return model_.get(); }
    std::size_t vocabulary_size() const { return model().vocabulary_size(); }
    std::string vocabulary_fingerprint() const { return augur::detail::vocabulary_fingerprint_of(model()); }
    std::size_t hidden_size() const { return model().hidden_size(); }

    state_type make_state() const { return state_type(model()); }

    void on_commit(state_type& state, const prefix& committed, const auto& states) const {
        state.follow(committed, states);
    }

    /// Runs what is left of the prompt's states, so that the first round need not.
    void prepare(state_type& state, const prefix& prompt) const { state.catch_up(prompt); }

    flow::task propose(state_type& state, auto& context, proposal<draft_distribution_type>& proposed) const {
        const std::size_t root = context.prefix().size() - 1;  // states that there are
        if (!context.wants_more(0) || root == 0 || state.known() != root) co_return;
        speculative_suffix speculative(context.prefix());
        std::optional<typename state_type::rows_type> rows;
        co_await flow::alone{[&] { rows.emplace(state.root(context.prefix())); }};
        state.exit_states.begin(context.prefix().size());
        while (true) {
            const std::span<const float> own = state.exit_states.push(state.last_state());
            const logit_row row = (*rows)[rows->size() - 1];
            if (!context.wants_more(proposed.size(), row)) break;
            const token picked = draw_next(token_selector_, row, context, proposed, state.row);
            if (picked == no_token) break;
            if (!context.wants_more(proposed.size())) break;
            if (root + proposed.size() > model().context_length()) break;
            speculative.push(picked);
            const std::size_t before = proposed.size() - 1;
            co_await flow::alone{[&] { rows.emplace(state.extend(before, std::span(&picked, 1), own)); }};
        }
    }

 private:
    detail::owned_or_borrowed<Source> model_;
    TokenSelector token_selector_;
};

/// With the token selector that the criterion will set.
template <class Source>
class eagle<Source, as_asked> : public awaiting_selector<eagle, Source> {
    static_assert(FusedModel<typename detail::owned_or_borrowed<Source>::type>);

 public:
    using awaiting_selector<augur::draft::eagle, Source>::awaiting_selector;
};

template <class Source>
eagle(Source&&) -> eagle<Source, as_asked>;
template <class Source, class TokenSelector>
eagle(Source&&, TokenSelector) -> eagle<Source, TokenSelector>;

}  // namespace augur::draft
