#pragma once
// Checks the tokens that extend a sequence, for every Llama.

#include <cstddef>
#include <span>

#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::llama {

/// Throws unless `tokens` can follow `length` others in a context of `context`.
inline void check_extension(std::span<const token> tokens, std::size_t length, std::size_t context,
                            std::size_t vocabulary) {
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

/// The context to allow: the model's own, or less if that was asked for.
inline std::size_t checked_context(std::size_t asked, std::size_t own) {
    if (asked > own) {
        augur::detail::fail("a context of ", asked, " tokens was asked for, but the model's is ", own);
    }
    return asked == 0 ? own : asked;
}

}  // namespace augur::llama
