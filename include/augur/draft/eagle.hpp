#pragma once
// A layer on the target's last hidden states as a drafter.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/detail/value_or_reference.hpp"
#include "augur/draft/concept.hpp"
#include "augur/draft/draw_next.hpp"
#include "augur/flow/task.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/hidden_states.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/types/drawing.hpp"

namespace augur::draft {

/// Decodes ahead with `Source`, a FusedModel by value, or `M&` by reference. Its input for a token is the token and the
/// hidden state of the position before: the target's as far as it is known, which is up to the root (the state before the
/// last committed token), and from there on its own. Only true inputs stay in its cache. Picks tokens as `Drawing` says, by default as the criterion asks.
/// After a prompt of one token, and where its context ends, it proposes nothing.
/// Cost: one pass of the source per row looked at; the first of a round also runs what was committed since.
/// Effect on the distribution: none; that is the criterion's. A row from which nothing can be drawn ends the proposal.
template <class Source, class Drawing = as_asked>
class eagle {
 public:
    using model_type = typename detail::value_or_reference<Source>::type;
    static_assert(FusedModel<model_type>);
    using claim_type = typename Drawing::claim_type;
    /// Input i is token i + 1 with the target's state of position i.
    struct state_type {
        sequence_t<model_type> sequence;
        std::size_t held = 0;          ///< true inputs at the start of the sequence; what follows them was speculative
        std::size_t known = 0;         ///< positions whose states have been seen
        std::vector<float> waiting{};  ///< the last of these states, at least those that are not held yet
        std::vector<float> own{};      ///< a state that the source made
        distribution row{};
    };
    static constexpr bool shows_rows = true;

    explicit eagle(Source&& source, Drawing drawing = {}) : model_(std::forward<Source>(source)), drawing_(drawing) {}

    const model_type& model() const { return model_.get(); }
    std::size_t vocabulary_size() const { return model().vocabulary_size(); }
    std::string vocabulary_fingerprint() const { return augur::detail::vocabulary_fingerprint_of(model()); }
    std::size_t hidden_size() const { return model().hidden_size(); }

    state_type make_state() const {
        state_type made{.sequence = model().make_sequence()};
        made.waiting.reserve(most_waiting * hidden_size());
        return made;
    }

    /// Keeps the states. They are run with the next proposal, all at once; before that after the prompt, and where many have come together.
    void on_commit(state_type& state, const prefix& committed, const auto& states) const {
        for (std::size_t i = 0; i < states.size(); ++i) {
            if (states.first() + i != state.known || state.known == model().context_length()) continue;
            if (state.held == state.known) state.waiting.clear();
            if (state.waiting.size() == most_waiting * hidden_size()) {
                run(state, committed, 0);
                state.waiting.clear();
            }
            state.waiting.insert(state.waiting.end(), states[i].begin(), states[i].end());
            ++state.known;
        }
    }

    /// Runs what is left of the prompt's states, so that the first round need not.
    void prepare(state_type& state, const prefix& prompt) const {
        if (state.held < state.known) run(state, prompt, 0);
    }

    flow::task propose(state_type& state, auto& context, proposal<claim_type>& proposed) const {
        const std::size_t root = context.prefix().size() - 1;  // states that there are
        if (!context.wants_more(0) || root == 0 || state.known != root) co_return;
        speculative_suffix speculative(context.prefix());
        state.held = std::min(state.held, root - 1);  // the root's row is wanted, even if it was made before
        std::optional<rows_type> rows;
        co_await flow::alone{[&] { rows.emplace(run(state, context.prefix(), 1)); }};
        while (true) {
            const logit_row row = (*rows)[rows->size() - 1];
            if (!context.wants_more(proposed.size(), row)) break;
            const token picked = draw_next(drawing_, row, context, proposed, state.row);
            if (picked == no_token) break;
            if (!context.wants_more(proposed.size())) break;
            if (root + proposed.size() > model().context_length()) break;
            speculative.push(picked);
            const auto made = model().hidden(std::as_const(state.sequence));
            state.own.assign(made[made.size() - 1].begin(), made[made.size() - 1].end());
            co_await flow::alone{
                [&] { rows.emplace(model().extend(state.sequence, std::span(&picked, 1), state.own, 1)); }};
        }
    }

 private:
    using rows_type = std::remove_cvref_t<decltype(std::declval<const model_type&>().extend(
        std::declval<sequence_t<model_type>&>(), std::span<const token>(), std::span<const float>(), std::size_t()))>;
    static constexpr std::size_t most_waiting = 128;

    /// Makes the sequence hold every input whose state is known, and nothing else; returns the last `rows` rows.
    auto run(state_type& state, const prefix& committed, std::size_t rows) const {
        model().truncate(state.sequence, state.held);
        const std::size_t missing = state.known - state.held;
        auto made = model().extend(state.sequence, committed.tokens().subspan(state.held + 1, missing),
                                   std::span(state.waiting).last(missing * hidden_size()), rows);
        state.held = state.known;
        return made;
    }

    detail::value_or_reference<Source> model_;
    Drawing drawing_;
};

/// With the drawing that the criterion will name.
template <class Source>
class eagle<Source, as_asked> : public undrawn<eagle, Source> {
    static_assert(FusedModel<typename detail::value_or_reference<Source>::type>);

 public:
    using undrawn<augur::draft::eagle, Source>::undrawn;
};

template <class Source>
eagle(Source&&) -> eagle<Source, as_asked>;
template <class Source, class Drawing>
eagle(Source&&, Drawing) -> eagle<Source, Drawing>;

}  // namespace augur::draft
