#pragma once
// Packs the blocks of model files into panels, and unpacks single weights. The layouts are described in storage.hpp.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "augur/backend/host/storage.hpp"
#include "augur/detail/half.hpp"
#include "augur/types/error.hpp"

namespace augur::backend::host {

/// One weight's block: where its headers and words are, which of the sixteen rows, and which k of the block.
struct packed_place {
    std::byte* header;
    std::byte* words;
    std::size_t lane;
    std::size_t k;
};

namespace packing {

template <class T>
T get(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}
inline int byte(const std::byte* from) {
    return std::to_integer<int>(*from);
}
inline float half(const std::byte* from) {
    return augur::detail::half_to_float(get<std::uint16_t>(from));
}

/// Where the four bits of weight k are: in byte b of a row's word, low half for k = b, high half for k = b + 4.
inline std::byte* nibble_byte(std::byte* words, std::size_t lane, std::size_t k) {
    return words + 64 * (k / 8) + 4 * lane + k % 4;
}
inline void put_nibble(std::byte* words, std::size_t lane, std::size_t k, int value) {
    std::byte& to = *nibble_byte(words, lane, k);
    const bool low = k % 8 < 4;
    to = (to & std::byte(low ? 0xf0 : 0x0f)) | std::byte(low ? value : value << 4);
}
inline int get_nibble(std::byte* words, std::size_t lane, std::size_t k) {
    return byte(nibble_byte(words, lane, k)) >> (k % 8 < 4 ? 0 : 4) & 15;
}

/// q4_0 and q4_1: GGUF's byte i holds k = i in its low half and k = i + 16 in its high half.
inline void pack_nibbles(std::byte* words, std::size_t lane, const std::byte* from) {
    for (std::size_t k = 0; k < 32; ++k) put_nibble(words, lane, k, byte(from + k % 16) >> (k < 16 ? 0 : 4) & 15);
}

/// q4_k, 144 bytes: scale, scale of minima, twelve bytes with eight 6-bit factors for each, then in every 32 bytes the
/// k of one group of 32 in the low halves and of the next in the high halves.
inline void pack_q4_k(const packed_place& to, const std::byte* from) {
    std::memcpy(to.header + 2 * to.lane, from, 2);
    std::memcpy(to.header + 32 + 2 * to.lane, from + 2, 2);
    const std::byte* bits = from + 4;
    for (std::size_t group = 0; group < 8; ++group) {
        int scale = byte(bits + group) & 63, minimum = byte(bits + group + 4) & 63;
        if (group >= 4) {
            scale = (byte(bits + group + 4) & 15) | (byte(bits + group - 4) >> 6 << 4);
            minimum = byte(bits + group + 4) >> 4 | (byte(bits + group) >> 6 << 4);
        }
        std::byte* factors = to.header + 64 + 32 * group + to.lane;
        factors[0] = std::byte(scale);
        factors[16] = std::byte(minimum);
        for (std::size_t k = 0; k < 32; ++k) {
            const int two = byte(from + 16 + 32 * (group / 2) + k);
            put_nibble(to.words, to.lane, 32 * group + k, two >> (group % 2 == 0 ? 0 : 4) & 15);
        }
    }
}

/// The byte with the upper two bits of weight k of a q6_k block, and their shift.
inline std::byte* upper_byte(std::byte* words, std::size_t lane, std::size_t k) {
    return words + 192 * (k / 16) + 128 + 4 * lane + k % 4;
}
inline std::size_t upper_shift(std::size_t k) {
    return k % 16 / 4 * 2;
}

/// q6_k, 210 bytes: 128 with the low four bits, 64 with the upper two, sixteen signed factors, the scale. Each half of
/// 128 k is four groups of 32; group g has its low bits in bytes 32 (g % 2) on, low half of the byte for g < 2.
inline void pack_q6_k(const packed_place& to, const std::byte* from) {
    std::memcpy(to.header + 2 * to.lane, from + 208, 2);
    for (std::size_t i = 0; i < 16; ++i) to.header[32 + 16 * i + to.lane] = from[192 + i];
    for (std::size_t k = 0; k < 256; ++k) {
        const std::size_t half = k / 128, group = k % 128 / 32, i = k % 32;
        const int low = byte(from + 64 * half + 32 * (group % 2) + i) >> (group < 2 ? 0 : 4) & 15;
        const int upper = byte(from + 128 + 32 * half + i) >> (2 * group) & 3;
        put_nibble(to.words + 192 * (k / 16), to.lane, k % 16, low);
        std::byte& bits = *upper_byte(to.words, to.lane, k);
        const std::size_t shift = upper_shift(k);
        bits = (bits & ~(std::byte{3} << shift)) | std::byte(upper) << shift;
    }
}

}  // namespace packing

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
        case storage::q4_k:
            return packing::pack_q4_k(to, from);
        case storage::q6_k:
            return packing::pack_q6_k(to, from);
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
    const bool has_minima = format == storage::q4_1 || format == storage::q4_k;
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

/// One weight, as dequantisation of the file gives it. (Every product of a scale and its factors is exact in binary32.)
inline float weight_at(storage format, const packed_place& at) {
    using namespace packing;
    const auto signed_byte = [](const std::byte* from) { return static_cast<float>(get<std::int8_t>(from)); };
    const float scale = format == storage::f32 || format == storage::bf16 ? 0.0f : half(at.header + 2 * at.lane);
    switch (format) {
        case storage::f32:
            return get<float>(at.words + 4 * at.lane);
        case storage::f16:
            return half(at.words + 2 * at.lane);
        case storage::bf16:
            return augur::detail::bfloat16_to_float(
                get<std::uint16_t>(at.words + 64 * (at.k / 2) + 4 * at.lane + 2 * (at.k % 2)));
        case storage::q8_0:
            return scale * signed_byte(at.words + 64 * (at.k / 4) + 4 * at.lane + at.k % 4);
        case storage::q4_0:
            return scale * static_cast<float>(get_nibble(at.words, at.lane, at.k) - 8);
        case storage::q4_1: {
            const float minimum = half(at.header + 32 + 2 * at.lane);
            return scale * static_cast<float>(get_nibble(at.words, at.lane, at.k)) + minimum;
        }
        case storage::q4_k: {
            const std::byte* factors = at.header + 64 + 32 * (at.k / 32) + at.lane;
            const float minimum = half(at.header + 32 + 2 * at.lane) * signed_byte(factors + 16);
            return scale * signed_byte(factors) * static_cast<float>(get_nibble(at.words, at.lane, at.k)) - minimum;
        }
        case storage::q6_k: {
            const std::size_t in_group = at.k % 16;
            const int upper = byte(upper_byte(at.words, at.lane, at.k)) >> upper_shift(at.k) & 3;
            const int quant = get_nibble(at.words + 192 * (at.k / 16), at.lane, in_group) | upper << 4;
            return scale * signed_byte(at.header + 32 + 16 * (at.k / 16) + at.lane) * static_cast<float>(quant - 32);
        }
    }
    detail::fail("no storage format has the number ", static_cast<int>(format));
}

}  // namespace augur::backend::host
