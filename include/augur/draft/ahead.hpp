#pragma once
// Drafts while the target verifies: the next draft begins, in a thread of its own, from the likeliest outcome.

#include <cstddef>
#include <string>
#include <utility>

#include "augur/detail/owned_or_borrowed.hpp"
#include "augur/draft/draft_model.hpp"
#include "augur/draft/draw_next.hpp"
#include "augur/flow/task.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/running_ahead.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"

namespace augur::draft {

/// A draft_model of chains that goes on while the target verifies what it proposed. Its thread runs the tokens that
/// were proposed last, then the draft's likeliest token after them in the place of the target's, and the likeliest
/// after that, as many in all as were proposed and one more. What is committed decides which of these rows are asked
/// for in the next round; the others are dropped, and computed rows are the same whenever they are computed. So
/// nothing else changes: the same tokens are proposed, where the draft's rows are bitwise, and tokens are drawn and
/// judged as ever, at their time.
/// The draft must be able to run in a thread of its own while the target runs: `extend` of sequences of both at once,
/// on cores that the target leaves. In a batch each sequence has its thread.
/// Effect on the distribution: none. Randomness: none of its own. Cost: draft_model's; a copy of each row; where the
/// outcome is another one, a wait for the pass that the thread is in, of one token; and what the target loses of the
/// machine, which on few cores is more than is gained (docs/draft/ahead.md).
template <class Source, class TokenSelector = as_asked>
class ahead {
    static_assert(!grows_always<TokenSelector>, "augur: draft::ahead drafts chains; a dynamic_tree is draft_model's");

 public:
    using inner_type = draft_model<model::running_ahead<Source>, TokenSelector>;
    using draft_distribution_type = typename inner_type::draft_distribution_type;
    using state_type = typename inner_type::state_type;
    static constexpr bool shows_rows = true;

    explicit ahead(Source&& source, TokenSelector token_selector = {})
        : inner_(model::running_ahead<Source>(std::forward<Source>(source)), token_selector) {}

    const auto& model() const { return inner_.model().model(); }
    std::size_t vocabulary_size() const { return inner_.vocabulary_size(); }
    std::string vocabulary_fingerprint() const { return inner_.vocabulary_fingerprint(); }

    state_type make_state() const { return inner_.make_state(); }
    void prepare(state_type& state, const prefix& prompt) const { inner_.prepare(state, prompt); }

    flow::task propose(state_type& state, auto& context, proposal<draft_distribution_type>& proposed) const {
        co_await inner_.propose(state, context, proposed);
        if (proposed.size() == 0) co_return;
        const std::size_t run = state.tokens().size() - context.prefix().size();
        state.sequence().lane().begin(proposed.tokens().subspan(run), proposed.size() + 1);
    }
    void on_commit(state_type& state, const prefix& committed) const { inner_.on_commit(state, committed); }

    /// Of a session's drafter_state, so far; of what runs, nothing yet.
    model::ahead_counts counts(const state_type& state) const { return state.sequence().lane().counts(); }

 private:
    inner_type inner_;
};

/// With the token selector that the criterion will name.
template <class Source>
class ahead<Source, as_asked> : public awaiting_selector<ahead, Source> {
    static_assert(Model<typename augur::detail::owned_or_borrowed<Source>::type>);

 public:
    using awaiting_selector<augur::draft::ahead, Source>::awaiting_selector;
};

template <class Source>
ahead(Source&&) -> ahead<Source, as_asked>;
template <class Source, class TokenSelector>
ahead(Source&&, TokenSelector) -> ahead<Source, TokenSelector>;

}  // namespace augur::draft
