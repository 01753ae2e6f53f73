#pragma once
// What every Llama asks of the tokens that extend a sequence.

#include <cstddef>
#include <cstdint>
#include <span>

#include "augur/model/concepts.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::llama {

/// Throws unless `tokens` can follow `length` others in a context of `context`, and the last `last` of them have rows.
inline void check_extension(std::span<const token> tokens, std::size_t last, std::size_t length, std::size_t context,
                            std::size_t vocabulary) {
    if (last > tokens.size()) {
        augur::detail::fail("the last ", last, " rows were asked for, but only ", tokens.size(), " tokens are new");
    }
    if (tokens.size() > context - length) {
        augur::detail::fail("the context is full: ", length, " tokens and ", tokens.size(),
                            " new ones exceed its length of ", context);
    }
    for (const token id : tokens) {
        if (id < 0 || static_cast<std::size_t>(id) >= vocabulary) {
            augur::detail::fail("the token ", id, " is outside the vocabulary of ", vocabulary);
        }
    }
}

inline void check_truncation(std::size_t from, std::size_t to) {
    if (to > from) augur::detail::fail("cannot truncate a sequence of ", from, " tokens to ", to);
}

/// Throws unless node i follows an earlier node, or -1.
inline void check_tree(std::span<const token> nodes, std::span<const std::int32_t> parents) {
    if (parents.size() != nodes.size()) {
        augur::detail::fail("extend_tree: ", nodes.size(), " tokens, but ", parents.size(), " parents");
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (parents[i] < -1 || parents[i] >= static_cast<std::int32_t>(i)) {
            augur::detail::fail("extend_tree: node ", i, " follows node ", parents[i],
                                "; it must follow an earlier one or -1");
        }
    }
}

/// Throws unless these nodes of a tree follow one another from its root.
inline void check_path(std::span<const std::size_t> path, std::span<const std::int32_t> parents) {
    std::int32_t parent = -1;
    for (const std::size_t node : path) {
        if (node >= parents.size()) augur::detail::fail("keep: node ", node, " of a tree of ", parents.size());
        if (parents[node] != parent) {
            augur::detail::fail("keep: node ", node, " follows node ", parents[node], ", not ", parent);
        }
        parent = static_cast<std::int32_t>(node);
    }
}

/// Throws unless every member is a sequence of its own.
template <class Sequence>
void check_batch(std::span<const batch_item<Sequence>> items) {
    for (std::size_t i = 0; i < items.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (items[j].sequence != items[i].sequence) continue;
            augur::detail::fail("extend_batch: sequence ", i, " of the batch is sequence ", j);
        }
    }
}

/// The context to allow: the model's own, or less if that was asked for.
inline std::size_t checked_context(std::size_t asked, std::size_t own) {
    if (asked > own) {
        augur::detail::fail("a context of ", asked, " tokens was asked for, but the model's is ", own);
    }
    return asked == 0 ? own : asked;
}

}  // namespace augur::llama
