#pragma once
// A view of one finished round, for watchers.

#include <concepts>
#include <cstddef>
#include <span>
#include <string>

#include "augur/types/observation.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/statistics.hpp"
#include "augur/types/token.hpp"
#include "augur/types/verdict.hpp"

namespace augur {

namespace commit {

/// A token that was committed, where it came from, and the text that became final with it (whole code points, perhaps
/// none; empty without text_of).
struct committed_token {
    token id = no_token;
    origin from = origin::plain;
    std::string text{};
    std::size_t model = 0;  ///< that wrote it, where several take turns; then the id is of that model's vocabulary
    friend bool operator==(const committed_token&, const committed_token&) = default;
};

}  // namespace commit

/// The absence of hidden states: the verifier shows none, or no watcher reads them.
struct no_states {};

/// One round: of a decoding, after its commit; or of a stage inside a cascade, where nothing is committed yet. Rows and
/// states lie where the verifier left them, until it is run again.
template <class Proposal, class Rows, class States>
struct round_view {
    const augur::prefix& prefix;  ///< after the round
    std::size_t length_before;    ///< tokens before it
    const Proposal& proposed;     ///< what was drafted, with the draft distributions
    const Rows& rows;      ///< the verifier's, untransformed: [0] follows the tokens before the round, [1 + i] node i
    const States& states;  ///< hidden_states of the tokens that were committed but the last; or no_states
    const verdict& decided;
    std::span<const commit::committed_token> committed;  ///< stop conditions have cut it
    const observation& decided_on;                       ///< what the policy saw last before the pass
    const time_spent& seconds;                           ///< of the round, without what watchers take

    /// The round in numbers.
    outcome result() const {
        return {decided_on, decided.drafted, decided.accepted, seconds.draft, seconds.verify, seconds.accept};
    }
};

template <class Proposal, class Rows, class States>
round_view(const prefix&, std::size_t, const Proposal&, const Rows&, const States&, const verdict&,
           std::span<const commit::committed_token>, const observation&, const time_spent&)
    -> round_view<Proposal, Rows, States>;

/// Is shown every round: `watcher.watch(view)`, after it is committed. What it throws goes to who ran the round, which
/// is then over.
template <class W, class View>
concept Watches = requires(W& watcher, const View& view) {
    { watcher.watch(view) } -> std::same_as<void>;
};

}  // namespace augur
