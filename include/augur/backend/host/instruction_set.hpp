#pragma once
// Which vector instructions the host kernels use. Every choice gives the same bits; they differ in speed only.

#include <string_view>

#include "augur/types/error.hpp"

namespace augur::backend::host {

/// From slowest to fastest. `automatic` is the fastest that this machine has.
enum class instruction_set { automatic, portable, avx2, avx512 };

inline std::string_view name_of(instruction_set set) {
    switch (set) {
        case instruction_set::automatic:
            return "automatic";
        case instruction_set::portable:
            return "portable";
        case instruction_set::avx2:
            return "avx2";
        case instruction_set::avx512:
            return "avx512";
    }
    return "unknown";
}

/// True when this processor (and operating system) can run the kernels of `set`.
inline bool is_supported(instruction_set set) {
#if defined(__x86_64__)  // every processor with AVX2 converts binary16 (F16C)
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (set == instruction_set::avx2) return avx2;
    if (set == instruction_set::avx512) return avx2 && __builtin_cpu_supports("avx512f");
#endif
    return set == instruction_set::automatic || set == instruction_set::portable;
}

/// `set`, with `automatic` replaced by the fastest supported one. Throws if this machine lacks it.
inline instruction_set resolve(instruction_set set) {
    if (!is_supported(set)) detail::fail("this machine does not support the instruction set ", name_of(set));
    if (set != instruction_set::automatic) return set;
    if (is_supported(instruction_set::avx512)) return instruction_set::avx512;
    return is_supported(instruction_set::avx2) ? instruction_set::avx2 : instruction_set::portable;
}

}  // namespace augur::backend::host
