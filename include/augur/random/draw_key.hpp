#pragma once
// The names of random numbers: a number belongs to what it is for, not to how many were drawn before it.

#include <cstddef>
#include <cstdint>

#include "augur/detail/host_device.hpp"
#include "augur/random/philox.hpp"

namespace augur {

/// What a random number decides. Different purposes at one position are independent.
enum class purpose : std::uint32_t { race, draft, accept, correction };

/// Names a random number. `round` separates attempts at the same position: a drafted token that was thrown away must not
/// determine a later one. Noise that has to be shared between models and rounds is keyed with round 0.
struct draw_key {
    std::size_t position = 0;
    purpose why = purpose::race;
    std::size_t round = 0;
    friend bool operator==(const draw_key&, const draw_key&) = default;
};

namespace random {

/// Counts the words of that name, four to a block. Rounds of stages inside stages need more than 32 bits: their upper ones stand
/// above the purpose, which needs few.
AUGUR_HOST_DEVICE inline philox_counter counter_of(draw_key name, std::uint32_t block) {
    const std::uint64_t round = name.round;
    const std::uint32_t why = static_cast<std::uint32_t>(name.why) ^ static_cast<std::uint32_t>(round >> 32 << 8);
    return {block, why, static_cast<std::uint32_t>(name.position), static_cast<std::uint32_t>(round)};
}

/// The words of that name under a seed's key.
AUGUR_HOST_DEVICE inline philox_counter words_of(draw_key name, std::uint32_t block, philox_key key) {
    return philox4x32(counter_of(name, block), key);
}

}  // namespace random
}  // namespace augur
