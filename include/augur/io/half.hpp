#pragma once
// The two 16-bit floating point formats of model files, to and from 32 bits.

#include <augur/backend/host/half.hpp>
#include <bit>
#include <cstdint>

namespace augur::io {

/// IEEE binary16 to binary32, exactly; a NaN stays a NaN with its payload. No branch survives in a loop.
constexpr float half_to_float(std::uint16_t half) {
    const auto magnitude = std::uint32_t{half} & 0x7fffu;
    const auto subnormal = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24f);
    const auto normal = (magnitude << 13) + (magnitude >= 0x7c00u ? 0x70000000u : 0x38000000u);
    const auto sign = (std::uint32_t{half} & 0x8000u) << 16;
    return std::bit_cast<float>(sign | (magnitude < 0x0400u ? subnormal : normal));
}

/// bfloat16 is the upper half of binary32.
constexpr float bfloat16_to_float(std::uint16_t bits) {
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

using backend::host::float_to_bfloat16;

/// binary32 to binary16, rounded to nearest even, infinite from 65520 on; NaNs stay NaNs.
constexpr std::uint16_t float_to_half(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
    if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
    if (magnitude < 0x38800000u) {  // subnormal: adding 0.5 leaves the units of 2^-24 in the low bits, rounded
        const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
        return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
    }
    const std::uint32_t rounded = magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u);
    return static_cast<std::uint16_t>(sign | rounded >> 13);
}

}  // namespace augur::io
