#pragma once
// The concepts of switching: who decides which model writes, and how text gets from one vocabulary to another.

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "augur/types/token.hpp"

namespace augur::switching {

/// Decides which model writes.
/// Define: models(), how many it chooses between;
///         next_model(current, entropy_bits), told of every token's row in turn, the model for the next token.
/// Laws:   answers are below models(); equal policies and equal histories, equal answers.
/// Models: switching::rolling_entropy. Smallest: tests/switching/concept.cpp.
template <class P>
concept SwitchingPolicy = std::copyable<P> && requires(P& policy, const P& seen, std::size_t current, double bits) {
    { seen.models() } -> std::convertible_to<std::size_t>;
    { policy.next_model(current, bits) } -> std::convertible_to<std::size_t>;
};

/// Bytes to tokens of one vocabulary and back, for text that continues other text.
/// Define: encode(bytes), their tokens: no special ones, and no space that is not there;
///         bytes_of(token), what it stands for: any bytes, none for a special token.
/// Laws:   neither throws, for any bytes and any token of the model; equal arguments, equal answers. That the tokens of
///         a text stand for that text is hoped for, and looked at: what does not come back is not read.
/// Models: io::text_codec.
template <class C>
concept TextCodec = requires(const C& codec, std::string_view bytes, token t) {
    { codec.encode(bytes) } -> std::same_as<std::vector<token>>;
    { codec.bytes_of(t) } -> std::same_as<std::string>;
};

}  // namespace augur::switching
