#pragma once
// Drafts chains with Medusa or Hydra heads: each predicts one token further ahead from one hidden state.

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/detail/owned_or_borrowed.hpp"
#include "augur/draft/concept.hpp"
#include "augur/draft/draw_next.hpp"
#include "augur/model/hidden_states.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/types/token_selector.hpp"

namespace augur {

/// Heads on a target's last hidden state. `heads.row(workspace, state, tokens, head)` is the row of logits of the token
/// that follows `tokens`, which are head + 1: the one after the state's, and those drafted since. Medusa's heads look
/// at the state only, Hydra's at the tokens too. The row is valid until the next one is made in the same workspace.
template <class H>
concept DraftHeads = HasVocabularySize<H> && std::movable<typename H::workspace_type> &&
    requires(const H& heads, typename H::workspace_type& workspace, std::span<const float> state,
             std::span<const token> tokens, std::size_t head) {
    { heads.hidden_size() } -> std::convertible_to<std::size_t>;
    { heads.head_count() } -> std::convertible_to<std::size_t>;
    { heads.make_workspace() } -> std::same_as<typename H::workspace_type>;
    { heads.row(workspace, state, tokens, head) } -> std::convertible_to<logit_row>;
};

namespace draft {

/// Drafts a chain with `Source`, heads by value, or `H&` by reference: at most one token per head, from the target's
/// hidden state before the last committed token. Picks tokens as `TokenSelector` says, by default as the criterion
/// asks. After a prompt of one token it proposes nothing. Cost: one head per row looked at. Keeps nothing but that one
/// state.
/// Effect on the distribution: none; that is the criterion's. A row from which nothing can be drawn ends the proposal.
template <class Source, class TokenSelector = as_asked>
class heads {
 public:
    using heads_type = typename detail::owned_or_borrowed<Source>::type;
    static_assert(DraftHeads<heads_type>);
    using draft_distribution_type = typename TokenSelector::draft_distribution_type;
    struct state_type {
        typename heads_type::workspace_type workspace;
        std::vector<float> last{};  ///< the target's state at position known - 1
        std::size_t known = 0;
        distribution row{};
    };
    static constexpr bool shows_rows = true;

    explicit heads(Source&& source, TokenSelector token_selector = {})
        : source_(std::forward<Source>(source)), token_selector_(token_selector) {}

    const heads_type& source() const { return source_.get(); }
    std::size_t vocabulary_size() const { return source().vocabulary_size(); }
    std::string vocabulary_fingerprint() const { return augur::detail::vocabulary_fingerprint_of(source()); }
    std::size_t hidden_size() const { return source().hidden_size(); }

    state_type make_state() const { return {.workspace = source().make_workspace()}; }

    void on_commit(state_type& state, const prefix&, const auto& states) const {
        if (states.size() == 0) return;
        const auto last = states[states.size() - 1];
        state.last.assign(last.begin(), last.end());
        state.known = states.first() + states.size();
    }

    void propose(state_type& state, auto& context, proposal<draft_distribution_type>& proposed) const {
        if (state.known == 0 || state.known + 1 != context.prefix().size()) return;
        speculative_suffix speculative(context.prefix());
        while (context.wants_more(proposed.size()) && proposed.size() < source().head_count()) {
            const auto after = context.prefix().tokens().subspan(state.known);
            const logit_row row = source().row(state.workspace, state.last, after, proposed.size());
            if (!context.wants_more(proposed.size(), row)) break;
            const token picked = draw_next(token_selector_, row, context, proposed, state.row);
            if (picked == no_token) break;
            speculative.push(picked);
        }
    }

 private:
    detail::owned_or_borrowed<Source> source_;
    TokenSelector token_selector_;
};

/// With the token selector that the criterion will set.
template <class Source>
class heads<Source, as_asked> : public awaiting_selector<heads, Source> {
    static_assert(DraftHeads<typename detail::owned_or_borrowed<Source>::type>);

 public:
    using awaiting_selector<augur::draft::heads, Source>::awaiting_selector;
};

template <class Source>
heads(Source&&) -> heads<Source, as_asked>;
template <class Source, class TokenSelector>
heads(Source&&, TokenSelector) -> heads<Source, TokenSelector>;

}  // namespace draft
}  // namespace augur
