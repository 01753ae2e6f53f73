#pragma once
// Probability mass in fixed point: sums of integers do not depend on the order of additions.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "augur/detail/host_device.hpp"

namespace augur::detail {

/// Rows longer than this could overflow a count of 64 bits: 2^20 weights of 1 are 2^64 units.
inline constexpr std::size_t most_counted = (std::size_t{1} << 20) - 1;

/// A weight of 0 to 1 in units of 2^-44, the nearest: doubles from 256 to 512 are so far apart, and their bits count
/// them.
AUGUR_HOST_DEVICE inline std::uint64_t mass_of(float weight) {
    return std::bit_cast<std::uint64_t>(static_cast<double>(weight) + 384.0) - std::bit_cast<std::uint64_t>(384.0);
}

/// Of many, in a loop that compilers vectorise.
AUGUR_HOST_DEVICE inline std::uint64_t mass_of(const float* weights, std::size_t count) {
    std::uint64_t mass = 0;
    for (std::size_t i = 0; i < count; ++i) mass += mass_of(weights[i]);
    return mass;
}

/// How many units are this share of the total: at least 1, where both are positive.
AUGUR_HOST_DEVICE inline std::uint64_t units_in_share(double share, std::uint64_t total) {
    return static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(total)));
}

}  // namespace augur::detail
