#pragma once
// Checks passes before they are run, for every model.

#include <cstddef>
#include <cstdint>
#include <span>

#include "augur/model/pass.hpp"
#include "augur/types/error.hpp"

namespace augur::model {

/// Throws unless a sequence of so many tokens has room for `more` in a context of `context`.
inline void check_room(std::size_t length, std::size_t more, std::size_t context) {
    if (length <= context && more <= context - length) return;
    augur::detail::fail("a sequence of ", length, " tokens cannot grow by ", more, " in a context of ", context);
}
/// Throws unless a sequence of so many tokens can be cut to `to`.
inline void check_cut(std::size_t length, std::size_t to) {
    if (to > length) augur::detail::fail("cannot truncate a sequence of ", length, " tokens to ", to);
}

/// Throws unless each of `tokens` tokens follows an earlier one, or -1.
inline void check_parents(std::size_t tokens, std::span<const std::int32_t> parents) {
    if (parents.size() != tokens) augur::detail::fail("run: ", tokens, " tokens, but ", parents.size(), " parents");
    for (std::size_t i = 0; i < tokens; ++i) {
        if (parents[i] < -1 || parents[i] >= static_cast<std::int32_t>(i)) {
            augur::detail::fail("run: token ", i, " follows token ", parents[i],
                                "; it must follow an earlier one or -1");
        }
    }
}

/// Throws unless these tokens of a pass follow one another from the sequence's last token on.
inline void check_path(std::span<const std::size_t> path, std::span<const std::int32_t> parents) {
    std::int32_t parent = -1;
    for (const std::size_t node : path) {
        if (node >= parents.size()) augur::detail::fail("keep: token ", node, " of a pass of ", parents.size());
        if (parents[node] != parent) {
            augur::detail::fail("keep: token ", node, " follows token ", parents[node], ", not ", parent);
        }
        parent = static_cast<std::int32_t>(node);
    }
}

/// Throws unless the tree that waits was scored where the sequence still ends.
inline void check_tree_end(std::size_t scored_at, std::size_t length) {
    if (scored_at == length) return;
    augur::detail::fail("keep: the tree was scored after ", scored_at, " tokens, but the sequence has ", length);
}

/// Throws unless the rows and layers of a pass are such that a model of `layers` layers can have them.
template <class Sequence>
void check_range(const pass<Sequence>& asked, std::size_t layers) {
    if (asked.from_layer == 0 && asked.rows != all_rows && asked.rows > asked.tokens.size()) {
        augur::detail::fail("run: ", asked.rows, " rows of ", asked.tokens.size(), " tokens");
    }
    if (asked.from_layer == 0 && asked.to_layer == all_layers) return;
    if (asked.from_layer > layers) augur::detail::fail("run: layers from ", asked.from_layer, " on of ", layers);
    if (asked.to_layer != all_layers && (asked.to_layer <= asked.from_layer || asked.to_layer > layers)) {
        augur::detail::fail("run: layers from ", asked.from_layer, " to ", asked.to_layer, " of ", layers);
    }
    if (asked.from_layer > 0 && !asked.tokens.empty()) {
        augur::detail::fail("run: ", asked.tokens.size(), " tokens for layers from ", asked.from_layer,
                            " on, which finish the positions that wait");
    }
    if (!asked.parents.empty()) {
        augur::detail::fail("run: ", asked.parents.size(), " parents in a pass through layers from ", asked.from_layer,
                            " to ", asked.to_layer == all_layers ? layers : asked.to_layer,
                            "; a tree goes through all ", layers);
    }
}

/// Throws unless the passes can be one run: every sequence there once, and each pass one that a model of `layers`
/// layers can have.
template <class Sequence>
void check_passes(std::span<const pass<Sequence>> passes, std::size_t layers = 0) {
    for (std::size_t i = 0; i < passes.size(); ++i) {
        if (passes[i].sequence == nullptr)
            augur::detail::fail("run: pass ", i, " of ", passes.size(), " has no sequence");
        for (std::size_t j = 0; j < i; ++j) {
            if (passes[j].sequence == passes[i].sequence) {
                augur::detail::fail("run: the sequence of pass ", i, " is that of pass ", j);
            }
        }
        if (!passes[i].parents.empty()) check_parents(passes[i].tokens.size(), passes[i].parents);
        check_range(passes[i], layers);
    }
}

/// Throws unless a pass fits the positions of its sequence that wait: `waiting` of them, after `after` layers.
template <class Sequence>
void check_waiting(const pass<Sequence>& asked, std::size_t waiting, std::size_t after) {
    if (asked.from_layer > 0) {
        if (waiting > 0 && after != asked.from_layer) {
            augur::detail::fail("run: layers from ", asked.from_layer, " on, but positions wait after layer ", after);
        }
        if (asked.rows != all_rows && asked.rows > waiting) {
            augur::detail::fail("run: ", asked.rows, " rows of ", waiting, " positions that wait");
        }
    } else if (waiting > 0 && asked.to_layer != after) {
        augur::detail::fail("run: ", waiting, " positions wait for their layers from ", after, " on, before ",
                            asked.tokens.size(), " new tokens");
    }
}

}  // namespace augur::model
