#pragma once
// Sixteen float lanes in one AVX-512 register, with VNNI for bytes and AVX512_BF16 for pairs of bfloat16 where
// available.

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "augur/backend/host/lanes_portable.hpp"
#include "augur/backend/host/storage.hpp"

#define AUGUR_AVX512 __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512vnni")))
#define AUGUR_AVX512_INLINE __attribute__((always_inline, target("avx2,fma,f16c,avx512f,avx512bw,avx512vnni"))) inline
#define AUGUR_AVX512_BF16 __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512vnni,avx512bf16")))
#define AUGUR_AVX512_BF16_INLINE \
    __attribute__((always_inline, target("avx2,fma,f16c,avx512f,avx512bw,avx512vnni,avx512bf16"))) inline

namespace augur::backend::host {

/// The operations of lanes_portable, with the same bits.
struct lanes_avx512 {
    using vector = __m512;
    using words = __m512i;

    /// See lanes_portable.
    static constexpr int tile_panels = 2, most_columns = 12, most_dot_columns = 8;

    /// Spelled out, because the unmasked forms make g++ 12 warn of an uninitialised operand (its bug 105593); the code
    /// is the same.
    static constexpr __mmask16 all = 0xffff;

    AUGUR_AVX512_INLINE static __mmask16 mask(std::size_t count) { return static_cast<__mmask16>((1u << count) - 1u); }

    AUGUR_AVX512_INLINE static vector broadcast(float value) { return _mm512_set1_ps(value); }
    AUGUR_AVX512_INLINE static vector zero() { return _mm512_setzero_ps(); }
    AUGUR_AVX512_INLINE static vector load(const float* from) { return _mm512_loadu_ps(from); }
    AUGUR_AVX512_INLINE static void store(float* to, vector value) { _mm512_storeu_ps(to, value); }
    AUGUR_AVX512_INLINE static vector load(const float* from, std::size_t count) {
        return _mm512_maskz_loadu_ps(mask(count), from);
    }
    AUGUR_AVX512_INLINE static void store(float* to, vector value, std::size_t count) {
        _mm512_mask_storeu_ps(to, mask(count), value);
    }
    AUGUR_AVX512_INLINE static vector first(vector value, std::size_t count) {
        return _mm512_maskz_mov_ps(mask(count), value);
    }

    AUGUR_AVX512_INLINE static vector fma(vector a, vector b, vector c) { return _mm512_fmadd_ps(a, b, c); }
    AUGUR_AVX512_INLINE static vector add(vector a, vector b) { return _mm512_add_ps(a, b); }
    AUGUR_AVX512_INLINE static vector subtract(vector a, vector b) { return _mm512_sub_ps(a, b); }
    AUGUR_AVX512_INLINE static vector multiply(vector a, vector b) { return _mm512_mul_ps(a, b); }
    AUGUR_AVX512_INLINE static vector divide(vector a, vector b) { return _mm512_div_ps(a, b); }
    AUGUR_AVX512_INLINE static vector larger(vector a, vector b) { return _mm512_maskz_max_ps(all, a, b); }
    AUGUR_AVX512_INLINE static vector smaller(vector a, vector b) { return _mm512_maskz_min_ps(all, a, b); }
    AUGUR_AVX512_INLINE static vector absolute(vector a) {
        const words rest = _mm512_set1_epi32(0x7fffffff);
        return _mm512_castsi512_ps(_mm512_maskz_and_epi32(all, _mm512_castps_si512(a), rest));
    }
    /// The lanes halves swapped, then quarters, neighbours of two, neighbours.
    AUGUR_AVX512_INLINE static vector swapped(vector a, int step) {
        if (step == 0) return _mm512_maskz_shuffle_f32x4(all, a, a, 0x4e);
        if (step == 1) return _mm512_maskz_shuffle_f32x4(all, a, a, 0xb1);
        return step == 2 ? _mm512_maskz_permute_ps(all, a, 0x4e) : _mm512_maskz_permute_ps(all, a, 0xb1);
    }
    AUGUR_AVX512_INLINE static float largest_lane(vector a) {
        for (int step = 0; step < 4; ++step) a = larger(a, swapped(a, step));
        return _mm512_cvtss_f32(a);
    }
    AUGUR_AVX512_INLINE static float sum_of_integers(vector a) {
        for (int step = 0; step < 4; ++step) a = add(a, swapped(a, step));
        return _mm512_cvtss_f32(a);
    }
    AUGUR_AVX512_INLINE static void store_bytes(std::int8_t* to, vector a) {
        const words numbers = _mm512_maskz_cvtps_epi32(all, a);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_maskz_cvtepi32_epi8(all, numbers));
    }
    AUGUR_AVX512_INLINE static vector power_of_two(vector shifted) {
        const words exponent = _mm512_maskz_slli_epi32(all, _mm512_castps_si512(shifted), 23);
        return _mm512_castsi512_ps(_mm512_add_epi32(exponent, _mm512_set1_epi32(0x3f800000)));
    }

    AUGUR_AVX512_INLINE static words load_words(const std::byte* from) { return _mm512_loadu_si512(from); }
    static constexpr std::size_t bfloat16_input_bytes = 4;
    AUGUR_AVX512_INLINE static void put_bfloat16(std::byte* to, std::uint16_t bits) {
        lanes_portable::put_bfloat16(to, bits);
    }
    AUGUR_AVX512_INLINE static vector add_pair(const words& weights, const std::byte* x, const vector& sum) {
        const auto* inputs = reinterpret_cast<const float*>(x);
        const words mask = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
        const vector odd = _mm512_castsi512_ps(_mm512_maskz_and_epi32(all, weights, mask));
        const vector even = _mm512_castsi512_ps(_mm512_maskz_slli_epi32(all, weights, 16));
        return fma(even, broadcast(inputs[0]), fma(odd, broadcast(inputs[1]), sum));
    }

    AUGUR_AVX512_INLINE static words broadcast_word(std::int32_t value) { return _mm512_set1_epi32(value); }
    AUGUR_AVX512_INLINE static vector to_floats(words value) { return _mm512_maskz_cvtepi32_ps(all, value); }
    AUGUR_AVX512_INLINE static words low_nibbles(words value) {
        return _mm512_maskz_and_epi32(all, value, _mm512_set1_epi32(0x0f0f0f0f));
    }
    AUGUR_AVX512_INLINE static words high_nibbles(words value) {
        return low_nibbles(_mm512_maskz_srli_epi32(all, value, 4));
    }
    template <int shift, int count>
    AUGUR_AVX512_INLINE static words bits(words value) {
        const words kept = _mm512_set1_epi32(((1 << count) - 1) * 0x01010101);
        return _mm512_maskz_and_epi32(all, _mm512_maskz_srli_epi32(all, value, shift), kept);
    }
    template <int shift, int count = 2>
    AUGUR_AVX512_INLINE static words with_upper(words low, words upper) {
        const words above = bits<shift, count>(upper);
        return _mm512_maskz_or_epi32(all, low, _mm512_maskz_slli_epi32(all, above, 4));
    }
    AUGUR_AVX512_INLINE static words values(words places, const std::int8_t* table) {
        const __m128i one = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
        return _mm512_shuffle_epi8(_mm512_maskz_broadcast_i32x4(all, one), places);
    }
    AUGUR_AVX512_INLINE static words four(const std::int8_t* x) {
        std::int32_t bytes;
        std::memcpy(&bytes, x, sizeof bytes);
        return _mm512_set1_epi32(bytes);
    }
    AUGUR_AVX512_INLINE static words dot(words sum, words weights, const std::int8_t* x) {
        return _mm512_dpbusd_epi32(sum, weights, four(x));
    }
    /// The instruction takes unsigned weights: these are 128 larger, and the sum begins lower.
    AUGUR_AVX512_INLINE static words start_signed(const quantised_inputs& x) { return broadcast_word(x.minus_128); }
    AUGUR_AVX512_INLINE static words dot_signed(words sum, words weights, const std::int8_t* x) {
        const words bias = _mm512_set1_epi32(static_cast<int>(0x80808080u));
        return dot(sum, _mm512_maskz_xor_epi32(all, weights, bias), x);
    }

    AUGUR_AVX512_INLINE static vector load_bytes(const std::byte* from) {
        return _mm512_maskz_cvtepi32_ps(
            all, _mm512_maskz_cvtepi8_epi32(all, _mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
    }
    AUGUR_AVX512_INLINE static vector load_halves(const std::byte* from) {
        return _mm512_maskz_cvtph_ps(all, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    }
    AUGUR_AVX512_INLINE static words load_byte_words(const std::byte* from) {
        return _mm512_maskz_cvtepu8_epi32(all, _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    }
    AUGUR_AVX512_INLINE static vector load_bfloat16(const std::byte* from) {
        const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
        return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(all, _mm512_maskz_cvtepu16_epi32(all, halves), 16));
    }
};

/// The same with an instruction for pairs of bfloat16, which takes numbers below the normal ones for zero.
struct lanes_avx512_bf16 : lanes_avx512 {
    static constexpr std::size_t bfloat16_input_bytes = 2;
    AUGUR_AVX512_INLINE static void put_bfloat16(std::byte* to, std::uint16_t bits) {
        std::memcpy(to, &bits, sizeof bits);
    }
    AUGUR_AVX512_BF16_INLINE static vector add_pair(words weights, const std::byte* x, vector sum) {
        std::int32_t pair;
        std::memcpy(&pair, x, sizeof pair);
        return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(weights),
                                reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair)));
    }
};

}  // namespace augur::backend::host

#endif
