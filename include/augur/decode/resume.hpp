#pragma once
// Continues a finished session: a conversation's next turn prefills only the added tokens.

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "augur/commit/stop_conditions.hpp"
#include "augur/decode/session.hpp"
#include "augur/draft/calls.hpp"
#include "augur/types/observation.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/token.hpp"

namespace augur::decode {

namespace detail {

/// A text begins after a longer prompt.
template <class Session>
void begin_text(Session& s, prefix longer, commit::stop_watcher stops) {
    s.committed = std::move(longer);
    s.stops = std::move(stops);
    s.fault.clear();
    const bool has_budget = s.stops.budget(0, s.committed.size()) > 0;
    s.finished = has_budget ? finish_reason::running : finish_reason::max_tokens;
}

/// All that was committed and the added tokens become the prompt of the next text.
template <class Session>
void begin_text(Session& s, std::span<const token> added, commit::stop_conditions conditions, std::size_t vocabulary,
                std::size_t context) {
    const auto before = s.committed.tokens();
    std::vector<token> all(before.begin(), before.end());
    all.insert(all.end(), added.begin(), added.end());
    prefix longer(checked_prompt(all, vocabulary, context));
    commit::stop_watcher stops(std::move(conditions), vocabulary, context);
    begin_text(s, std::move(longer), std::move(stops));
}

}  // namespace detail

/// Adds tokens of the caller's to a session that is between two rounds, finished or not, and begins the next text
/// after them, under conditions of its own. The committed tokens are then a prompt: generated() is empty, max_tokens
/// counts anew, and penalties on the output begin anew. Caches keep what they hold, so that the model computes the
/// added tokens only; the text has the distribution of a fresh session's with the whole prompt, and where the criterion
/// shares noise by position it is the same text. The policy keeps what it has learned, and the statistics go on.
/// Throws, with nothing changed, where the tokens are too many for the context or outside the vocabulary. Where the
/// model throws, the tokens are committed; resume with no further tokens computes what is missing.
template <class Scheme, Chooser C>
requires requires(const Scheme& of) {
    of.target();
}
void resume(const Scheme& scheme, session<Scheme, C>& s, std::span<const token> added,
            commit::stop_conditions conditions) {
    const auto& model = scheme.target();
    detail::begin_text(s, added, std::move(conditions), model.vocabulary_size(), model.context_length());
    s.seen = observation{.round = s.seen.round};
    const augur::detail::stopwatch watch;
    prefill(s.target, scheme.drafter(), s.drafter_state, s.committed, s.shown);
    s.counts.seconds.prefill += watch.seconds();
}

}  // namespace augur::decode
