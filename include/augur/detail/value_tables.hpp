#pragma once
// What the four bits of quantised formats with tables stand for, and the scales of MXFP4.

#include <cstdint>

namespace augur::detail {

/// IQ4_NL's and IQ4_XS's.
inline constexpr std::int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};
/// MXFP4's (E2M1), doubled.
inline constexpr std::int8_t mxfp4_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/// Half of 2 to the power of (`exponent` - 127), E8M0, which goes with doubled values: the upper half of a float,
/// exact, also below the normal numbers. Every byte is finite, as in ggml; the specification calls 255 no number.
constexpr std::uint16_t halved_power_as_bfloat16(std::uint8_t exponent) {
    return static_cast<std::uint16_t>(exponent < 2 ? 0x20u << exponent : (exponent - 1u) << 7);
}

}  // namespace augur::detail
