#pragma once
// Adapts any smaller model to a Drafter of chains.

#include <cstddef>
#include <string>
#include <utility>

#include "augur/detail/owned_or_borrowed.hpp"
#include "augur/draft/concept.hpp"
#include "augur/draft/draw_next.hpp"
#include "augur/flow/task.hpp"
#include "augur/model/cached_sequence.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/types/token_selector.hpp"

namespace augur::draft {

/// Decodes ahead with `Source` (a model by value, or `M&` by reference) and picks tokens as `TokenSelector` says, by
/// default as the criterion asks. Its rows pass
/// through the same transform as the target's. Rewound to what is committed after every round; where its context ends
/// it proposes nothing. Cost: one pass of the model per row looked at: per drafted token, and one more where the policy
/// ends the draft at a row. The first of a round also runs what was committed since.
/// Effect on the distribution: none; that is the criterion's. A row from which nothing can be drawn ends the proposal.
template <class Source, class TokenSelector = as_asked>
class draft_model {
 public:
    using model_type = typename detail::owned_or_borrowed<Source>::type;
    static_assert(Model<model_type>);
    using draft_distribution_type = typename TokenSelector::draft_distribution_type;
    /// What the model has seen; and storage.
    struct state_type : model::cached_sequence<model_type> {
        using model::cached_sequence<model_type>::cached_sequence;
        distribution row;
    };
    static constexpr bool shows_rows = true;

    explicit draft_model(Source&& source, TokenSelector token_selector = {})
        : model_(std::forward<Source>(source)), token_selector_(token_selector) {}

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

    void on_commit(state_type& state, const prefix& committed) const { state.rewind(committed.tokens()); }

 private:
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
template <class Source, class TokenSelector>
draft_model(Source&&, TokenSelector) -> draft_model<Source, TokenSelector>;

}  // namespace augur::draft
