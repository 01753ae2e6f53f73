#pragma once
// Dequantizes stored tensors. Layouts: https://github.com/ggml-org/llama.cpp/blob/master/gguf-py/gguf/quants.py

#include <augur/detail/half.hpp>
#include <augur/detail/value_tables.hpp>
#include <augur/io/files/tensor.hpp>
#include <augur/types/error.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

namespace augur::io {

/// Writes one block's block_size(type) floats from its block_bytes(type) bytes, which may have any alignment. Bit-exact
/// with the gguf Python package (a NaN for a NaN). Each product of a 16-bit scale with its integers fits the 24 bits of
/// a float, so fusing it with the following addition changes nothing.
template <tensor_type type>
void dequantize_block(const std::uint8_t* block, float* out);

/// The little-endian 16-bit number at `bytes`.
inline std::uint16_t load_u16(const std::uint8_t* bytes) {
    return static_cast<std::uint16_t>(bytes[0] | (bytes[1] << 8));
}

/// The binary16 number at `bytes`.
inline float load_half(const std::uint8_t* bytes) {
    return augur::detail::half_to_float(load_u16(bytes));
}

template <>
inline void dequantize_block<tensor_type::f32>(const std::uint8_t* block, float* out) {
    std::memcpy(out, block, sizeof(float));
}

template <>
inline void dequantize_block<tensor_type::f16>(const std::uint8_t* block, float* out) {
    *out = load_half(block);
}

template <>
inline void dequantize_block<tensor_type::bf16>(const std::uint8_t* block, float* out) {
    *out = augur::detail::bfloat16_to_float(load_u16(block));
}

/// scale, 32 signed bytes.
template <>
inline void dequantize_block<tensor_type::q8_0>(const std::uint8_t* block, float* out) {
    const float scale = load_half(block);
    for (int i = 0; i < 32; ++i) out[i] = scale * static_cast<float>(static_cast<std::int8_t>(block[2 + i]));
}

/// scale, 16 bytes: the low nibbles are the first 16 elements, the high ones the others; 8 stands for zero.
template <>
inline void dequantize_block<tensor_type::q4_0>(const std::uint8_t* block, float* out) {
    const float scale = load_half(block);
    for (int i = 0; i < 16; ++i) {
        out[i] = scale * static_cast<float>((block[2 + i] & 15) - 8);
        out[i + 16] = scale * static_cast<float>((block[2 + i] >> 4) - 8);
    }
}

/// scale, minimum, nibbles as in q4_0.
template <>
inline void dequantize_block<tensor_type::q4_1>(const std::uint8_t* block, float* out) {
    const float scale = load_half(block);
    const float minimum = load_half(block + 2);
    for (int i = 0; i < 16; ++i) {
        out[i] = scale * static_cast<float>(block[4 + i] & 15) + minimum;
        out[i + 16] = scale * static_cast<float>(block[4 + i] >> 4) + minimum;
    }
}

/// The little-endian 32-bit number at `bytes`.
inline std::uint32_t load_u32(const std::uint8_t* bytes) {
    return load_u16(bytes) | (std::uint32_t{load_u16(bytes + 2)} << 16);
}

/// Element i of a q5_0 or q5_1 block, 0 to 31: 4 bytes of fifth bits, element i's in bit i, then nibbles as in q4_0.
inline float five_bits(const std::uint8_t* packed, int i) {
    const unsigned low = (packed[4 + i % 16] >> (4 * (i / 16))) & 15u;
    return static_cast<float>(low | (((load_u32(packed) >> i) & 1u) << 4));
}

/// scale, fifth bits, nibbles; 16 stands for zero.
template <>
inline void dequantize_block<tensor_type::q5_0>(const std::uint8_t* block, float* out) {
    const float scale = load_half(block);
    for (int i = 0; i < 32; ++i) out[i] = scale * (five_bits(block + 2, i) - 16);
}

/// scale, minimum, fifth bits, nibbles.
template <>
inline void dequantize_block<tensor_type::q5_1>(const std::uint8_t* block, float* out) {
    const float scale = load_half(block);
    const float minimum = load_half(block + 2);
    for (int i = 0; i < 32; ++i) out[i] = scale * five_bits(block + 4, i) + minimum;
}

/// 16 bytes with a 4-bit scale and, above it, a 4-bit minimum for each 16 elements, 64 bytes of bit pairs: four groups
/// of 32 share 32 bytes; scale, scale of the minima.
template <>
inline void dequantize_block<tensor_type::q2_k>(const std::uint8_t* block, float* out) {
    for (int i = 0; i < 256; ++i) {
        const std::uint8_t factors = block[i / 16];
        const int quant = (block[16 + 32 * (i / 128) + i % 32] >> (2 * (i / 32 % 4))) & 3;
        const float step = load_half(block + 80) * static_cast<float>(factors & 15);
        out[i] = step * static_cast<float>(quant) - load_half(block + 82) * static_cast<float>(factors >> 4);
    }
}

/// The scale of one of the 16 groups of 16 in a q3_k block, -32 to 31, from its 12 packed bytes: 8 with the low four
/// bits of two each, 4 with the upper two of four each.
inline int scale_of_q3_k(const std::uint8_t* packed, int group) {
    const int low = (packed[group % 8] >> (4 * (group / 8))) & 15;
    return (low | (((packed[8 + group % 4] >> (2 * (group / 4))) & 3) << 4)) - 32;
}

/// Element i of a q3_k block without its scale, -4 to 3: bit i / 32 of byte i % 32 says that it is not negative, and
/// bit pairs as in q2_k, from byte 32 on, add to that.
inline int three_bits(const std::uint8_t* block, int i) {
    const int low = (block[32 + 32 * (i / 128) + i % 32] >> (2 * (i / 32 % 4))) & 3;
    return low - (((block[i % 32] >> (i / 32)) & 1) != 0 ? 0 : 4);
}

/// 32 bytes of third bits, 64 of bit pairs, 12 of group scales, scale.
template <>
inline void dequantize_block<tensor_type::q3_k>(const std::uint8_t* block, float* out) {
    for (int i = 0; i < 256; ++i) {
        const float step = load_half(block + 108) * static_cast<float>(scale_of_q3_k(block + 96, i / 16));
        out[i] = step * static_cast<float>(three_bits(block, i));
    }
}

/// The 6-bit scale and minimum of one of the eight groups of 32 in a q4_k or q5_k block, from its 12 packed bytes.
inline std::pair<int, int> scale_and_minimum(const std::uint8_t* packed, int group) {
    if (group < 4) return {packed[group] & 63, packed[group + 4] & 63};
    return {(packed[group + 4] & 15) | ((packed[group - 4] >> 6) << 4),
            (packed[group + 4] >> 4) | ((packed[group] >> 6) << 4)};
}

/// scale, scale of the minima, 12 bytes of group scales, 128 bytes of nibbles: two groups share 32 bytes.
template <>
inline void dequantize_block<tensor_type::q4_k>(const std::uint8_t* block, float* out) {
    for (int group = 0; group < 8; ++group) {
        const auto [scale, minimum] = scale_and_minimum(block + 4, group);
        const float step = load_half(block) * static_cast<float>(scale);
        const float offset = load_half(block + 2) * static_cast<float>(minimum);
        const std::uint8_t* nibbles = block + 16 + 32 * (group / 2);
        for (int i = 0; i < 32; ++i) {
            const int quant = (nibbles[i] >> (4 * (group % 2))) & 15;
            out[32 * group + i] = step * static_cast<float>(quant) - offset;
        }
    }
}

/// As q4_k, with 32 bytes of fifth bits before the nibbles: bit `group` of byte i.
template <>
inline void dequantize_block<tensor_type::q5_k>(const std::uint8_t* block, float* out) {
    const std::uint8_t* fifth_bits = block + 16;
    for (int group = 0; group < 8; ++group) {
        const auto [scale, minimum] = scale_and_minimum(block + 4, group);
        const float step = load_half(block) * static_cast<float>(scale);
        const float offset = load_half(block + 2) * static_cast<float>(minimum);
        const std::uint8_t* nibbles = block + 48 + 32 * (group / 2);
        for (int i = 0; i < 32; ++i) {
            const int quant = ((nibbles[i] >> (4 * (group % 2))) & 15) | (((fifth_bits[i] >> group) & 1) << 4);
            out[32 * group + i] = step * static_cast<float>(quant) - offset;
        }
    }
}

/// 128 bytes of low nibbles, 64 of high bit pairs, 16 signed scales (one per 16 elements), scale; 32 stands for zero.
template <>
inline void dequantize_block<tensor_type::q6_k>(const std::uint8_t* block, float* out) {
    const float scale = load_half(block + 208);
    for (int group = 0; group < 8; ++group) {
        const int half = group / 4;
        const int quarter = group % 4;
        const std::uint8_t* nibbles = block + 64 * half + 32 * (quarter % 2);
        const std::uint8_t* pairs = block + 128 + 32 * half;
        for (int i = 0; i < 32; ++i) {
            const float step = scale * static_cast<float>(static_cast<std::int8_t>(block[192 + 2 * group + i / 16]));
            const int low = (nibbles[i] >> (4 * (quarter / 2))) & 15;
            const int high = (pairs[i] >> (2 * quarter)) & 3;
            out[32 * group + i] = step * static_cast<float>((low | (high << 4)) - 32);
        }
    }
}

/// 32 numbers of a table by nibbles as in q4_0.
inline void scaled_values(const std::uint8_t* nibbles, const std::int8_t* values, float scale, float* out) {
    for (int i = 0; i < 16; ++i) {
        out[i] = scale * static_cast<float>(values[nibbles[i] & 15]);
        out[i + 16] = scale * static_cast<float>(values[nibbles[i] >> 4]);
    }
}

/// scale, nibbles.
template <>
inline void dequantize_block<tensor_type::iq4_nl>(const std::uint8_t* block, float* out) {
    scaled_values(block + 2, augur::detail::iq4_values, load_half(block), out);
}

/// The scale of one of the eight groups of 32 in an iq4_xs block, -32 to 31: the upper two bits of all in two bytes,
/// the low four of two in each of four.
inline int scale_of_iq4_xs(const std::uint8_t* block, int group) {
    const int low = (block[4 + group / 2] >> (4 * (group % 2))) & 15;
    return (low | (((load_u16(block + 2) >> (2 * group)) & 3) << 4)) - 32;
}

/// scale, group scales, nibbles of each group.
template <>
inline void dequantize_block<tensor_type::iq4_xs>(const std::uint8_t* block, float* out) {
    for (int group = 0; group < 8; ++group) {
        const float step = load_half(block) * static_cast<float>(scale_of_iq4_xs(block, group));
        scaled_values(block + 8 + 16 * group, augur::detail::iq4_values, step, out + 32 * group);
    }
}

/// exponent, nibbles.
template <>
inline void dequantize_block<tensor_type::mxfp4>(const std::uint8_t* block, float* out) {
    const float scale = augur::detail::bfloat16_to_float(augur::detail::halved_power_as_bfloat16(block[0]));
    scaled_values(block + 1, augur::detail::mxfp4_values, scale, out);
}

/// Calls `use.template operator()<type>()` with the run-time type as a constant.
template <class Use>
decltype(auto) with_tensor_type(tensor_type type, Use&& use) {
    switch (type) {
        case tensor_type::f32:
            return use.template operator()<tensor_type::f32>();
        case tensor_type::f16:
            return use.template operator()<tensor_type::f16>();
        case tensor_type::bf16:
            return use.template operator()<tensor_type::bf16>();
        case tensor_type::q8_0:
            return use.template operator()<tensor_type::q8_0>();
        case tensor_type::q4_0:
            return use.template operator()<tensor_type::q4_0>();
        case tensor_type::q4_1:
            return use.template operator()<tensor_type::q4_1>();
        case tensor_type::q5_0:
            return use.template operator()<tensor_type::q5_0>();
        case tensor_type::q5_1:
            return use.template operator()<tensor_type::q5_1>();
        case tensor_type::q2_k:
            return use.template operator()<tensor_type::q2_k>();
        case tensor_type::q3_k:
            return use.template operator()<tensor_type::q3_k>();
        case tensor_type::q4_k:
            return use.template operator()<tensor_type::q4_k>();
        case tensor_type::q5_k:
            return use.template operator()<tensor_type::q5_k>();
        case tensor_type::q6_k:
            return use.template operator()<tensor_type::q6_k>();
        case tensor_type::iq4_nl:
            return use.template operator()<tensor_type::iq4_nl>();
        case tensor_type::iq4_xs:
            return use.template operator()<tensor_type::iq4_xs>();
        case tensor_type::mxfp4:
            return use.template operator()<tensor_type::mxfp4>();
        case tensor_type::i32:
            augur::detail::fail("a tensor of i32 holds whole numbers, where weights are wanted");
        case tensor_type::u8:
            augur::detail::fail("a tensor of u8 holds bytes, where weights are wanted");
    }
    augur::detail::fail("no tensor type has the number ", static_cast<int>(type));
}

/// Fills `out` from whole blocks. Errors: sizes that do not match. Cost: one pass, nothing allocated.
inline void dequantize(tensor_type type, std::span<const std::byte> blocks, std::span<float> out) {
    const auto [name, elements, bytes] = layout_of(type);
    if (blocks.size() % bytes != 0 || out.size() % elements != 0 || blocks.size() / bytes != out.size() / elements) {
        augur::detail::fail("dequantize: ", blocks.size(), " bytes of ", name, " (", elements, " elements in ", bytes,
                            " bytes) do not fill ", out.size(), " floats");
    }
    with_tensor_type(type, [&]<tensor_type constant>() {
        const auto* block = reinterpret_cast<const std::uint8_t*>(blocks.data());
        for (std::size_t i = 0; i < out.size(); i += block_size(constant), block += block_bytes(constant)) {
            dequantize_block<constant>(block, out.data() + i);
        }
    });
}

}  // namespace augur::io
