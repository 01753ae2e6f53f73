#pragma once
// A constant draft length.

#include <cstddef>
#include <ostream>

#include "augur/policy/concept.hpp"

namespace augur::policy {

/// Drafts `tokens` tokens each round, whatever happens (Leviathan et al. 2023, Chen et al. 2023). 0 is plain decoding.
/// No effect on the distribution, no randomness, no cost. Choose another when acceptance varies along the text.
struct fixed_length {
    std::size_t tokens = 4;

    constexpr std::size_t length(const observation&) const { return tokens; }

    friend constexpr bool operator==(const fixed_length&, const fixed_length&) = default;
    friend std::ostream& operator<<(std::ostream& out, const fixed_length& p) {
        return out << "fixed_length{.tokens=" << p.tokens << '}';
    }
};

}  // namespace augur::policy
