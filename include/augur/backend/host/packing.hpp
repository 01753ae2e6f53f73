#pragma once
// Packs the blocks of model files into panels, and unpacks single weights. The layouts are described in storage.hpp.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "augur/backend/host/packing_blocks.hpp"
#include "augur/backend/host/storage.hpp"
#include "augur/detail/half.hpp"
#include "augur/detail/value_tables.hpp"
#include "augur/types/error.hpp"

namespace augur::backend::host {

/// Writes one block of a file (file_depth weights of one row) to its place.
inline void pack_block(storage format, const packed_place& to, const std::byte* from) {
    switch (format) {
        case storage::f32:
            std::memcpy(to.words + 4 * to.lane, from, 4);
            return;
        case storage::f16:
            std::memcpy(to.words + 2 * to.lane, from, 2);
            return;
        case storage::bf16:
            std::memcpy(to.words + 64 * (to.k / 2) + 4 * to.lane + 2 * (to.k % 2), from, 2);
            return;
        case storage::q8_0:
            std::memcpy(to.header + 2 * to.lane, from, 2);
            for (std::size_t k = 0; k < 32; k += 4) std::memcpy(to.words + 16 * k + 4 * to.lane, from + 2 + k, 4);
            return;
        case storage::q4_0:
            std::memcpy(to.header + 2 * to.lane, from, 2);
            return packing::pack_nibbles(to.words, to.lane, from + 2);
        case storage::q4_1:
            std::memcpy(to.header + 2 * to.lane, from, 2);
            std::memcpy(to.header + 32 + 2 * to.lane, from + 2, 2);
            return packing::pack_nibbles(to.words, to.lane, from + 4);
        case storage::q5_1:
            return packing::pack_q5_1(to, from);
        case storage::q2_k:
            return packing::pack_q2_k(to, from);
        case storage::q4_k:
            return packing::pack_q4_k(to, from);
        case storage::q5_k:
            return packing::pack_q5_k(to, from);
        case storage::q6_k:
            return packing::pack_q6_k(to, from);
        case storage::iq4_nl:
            std::memcpy(to.header + 2 * to.lane, from, 2);
            return packing::pack_nibbles(to.words, to.lane, from + 2);
        case storage::iq4_xs:
            return packing::pack_iq4_xs(to, from);
        case storage::mxfp4:
            return packing::pack_mxfp4(to, from);
    }
}

/// Copies a row's part of a block from one panel to another, as it is: of every sixteen elements the lane's.
inline void copy_block(storage format, const packed_place& from, const packed_place& to) {
    const storage_layout layout = layout_of(format);
    const auto copy = [&](const std::byte* source, std::byte* out, std::size_t begin, std::size_t end,
                          std::size_t element) {
        for (std::size_t at = begin; at < end; at += panel_rows * element) {
            std::memcpy(out + at + element * to.lane, source + at + element * from.lane, element);
        }
    };
    using enum storage;
    const bool has_minima = format == q4_1 || format == q5_1 || format == q2_k || format == q4_k || format == q5_k;
    const std::size_t halves = layout.header_bytes == 0 ? 0 : has_minima ? 64 : 32;
    copy(from.header, to.header, 0, halves, 2);
    copy(from.header, to.header, halves, layout.header_bytes, 1);
    copy(from.words, to.words, 0, layout.word_bytes, format == storage::f16 ? 2 : 4);
}

/// A block of q8_0 or q4_0 as the file had it.
inline void unpack_block(storage format, const packed_place& from, std::byte* to) {
    std::memcpy(to, from.header + 2 * from.lane, 2);
    if (format == storage::q8_0) {
        for (std::size_t k = 0; k < 32; k += 4) std::memcpy(to + 2 + k, from.words + 16 * k + 4 * from.lane, 4);
        return;
    }
    for (std::size_t k = 0; k < 16; ++k) {
        const int low = packing::get_nibble(from.words, from.lane, k);
        to[2 + k] = std::byte(low | packing::get_nibble(from.words, from.lane, k + 16) << 4);
    }
}

namespace packing {

/// The scale of weight k of a block: with its factors, if it has some.
inline float scale_at(storage format, const packed_place& at) {
    const auto signed_byte = [](const std::byte* from) { return static_cast<float>(get<std::int8_t>(from)); };
    const float scale = half(at.header + 2 * at.lane);
    switch (format) {
        case storage::q2_k:
            return scale * static_cast<float>(byte(at.header + 64 + 16 * (at.k / 16) + at.lane) & 15);
        case storage::q4_k:
        case storage::q5_k:
            return scale * signed_byte(at.header + 64 + 32 * (at.k / 32) + at.lane);
        case storage::q6_k:
            return scale * signed_byte(at.header + 32 + 16 * (at.k / 16) + at.lane);
        case storage::iq4_xs:
            return scale * signed_byte(at.header + 32 + 16 * (at.k / 32) + at.lane);
        case storage::mxfp4:
            return augur::detail::bfloat16_to_float(get<std::uint16_t>(at.header + 2 * at.lane));
        default:
            return scale;
    }
}

/// The minimum of a block that has one, or what is to be subtracted of those that have it so.
inline float minimum_at(storage format, const packed_place& at) {
    const float minimum = half(at.header + 32 + 2 * at.lane);
    if (format == storage::q4_1 || format == storage::q5_1) return minimum;
    const bool is_q2 = format == storage::q2_k;
    const int factor = is_q2 ? byte(at.header + 64 + 16 * (at.k / 16) + at.lane) >> 4
                             : byte(at.header + 80 + 32 * (at.k / 32) + at.lane);
    return minimum * static_cast<float>(factor);
}

inline float quant_at(storage format, const packed_place& at) {
    const std::size_t in_16 = at.k % 16, in_32 = at.k % 32;
    const auto nibble = [&] { return get_nibble(at.words, at.lane, at.k); };
    switch (format) {
        case storage::q8_0:
            return static_cast<float>(get<std::int8_t>(at.words + 64 * (at.k / 4) + 4 * at.lane + at.k % 4));
        case storage::q4_0:
            return static_cast<float>(nibble() - 8);
        case storage::q4_1:
        case storage::q4_k:
            return static_cast<float>(nibble());
        case storage::q5_1:
        case storage::q5_k:
            return static_cast<float>(get_five_bits(at.words + 320 * (at.k / 32), at.lane, in_32));
        case storage::q2_k:
            return static_cast<float>(get_two_bits(at.words + 64 * (at.k / 16), at.lane, in_16));
        case storage::q6_k: {
            std::byte* const words = at.words + 192 * (at.k / 16);
            const int upper = get_two_bits(words + 128, at.lane, in_16);
            return static_cast<float>((get_nibble(words, at.lane, in_16) | upper << 4) - 32);
        }
        case storage::iq4_nl:
        case storage::iq4_xs:
            return static_cast<float>(augur::detail::iq4_values[nibble()]);
        case storage::mxfp4:
            return static_cast<float>(augur::detail::mxfp4_values[nibble()]);
        default:
            detail::fail("no storage format of blocks has the number ", static_cast<int>(format));
    }
}

}  // namespace packing

/// One weight, as dequantisation of the file gives it. (Every product of a scale and its factors is exact in binary32.)
inline float weight_at(storage format, const packed_place& at) {
    using namespace packing;
    switch (format) {
        case storage::f32:
            return get<float>(at.words + 4 * at.lane);
        case storage::f16:
            return half(at.words + 2 * at.lane);
        case storage::bf16:
            return augur::detail::bfloat16_to_float(
                get<std::uint16_t>(at.words + 64 * (at.k / 2) + 4 * at.lane + 2 * (at.k % 2)));
        case storage::q4_1:
        case storage::q5_1:
            return scale_at(format, at) * quant_at(format, at) + minimum_at(format, at);
        case storage::q2_k:
        case storage::q4_k:
        case storage::q5_k:
            return scale_at(format, at) * quant_at(format, at) - minimum_at(format, at);
        default:
            return scale_at(format, at) * quant_at(format, at);
    }
}

}  // namespace augur::backend::host
