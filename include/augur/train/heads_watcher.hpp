#pragma once
// Collects training examples for draft heads from a session's rounds.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "augur/train/replay.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"
#include "augur/types/topology.hpp"
#include "augur/types/verdict.hpp"

namespace augur::train {

/// Shows a trainer what each head should have said, in every round of the session that it is attached to:
/// `decode::generate(scheme, prompt, options, train::heads_watcher(online, heads))`. The target must show hidden
/// states; whoever drafts, in chains or in trees. Every committed token trains each head that looks so far ahead: from
/// the state from which it had to be guessed, by the verifier's row. Where this round's draft began at that state, the
/// sample has the token that was drafted, and what became of it; of siblings that were all rejected the first. Cost:
/// one sample a head for each committed token; the row is read once. Memory: as many of the target's states as there
/// are heads, and those of one round.
template <class Trainer>
class heads_watcher {
 public:
    heads_watcher(Trainer& online, std::size_t heads) : online_(&online), heads_(heads) {}

    /// Before the first round (decode::attach): what the drafter was prefilled with is looked at.
    void attach(const auto& session) {
        const auto& drafter = session.drafter_state;
        if constexpr (requires { drafter.known - 1 == drafter.last.size(); }) {
            if (drafter.known > 0) remember(drafter.known - 1, drafter.last);
        }
    }

    void watch(const auto& view) {
        const std::size_t states = view.states.size();
        for (std::size_t i = 0; i < states; ++i) remember(view.states.first() + i, view.states[i]);
        const auto& took = view.seconds;
        const double seconds = took.draft + took.verify + took.accept + took.other;
        if (online_->affords(seconds)) {
            for (std::size_t i = 0; i < view.committed.size(); ++i) add_example(view, i);
        }
        forget();
        online_->committed(view.committed.size(), seconds);
    }

 private:
    std::size_t count() const { return width_ == 0 ? 0 : numbers_.size() / width_; }

    /// States of consecutive positions; after a gap, what was before it is of no use.
    void remember(std::size_t position, std::span<const float> state) {
        if (position != first_ + count() || state.size() != width_) {
            numbers_.clear();
            first_ = position;
            width_ = state.size();
        }
        numbers_.insert(numbers_.end(), state.begin(), state.end());
    }
    /// All but those that tokens of the next round are guessed from.
    void forget() {
        const std::size_t gone = count() - std::min(count(), heads_);
        numbers_.erase(numbers_.begin(), numbers_.begin() + static_cast<std::ptrdiff_t>(gone * width_));
        first_ += gone;
    }

    /// All heads, by the i-th token that the round committed.
    void add_example(const auto& view, std::size_t i) {
        const std::size_t position = view.length_before + i;
        const auto text = view.prefix.tokens();
        const auto row = view.rows[i == 0 ? 0 : 1 + view.decided.node(i - 1)];
        bool same = false;
        for (std::size_t head = 0; head < heads_ && head + 2 <= position; ++head) {
            const std::size_t from = position - head - 2;
            if (from < first_ || from >= first_ + count()) continue;
            sample example{.hidden = std::span<const float>(numbers_).subspan((from - first_) * width_, width_),
                           .logits = row,
                           .position = position,
                           .head = head,
                           .after = text.subspan(from + 1, std::min(head + 1, online_->options().replay.context)),
                           .same_row = same};
            if (head == i) judge(view, example);
            online_->add(example);
            same = true;
        }
    }

    /// Of the token that this round's draft had at the head's place.
    static void judge(const auto& view, sample& of) {
        const verdict& decided = view.decided;
        if (of.head < decided.accepted) {
            of.drafted = view.proposed.tokens()[decided.node(of.head)];
            of.bit = accept_bit::accepted;
        } else if (of.head == decided.accepted && of.head < decided.drafted && !decided.at_leaf) {
            of.drafted = view.proposed.tokens()[first_rejected(view)];
            of.bit = accept_bit::rejected;
        }
    }
    /// Of the nodes beneath the accepted ones the first, that is judged first.
    static std::size_t first_rejected(const auto& view) {
        const verdict& decided = view.decided;
        if (view.proposed.is_chain()) return decided.accepted;
        const auto last =
            decided.accepted == 0 ? after_prefix : static_cast<std::int32_t>(decided.node(decided.accepted - 1));
        return parents::next_child(view.proposed.parents(), view.proposed.size(), last, 0);
    }

    Trainer* online_;
    std::size_t heads_, first_ = 0, width_ = 0;
    std::vector<float> numbers_;
};

}  // namespace augur::train
