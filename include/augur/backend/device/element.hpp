#pragma once
// The 16-bit float types that device models compute with.

#include <cstdint>

#include "augur/detail/half.hpp"
#include "augur/detail/host_device.hpp"

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace augur::backend::device {

/// The upper half of a binary32.
struct bfloat16 {
    std::uint16_t bits = 0;

    static AUGUR_HOST_DEVICE bfloat16 from_bits(std::uint16_t bits) { return {bits}; }
    /// Rounded to nearest even.
    static AUGUR_HOST_DEVICE bfloat16 of(float value) {
#if defined(__CUDA_ARCH__)
        return {__bfloat16_as_ushort(__float2bfloat16_rn(value))};
#else
        return {augur::detail::float_to_bfloat16(value)};
#endif
    }
    AUGUR_HOST_DEVICE float value() const {
#if defined(__CUDA_ARCH__)
        return __bfloat162float(__ushort_as_bfloat16(bits));
#else
        return augur::detail::bfloat16_to_float(bits);
#endif
    }
};

/// IEEE 754's; infinite from 65520 on.
struct binary16 {
    std::uint16_t bits = 0;

    static AUGUR_HOST_DEVICE binary16 from_bits(std::uint16_t bits) { return {bits}; }
    /// Rounded to nearest even.
    static AUGUR_HOST_DEVICE binary16 of(float value) {
#if defined(__CUDA_ARCH__)
        return {__half_as_ushort(__float2half_rn(value))};
#else
        return {augur::detail::float_to_half(value)};
#endif
    }
    AUGUR_HOST_DEVICE float value() const {
#if defined(__CUDA_ARCH__)
        return __half2float(__ushort_as_half(bits));
#else
        return augur::detail::half_to_float(bits);
#endif
    }
};

/// Two numbers as a word, the first in its lower half.
template <class Element>
AUGUR_HOST_DEVICE std::uint32_t pair_of(Element first, Element second) {
    return first.bits | static_cast<std::uint32_t>(second.bits) << 16;
}

}  // namespace augur::backend::device
