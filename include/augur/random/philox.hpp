#pragma once
// Philox4x32-10, a counter-based generator: four random words are a pure function of a counter and a key, so a draw can
// be named by where it is made instead of by how many draws came before it.
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 3.3.

#include <array>
#include <cstdint>

#include "augur/detail/host_device.hpp"

namespace augur::random {

using philox_counter = std::array<std::uint32_t, 4>;
using philox_key = std::array<std::uint32_t, 2>;

inline constexpr int philox_rounds = 10;

/// One round on a counter of four words.
AUGUR_HOST_DEVICE constexpr void philox_round(std::uint32_t& a, std::uint32_t& b, std::uint32_t& c, std::uint32_t& d,
                                              philox_key key) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53u} * a;
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57u} * c;
    a = static_cast<std::uint32_t>(product1 >> 32) ^ b ^ key[0];
    b = static_cast<std::uint32_t>(product1);
    c = static_cast<std::uint32_t>(product0 >> 32) ^ d ^ key[1];
    d = static_cast<std::uint32_t>(product0);
}

AUGUR_HOST_DEVICE constexpr philox_key next_key(philox_key key) {
    return {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
}

/// The ten-round permutation of the counter under the key.
AUGUR_HOST_DEVICE constexpr philox_counter philox4x32(philox_counter counter, philox_key key) {
    for (int round = 0; round < philox_rounds; ++round) {
        philox_round(counter[0], counter[1], counter[2], counter[3], key);
        key = next_key(key);
    }
    return counter;
}

/// A uniform double in [0, 1) from two words: 53 bits.
AUGUR_HOST_DEVICE constexpr double unit_interval(std::uint32_t high, std::uint32_t low) {
    const std::uint64_t bits = (std::uint64_t{high} << 32 | low) >> 11;
    return static_cast<double>(bits) * 0x1.0p-53;
}

/// A uniform double in (0, 1) from one word, symmetric around one half.
AUGUR_HOST_DEVICE constexpr double open_unit_interval(std::uint32_t word) {
    return (static_cast<double>(word) + 0.5) * 0x1.0p-32;
}

}  // namespace augur::random
