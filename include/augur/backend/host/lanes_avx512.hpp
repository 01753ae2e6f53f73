#pragma once
// Sixteen float lanes in one AVX-512 register. Only AVX-512F is needed.

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstddef>

#define AUGUR_AVX512 __attribute__((target("avx2,fma,f16c,avx512f")))
#define AUGUR_AVX512_INLINE __attribute__((always_inline, target("avx2,fma,f16c,avx512f"))) inline

namespace augur::backend::host {

/// The operations of lanes_portable, with the same bits.
struct lanes_avx512 {
    using vector = __m512;
    using words = __m512i;

    /// Register tiles: wide_panels panels for up to wide_columns columns, else tile_panels for up to most_columns. Weights
    /// that need unpacking are unpacked in registers for up to streamed_columns columns.
    static constexpr int wide_panels = 4, tile_panels = 2;
    static constexpr int wide_columns = 4, most_columns = 12, streamed_columns = 8;

    /// Spelled out, because the unmasked forms make g++ 12 warn of an uninitialised operand (its bug 105593); the code is
    /// the same.
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
    AUGUR_AVX512_INLINE static vector power_of_two(vector shifted) {
        const words exponent = _mm512_maskz_slli_epi32(all, _mm512_castps_si512(shifted), 23);
        return _mm512_castsi512_ps(_mm512_add_epi32(exponent, _mm512_set1_epi32(0x3f800000)));
    }

    AUGUR_AVX512_INLINE static words load_words(const std::byte* from) { return _mm512_loadu_si512(from); }
    AUGUR_AVX512_INLINE static vector low_bfloat16(words value) {
        return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(all, value, 16));
    }
    AUGUR_AVX512_INLINE static vector high_bfloat16(words value) {
        return _mm512_castsi512_ps(
            _mm512_maskz_and_epi32(all, value, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
    }
    /// The permutation looks at the lowest four bits only, so it needs no mask.
    template <int bias>
    AUGUR_AVX512_INLINE static vector take_nibble(words& value) {
        const vector table =
            _mm512_setr_ps(0 - bias, 1 - bias, 2 - bias, 3 - bias, 4 - bias, 5 - bias, 6 - bias, 7 - bias, 8 - bias,
                           9 - bias, 10 - bias, 11 - bias, 12 - bias, 13 - bias, 14 - bias, 15 - bias);
        const vector result = _mm512_maskz_permutexvar_ps(all, value, table);
        value = _mm512_maskz_srli_epi32(all, value, 4);
        return result;
    }
    AUGUR_AVX512_INLINE static vector load_bytes(const std::byte* from) {
        return _mm512_maskz_cvtepi32_ps(
            all, _mm512_maskz_cvtepi8_epi32(all, _mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
    }
    AUGUR_AVX512_INLINE static vector load_halves(const std::byte* from) {
        return _mm512_maskz_cvtph_ps(all, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    }
};

}  // namespace augur::backend::host

#endif
