#pragma once
// Quantizes floats to stored tensors: the inverse of dequantize.hpp, for formats with simple rounding.

#include <algorithm>
#include <augur/detail/half.hpp>
#include <augur/detail/host_device.hpp>
#include <augur/io/files/dequantize.hpp>
#include <augur/io/files/tensor.hpp>
#include <augur/types/error.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace augur::io {

/// Writes one block's block_bytes(type) bytes from its block_size(type) finite floats, bit-exact with the gguf Python
/// package. Kernels call those of q8_0 and q4_0 too.
template <tensor_type type>
AUGUR_HOST_DEVICE void quantize_block(const float* in, std::uint8_t* block);

inline AUGUR_HOST_DEVICE void store_u16(std::uint8_t* to, std::uint16_t value) {
    to[0] = static_cast<std::uint8_t>(value & 0xffu);
    to[1] = static_cast<std::uint8_t>(value >> 8);
}

template <>
inline void quantize_block<tensor_type::f32>(const float* in, std::uint8_t* block) {
    std::memcpy(block, in, sizeof(float));
}

template <>
inline void quantize_block<tensor_type::f16>(const float* in, std::uint8_t* block) {
    store_u16(block, augur::detail::float_to_half(*in));
}

template <>
inline void quantize_block<tensor_type::bf16>(const float* in, std::uint8_t* block) {
    store_u16(block, augur::detail::float_to_bfloat16(*in));
}

/// The largest magnitude becomes 127; halves round away from zero.
template <>
inline AUGUR_HOST_DEVICE void quantize_block<tensor_type::q8_0>(const float* in, std::uint8_t* block) {
    float largest = 0;
    for (int i = 0; i < 32; ++i) largest = std::max(largest, std::abs(in[i]));
    const float scale = largest / 127.0f, inverse = scale > 0 ? 1.0f / scale : 0.0f;
    store_u16(block, augur::detail::float_to_half(scale));
    for (int i = 0; i < 32; ++i) {
        block[2 + i] = static_cast<std::uint8_t>(static_cast<std::int8_t>(std::round(in[i] * inverse)));
    }
}

/// Sixteen numbers in the low halves, sixteen in the high ones: value * inverse + offset, at most 15.
inline AUGUR_HOST_DEVICE void quantize_nibbles(const float* in, float shift, float inverse, float offset,
                                               std::uint8_t* out) {
    const auto nibble = [&](float value) {
        const float scaled = (value - shift) * inverse;
        return static_cast<unsigned>(std::min(15, static_cast<int>(scaled + offset)));
    };
    for (int i = 0; i < 16; ++i) out[i] = static_cast<std::uint8_t>(nibble(in[i]) | nibble(in[i + 16]) << 4);
}

/// The number of the largest magnitude becomes -8.
template <>
inline AUGUR_HOST_DEVICE void quantize_block<tensor_type::q4_0>(const float* in, std::uint8_t* block) {
    float largest = 0;
    for (int i = 0; i < 32; ++i) largest = std::abs(in[i]) > std::abs(largest) ? in[i] : largest;
    const float scale = largest / -8.0f, inverse = scale != 0 ? 1.0f / scale : 0.0f;
    store_u16(block, augur::detail::float_to_half(scale));
    quantize_nibbles(in, 0.0f, inverse, 8.5f, block + 2);
}

/// The least becomes 0, the largest 15.
template <>
inline void quantize_block<tensor_type::q4_1>(const float* in, std::uint8_t* block) {
    const auto [least, largest] = std::minmax_element(in, in + 32);
    const float scale = (*largest - *least) / 15.0f, inverse = scale != 0 ? 1.0f / scale : 0.0f;
    store_u16(block, augur::detail::float_to_half(scale));
    store_u16(block + 2, augur::detail::float_to_half(*least));
    quantize_nibbles(in, *least, inverse, 0.5f, block + 4);
}

template <tensor_type type>
void quantize_blocks(std::span<const float> in, std::span<std::byte> out) {
    if (in.size() % block_size(type) != 0 || out.size() != in.size() / block_size(type) * block_bytes(type)) {
        augur::detail::fail("quantize: ", in.size(), " numbers do not make ", out.size(), " bytes of ", name_of(type),
                            ", ", block_size(type), " numbers in ", block_bytes(type), " bytes");
    }
    auto* block = reinterpret_cast<std::uint8_t*>(out.data());
    for (std::size_t i = 0; i < in.size(); i += block_size(type), block += block_bytes(type)) {
        quantize_block<type>(in.data() + i, block);
    }
}

/// Fills `out` with whole blocks. Errors: sizes that do not match; a type that this file has no rounding for; numbers
/// that are not finite, for types that share a scale. Cost: one pass, nothing allocated.
inline void quantize(tensor_type type, std::span<const float> in, std::span<std::byte> out) {
    if (block_size(type) > 1) {
        for (const float value : in) {
            if (!std::isfinite(value))
                augur::detail::fail("quantize: ", value, " has no place in a block of ", name_of(type));
        }
    }
    switch (type) {
        case tensor_type::f32:
            return quantize_blocks<tensor_type::f32>(in, out);
        case tensor_type::f16:
            return quantize_blocks<tensor_type::f16>(in, out);
        case tensor_type::bf16:
            return quantize_blocks<tensor_type::bf16>(in, out);
        case tensor_type::q8_0:
            return quantize_blocks<tensor_type::q8_0>(in, out);
        case tensor_type::q4_0:
            return quantize_blocks<tensor_type::q4_0>(in, out);
        case tensor_type::q4_1:
            return quantize_blocks<tensor_type::q4_1>(in, out);
        default:
            augur::detail::fail("quantize: to ", name_of(type), " is not supported");
    }
}

/// A q5_0 row as q8_0, exactly: the same scales, and quants of -16 to 15.
inline void widen_q5_0(std::span<const std::byte> in, std::span<std::byte> out) {
    const std::size_t blocks = in.size() / block_bytes(tensor_type::q5_0);
    for (std::size_t i = 0; i < blocks; ++i) {
        const auto* from = reinterpret_cast<const std::uint8_t*>(in.data()) + i * block_bytes(tensor_type::q5_0);
        auto* to = reinterpret_cast<std::uint8_t*>(out.data()) + i * block_bytes(tensor_type::q8_0);
        std::memcpy(to, from, 2);
        std::uint32_t fifth_bits;
        std::memcpy(&fifth_bits, from + 2, sizeof fifth_bits);
        for (std::size_t k = 0; k < 32; ++k) {
            const int low = from[6 + k % 16] >> (k < 16 ? 0 : 4) & 15;
            const int quant = (low | static_cast<int>(fifth_bits >> k & 1u) << 4) - 16;
            to[2 + k] = static_cast<std::uint8_t>(static_cast<std::int8_t>(quant));
        }
    }
}

/// A q4_0 row as q8_0, exactly: the same scales, and quants of -8 to 7.
inline void widen_q4_0(std::span<const std::byte> in, std::span<std::byte> out) {
    const std::size_t blocks = in.size() / block_bytes(tensor_type::q4_0);
    for (std::size_t i = 0; i < blocks; ++i) {
        const auto* from = reinterpret_cast<const std::uint8_t*>(in.data()) + i * block_bytes(tensor_type::q4_0);
        auto* to = reinterpret_cast<std::uint8_t*>(out.data()) + i * block_bytes(tensor_type::q8_0);
        std::memcpy(to, from, 2);
        for (std::size_t k = 0; k < 32; ++k) {
            const int quant = (from[2 + k % 16] >> (k < 16 ? 0 : 4) & 15) - 8;
            to[2 + k] = static_cast<std::uint8_t>(static_cast<std::int8_t>(quant));
        }
    }
}

/// A q3_k row as q6_k, exactly: the same scale, factors a byte each, and quants of -4 to 3.
inline void widen_q3_k(std::span<const std::byte> in, std::span<std::byte> out) {
    const std::size_t blocks = in.size() / block_bytes(tensor_type::q3_k);
    std::fill(out.begin(), out.end(), std::byte{0});
    for (std::size_t i = 0; i < blocks; ++i) {
        const auto* from = reinterpret_cast<const std::uint8_t*>(in.data()) + i * block_bytes(tensor_type::q3_k);
        auto* to = reinterpret_cast<std::uint8_t*>(out.data()) + i * block_bytes(tensor_type::q6_k);
        std::memcpy(to + 208, from + 108, 2);
        for (int k = 0; k < 256; ++k) {
            const auto quant = static_cast<unsigned>(three_bits(from, k) + 32);
            const int half = k / 128, quarter = k % 128 / 32, at = k % 32;
            const unsigned low = (quant & 15u) << (4 * (quarter / 2)), upper = (quant >> 4) << (2 * quarter);
            std::uint8_t& nibbles = to[64 * half + 32 * (quarter % 2) + at];
            std::uint8_t& pairs = to[128 + 32 * half + at];
            nibbles = static_cast<std::uint8_t>(nibbles | low);
            pairs = static_cast<std::uint8_t>(pairs | upper);
            to[192 + k / 16] = static_cast<std::uint8_t>(static_cast<std::int8_t>(scale_of_q3_k(from + 96, k / 16)));
        }
    }
}

/// Whether rows of one type are also rows of another, with the same numbers: these then are in `out`.
inline bool widen_exactly(tensor_type from, tensor_type to, std::span<const std::byte> in, std::span<std::byte> out) {
    if (from == tensor_type::q5_0 && to == tensor_type::q8_0) return widen_q5_0(in, out), true;
    if (from == tensor_type::q3_k && to == tensor_type::q6_k) return widen_q3_k(in, out), true;
    return false;
}

}  // namespace augur::io
