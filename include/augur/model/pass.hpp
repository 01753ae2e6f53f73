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
/// Of a pass_limits: as many as there are.
inline constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();
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
constexpr pass_features operator&(pass_features a, pass_features b) {
    return static_cast<pass_features>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
/// Whether `some` are all among `features`.
constexpr bool includes(pass_features features, pass_features some) {
    return (static_cast<unsigned>(some) & ~static_cast<unsigned>(features)) == 0;
}
inline constexpr pass_features every_pass_feature =
    pass_features::trees | pass_features::layers | pass_features::states | pass_features::batches;

/// What the passes of an engine are bound by: `model.limits()`, always the same of one model. By default by nothing.
/// model::run keeps to it whatever it is asked for; schemes draft no more than one pass takes.
struct pass_limits {
    /// Those that the model has, of `passes`: where a file or a setting decides.
    pass_features features = every_pass_feature;
    std::size_t most_tokens_of_a_pass = no_limit;  ///< those of all sequences that are run together
    std::size_t most_tree_nodes = no_limit;        ///< tokens of a pass with parents
    std::size_t most_leaves = no_limit;            ///< of a pass with parents: tokens that none follows
    /// Rows last until any sequence is run or extended, not only their own. Who keeps them longer copies them. What is
    /// called inside a round (a policy, a watcher, a transform) may not run the model then. Hidden states last as ever.
    bool rows_end_with_next_run = false;

    friend bool operator==(const pass_limits&, const pass_limits&) = default;
};

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
