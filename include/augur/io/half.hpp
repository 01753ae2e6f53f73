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
using backend::host::float_to_half;

}  // namespace augur::io
