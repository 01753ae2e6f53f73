#pragma once
// Vectorised loops over logits: eight lanes with AVX2 where the processor has it, with the same bits as the portable
// loops beside each call. Compilers are not told of AVX2, and seldom vectorise such loops as well.

#include <cstddef>
#include <cstdint>

#if defined(__GNUC__) && defined(__x86_64__) && !defined(__CUDACC__)
#define AUGUR_VECTORS 1
/// Of functions that are written in vectors throughout: before what they call would be inlined, its vectors would be
/// taken apart. Fused multiply-adds are not in AVX2, which keeps the bits.
#define AUGUR_IN_VECTORS __attribute__((target("avx2")))
#else
#define AUGUR_VECTORS 0
#endif

#if AUGUR_VECTORS
namespace augur::detail::vectors {

typedef float floats __attribute__((vector_size(32)));
typedef std::uint32_t words __attribute__((vector_size(32)));
typedef float four_floats __attribute__((vector_size(16)));
typedef double doubles __attribute__((vector_size(32)));

inline constexpr std::size_t width = 8;

inline bool there() {
    return __builtin_cpu_supports("avx2") != 0;
}

/// exponential.hpp's exp_nonpositive of one vector, in its place.
AUGUR_IN_VECTORS __attribute__((always_inline)) inline void exp_nonpositive(floats& x) {
    const floats shifted = x * 1.44269504f + 12582912.0f;
    const floats n = shifted - 12582912.0f;
    const floats r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    floats y = r * 1.9875691500e-4f + 1.3981999507e-3f;
    y = y * r + 8.3334519073e-3f;
    y = y * r + 4.1665795894e-2f;
    y = y * r + 1.6666665459e-1f;
    y = y * r + 5.0000001201e-1f;
    y = y * r * r + r + 1.0f;
    const words exponent = (reinterpret_cast<words>(shifted) - 0x4B400000u + 127u) << 23;
    y = y * reinterpret_cast<floats>(exponent);
    x = reinterpret_cast<floats>(reinterpret_cast<words>(y) & reinterpret_cast<words>(x >= -87.0f));
}

/// The same of as many whole vectors as there are; returns how many numbers that is.
AUGUR_IN_VECTORS inline std::size_t exp_nonpositive(float* of, std::size_t count) {
    std::size_t i = 0;
    for (; count - i >= width; i += width) {
        floats x;
        __builtin_memcpy(&x, of + i, sizeof x);
        exp_nonpositive(x);
        __builtin_memcpy(of + i, &x, sizeof x);
    }
    return i;
}

/// exponential.hpp's weigh_below of as many whole vectors as there are; returns how many numbers that is.
AUGUR_IN_VECTORS inline std::size_t weigh_below(const float* from, std::size_t count, float largest, float* weights,
                                                float* moments) {
    std::size_t i = 0;
    for (; count - i >= width; i += width) {
        floats below;
        __builtin_memcpy(&below, from + i, sizeof below);
        below = below - largest;
        floats weight = below;
        exp_nonpositive(weight);
        const floats moment = weight * (below < -88.0f ? floats{} - 88.0f : below);
        __builtin_memcpy(weights + i, &weight, sizeof weight);
        __builtin_memcpy(moments + i, &moment, sizeof moment);
    }
    return i;
}

/// row_scan.hpp's extent of as many blocks of four vectors as there are; returns how many numbers that is.
AUGUR_IN_VECTORS inline std::size_t find_extent(const float* from, std::size_t count, float& largest, bool& valid) {
    constexpr std::size_t ways = 4;  // that do not wait for each other
    constexpr float infinity = __builtin_huge_valf();
    floats most[ways];
    words invalid[ways] = {};
    for (floats& each : most) each = floats{} - infinity;
    std::size_t i = 0;
    for (; count - i >= ways * width; i += ways * width) {
        for (std::size_t way = 0; way < ways; ++way) {
            floats x;
            __builtin_memcpy(&x, from + i + way * width, sizeof x);
            most[way] = x > most[way] ? x : most[way];
            invalid[way] |= ~reinterpret_cast<words>(x < infinity);
        }
    }
    for (std::size_t way = 1; way < ways; ++way) {
        most[0] = most[way] > most[0] ? most[way] : most[0];
        invalid[0] |= invalid[way];
    }
    for (std::size_t lane = 0; lane < width; ++lane) {
        if (most[0][lane] > largest) largest = most[0][lane];
        if (invalid[0][lane] != 0) valid = false;
    }
    return i;
}

/// chunks.hpp's eight sums of as many whole vectors as there are; returns where they end.
AUGUR_IN_VECTORS inline std::size_t add_up(const float* from, std::size_t begin, std::size_t end, double (&lanes)[8]) {
    doubles low = {}, high = {};
    for (; begin + width <= end; begin += width) {
        four_floats first, second;
        __builtin_memcpy(&first, from + begin, sizeof first);
        __builtin_memcpy(&second, from + begin + width / 2, sizeof second);
        low += __builtin_convertvector(first, doubles);
        high += __builtin_convertvector(second, doubles);
    }
    __builtin_memcpy(lanes, &low, sizeof low);
    __builtin_memcpy(lanes + width / 2, &high, sizeof high);
    return begin;
}

}  // namespace augur::detail::vectors
#endif
