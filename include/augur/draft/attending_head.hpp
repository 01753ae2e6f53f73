#pragma once
// The AttendingHead concept: a draft head that attends to earlier hidden states, with a key-value cache of its own.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "augur/detail/identity.hpp"
#include "augur/draft/exit_head.hpp"
#include "augur/model/cached_sequence.hpp"
#include "augur/model/concepts.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/text_follower.hpp"
#include "augur/types/token.hpp"

namespace augur::draft {

/// Guesses the next token from the states that all tokens so far have after the first `layer()` layers of a model. What
/// it attends to lies in a sequence of its own, position by position, beside the model's cache.
/// Define: sequence_type, copyable; layer(), vocabulary_size(), hidden_size(); make_sequence(); length(sequence);
///         append(sequence, states), of whole positions in order; truncate(sequence, length), exact; row(sequence,
///         out), vocabulary_size() logits of what follows the last position; states(sequence), all that was appended.
///         Optional: vocabulary_fingerprint() (HasVocabularyFingerprint); possible(), as of an ExitHead.
/// Laws:   equal states, equal rows, however they were appended and truncated, until its weights change, which they may
///         between rounds only; rows are then those of a sequence that is made anew. Several sequences may ask one
///         head, one after the other.
/// Models: train::attending_head. Smallest: tests/draft/attending_mock.hpp.
template <class H>
concept AttendingHead = HasVocabularySize<H> &&
    requires(const H& head, typename H::sequence_type& sequence, std::span<const float> states, std::span<float> out,
             std::size_t length) {
    requires std::copyable<typename H::sequence_type>;
    { head.layer() } -> std::convertible_to<std::size_t>;
    { head.hidden_size() } -> std::convertible_to<std::size_t>;
    { head.make_sequence() } -> std::same_as<typename H::sequence_type>;
    { head.length(sequence) } -> std::convertible_to<std::size_t>;
    { head.append(sequence, states) } -> std::same_as<void>;
    { head.truncate(sequence, length) } -> std::same_as<void>;
    { head.row(sequence, out) } -> std::same_as<void>;
    { head.states(sequence) } -> std::convertible_to<std::span<const float>>;
};

/// The states of a text as an AttendingHead's sequence holds them. No other text of the process has its number.
struct shown_sequence {
    std::uint64_t number = 0;         ///< 0: none
    std::span<const float> states{};  ///< position by position, from the first on
};

/// The sequence of an AttendingHead and the tokens it is of, so that rewinding is never a matter of counting: before
/// each draft it is truncated to what it shares with the prefix. What it then lacks is shown by the target's next pass
/// through the first layers (cached_sequence::advance); where the target has been through all layers there without it
/// (a text that another drafter went on with), the target is rewound, too, and computes those positions again.
template <AttendingHead H>
class own_sequence {
 public:
    explicit own_sequence(const H& head) : sequence_(head.make_sequence()) {}

    std::size_t size() const { return tokens_.size(); }

    /// Holds no more than the beginning of `tokens`, as does `target` where this has seen less than that.
    template <Model M>
    void rewind(const H& head, const prefix_tokens& tokens, model::cached_sequence<M>& target) {
        keep(head, follower_.shared(tokens_, tokens));
        if (target.tokens().size() > tokens_.size()) target.rewind(tokens.first(tokens_.size()));
    }
    /// The same between rounds, where `tokens` is what was committed.
    template <Model M>
    void begin_round(const H& head, const prefix_tokens& tokens, model::cached_sequence<M>& target) {
        const std::size_t sure = std::min(committed_, tokens_.size());
        rewind(head, tokens, target);
        if (tokens_.size() < sure) number_.renew();
        committed_ = tokens.size();
    }

    /// `states`: rows of the last of `tokens`, one each. Appends those that are lacking.
    void take(const H& head, std::span<const token> tokens, const LogitRows auto& states) {
        const std::size_t first = tokens.size() - states.size();
        states_.clear();
        for (std::size_t at = tokens_.size(); at < tokens.size(); ++at) {
            const logit_row state = states[at - first];
            states_.insert(states_.end(), state.begin(), state.end());
        }
        head.append(sequence_, states_);  // where memory fails then, keep() takes it back
        tokens_.insert(tokens_.end(), tokens.begin() + static_cast<std::ptrdiff_t>(tokens_.size()), tokens.end());
    }

    void row(const H& head, std::span<float> out) { head.row(sequence_, out); }

    /// Valid until it is changed.
    shown_sequence text(const H& head) const { return {number_.value(), head.states(sequence_)}; }

 private:
    void keep(const H& head, std::size_t length) {
        tokens_.resize(length);
        follower_.cut(length);
        if (head.length(sequence_) != length) head.truncate(sequence_, length);
    }

    typename H::sequence_type sequence_;
    std::vector<token> tokens_;
    text_follower follower_;
    std::vector<float> states_;  // storage
    std::size_t committed_ = 0;  // tokens when the last round began
    augur::detail::identity number_;
};

/// Of a head that reads one state.
struct no_own_sequence {
    explicit no_own_sequence(const auto&) {}
};
template <class H>
struct own_sequence_of {
    using type = no_own_sequence;
};
template <AttendingHead H>
struct own_sequence_of<H> {
    using type = own_sequence<H>;
};

}  // namespace augur::draft
