#pragma once
// exp for softmax: a polynomial that compilers vectorise, so that every element gets the same bits wherever it stands
// in its row and however the loop around it was compiled.

#include <bit>
#include <cstddef>
#include <cstdint>

#include "augur/detail/host_device.hpp"
#include "augur/detail/vectors.hpp"

namespace augur::detail {

/// exp(x) for x <= 0, relative error below 2e-7; 0 below -87 and for -infinity. The argument must not be NaN.
/// Cody-Waite reduction x = n ln 2 + r, |r| <= ln 2 / 2, then a polynomial of degree 6 (Cephes expf). What is below -87
/// is masked, not chosen: a choice would be a branch around everything before it, and loops with branches stay scalar.
AUGUR_HOST_DEVICE inline float exp_nonpositive(float x) {
    const float shifted = x * 1.44269504f + 12582912.0f;  // 1.5 * 2^23: rounds to the nearest integer
    const float n = shifted - 12582912.0f;
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float y = 1.9875691500e-4f;
    y = y * r + 1.3981999507e-3f;
    y = y * r + 8.3334519073e-3f;
    y = y * r + 4.1665795894e-2f;
    y = y * r + 1.6666665459e-1f;
    y = y * r + 5.0000001201e-1f;
    y = y * r * r + r + 1.0f;
    const std::uint32_t exponent = (std::bit_cast<std::uint32_t>(shifted) - 0x4B400000u + 127u) << 23;
    const float scaled = y * std::bit_cast<float>(exponent);
    const std::uint32_t mask = 0u - static_cast<std::uint32_t>(x >= -87.0f);
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) & mask);
}

/// Each of so many in its place.
AUGUR_HOST_DEVICE inline void exp_nonpositive(float* x, std::size_t count) {
    std::size_t i = 0;
#if AUGUR_VECTORS
    if (vectors::there()) i = vectors::exp_nonpositive(x, count);
#endif
    for (; i < count; ++i) x[i] = exp_nonpositive(x[i]);
}

/// Of so many numbers x that are none above `largest`: weights e^(x - largest), and moments (x - largest) times these.
AUGUR_HOST_DEVICE inline void weigh_below(const float* x, std::size_t count, float largest, float* weights,
                                          float* moments) {
    std::size_t i = 0;
#if AUGUR_VECTORS
    if (vectors::there()) i = vectors::weigh_below(x, count, largest, weights, moments);
#endif
    for (; i < count; ++i) {
        const float below = x[i] - largest;
        weights[i] = exp_nonpositive(below);
        moments[i] = weights[i] * (below < -88.0f ? -88.0f : below);  // -infinity times 0 is no number
    }
}

}  // namespace augur::detail
