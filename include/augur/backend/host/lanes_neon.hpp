#pragma once
// Sixteen float lanes in four registers of Arm's NEON, and the same with its dot products of bytes.

#if defined(__aarch64__)

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "augur/backend/host/instruction_set.hpp"
#include "augur/backend/host/lanes_portable.hpp"
#include "augur/backend/host/storage.hpp"

#define AUGUR_NEON_INLINE __attribute__((always_inline)) inline

#if defined(AUGUR_NEON_DOT)
#define AUGUR_NEON_DOT_INLINE __attribute__((always_inline)) AUGUR_NEON_DOT inline
#endif

namespace augur::backend::host {

/// The operations of lanes_portable, with the same bits. Every AArch64 processor has them.
struct lanes_neon {
    struct vector {
        float32x4_t a, b, c, d;
    };
    struct words {
        uint32x4_t a, b, c, d;
    };

    /// See lanes_portable. A column's sums take four of the 32 registers, as do the weights.
    static constexpr int tile_panels = 1, most_columns = 5, most_dot_columns = 4;

    /// The operation on each of the four registers.
    template <class Result, class Operation, class... Operands>
    AUGUR_NEON_INLINE static Result by_register(Operation operation, const Operands&... of) {
        return {operation(of.a...), operation(of.b...), operation(of.c...), operation(of.d...)};
    }

    AUGUR_NEON_INLINE static vector broadcast(float value) {
        const float32x4_t all = vdupq_n_f32(value);
        return {all, all, all, all};
    }
    AUGUR_NEON_INLINE static vector zero() { return broadcast(0.0f); }
    AUGUR_NEON_INLINE static vector load(const float* from) {
        return {vld1q_f32(from), vld1q_f32(from + 4), vld1q_f32(from + 8), vld1q_f32(from + 12)};
    }
    AUGUR_NEON_INLINE static void store(float* to, const vector& value) {
        vst1q_f32(to, value.a);
        vst1q_f32(to + 4, value.b);
        vst1q_f32(to + 8, value.c);
        vst1q_f32(to + 12, value.d);
    }
    AUGUR_NEON_INLINE static vector load(const float* from, std::size_t count) {
        if (count == 16) return load(from);
        float lanes[16] = {};
        std::memcpy(lanes, from, count * sizeof(float));
        return load(lanes);
    }
    AUGUR_NEON_INLINE static void store(float* to, const vector& value, std::size_t count) {
        if (count == 16) return store(to, value);
        float lanes[16];
        store(lanes, value);
        std::memcpy(to, lanes, count * sizeof(float));
    }
    AUGUR_NEON_INLINE static vector first(const vector& value, std::size_t count) {
        float lanes[16];
        store(lanes, value);
        return load(lanes, count);
    }

    AUGUR_NEON_INLINE static vector fma(const vector& a, const vector& b, const vector& c) {
        return by_register<vector>([](auto x, auto y, auto z) { return vfmaq_f32(z, x, y); }, a, b, c);
    }
    AUGUR_NEON_INLINE static vector add(const vector& a, const vector& b) {
        return by_register<vector>([](auto x, auto y) { return vaddq_f32(x, y); }, a, b);
    }
    AUGUR_NEON_INLINE static vector subtract(const vector& a, const vector& b) {
        return by_register<vector>([](auto x, auto y) { return vsubq_f32(x, y); }, a, b);
    }
    AUGUR_NEON_INLINE static vector multiply(const vector& a, const vector& b) {
        return by_register<vector>([](auto x, auto y) { return vmulq_f32(x, y); }, a, b);
    }
    AUGUR_NEON_INLINE static vector divide(const vector& a, const vector& b) {
        return by_register<vector>([](auto x, auto y) { return vdivq_f32(x, y); }, a, b);
    }
    /// By a comparison: the instructions for maximum and minimum answer NaN where either operand is.
    AUGUR_NEON_INLINE static vector larger(const vector& a, const vector& b) {
        return by_register<vector>([](auto x, auto y) { return vbslq_f32(vcgtq_f32(x, y), x, y); }, a, b);
    }
    AUGUR_NEON_INLINE static vector smaller(const vector& a, const vector& b) {
        return by_register<vector>([](auto x, auto y) { return vbslq_f32(vcltq_f32(x, y), x, y); }, a, b);
    }
    AUGUR_NEON_INLINE static vector absolute(const vector& a) {
        return by_register<vector>([](auto x) { return vabsq_f32(x); }, a);
    }
    AUGUR_NEON_INLINE static float largest_lane(const vector& a) {
        return vmaxnmvq_f32(vmaxnmq_f32(vmaxnmq_f32(a.a, a.b), vmaxnmq_f32(a.c, a.d)));
    }
    AUGUR_NEON_INLINE static float sum_of_integers(const vector& a) {
        return vaddvq_f32(vaddq_f32(vaddq_f32(a.a, a.b), vaddq_f32(a.c, a.d)));
    }
    AUGUR_NEON_INLINE static void store_bytes(std::int8_t* to, const vector& a) {
        const auto narrow = [](auto x, auto y) {
            return vcombine_s16(vmovn_s32(vcvtq_s32_f32(x)), vmovn_s32(vcvtq_s32_f32(y)));
        };
        vst1q_s8(to, vcombine_s8(vmovn_s16(narrow(a.a, a.b)), vmovn_s16(narrow(a.c, a.d))));
    }
    AUGUR_NEON_INLINE static vector power_of_two(const vector& shifted) {
        const auto power = [](auto x) {
            const uint32x4_t exponent = vshlq_n_u32(vreinterpretq_u32_f32(x), 23);
            return vreinterpretq_f32_u32(vaddq_u32(exponent, vdupq_n_u32(0x3f800000u)));
        };
        return by_register<vector>(power, shifted);
    }

    AUGUR_NEON_INLINE static words load_words(const std::byte* from) {
        const auto at = [from](int i) { return vreinterpretq_u32_u8(vld1q_u8(bytes_of(from) + 16 * i)); };
        return {at(0), at(1), at(2), at(3)};
    }
    static constexpr std::size_t bfloat16_input_bytes = 4;
    AUGUR_NEON_INLINE static void put_bfloat16(std::byte* to, std::uint16_t bits) {
        lanes_portable::put_bfloat16(to, bits);
    }
    AUGUR_NEON_INLINE static vector add_pair(const words& weights, const std::byte* x, const vector& sum) {
        const auto* inputs = reinterpret_cast<const float*>(x);
        const auto upper = [](auto w) { return vreinterpretq_f32_u32(vandq_u32(w, vdupq_n_u32(0xffff0000u))); };
        const auto lower = [](auto w) { return vreinterpretq_f32_u32(vshlq_n_u32(w, 16)); };
        const vector odd = by_register<vector>(upper, weights), even = by_register<vector>(lower, weights);
        return fma(even, broadcast(inputs[0]), fma(odd, broadcast(inputs[1]), sum));
    }

    AUGUR_NEON_INLINE static words broadcast_word(std::int32_t value) {
        const uint32x4_t all = vdupq_n_u32(static_cast<std::uint32_t>(value));
        return {all, all, all, all};
    }
    AUGUR_NEON_INLINE static vector to_floats(const words& value) {
        return by_register<vector>([](auto w) { return vcvtq_f32_s32(vreinterpretq_s32_u32(w)); }, value);
    }
    /// Of every byte the `count` bits from `shift` on. Shifts go byte by byte.
    template <int shift, int count>
    AUGUR_NEON_INLINE static words bits(const words& value) {
        const auto some = [](auto w) {
            uint8x16_t bytes = vreinterpretq_u8_u32(w);
            if constexpr (shift > 0) bytes = vshrq_n_u8(bytes, shift > 0 ? shift : 1);
            if constexpr (shift + count < 8) bytes = vandq_u8(bytes, vdupq_n_u8((1 << count) - 1));
            return vreinterpretq_u32_u8(bytes);
        };
        return by_register<words>(some, value);
    }
    AUGUR_NEON_INLINE static words low_nibbles(const words& value) { return bits<0, 4>(value); }
    AUGUR_NEON_INLINE static words high_nibbles(const words& value) { return bits<4, 4>(value); }
    template <int shift, int count = 2>
    AUGUR_NEON_INLINE static words with_upper(const words& low, const words& upper) {
        const auto both = [](auto below, auto above) { return vorrq_u32(below, vshlq_n_u32(above, 4)); };
        return by_register<words>(both, low, bits<shift, count>(upper));
    }
    AUGUR_NEON_INLINE static words values(const words& places, const std::int8_t* table) {
        const int8x16_t all = vld1q_s8(table);
        const auto chosen = [all](auto w) { return vreinterpretq_u32_s8(vqtbl1q_s8(all, vreinterpretq_u8_u32(w))); };
        return by_register<words>(chosen, places);
    }
    AUGUR_NEON_INLINE static int8x16_t four(const std::int8_t* x) {
        std::int32_t bytes;
        std::memcpy(&bytes, x, sizeof bytes);
        return vreinterpretq_s8_s32(vdupq_n_s32(bytes));
    }
    /// Pairs of products of at most 128 * 127 fit the 16 bits that they are first added in.
    AUGUR_NEON_INLINE static words dot_signed(const words& sum, const words& weights, const std::int8_t* x) {
        const int8x16_t inputs = four(x);
        const auto add_products = [inputs](auto before, auto w) {
            const int8x16_t bytes = vreinterpretq_s8_u32(w);
            const int16x8_t low = vmull_s8(vget_low_s8(bytes), vget_low_s8(inputs)),
                            high = vmull_high_s8(bytes, inputs);
            return vreinterpretq_u32_s32(vpadalq_s16(vreinterpretq_s32_u32(before), vpaddq_s16(low, high)));
        };
        return by_register<words>(add_products, sum, weights);
    }
    AUGUR_NEON_INLINE static words start_signed(const quantised_inputs&) { return broadcast_word(0); }
    /// Unsigned bytes of at most 63 are signed ones as well.
    AUGUR_NEON_INLINE static words dot(const words& sum, const words& weights, const std::int8_t* x) {
        return dot_signed(sum, weights, x);
    }

    AUGUR_NEON_INLINE static vector load_bytes(const std::byte* from) {
        const int8x16_t bytes = vreinterpretq_s8_u8(vld1q_u8(bytes_of(from)));
        const int16x8_t low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_high_s8(bytes);
        return {vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))), vcvtq_f32_s32(vmovl_high_s16(low)),
                vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))), vcvtq_f32_s32(vmovl_high_s16(high))};
    }
    AUGUR_NEON_INLINE static vector load_halves(const std::byte* from) {
        const float16x8_t low = vreinterpretq_f16_u8(vld1q_u8(bytes_of(from)));
        const float16x8_t high = vreinterpretq_f16_u8(vld1q_u8(bytes_of(from) + 16));
        return {vcvt_f32_f16(vget_low_f16(low)), vcvt_high_f32_f16(low), vcvt_f32_f16(vget_low_f16(high)),
                vcvt_high_f32_f16(high)};
    }
    AUGUR_NEON_INLINE static words load_byte_words(const std::byte* from) {
        const uint8x16_t bytes = vld1q_u8(bytes_of(from));
        const uint16x8_t low = vmovl_u8(vget_low_u8(bytes)), high = vmovl_high_u8(bytes);
        return {vmovl_u16(vget_low_u16(low)), vmovl_high_u16(low), vmovl_u16(vget_low_u16(high)), vmovl_high_u16(high)};
    }
    AUGUR_NEON_INLINE static vector load_bfloat16(const std::byte* from) {
        const uint16x8_t low = vreinterpretq_u16_u8(vld1q_u8(bytes_of(from)));
        const uint16x8_t high = vreinterpretq_u16_u8(vld1q_u8(bytes_of(from) + 16));
        const auto widened = [](uint16x4_t half) { return vreinterpretq_f32_u32(vshll_n_u16(half, 16)); };
        return {widened(vget_low_u16(low)), widened(vget_high_u16(low)), widened(vget_low_u16(high)),
                widened(vget_high_u16(high))};
    }

 private:
    AUGUR_NEON_INLINE static const std::uint8_t* bytes_of(const std::byte* from) {
        return reinterpret_cast<const std::uint8_t*>(from);
    }
};

#if defined(AUGUR_NEON_DOT)
/// The same with the instruction for dot products of four bytes.
struct lanes_neon_dot : lanes_neon {
    AUGUR_NEON_DOT_INLINE static words dot_signed(const words& sum, const words& weights, const std::int8_t* x) {
        const int8x16_t inputs = four(x);
        return {dot_product(sum.a, weights.a, inputs), dot_product(sum.b, weights.b, inputs),
                dot_product(sum.c, weights.c, inputs), dot_product(sum.d, weights.d, inputs)};
    }
    AUGUR_NEON_DOT_INLINE static words dot(const words& sum, const words& weights, const std::int8_t* x) {
        return dot_signed(sum, weights, x);
    }

 private:
    AUGUR_NEON_DOT_INLINE static uint32x4_t dot_product(uint32x4_t sum, uint32x4_t weights, int8x16_t x) {
        return vreinterpretq_u32_s32(vdotq_s32(vreinterpretq_s32_u32(sum), vreinterpretq_s8_u32(weights), x));
    }
};
#endif

}  // namespace augur::backend::host

#endif
