#pragma once
// The sequence of an AttendingHead, kept beside the tokens that it is of.

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
