#pragma once
// Commits a verdict: prefix, caches, penalties and statistics move together, or not at all.

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/commit/stop_conditions.hpp"
#include "augur/draft/calls.hpp"
#include "augur/model/concepts.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/round_view.hpp"
#include "augur/types/verdict.hpp"

namespace augur::commit {

/// Is shown every committed token, in order; false ends the decoding after that token.
using token_sink = std::function<bool(const committed_token&)>;
inline const token_sink no_sink{};

/// Notifications that a session's drafter has not yet received, because it threw or memory failed.
enum class owed_to_drafter {
    nothing,
    commit,  ///< what was committed
    abandon  ///< that its round does not take place
};

/// The first exception of several things that are all done, whatever one of them throws.
class first_thrown {
 public:
    void note() noexcept {
        if (!thrown_) thrown_ = std::current_exception();
    }
    /// False where it throws.
    template <class Act>
    bool attempt(const Act& act) noexcept {
        try {
            act();
            return true;
        } catch (...) {
            note();
            return false;
        }
    }
    void rethrow() {
        if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
    }

 private:
    std::exception_ptr thrown_;
};

/// A sink within a round: what it throws ends the block after that token, but not the text.
class patient_sink {
 public:
    patient_sink(const token_sink& sink, first_thrown& thrown) : sink_(&sink), thrown_(&thrown) {}

    explicit operator bool() const { return static_cast<bool>(*sink_); }
    bool operator()(const committed_token& t) noexcept {
        bool goes_on = false;
        has_thrown_ = !thrown_->attempt([&] { goes_on = (*sink_)(t); });
        return goes_on;
    }
    bool has_thrown() const { return has_thrown_; }

 private:
    const token_sink* sink_;
    first_thrown* thrown_;
    bool has_thrown_ = false;
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

/// Commits the tokens of a block, until one of them ends the decoding, or the sink the block. Those for which there is
/// memory (see prepare). Returns how many.
template <class Session>
std::size_t admit_all(Session& s, std::span<committed_token> block, patient_sink& sink) {
    std::size_t kept = 0;
    while (kept < block.size() && s.finished == finish_reason::running) admit(s, block[kept++], sink);
    if (sink.has_thrown() && s.finished == finish_reason::cancelled) s.finished = finish_reason::running;
    return kept;
}

/// Cuts a block to what ids and limits let through, and takes the memory that admit() of each of its tokens needs:
/// there nothing can fail. What is thrown, by text_of or for memory, leaves the session as it was.
/// `then()` is called while the prefix ends with the block.
template <class Session, class Then>
void make_room(Session& s, std::vector<committed_token>& block, const Then& then) {
    const std::size_t most = s.stops.foresee(block, s.committed.generated().size(), s.committed.size());
    while (block.size() > most) block.pop_back();
    speculative_suffix ahead(s.committed);  // takes memory in the prefix, which then has it
    for (const committed_token& t : block) ahead.push(t.id);
    then();
}

/// The part of a commit that can fail. The target keeps the path of a tree and is rewound to the tokens of the block,
/// memory is taken, and the text is asked for: what the model, text_of or memory throws passes through, the session is
/// as before (caches aside, which know what they hold), and the round can be repeated. Returns the block, in the
/// storage of `last`.
template <class Scheme, class Session>
std::vector<committed_token> prepare(const Scheme&, Session& s, const ChainProposal auto& proposed,
                                     const verdict& decided, std::vector<committed_token> last = {}) {
    std::vector<committed_token> block = block_of(proposed, decided, std::move(last));
    s.counts.stages.back().reserve(proposed.size());
    make_room(s, block, [&] {
        if constexpr (drafts_trees<typename Scheme::drafter_type, typename Scheme::policy_type>) {
            const std::size_t accepted = std::min(decided.accepted, block.size());
            if (!proposed.is_chain()) s.target.keep(std::span(decided.path).first(accepted));
        }
        s.target.rewind(s.committed.tokens());
    });
    return block;
}

/// After prepare(): the target's states of the prefix and the block, the last token aside; if somebody `looks`.
template <bool Looks, class Session>
auto states_of(const Session& s, std::size_t block) {
    if constexpr (Looks && HiddenStateModel<typename Session::target_type>) {
        return s.target.states(s.committed.size() + block - 1);
    } else {
        return no_states{};
    }
}

/// Tells the drafter of a scheme what is committed. Where it throws, it is told again before it proposes.
template <class Scheme, class Session>
void tell_drafter(const Scheme& scheme, Session& s, const auto& states) {
    s.owed = owed_to_drafter::commit;
    if constexpr (ReadsStates<typename Scheme::drafter_type>) {
        scheme.drafter().on_commit(s.drafter_state, s.committed, states);
        s.shown = std::min(s.target.tokens().size(), s.committed.size() - 1);
    } else {
        scheme.drafter().on_commit(s.drafter_state, s.committed);
    }
    s.owed = owed_to_drafter::nothing;
}

/// The part of a commit that takes place whatever is thrown, and notes that. Stop conditions (and the sink) cut the
/// block, token by token; the prefix grows by what is kept, the statistics count it, and the drafter is told.
/// `states`: of the target after prepare(), if somebody looks; those of tokens that were cut are forgotten.
template <class Scheme, class Session>
void settle(const Scheme& scheme, Session& s, const ChainProposal auto& proposed, const verdict& decided,
            std::vector<committed_token>& block, auto& states, const token_sink& shown_to, first_thrown& thrown) {
    patient_sink sink(shown_to, thrown);
    const std::size_t kept = admit_all(s, block, sink);
    const bool is_whole = kept == block.size();
    while (block.size() > kept) block.pop_back();
    const std::size_t accepted = std::min(decided.accepted, kept);
    if (s.finished == finish_reason::running && is_whole && decided.invalid_row())
        s.finished = finish_reason::invalid_logits;
    s.counts.stages.back().add(proposed.size(), accepted);
    if constexpr (requires { states.cut(kept); }) states.cut(s.committed.size() - 1);
    thrown.attempt([&] { tell_drafter(scheme, s, states); });
}

/// Forgets in the target what the sink or a stop string has cut. Where the model throws the cache knows what it holds,
/// and the next pass rewinds it.
template <class Session>
void rewind_target(Session& s, first_thrown& thrown) {
    if (s.target.tokens().size() < s.committed.size()) return;
    thrown.attempt([&] { s.target.rewind(s.committed.tokens()); });
}

/// Commits what a verdict allows: prepare(), then settle(). Afterwards every cache holds a prefix of the committed
/// tokens and nothing else. Returns the tokens that were kept, in the storage of `last`.
template <class Scheme, class Session>
std::vector<committed_token> apply(const Scheme& scheme, Session& s, const ChainProposal auto& proposed,
                                   const verdict& decided, const token_sink& sink = no_sink,
                                   std::vector<committed_token> last = {}) {
    std::vector<committed_token> block = prepare(scheme, s, proposed, decided, std::move(last));
    auto states = states_of<ReadsStates<typename Scheme::drafter_type>>(s, block.size());
    first_thrown thrown;
    settle(scheme, s, proposed, decided, block, states, sink, thrown);
    rewind_target(s, thrown);
    thrown.rethrow();
    return block;
}

}  // namespace augur::commit
