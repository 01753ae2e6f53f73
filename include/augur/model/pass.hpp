#pragma once
// What is asked of a model: one description for chains, trees, parts of layers and several texts.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "augur/types/token.hpp"

namespace augur {

/// Of `pass::rows`: one for every token. Of `pass::to_layer`: the last layer, and the head.
inline constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

/// Tokens that extend one sequence, and what is wanted of them.
template <class Sequence>
struct pass {
    Sequence* sequence = nullptr;
    std::span<const token> tokens{};
    /// Of each token the one that it follows: a place in `tokens` before its own, or -1 for the sequence's last token. Empty: each
    /// follows the one before it.
    std::span<const std::int32_t> parents{};
    std::size_t rows = all;      ///< logits of the last so many tokens
    std::size_t from_layer = 0;  ///< above 0: no tokens; the positions that wait for their layers from here on
    std::size_t to_layer = all;  ///< below all: no logits; the positions wait after so many layers
    bool states = false;         ///< hidden(sequence) afterwards shows the states of all tokens, not of the last `rows`

    /// Rows of logits that it makes.
    std::size_t wanted() const { return rows < tokens.size() ? rows : tokens.size(); }
};

}  // namespace augur
