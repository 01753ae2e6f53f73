#pragma once
// Sixteen float lanes in two AVX2 registers.

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstddef>
#include <cstring>

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

    /// Register tiles: wide_panels panels for up to wide_columns columns, else tile_panels for up to most_columns. Weights
    /// that need unpacking are unpacked in registers for up to streamed_columns columns.
    static constexpr int wide_panels = 2, tile_panels = 1;
    static constexpr int wide_columns = 1, most_columns = 6, streamed_columns = 4;

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
    AUGUR_AVX2_INLINE static vector low_bfloat16(words value) {
        return {_mm256_castsi256_ps(_mm256_slli_epi32(value.low, 16)),
                _mm256_castsi256_ps(_mm256_slli_epi32(value.high, 16))};
    }
    AUGUR_AVX2_INLINE static vector high_bfloat16(words value) {
        const __m256i mask = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
        return {_mm256_castsi256_ps(_mm256_and_si256(value.low, mask)),
                _mm256_castsi256_ps(_mm256_and_si256(value.high, mask))};
    }
    template <int bias>
    AUGUR_AVX2_INLINE static __m256 take_nibble(__m256i& value) {
        __m256i number = _mm256_and_si256(value, _mm256_set1_epi32(15));
        if constexpr (bias != 0) number = _mm256_sub_epi32(number, _mm256_set1_epi32(bias));
        value = _mm256_srli_epi32(value, 4);
        return _mm256_cvtepi32_ps(number);
    }
    template <int bias>
    AUGUR_AVX2_INLINE static vector take_nibble(words& value) {
        return {take_nibble<bias>(value.low), take_nibble<bias>(value.high)};
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
};

}  // namespace augur::backend::host

#endif
