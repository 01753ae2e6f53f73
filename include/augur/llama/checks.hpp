#pragma once
// Checks the tokens that extend a sequence, for every Llama.

#include <cstddef>
#include <span>

#include "augur/model/check_passes.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::llama {

/// Throws unless `tokens` can follow `length` others in a context of `context`.
inline void check_extension(std::span<const token> tokens, std::size_t length, std::size_t context,
                            std::size_t vocabulary) {
    model::check_room(length, tokens.size(), context);
    for (const token id : tokens) {
        if (id < 0 || static_cast<std::size_t>(id) >= vocabulary) {
            augur::detail::fail("the token ", id, " is outside the vocabulary of ", vocabulary);
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
