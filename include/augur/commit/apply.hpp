#pragma once
// The transaction: a verdict becomes committed tokens, and everything that depends on them moves together.

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "augur/commit/stop_conditions.hpp"
#include "augur/draft/concept.hpp"
#include "augur/measure/entropy.hpp"
#include "augur/model/concepts.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/round_view.hpp"
#include "augur/types/verdict.hpp"

namespace augur::commit {

/// Is shown every committed token, in order; false ends the decoding after that token.
using token_sink = std::function<bool(const committed_token&)>;
inline const token_sink no_sink{};

/// A sink within a round: what it throws ends the block after that token, and is thrown when the round is complete.
class patient_sink {
 public:
    explicit patient_sink(const token_sink& sink) : sink_(&sink) {}

    explicit operator bool() const { return static_cast<bool>(*sink_); }
    bool operator()(const committed_token& t) {
        try {
            return (*sink_)(t);
        } catch (...) {
            thrown_ = std::current_exception();
            return false;
        }
    }
    /// What was thrown, if anything. It has not ended the text.
    void rethrow(finish_reason& finished) {
        if (!thrown_) return;
        if (finished == finish_reason::cancelled) finished = finish_reason::running;
        std::rethrow_exception(std::exchange(thrown_, nullptr));
    }

 private:
    const token_sink* sink_;
    std::exception_ptr thrown_;
};

/// The block of a verdict: the accepted tokens, then the one that follows. In storage that was another block's.
inline std::vector<committed_token> block_of(const ChainProposal auto& proposed, const verdict& decided,
                                             std::vector<committed_token> block = {}) {
    block.clear();
    for (std::size_t i = 0; i < decided.accepted; ++i)
        block.push_back({proposed.tokens()[decided.node(i)], origin::accepted});
    if (!decided.invalid_row()) block.push_back({decided.next, decided.next_origin()});
    return block;
}

/// Commits one token of a session that is running: prefix, counts and text take it in, and it may end the decoding.
template <class Session, class Sink = const token_sink>
void admit(Session& s, committed_token& t, Sink& sink = no_sink) {
    s.committed.push(t.id);
    s.finished = s.stops.admit(t.id, s.committed.generated().size(), s.committed.size());
    ++s.counts.origins[static_cast<std::size_t>(t.from)];
    t.text = s.stops.released();
    if (sink && !sink(t) && s.finished == finish_reason::running) s.finished = finish_reason::cancelled;
}

/// Commits what a verdict allows. Stop conditions (and the sink) cut the block, token by token; the prefix grows by
/// what is kept, the target keeps the path of a tree, the target and the drafter are rewound to the prefix, and the
/// statistics count what was kept. Afterwards every cache holds a prefix of the committed tokens and nothing else.
/// Returns the tokens that were kept, in the storage of `last`.
template <class Scheme, class Session, class Sink = const token_sink>
std::vector<committed_token> apply(const Scheme& scheme, Session& s, const ChainProposal auto& proposed,
                                   const verdict& decided, Sink& sink = no_sink,
                                   std::vector<committed_token> last = {}) {
    std::vector<committed_token> block = block_of(proposed, decided, std::move(last));
    std::size_t kept = 0;
    std::size_t accepted = 0;
    while (kept < block.size() && s.finished == finish_reason::running) {
        committed_token& t = block[kept++];
        admit(s, t, sink);
        if (t.from == origin::accepted) ++accepted;
    }
    while (block.size() > kept) block.pop_back();
    if (s.finished == finish_reason::running && decided.invalid_row()) s.finished = finish_reason::invalid_logits;
    if constexpr (branches<typename Scheme::drafter_type>) {
        if (!proposed.is_chain()) s.target.keep(std::span(decided.path).first(accepted));
    }
    s.target.rewind(s.committed.tokens());
    if constexpr (ReadsStates<typename Scheme::drafter_type>) {
        scheme.drafter().on_commit(s.drafter_state, s.committed, s.target.states(s.committed.size() - 1));
        s.shown = std::min(s.target.tokens().size(), s.committed.size() - 1);
    } else {
        scheme.drafter().on_commit(s.drafter_state, s.committed);
    }
    s.counts.stages.back().add(proposed.size(), accepted);
    return block;
}

}  // namespace augur::commit
