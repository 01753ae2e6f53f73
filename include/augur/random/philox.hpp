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

/// The ten-round permutation of the counter under the key.
AUGUR_HOST_DEVICE constexpr philox_counter philox4x32(philox_counter counter, philox_key key) {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t product0 = std::uint64_t{0xD2511F53u} * counter[0];
        const std::uint64_t product1 = std::uint64_t{0xCD9E8D57u} * counter[2];
        counter = {
            static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1),
            static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product0)};
        key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
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
