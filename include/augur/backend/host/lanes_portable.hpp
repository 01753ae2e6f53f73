#pragma once
// Sixteen float lanes in portable C++: the reference that the vector versions match bit for bit.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "augur/backend/host/storage.hpp"
#include "augur/detail/half.hpp"

namespace augur::backend::host {

/// Lane i holds output row i of a panel. `words` are sixteen 32-bit integers, one per lane.
struct lanes_portable {
    struct vector {
        float lane[16];
    };
    struct words {
        std::uint32_t lane[16];
    };

    /// Register tiles: one panel for up to most_columns columns, tile_panels of so many where there are more; one panel
    /// for up to most_dot_columns columns of integers.
    static constexpr int tile_panels = 1, most_columns = 4, most_dot_columns = 4;

    static vector broadcast(float value) {
        vector result;
        for (float& lane : result.lane) lane = value;
        return result;
    }
    static vector zero() { return broadcast(0.0f); }
    static vector load(const float* from) {
        vector result;
        std::memcpy(result.lane, from, sizeof result.lane);
        return result;
    }
    static void store(float* to, const vector& value) { std::memcpy(to, value.lane, sizeof value.lane); }
    /// The first `count` (0..16) lanes; the others are zero.
    static vector load(const float* from, std::size_t count) {
        vector result = zero();
        std::memcpy(result.lane, from, count * sizeof(float));
        return result;
    }
    static void store(float* to, const vector& value, std::size_t count) {
        std::memcpy(to, value.lane, count * sizeof(float));
    }
    static vector first(const vector& value, std::size_t count) { return load(value.lane, count); }

    /// a * b + c, rounded once.
    static vector fma(const vector& a, const vector& b, const vector& c) {
        vector result;
        for (int i = 0; i < 16; ++i) result.lane[i] = std::fma(a.lane[i], b.lane[i], c.lane[i]);
        return result;
    }
    static vector add(const vector& a, const vector& b) {
        vector result;
        for (int i = 0; i < 16; ++i) result.lane[i] = a.lane[i] + b.lane[i];
        return result;
    }
    static vector subtract(const vector& a, const vector& b) {
        vector result;
        for (int i = 0; i < 16; ++i) result.lane[i] = a.lane[i] - b.lane[i];
        return result;
    }
    static vector multiply(const vector& a, const vector& b) {
        vector result;
        for (int i = 0; i < 16; ++i) result.lane[i] = a.lane[i] * b.lane[i];
        return result;
    }
    static vector divide(const vector& a, const vector& b) {
        vector result;
        for (int i = 0; i < 16; ++i) result.lane[i] = a.lane[i] / b.lane[i];
        return result;
    }
    /// The larger; b where either is not a number.
    static vector larger(const vector& a, const vector& b) {
        vector result;
        for (int i = 0; i < 16; ++i) result.lane[i] = a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i];
        return result;
    }
    /// The smaller; b where either is not a number.
    static vector smaller(const vector& a, const vector& b) {
        vector result;
        for (int i = 0; i < 16; ++i) result.lane[i] = a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i];
        return result;
    }
    static vector absolute(const vector& a) {
        vector result;
        for (int i = 0; i < 16; ++i) result.lane[i] = std::abs(a.lane[i]);
        return result;
    }
    /// Of lanes that are numbers.
    static float largest_lane(const vector& a) {
        float result = a.lane[0];
        for (const float lane : a.lane) result = lane > result ? lane : result;
        return result;
    }
    /// In any order: for small integers, whose sum is exact.
    static float sum_of_integers(const vector& a) {
        float result = 0;
        for (const float lane : a.lane) result += lane;
        return result;
    }
    /// Integers of -128 to 127 as bytes.
    static void store_bytes(std::int8_t* to, const vector& a) {
        for (int i = 0; i < 16; ++i) to[i] = static_cast<std::int8_t>(a.lane[i]);
    }
    /// 2^n for integers n in [-126, 127], given n + 1.5 * 2^23.
    static vector power_of_two(const vector& shifted) {
        vector result;
        for (int i = 0; i < 16; ++i) {
            const std::uint32_t bits = std::bit_cast<std::uint32_t>(shifted.lane[i]);
            result.lane[i] = std::bit_cast<float>((bits << 23) + 0x3f800000u);
        }
        return result;
    }

    static words load_words(const std::byte* from) {
        words result;
        std::memcpy(result.lane, from, sizeof result.lane);
        return result;
    }

    /// How inputs rounded to bfloat16 are held: as such for instructions that take pairs of them, widened elsewhere.
    static constexpr std::size_t bfloat16_input_bytes = 4;
    static void put_bfloat16(std::byte* to, std::uint16_t bits) {
        const float value = augur::detail::bfloat16_to_float(bits);
        std::memcpy(to, &value, sizeof value);
    }
    /// Two k of bfloat16 weights: adds the odd one's product, then the even one's, with one rounding each, as
    /// AVX512_BF16.
    static vector add_pair(const words& weights, const std::byte* x, const vector& sum) {
        float even, odd;
        std::memcpy(&even, x, sizeof even);
        std::memcpy(&odd, x + sizeof even, sizeof odd);
        vector result;
        for (int i = 0; i < 16; ++i) {
            const float high = std::bit_cast<float>(weights.lane[i] & 0xffff0000u);
            const float low = std::bit_cast<float>(weights.lane[i] << 16);
            result.lane[i] = std::fma(low, even, std::fma(high, odd, sum.lane[i]));
        }
        return result;
    }

    static words broadcast_word(std::int32_t value) {
        words result;
        for (std::uint32_t& lane : result.lane) lane = static_cast<std::uint32_t>(value);
        return result;
    }
    static vector to_floats(const words& value) {
        vector result;
        for (int i = 0; i < 16; ++i) result.lane[i] = static_cast<float>(static_cast<std::int32_t>(value.lane[i]));
        return result;
    }
    static words low_nibbles(const words& value) {
        words result;
        for (int i = 0; i < 16; ++i) result.lane[i] = value.lane[i] & 0x0f0f0f0fu;
        return result;
    }
    static words high_nibbles(const words& value) {
        words result;
        for (int i = 0; i < 16; ++i) result.lane[i] = value.lane[i] >> 4 & 0x0f0f0f0fu;
        return result;
    }
    /// Of every byte the `count` bits from `shift` on.
    template <int shift, int count>
    static words bits(const words& value) {
        constexpr std::uint32_t mask = ((1u << count) - 1u) * 0x01010101u;
        words result;
        for (int i = 0; i < 16; ++i) result.lane[i] = value.lane[i] >> shift & mask;
        return result;
    }
    /// Every byte's bits from 4 on are these `count` of `upper`.
    template <int shift, int count = 2>
    static words with_upper(const words& low, const words& upper) {
        const words above = bits<shift, count>(upper);
        words result;
        for (int i = 0; i < 16; ++i) result.lane[i] = low.lane[i] | above.lane[i] << 4;
        return result;
    }
    /// Of every byte, at most 15, the number that it has in the table.
    static words values(const words& places, const std::int8_t* table) {
        words result{};
        for (int i = 0; i < 16; ++i) {
            for (int b = 0; b < 32; b += 8) {
                const auto value = static_cast<std::uint8_t>(table[places.lane[i] >> b & 15u]);
                result.lane[i] |= std::uint32_t{value} << b;
            }
        }
        return result;
    }
    /// Adds the products of every lane's four unsigned bytes (at most 63) with the same four signed ones.
    static words dot(const words& sum, const words& weights, const std::int8_t* x) {
        words result;
        for (int i = 0; i < 16; ++i) {
            const std::uint32_t w = weights.lane[i];
            const auto at = [w](int b) { return static_cast<std::int32_t>(w >> (8 * b) & 0xffu); };
            const std::int32_t added = at(0) * x[0] + at(1) * x[1] + at(2) * x[2] + at(3) * x[3];
            result.lane[i] = sum.lane[i] + static_cast<std::uint32_t>(added);
        }
        return result;
    }
    /// The same with signed weights, in sums that begin with start_signed.
    static words start_signed(const quantised_inputs&) { return broadcast_word(0); }
    static words dot_signed(const words& sum, const words& weights, const std::int8_t* x) {
        words result;
        for (int i = 0; i < 16; ++i) {
            const std::uint32_t w = weights.lane[i];
            const auto at = [w](int b) {
                return static_cast<std::int32_t>(static_cast<std::int8_t>(w >> (8 * b) & 0xffu));
            };
            const std::int32_t added = at(0) * x[0] + at(1) * x[1] + at(2) * x[2] + at(3) * x[3];
            result.lane[i] = sum.lane[i] + static_cast<std::uint32_t>(added);
        }
        return result;
    }

    /// Sixteen signed bytes.
    static vector load_bytes(const std::byte* from) {
        vector result;
        for (int i = 0; i < 16; ++i) result.lane[i] = static_cast<float>(static_cast<std::int8_t>(from[i]));
        return result;
    }
    /// Sixteen IEEE binary16 numbers.
    static vector load_halves(const std::byte* from) {
        std::uint16_t halves[16];
        std::memcpy(halves, from, sizeof halves);
        vector result;
        for (int i = 0; i < 16; ++i) result.lane[i] = augur::detail::half_to_float(halves[i]);
        return result;
    }
    /// Sixteen unsigned bytes, a word each.
    static words load_byte_words(const std::byte* from) {
        words result;
        for (int i = 0; i < 16; ++i) result.lane[i] = std::to_integer<std::uint32_t>(from[i]);
        return result;
    }
    static vector load_bfloat16(const std::byte* from) {
        std::uint16_t halves[16];
        std::memcpy(halves, from, sizeof halves);
        vector result;
        for (int i = 0; i < 16; ++i) result.lane[i] = augur::detail::bfloat16_to_float(halves[i]);
        return result;
    }
};

}  // namespace augur::backend::host
