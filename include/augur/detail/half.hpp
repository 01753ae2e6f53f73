#pragma once
// Conversions of 16-bit floats, exact or rounded to nearest even.

#include <bit>
#include <cstdint>

namespace augur::detail {

/// IEEE binary16 to binary32, exact; NaNs become quiet, as the hardware conversion makes them. No branch survives in a
/// loop.
constexpr float half_to_float(std::uint16_t half) {
    const auto magnitude = std::uint32_t{half} & 0x7fffu;
    const auto subnormal = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24f);
    const auto quiet = magnitude > 0x7c00u ? 0x00400000u : 0u;
    const auto normal = ((magnitude << 13) + (magnitude >= 0x7c00u ? 0x70000000u : 0x38000000u)) | quiet;
    const auto sign = (std::uint32_t{half} & 0x8000u) << 16;
    return std::bit_cast<float>(sign | (magnitude < 0x0400u ? subnormal : normal));
}

/// bfloat16 to binary32, exact.
constexpr float bfloat16_to_float(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// binary32 to bfloat16, rounded to nearest even; NaNs stay NaNs.
constexpr std::uint16_t float_to_bfloat16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = bits + 0x7fffu + (bits >> 16 & 1u);
    return static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? bits >> 16 | 0x40u : rounded >> 16);
}

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

}  // namespace augur::detail
