#pragma once
// A verdict: the accepted path of one proposal, and the token that follows.

#include <cstddef>
#include <string_view>
#include <vector>

#include "augur/types/token.hpp"

namespace augur {

/// Where a committed token came from.
enum class origin {
    accepted,    ///< drafted, and accepted by the criterion
    correction,  ///< follows where drafted tokens were rejected
    bonus,       ///< follows an accepted path to its end, from the same verification
    plain        ///< nothing had been drafted
};

constexpr std::string_view name_of(origin of) {
    switch (of) {
        case origin::accepted:
            return "accepted";
        case origin::correction:
            return "correction";
        case origin::bonus:
            return "bonus";
        case origin::plain:
            return "plain";
    }
    return "unknown";
}

/// The accepted nodes of a proposal, then `next`. When the target's row there cannot be drawn from (NaN, infinity,
/// nothing finite), `next` is no_token and decoding ends after the accepted tokens.
struct verdict {
    std::size_t drafted = 0;
    std::size_t accepted = 0;
    token next = no_token;
    std::vector<std::size_t> path{};  ///< the accepted nodes of a tree; empty for a chain, where they are the first
    bool at_leaf = false;             ///< of a tree: nothing was drafted after the path

    bool invalid_row() const { return next == no_token; }
    /// The accepted node that is i-th on the path.
    std::size_t node(std::size_t i) const { return path.empty() ? i : path[i]; }
    origin next_origin() const {
        if (drafted == 0) return origin::plain;
        return accepted == drafted || at_leaf ? origin::bonus : origin::correction;
    }
    friend bool operator==(const verdict&, const verdict&) = default;
};

}  // namespace augur
