#pragma once
// Maps the key of a random number to its bits.

#include <cstdint>

#include "augur/detail/host_device.hpp"
#include "augur/random/philox.hpp"
#include "augur/types/draw_key.hpp"

namespace augur::random {

/// Counts the words of that name, four to a block. Rounds of stages inside stages need more than 32 bits: their upper
/// ones stand above the purpose, which needs few. Names that are no race need one block, so that node and sibling stand
/// in its place: up to 2^20 nodes aside, of 4096 siblings each.
AUGUR_HOST_DEVICE inline philox_counter counter_of(draw_key name, std::uint32_t block) {
    const std::uint64_t round = name.round;
    const std::uint32_t why = static_cast<std::uint32_t>(name.why) ^ static_cast<std::uint32_t>(round >> 32 << 8);
    if (name.why != purpose::exponential_race) block ^= static_cast<std::uint32_t>(name.node << 12 | name.sibling);
    return {block, why, static_cast<std::uint32_t>(name.position), static_cast<std::uint32_t>(round)};
}

/// The words of that name under a seed's key.
AUGUR_HOST_DEVICE inline philox_counter words_of(draw_key name, std::uint32_t block, philox_key key) {
    return philox4x32(counter_of(name, block), key);
}

}  // namespace augur::random
