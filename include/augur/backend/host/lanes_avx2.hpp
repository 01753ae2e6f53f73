#pragma once
// Sixteen float lanes in two AVX2 registers.

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "augur/backend/host/lanes_portable.hpp"
#include "augur/backend/host/storage.hpp"

#define AUGUR_AVX2 __attribute__((target("avx2,fma,f16c")))
#define AUGUR_AVX2_INLINE __attribute__((always_inline, target("avx2,fma,f16c"))) inline

namespace augur::backend::host {

/// The operations of lanes_portable, with the same bits.
struct lanes_avx2 {
    struct vector {
        __m256 low, high;
    };
    struct words {
        __m256i low, high;
    };

    /// See lanes_portable.
    static constexpr int tile_panels = 1, most_columns = 6, most_dot_columns = 4;

    AUGUR_AVX2_INLINE static vector broadcast(float value) { return {_mm256_set1_ps(value), _mm256_set1_ps(value)}; }
    AUGUR_AVX2_INLINE static vector zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
    AUGUR_AVX2_INLINE static vector load(const float* from) {
        return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)};
    }
    AUGUR_AVX2_INLINE static void store(float* to, vector value) {
        _mm256_storeu_ps(to, value.low);
        _mm256_storeu_ps(to + 8, value.high);
    }
    AUGUR_AVX2_INLINE static vector load(const float* from, std::size_t count) {
        if (count == 16) return load(from);
        float lanes[16] = {};
        std::memcpy(lanes, from, count * sizeof(float));
        return load(lanes);
    }
    AUGUR_AVX2_INLINE static void store(float* to, vector value, std::size_t count) {
        if (count == 16) return store(to, value);
        float lanes[16];
        store(lanes, value);
        std::memcpy(to, lanes, count * sizeof(float));
    }
    AUGUR_AVX2_INLINE static vector first(vector value, std::size_t count) {
        float lanes[16];
        store(lanes, value);
        return load(lanes, count);
    }

    AUGUR_AVX2_INLINE static vector fma(vector a, vector b, vector c) {
        return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
    }
    AUGUR_AVX2_INLINE static vector add(vector a, vector b) {
        return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
    }
    AUGUR_AVX2_INLINE static vector subtract(vector a, vector b) {
        return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
    }
    AUGUR_AVX2_INLINE static vector multiply(vector a, vector b) {
        return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
    }
    AUGUR_AVX2_INLINE static vector divide(vector a, vector b) {
        return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
    }
    AUGUR_AVX2_INLINE static vector larger(vector a, vector b) {
        return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
    }
    AUGUR_AVX2_INLINE static vector smaller(vector a, vector b) {
        return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
    }
    AUGUR_AVX2_INLINE static vector absolute(vector a) {
        const __m256 sign = _mm256_set1_ps(-0.0f);
        return {_mm256_andnot_ps(sign, a.low), _mm256_andnot_ps(sign, a.high)};
    }
    AUGUR_AVX2_INLINE static float largest_lane(vector a) {
        const __m256 eight = _mm256_max_ps(a.low, a.high);
        __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
        four = _mm_max_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
    }
    AUGUR_AVX2_INLINE static float sum_of_integers(vector a) {
        const __m256 eight = _mm256_add_ps(a.low, a.high);
        __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
        four = _mm_add_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
    }
    AUGUR_AVX2_INLINE static void store_bytes(std::int8_t* to, vector a) {
        const __m256i low = _mm256_cvtps_epi32(a.low), high = _mm256_cvtps_epi32(a.high);
        const __m128i first = _mm_packs_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
        const __m128i second = _mm_packs_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_packs_epi16(first, second));
    }
    AUGUR_AVX2_INLINE static __m256 power_of_two(__m256 shifted) {
        const __m256i exponent = _mm256_slli_epi32(_mm256_castps_si256(shifted), 23);
        return _mm256_castsi256_ps(_mm256_add_epi32(exponent, _mm256_set1_epi32(0x3f800000)));
    }
    AUGUR_AVX2_INLINE static vector power_of_two(vector shifted) {
        return {power_of_two(shifted.low), power_of_two(shifted.high)};
    }

    AUGUR_AVX2_INLINE static words load_words(const std::byte* from) {
        const auto* halves = reinterpret_cast<const __m256i*>(from);
        return {_mm256_loadu_si256(halves), _mm256_loadu_si256(halves + 1)};
    }
    static constexpr std::size_t bfloat16_input_bytes = 4;
    AUGUR_AVX2_INLINE static void put_bfloat16(std::byte* to, std::uint16_t bits) {
        lanes_portable::put_bfloat16(to, bits);
    }
    AUGUR_AVX2_INLINE static vector add_pair(const words& weights, const std::byte* x, const vector& sum) {
        const auto* inputs = reinterpret_cast<const float*>(x);
        const __m256i mask = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
        const vector odd{_mm256_castsi256_ps(_mm256_and_si256(weights.low, mask)),
                         _mm256_castsi256_ps(_mm256_and_si256(weights.high, mask))};
        const vector even{_mm256_castsi256_ps(_mm256_slli_epi32(weights.low, 16)),
                          _mm256_castsi256_ps(_mm256_slli_epi32(weights.high, 16))};
        return fma(even, broadcast(inputs[0]), fma(odd, broadcast(inputs[1]), sum));
    }

    AUGUR_AVX2_INLINE static words broadcast_word(std::int32_t value) {
        return {_mm256_set1_epi32(value), _mm256_set1_epi32(value)};
    }
    AUGUR_AVX2_INLINE static vector to_floats(const words& value) {
        return {_mm256_cvtepi32_ps(value.low), _mm256_cvtepi32_ps(value.high)};
    }
    AUGUR_AVX2_INLINE static words low_nibbles(const words& value) {
        const __m256i mask = _mm256_set1_epi8(15);
        return {_mm256_and_si256(value.low, mask), _mm256_and_si256(value.high, mask)};
    }
    AUGUR_AVX2_INLINE static words high_nibbles(const words& value) {
        return low_nibbles({_mm256_srli_epi32(value.low, 4), _mm256_srli_epi32(value.high, 4)});
    }
    template <int shift, int count>
    AUGUR_AVX2_INLINE static __m256i bits(__m256i value) {
        return _mm256_and_si256(_mm256_srli_epi32(value, shift), _mm256_set1_epi8((1 << count) - 1));
    }
    template <int shift, int count>
    AUGUR_AVX2_INLINE static words bits(const words& value) {
        return {bits<shift, count>(value.low), bits<shift, count>(value.high)};
    }
    template <int shift, int count = 2>
    AUGUR_AVX2_INLINE static words with_upper(const words& low, const words& upper) {
        const words above = bits<shift, count>(upper);
        return {_mm256_or_si256(low.low, _mm256_slli_epi32(above.low, 4)),
                _mm256_or_si256(low.high, _mm256_slli_epi32(above.high, 4))};
    }
    AUGUR_AVX2_INLINE static words values(const words& places, const std::int8_t* table) {
        const __m256i both = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
        return {_mm256_shuffle_epi8(both, places.low), _mm256_shuffle_epi8(both, places.high)};
    }
    /// Pairs of products of at most 128 * 127 fit the 16 bits that maddubs adds them in.
    AUGUR_AVX2_INLINE static __m256i dot(__m256i sum, __m256i weights, __m256i x) {
        const __m256i pairs = _mm256_maddubs_epi16(weights, x);
        return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    }
    AUGUR_AVX2_INLINE static __m256i four(const std::int8_t* x) {
        std::int32_t bytes;
        std::memcpy(&bytes, x, sizeof bytes);
        return _mm256_set1_epi32(bytes);
    }
    AUGUR_AVX2_INLINE static words dot(const words& sum, const words& weights, const std::int8_t* x) {
        return {dot(sum.low, weights.low, four(x)), dot(sum.high, weights.high, four(x))};
    }
    AUGUR_AVX2_INLINE static words start_signed(const quantised_inputs&) { return broadcast_word(0); }
    AUGUR_AVX2_INLINE static words dot_signed(const words& sum, const words& weights, const std::int8_t* x) {
        return {dot(sum.low, _mm256_abs_epi8(weights.low), _mm256_sign_epi8(four(x), weights.low)),
                dot(sum.high, _mm256_abs_epi8(weights.high), _mm256_sign_epi8(four(x), weights.high))};
    }

    AUGUR_AVX2_INLINE static vector load_bytes(const std::byte* from) {
        const auto* bytes = reinterpret_cast<const __m128i*>(from);
        const auto* upper = reinterpret_cast<const __m128i*>(from + 8);
        return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(bytes))),
                _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(upper)))};
    }
    AUGUR_AVX2_INLINE static vector load_halves(const std::byte* from) {
        const auto* halves = reinterpret_cast<const __m128i*>(from);
        return {_mm256_cvtph_ps(_mm_loadu_si128(halves)), _mm256_cvtph_ps(_mm_loadu_si128(halves + 1))};
    }
    AUGUR_AVX2_INLINE static words load_byte_words(const std::byte* from) {
        const auto* bytes = reinterpret_cast<const __m128i*>(from);
        const auto* upper = reinterpret_cast<const __m128i*>(from + 8);
        return {_mm256_cvtepu8_epi32(_mm_loadl_epi64(bytes)), _mm256_cvtepu8_epi32(_mm_loadl_epi64(upper))};
    }
    AUGUR_AVX2_INLINE static vector load_bfloat16(const std::byte* from) {
        const auto* halves = reinterpret_cast<const __m128i*>(from);
        const __m256i low = _mm256_cvtepu16_epi32(_mm_loadu_si128(halves));
        const __m256i high = _mm256_cvtepu16_epi32(_mm_loadu_si128(halves + 1));
        return {_mm256_castsi256_ps(_mm256_slli_epi32(low, 16)), _mm256_castsi256_ps(_mm256_slli_epi32(high, 16))};
    }
};

}  // namespace augur::backend::host

#endif
