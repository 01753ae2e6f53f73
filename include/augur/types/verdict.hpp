#pragma once
// What verification decided about one proposal.

#include <cstddef>
#include <string_view>

#include "augur/types/token.hpp"

namespace augur {

/// Where a committed token came from.
enum class origin {
    accepted,    ///< drafted, and the criterion let it stand
    correction,  ///< replaces the first drafted token that was rejected
    bonus,       ///< follows a fully accepted proposal, from the same verification
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

/// A criterion's word on one drafted token: it stands, or another takes its place.
struct decision {
    bool accepted = false;
    token replacement = no_token;

    static constexpr decision accept() { return {true, no_token}; }
    static constexpr decision replace_with(token t) { return {false, t}; }
};

/// The first `accepted` drafted tokens stand, then comes `next`. When the target's row there cannot be drawn from (NaN,
/// infinity, nothing finite), `next` is no_token and decoding ends after the accepted tokens.
struct verdict {
    std::size_t drafted = 0;
    std::size_t accepted = 0;
    token next = no_token;

    bool invalid_row() const { return next == no_token; }
    origin next_origin() const {
        if (drafted == 0) return origin::plain;
        return accepted == drafted ? origin::bonus : origin::correction;
    }
};

}  // namespace augur
