#pragma once
// Self-speculation: the target's lower layers draft, its upper layers verify from their hidden states.

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/detail/owned_or_borrowed.hpp"
#include "augur/detail/stopwatch.hpp"
#include "augur/draft/calls.hpp"
#include "augur/draft/draw_next.hpp"
#include "augur/draft/exit_head.hpp"
#include "augur/draft/exit_rows.hpp"
#include "augur/draft/own_sequence.hpp"
#include "augur/flow/task.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token_selector.hpp"

namespace augur::draft {

/// Drafts a chain in the target's own sequence: the first layers run over the last committed token and over each token
/// that is drafted, and the exit head `Source` (by value, or `Head&` by reference) guesses what follows; verification
/// is one pass through the other layers, from the hidden states that wait there. No layer runs twice over a token, and
/// no cache beside the target's is kept. Picks tokens as `TokenSelector` says, by default as the criterion asks.
/// Cost: the first layers of one token, one after the other, and the head, for each row looked at; the first layers of
/// the last token drafted, where its row is not looked at. What the first layers cost counts as the verifier's time:
/// it would run them in any case. Of a head that learns, the state after the last token is taken in every round: one
/// pass is two then, over the same layers. The same holds of an AttendingHead, which keeps a sequence of its own beside
/// the target's.
/// Effect on the distribution: none; that is the criterion's. A row from which nothing can be drawn ends the proposal.
/// Source: Liu et al. 2024, Kangaroo (arXiv 2404.18911).
template <class Source, class TokenSelector = as_asked>
class self_speculation {
 public:
    using head_type = typename detail::owned_or_borrowed<Source>::type;
    static constexpr bool attends = AttendingHead<head_type>;
    static_assert(ExitHead<head_type> || attends);
    using draft_distribution_type = typename TokenSelector::draft_distribution_type;
    /// Storage; and what the rows of the last round were guessed from, for those who learn from it.
    struct state_type {
        std::vector<float> logits;
        distribution row;
        exit_rows exit_states;
        typename own_sequence_of<head_type>::type own;
    };
    static constexpr bool shows_rows = true;
    static constexpr bool drafts_in_target = true;

    explicit self_speculation(Source&& source, TokenSelector token_selector = {})
        : head_(std::forward<Source>(source)), token_selector_(token_selector) {}

    const head_type& head() const { return head_.get(); }
    std::size_t vocabulary_size() const { return head().vocabulary_size(); }
    std::string vocabulary_fingerprint() const { return augur::detail::vocabulary_fingerprint_of(head()); }
    void check_target(const auto& target) const { check_exit_sizes(head(), target); }

    state_type make_state() const {
        return {std::vector<float>(vocabulary_size()), {}, {}, typename own_sequence_of<head_type>::type(head())};
    }

    /// Brings the target to `tokens`, and the head's own sequence with it.
    void fill(state_type& state, auto& target, const prefix_tokens& tokens) const requires attends {
        state.own.rewind(head(), tokens, target);
        target.fill(tokens, head().layer(), [&](const auto& states) {
            state.own.take(head(), tokens.first(states.first() + states.size()), states);
        });
    }

    flow::task propose(state_type& state, auto& context, proposal<draft_distribution_type>& proposed) const {
        auto& target = context.target();
        speculative_suffix speculative(context.prefix());
        state.exit_states.begin(context.prefix().size());
        if constexpr (attends) state.own.begin_round(head(), context.prefix().tokens(), target);
        while (true) {
            const bool wants_more = context.wants_more(proposed.size());
            if (!wants_more && !learns<head_type> && !attends) break;
            const augur::detail::stopwatch watch;
            co_await target.advance(context.prefix().tokens(), head().layer());
            context.count_as_verifying(watch.seconds());
            const logit_row last = see_states(state, target, context.prefix().tokens());
            state.exit_states.push(last);
            if (!wants_more) break;
            guess(state, last);
            const logit_row row(state.logits.data(), state.logits.size(), possible_of(head()));
            if (!context.wants_more(proposed.size(), row)) break;
            const token picked = draw_next(token_selector_, row, context, proposed, state.row);
            if (picked == no_token) break;
            speculative.push(picked);
        }
    }

    void on_commit(state_type&, const prefix&) const {}

 private:
    /// What the head reads of the last token.
    logit_row see_states(state_type& state, const auto& target, std::span<const token> tokens) const {
        if constexpr (attends) {
            const auto states = target.model().hidden(target.sequence());
            state.own.take(head(), tokens, states);
            return states[states.size() - 1];
        } else {
            return exit_state<head_type>(target.model(), target.sequence());
        }
    }
    void guess(state_type& state, logit_row last) const {
        if constexpr (attends) {
            state.own.row(head(), state.logits);
        } else {
            head().row(last, state.logits);
        }
    }

    detail::owned_or_borrowed<Source> head_;
    TokenSelector token_selector_;
};

/// With the token selector that the criterion will set.
template <class Source>
class self_speculation<Source, as_asked> : public awaiting_selector<self_speculation, Source> {
    static_assert(ExitHead<typename detail::owned_or_borrowed<Source>::type> ||
                  AttendingHead<typename detail::owned_or_borrowed<Source>::type>);

 public:
    using awaiting_selector<augur::draft::self_speculation, Source>::awaiting_selector;
};

template <class Source>
self_speculation(Source&&) -> self_speculation<Source, as_asked>;
template <class Source, class TokenSelector>
self_speculation(Source&&, TokenSelector) -> self_speculation<Source, TokenSelector>;

}  // namespace augur::draft
