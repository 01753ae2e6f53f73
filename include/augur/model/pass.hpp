#pragma once
// A pass: one forward pass of a model over chains, trees, ranges of layers and several sequences.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "augur/types/token.hpp"

namespace augur {

/// Of `pass::rows`: one for every token.
inline constexpr std::size_t all_rows = std::numeric_limits<std::size_t>::max();
/// Of `pass::to_layer`: to the last, and the head.
inline constexpr std::size_t all_layers = std::numeric_limits<std::size_t>::max();

/// What a model's `run` computes by itself, beyond chains that go through all layers, one a run.
enum class pass_features : unsigned {
    none = 0,
    trees = 1,    ///< passes with parents, and `keep`
    layers = 2,   ///< passes through some layers, with their states, and positions that wait for the others
    states = 4,   ///< hidden states of all tokens
    batches = 8,  ///< several passes together
};

constexpr pass_features operator|(pass_features a, pass_features b) {
    return static_cast<pass_features>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
/// Whether `some` are all among `features`.
constexpr bool includes(pass_features features, pass_features some) {
    return (static_cast<unsigned>(some) & ~static_cast<unsigned>(features)) == 0;
}
inline constexpr pass_features every_pass_feature =
    pass_features::trees | pass_features::layers | pass_features::states | pass_features::batches;

/// Tokens that extend one sequence, and what is wanted of them.
template <class Sequence>
struct pass {
    Sequence* sequence = nullptr;
    std::span<const token> tokens{};
    /// Of each token the one that it follows: a place in `tokens` before its own, or -1 for the sequence's last token.
    /// Empty: each follows the one before it. With parents the tokens are not appended: they wait for `keep`.
    std::span<const std::int32_t> parents{};
    std::size_t rows = all_rows;        ///< logits of the last so many tokens
    std::size_t from_layer = 0;         ///< above 0: no tokens; the positions that wait for their layers from here on
    std::size_t to_layer = all_layers;  ///< below all: no logits; the positions wait after so many layers
    bool states = false;  ///< hidden(sequence) afterwards shows the states of all tokens, not of the last `rows`

    /// Rows of logits that it makes, where so many positions of the sequence wait for their layers.
    std::size_t wanted(std::size_t waiting = 0) const {
        if (to_layer != all_layers) return 0;
        return std::min(rows, from_layer > 0 ? waiting : tokens.size());
    }
    /// What a model's run must be able to do for it.
    pass_features needs() const {
        if (from_layer > 0 || to_layer != all_layers) return pass_features::layers;
        return (parents.empty() ? pass_features::none : pass_features::trees) |
               (states ? pass_features::states : pass_features::none);
    }
};

}  // namespace augur
