#pragma once
// The hidden states of a stage's verifier, kept until their tokens are committed, for a drafter that follows them.

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "augur/draft/calls.hpp"
#include "augur/model/cached_sequence.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/hidden_states.hpp"
#include "augur/round/show_states.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/scores.hpp"

namespace augur::scheme {

/// A drafter is shown the states of committed tokens only, in order. Those of what a stage has verified are copied,
/// because its model may run other texts before they are committed.
class verified_states {
 public:
    /// Shows a drafter those of all of the prompt but its last token.
    template <HiddenStateModel M, ReadsStates D>
    void prepare(model::cached_sequence<M>& cache, const D& drafter, typename D::state_type& state,
                 const prefix& prompt) {
        committed_ = prompt.size();
        catch_up(cache, drafter, state, prompt);
    }

    /// Whether these are the committed tokens, of which there are states: none of those that a stage above has drafted.
    bool are_of(const prefix& before) const { return before.size() == committed_; }
    /// Whether the drafter has not been shown all of these: the stage was not asked, or its last token, which no pass
    /// has run yet, was committed.
    bool lack(const prefix& before) const { return are_of(before) && shown_ + 1 < before.size(); }
    /// Cost: a pass over what lacks.
    template <HiddenStateModel M, ReadsStates D>
    void catch_up(model::cached_sequence<M>& cache, const D& drafter, typename D::state_type& state,
                  const prefix& committed) {
        forget();
        rounds::show_states(cache, drafter, state, committed, shown_);
    }

    /// Copies those that the last pass made, of positions before `end`, as far as they follow what has been kept.
    template <HiddenStateModel M>
    void keep(const model::cached_sequence<M>& cache, std::size_t end) {
        const auto states = cache.states(end);
        if (kept_ == 0) {
            numbers_.clear();
            first_ = states.first();
        }
        for (std::size_t i = 0; i < states.size(); ++i) {
            if (states.first() + i != first_ + kept_) continue;
            const logit_row state = states[i];
            numbers_.insert(numbers_.end(), state.begin(), state.end());
            ++kept_;
        }
    }
    void forget() { kept_ = 0; }

    /// Tells the drafter what is committed, with the states of what was kept of it. `cache` holds nothing else.
    template <HiddenStateModel M, ReadsStates D>
    void commit(const model::cached_sequence<M>& cache, const D& drafter, typename D::state_type& state,
                const prefix& committed) {
        committed_ = committed.size();
        const std::size_t end = std::min({first_ + kept_, cache.tokens().size(), committed.size() - 1});
        const std::size_t size = cache.model().hidden_size();
        const bool follow = first_ <= shown_ && shown_ < end;
        const std::size_t count = follow ? end - shown_ : 0;
        const float* const from = follow ? numbers_.data() + (shown_ - first_) * size : nullptr;
        drafter.on_commit(state, committed, hidden_states<>(shown_, scores(from, count, size), count));
        shown_ += count;
        forget();
    }

 private:
    std::vector<float> numbers_;
    std::size_t first_ = 0, kept_ = 0;  ///< positions of them
    std::size_t shown_ = 0;             ///< positions whose states the drafter has been shown
    std::size_t committed_ = 0;         ///< tokens
};

/// Of a drafter that follows none.
struct no_verified_states {};

template <class Drafter>
using states_of_verifier = std::conditional_t<ReadsStates<Drafter>, verified_states, no_verified_states>;

}  // namespace augur::scheme
