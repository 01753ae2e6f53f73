#pragma once
// Counts the memory of a sequence's cache before it is taken.

#include <concepts>
#include <cstddef>

namespace augur {

/// `model.cache_bytes(tokens)`: the bytes that keys and values of a sequence of so many tokens take. Optional for
/// models, and for drafters, which count all that they keep for a sequence of tokens (0 where that is nothing but
/// tokens). Law: no less for more tokens. Models: llama::host_model, draft::draft_model.
template <class M>
concept CountsCacheBytes = requires(const M& model, std::size_t tokens) {
    { model.cache_bytes(tokens) } -> std::convertible_to<std::size_t>;
};

}  // namespace augur
