#pragma once
// Sixteen float lanes in portable C++: the definition that the vector versions match bit for bit.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "augur/backend/host/half.hpp"

namespace augur::backend::host {

/// Lane i holds output row i of a panel. `words` are sixteen 32-bit integers, one per lane.
struct lanes_portable {
    struct vector {
        float lane[16];
    };
    struct words {
        std::uint32_t lane[16];
    };

    /// Register tiles: wide_panels panels for up to wide_columns columns, else tile_panels for up to most_columns. Weights
    /// that need unpacking are unpacked in registers for up to streamed_columns columns.
    static constexpr int wide_panels = 1, tile_panels = 1;
    static constexpr int wide_columns = 1, most_columns = 4, streamed_columns = 4;

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
    /// The words' low halves, read as bfloat16.
    static vector low_bfloat16(const words& value) {
        vector result;
        for (int i = 0; i < 16; ++i) result.lane[i] = std::bit_cast<float>(value.lane[i] << 16);
        return result;
    }
    static vector high_bfloat16(const words& value) {
        vector result;
        for (int i = 0; i < 16; ++i) result.lane[i] = std::bit_cast<float>(value.lane[i] & 0xffff0000u);
        return result;
    }
    /// The words' lowest four bits, 0..15, which are then shifted out; `bias` is subtracted.
    template <int bias>
    static vector take_nibble(words& value) {
        vector result;
        for (int i = 0; i < 16; ++i) {
            result.lane[i] = static_cast<float>(static_cast<int>(value.lane[i] & 15u) - bias);
            value.lane[i] >>= 4;
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
        for (int i = 0; i < 16; ++i) result.lane[i] = half_to_float(halves[i]);
        return result;
    }
};

}  // namespace augur::backend::host
