#pragma once
// Compiles the kernels of every instruction set that this compiler can target. Slow to compile wherever it is included.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "augur/backend/host/instruction_set.hpp"
#include "augur/backend/host/kernel_tasks.hpp"
#include "augur/backend/host/lanes_avx2.hpp"
#include "augur/backend/host/lanes_avx512.hpp"
#include "augur/backend/host/lanes_neon.hpp"
#include "augur/backend/host/lanes_portable.hpp"
#include "augur/detail/value_tables.hpp"

#define AUGUR_HOST_SET portable
#define AUGUR_HOST_LANES lanes_portable
#define AUGUR_HOST_TARGET
#include "augur/backend/host/kernels.inc"

#if defined(__x86_64__)
#define AUGUR_HOST_SET avx2
#define AUGUR_HOST_LANES lanes_avx2
#define AUGUR_HOST_TARGET AUGUR_AVX2
#include "augur/backend/host/kernels.inc"

#define AUGUR_HOST_SET avx512
#define AUGUR_HOST_LANES lanes_avx512
#define AUGUR_HOST_TARGET AUGUR_AVX512
#include "augur/backend/host/kernels.inc"
#endif

#if defined(__x86_64__)
#include "augur/backend/host/amx.inc"
#endif

#if defined(__aarch64__)
#define AUGUR_HOST_SET neon
#define AUGUR_HOST_LANES lanes_neon
#define AUGUR_HOST_TARGET
#include "augur/backend/host/kernels.inc"

#if defined(AUGUR_NEON_DOT)
#define AUGUR_HOST_SET neon_dot
#define AUGUR_HOST_LANES lanes_neon_dot
#define AUGUR_HOST_TARGET AUGUR_NEON_DOT
#include "augur/backend/host/kernels.inc"
#endif
#endif

namespace augur::backend::host {

/// What kernels_of answers.
inline const kernels& compiled_kernels_of(instruction_set set) {
    set = resolve(set);
#if defined(__x86_64__)
    if (set == instruction_set::amx) return amx::table;
    if (set == instruction_set::avx512_bf16) return avx512_bf16::table;
    if (set == instruction_set::avx512) return avx512::table;
    if (set == instruction_set::avx2) return avx2::table;
#elif defined(__aarch64__)
#if defined(AUGUR_NEON_DOT)
    if (set == instruction_set::neon_dot) return neon_dot::table;
#endif
    if (set == instruction_set::neon) return neon::table;
#else
    static_cast<void>(set);
#endif
    return portable::table;
}

}  // namespace augur::backend::host
