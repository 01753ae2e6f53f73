#pragma once
// The instruction sets of the host kernels, and which of them this processor has.

#include <string_view>

#include "augur/types/error.hpp"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>

#include <cstddef>
#endif

// What lets a function use Arm's dot products of bytes: nothing where the command line allows them everywhere, an
// attribute where the compiler has one; clang does from 16 on. Undefined elsewhere: then there is no neon_dot.
#if defined(__ARM_FEATURE_DOTPROD)
#define AUGUR_NEON_DOT
#elif defined(__aarch64__) && (!defined(__clang__) || (__clang_major__ >= 16 && !defined(__apple_build_version__)))
#define AUGUR_NEON_DOT __attribute__((target("arch=armv8.2-a+dotprod")))
#endif

namespace augur::backend::host {

/// From slowest to fastest (but see `fastest`). `automatic` is the fastest that this machine has. avx512 includes BW
/// and VNNI; avx512_bf16 adds the dot products of bfloat16 pairs, amx the tiles. neon is what every AArch64 processor
/// has; neon_dot adds the dot products of bytes. The bits of f32, f16 and quantised products are the same for all;
/// those of bf16 products are sums in another order with avx512_bf16 and amx.
enum class instruction_set { automatic, portable, avx2, avx512, avx512_bf16, amx, neon, neon_dot };

inline constexpr instruction_set all_instruction_sets[] = {
    instruction_set::automatic,   instruction_set::portable, instruction_set::avx2, instruction_set::avx512,
    instruction_set::avx512_bf16, instruction_set::amx,      instruction_set::neon, instruction_set::neon_dot};

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
        case instruction_set::avx512_bf16:
            return "avx512_bf16";
        case instruction_set::amx:
            return "amx";
        case instruction_set::neon:
            return "neon";
        case instruction_set::neon_dot:
            return "neon_dot";
    }
    return "unknown";
}

namespace cpu {

/// The processor has tiles, and the system lets this process use them: it grants that once, for all its threads.
inline bool has_tiles() {
#if defined(__x86_64__) && defined(__linux__) && defined(SYS_arch_prctl)
    constexpr unsigned needed = 1u << 22 | 1u << 24 | 1u << 25;  // AMX-BF16, AMX-TILE, AMX-INT8
    constexpr long request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & needed) != needed) return false;
    static const bool granted = syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
    return granted;
#else
    return false;
#endif
}

/// Made by Intel.
inline bool is_intel() {
#if defined(__x86_64__)
    return __builtin_cpu_is("intel") != 0;
#else
    return false;
#endif
}

#if defined(__aarch64__)
/// Dot products of bytes, FEAT_DotProd, as the system reports them, where this compiler can use them.
inline bool has_dot_products() {
#if !defined(AUGUR_NEON_DOT)
    return false;
#elif defined(__linux__)
    constexpr unsigned long dot_products = 1ul << 20;  // HWCAP_ASIMDDP
    return (getauxval(AT_HWCAP) & dot_products) != 0;
#elif defined(__APPLE__)
    int has = 0;
    std::size_t size = sizeof has;
    return sysctlbyname("hw.optional.arm.FEAT_DotProd", &has, &size, nullptr, 0) == 0 && has != 0;
#else
    return false;
#endif
}
#endif

}  // namespace cpu

/// True when this processor (and operating system) can run the kernels of `set`.
inline bool is_supported(instruction_set set) {
#if defined(__x86_64__)  // every processor with AVX2 converts binary16 (F16C)
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512vnni");
    if (set == instruction_set::avx2) return avx2;
    if (set == instruction_set::avx512) return avx512;
    const bool bf16 = avx512 && __builtin_cpu_supports("avx512bf16");
    if (set == instruction_set::avx512_bf16) return bf16;
    if (set == instruction_set::amx) return bf16 && cpu::has_tiles();
#elif defined(__aarch64__)
    if (set == instruction_set::neon) return true;
    if (set == instruction_set::neon_dot) return cpu::has_dot_products();
#endif
    return set == instruction_set::automatic || set == instruction_set::portable;
}

/// The fastest of those that `has` names. Dot products of bfloat16 pairs have half the rate of float multiply-adds on
/// Intel's processors (42 against 82 GMAC/s a core, measured on a Xeon of the fifth generation) and twice that rate on
/// AMD's: `by_intel` leaves them out.
template <class Has>
instruction_set fastest(const Has& has, bool by_intel) {
    using enum instruction_set;
    for (const auto set : {amx, avx512_bf16, avx512, avx2, neon_dot, neon}) {
        if (set == avx512_bf16 && by_intel) continue;
        if (has(set)) return set;
    }
    return portable;
}

/// `set`, with `automatic` replaced by the fastest supported one. Throws if this machine lacks it.
inline instruction_set resolve(instruction_set set) {
    if (!is_supported(set)) detail::fail("this machine does not support the instruction set ", name_of(set));
    return set == instruction_set::automatic ? fastest(is_supported, cpu::is_intel()) : set;
}

}  // namespace augur::backend::host
