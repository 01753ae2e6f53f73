#pragma once
// Where weights lie in panels, and how blocks of each quantised format get there. The layouts: storage.hpp.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "augur/backend/host/storage.hpp"
#include "augur/detail/half.hpp"
#include "augur/detail/value_tables.hpp"

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

/// As q4_0 has them: GGUF's byte i holds k = i in its low half and k = i + 16 in its high half.
inline void pack_nibbles(std::byte* words, std::size_t lane, const std::byte* from) {
    for (std::size_t k = 0; k < 32; ++k) put_nibble(words, lane, k, byte(from + k % 16) >> (k < 16 ? 0 : 4) & 15);
}

/// What a q4_k or q5_k block has before its quants: scale, scale of minima, twelve bytes with eight 6-bit factors for
/// each.
inline void pack_factors(const packed_place& to, const std::byte* from) {
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
    }
}

/// q4_k, 144 bytes: factors, then in every 32 bytes the k of one group of 32 in the low halves and of the next in the
/// high halves.
inline void pack_q4_k(const packed_place& to, const std::byte* from) {
    pack_factors(to, from);
    for (std::size_t k = 0; k < 256; ++k) {
        const int two = byte(from + 16 + 32 * (k / 64) + k % 32);
        put_nibble(to.words, to.lane, k, two >> (k / 32 % 2 == 0 ? 0 : 4) & 15);
    }
}

/// The low four bits of weight k, 0 to 31, and the fifth, which is in bit k / 4 of its byte.
inline void put_five_bits(std::byte* words, std::size_t lane, std::size_t k, int value) {
    put_nibble(words, lane, k, value & 15);
    std::byte& to = words[256 + 4 * lane + k % 4];
    const std::byte bit = std::byte{1} << k / 4;
    to = value > 15 ? to | bit : to & ~bit;
}
inline int get_five_bits(std::byte* words, std::size_t lane, std::size_t k) {
    return get_nibble(words, lane, k) | (byte(words + 256 + 4 * lane + k % 4) >> k / 4 & 1) << 4;
}

/// q5_1, 24 bytes: scale, minimum, four bytes with the fifth bit of each k, nibbles as q4_1.
inline void pack_q5_1(const packed_place& to, const std::byte* from) {
    std::memcpy(to.header + 2 * to.lane, from, 2);
    std::memcpy(to.header + 32 + 2 * to.lane, from + 2, 2);
    for (std::size_t k = 0; k < 32; ++k) {
        const int low = byte(from + 8 + k % 16) >> (k < 16 ? 0 : 4) & 15, fifth = byte(from + 4 + k / 8) >> k % 8 & 1;
        put_five_bits(to.words, to.lane, k, low | fifth << 4);
    }
}

/// q5_k, 176 bytes: factors, 32 bytes whose bit g has the fifth bits of group g, then the low ones as q4_k.
inline void pack_q5_k(const packed_place& to, const std::byte* from) {
    pack_factors(to, from);
    for (std::size_t k = 0; k < 256; ++k) {
        const std::size_t group = k / 32;
        const int low = byte(from + 48 + 32 * (group / 2) + k % 32) >> (group % 2 == 0 ? 0 : 4) & 15;
        const int fifth = byte(from + 16 + k % 32) >> group & 1;
        put_five_bits(to.words + 320 * group, to.lane, k % 32, low | fifth << 4);
    }
}

/// Two bits of weight k, 0 to 15: in byte k % 4 of a row's word.
inline void put_two_bits(std::byte* words, std::size_t lane, std::size_t k, int value) {
    std::byte& to = words[4 * lane + k % 4];
    const std::size_t shift = k / 4 * 2;
    to = (to & ~(std::byte{3} << shift)) | std::byte(value) << shift;
}
inline int get_two_bits(const std::byte* words, std::size_t lane, std::size_t k) {
    return byte(words + 4 * lane + k % 4) >> k / 4 * 2 & 3;
}

/// q2_k, 84 bytes: a scale and a minimum of four bits for every 16 k, then of each half of 128 k the four groups of 32
/// in two bits each of 32 bytes, then scale and scale of minima.
inline void pack_q2_k(const packed_place& to, const std::byte* from) {
    std::memcpy(to.header + 2 * to.lane, from + 80, 2);
    std::memcpy(to.header + 32 + 2 * to.lane, from + 82, 2);
    for (std::size_t i = 0; i < 16; ++i) to.header[64 + 16 * i + to.lane] = from[i];
    for (std::size_t k = 0; k < 256; ++k) {
        const int four = byte(from + 16 + 32 * (k / 128) + k % 32);
        put_two_bits(to.words + 64 * (k / 16), to.lane, k % 16, four >> 2 * (k % 128 / 32) & 3);
    }
}

/// iq4_xs, 136 bytes: scale, the upper two bits of eight factors, the low four of them, nibbles of each group as q4_0.
inline void pack_iq4_xs(const packed_place& to, const std::byte* from) {
    std::memcpy(to.header + 2 * to.lane, from, 2);
    const int upper = get<std::uint16_t>(from + 2);
    for (std::size_t group = 0; group < 8; ++group) {
        const int low = byte(from + 4 + group / 2) >> (group % 2 == 0 ? 0 : 4) & 15;
        const int factor = (low | (upper >> 2 * group & 3) << 4) - 32;
        to.header[32 + 16 * group + to.lane] = static_cast<std::byte>(factor);
        pack_nibbles(to.words + 256 * group, to.lane, from + 8 + 16 * group);
    }
}

/// mxfp4, 17 bytes: an exponent, nibbles as q4_0.
inline void pack_mxfp4(const packed_place& to, const std::byte* from) {
    const std::uint16_t scale = augur::detail::halved_power_as_bfloat16(std::to_integer<std::uint8_t>(*from));
    std::memcpy(to.header + 2 * to.lane, &scale, 2);
    pack_nibbles(to.words, to.lane, from + 1);
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
        put_two_bits(to.words + 192 * (k / 16) + 128, to.lane, k % 16, upper);
    }
}

}  // namespace packing

}  // namespace augur::backend::host
