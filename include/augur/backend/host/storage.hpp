#pragma once
// The memory layout of packed weights. Rows are grouped in panels of 16; within a panel, K runs outermost and the 16
// rows' weights for one k lie together, so that an output row is one lane of a vector.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "augur/types/error.hpp"

namespace augur::backend::host {

/// Formats that have a kernel.
enum class storage { f32, f16, bf16, q8_0, q4_0, q4_1, q5_1, q2_k, q4_k, q5_k, q6_k, iq4_nl, iq4_xs, mxfp4 };

inline constexpr storage all_storages[] = {
    storage::f32,  storage::f16,  storage::bf16, storage::q8_0, storage::q4_0,   storage::q4_1,   storage::q5_1,
    storage::q2_k, storage::q4_k, storage::q5_k, storage::q6_k, storage::iq4_nl, storage::iq4_xs, storage::mxfp4};

inline constexpr std::size_t panel_rows = 16;

/// A panel is the headers of all its blocks (what a block's weights share), filled up to 64 bytes, then their words.
/// A block is `depth` consecutive k. In a file, `file_depth` consecutive weights of one row take `file_bytes`.
///
/// Words: f32, f16: sixteen numbers per k. bf16: sixteen words per two k, the even one in the low half. q8_0: sixteen
/// words of four signed bytes per four k. q4_0, q4_1, q4_k, iq4_nl, iq4_xs, mxfp4: sixteen words per eight k, byte b
/// holds k = b in its low half and k = b + 4 in its high half. q5_1, q5_k, per 32 k: the low four bits as four such
/// groups of eight, then sixteen words whose byte b has in its bit j the fifth bit of k = 4 j + b. q2_k, per sixteen k:
/// sixteen words whose byte b has in its bits 2j and 2j + 1 those of k = 4 j + b. q6_k, per sixteen k: the low four
/// bits as two groups of eight, then the upper two as q2_k has them.
/// Headers, sixteen of each: q8_0, q4_0, iq4_nl: scales (binary16); mxfp4: scales (bfloat16, which is exact). q4_1,
/// q5_1: scales, minima. q4_k, q5_k: scales, scales of minima, then for each 32 k the bytes that multiply them; q2_k:
/// for each 16 k a byte with both, the scale's factor in its low half. q6_k, iq4_xs: scales, then for each 16 or 32 k
/// the signed bytes that multiply them.
struct storage_layout {
    std::string_view name;
    std::size_t depth;
    std::size_t header_bytes;
    std::size_t word_bytes;
    std::size_t file_depth;
    std::size_t file_bytes;
};

constexpr storage_layout layout_of(storage format) {
    switch (format) {
        case storage::f32:
            return {"f32", 1, 0, 64, 1, 4};
        case storage::f16:
            return {"f16", 1, 0, 32, 1, 2};
        case storage::bf16:
            return {"bf16", 32, 0, 1024, 1, 2};
        case storage::q8_0:
            return {"q8_0", 32, 32, 512, 32, 34};
        case storage::q4_0:
            return {"q4_0", 32, 32, 256, 32, 18};
        case storage::q4_1:
            return {"q4_1", 32, 64, 256, 32, 20};
        case storage::q5_1:
            return {"q5_1", 32, 64, 320, 32, 24};
        case storage::q2_k:
            return {"q2_k", 256, 64 + 16 * 16, 1024, 256, 84};
        case storage::q4_k:
            return {"q4_k", 256, 64 + 8 * 32, 2048, 256, 144};
        case storage::q5_k:
            return {"q5_k", 256, 64 + 8 * 32, 2560, 256, 176};
        case storage::q6_k:
            return {"q6_k", 256, 32 + 16 * 16, 3072, 256, 210};
        case storage::iq4_nl:
            return {"iq4_nl", 32, 32, 256, 32, 18};
        case storage::iq4_xs:
            return {"iq4_xs", 256, 32 + 8 * 16, 2048, 256, 136};
        case storage::mxfp4:
            return {"mxfp4", 32, 32, 256, 32, 17};
    }
    detail::fail("no storage format has the number ", static_cast<int>(format));
}

inline std::string_view name_of(storage format) {
    return layout_of(format).name;
}

/// What a format is multiplied with, and so how the inputs of a product are rounded first: not at all, to bfloat16 (to
/// nearest even), or to signed bytes with one scale for every 32 of them.
enum class input_format { f32, bf16, q8 };

inline input_format input_of(storage format) {
    if (format == storage::f32 || format == storage::f16) return input_format::f32;
    return format == storage::bf16 ? input_format::bf16 : input_format::q8;
}

/// Thirty-two inputs of one column: input[i] is about scale * quant[i]. The sums let kernels take weights as unsigned
/// numbers: a product of (w - 8) is one of w that starts at -8 times the sum.
struct quantised_inputs {
    std::int8_t quant[32];
    float scale;
    float scaled_sum;          ///< scale times the sum of quant
    std::int32_t minus_8;      ///< -8 times the sum of quant
    std::int32_t minus_128;    ///< -128 times it
    std::int32_t minus_32[2];  ///< -32 times the sums of the first and of the last sixteen
    float scaled_halves[2];    ///< scale times these sums
};
static_assert(sizeof(quantised_inputs) == 64);

/// Bytes of one column of `depth` inputs.
inline std::size_t input_bytes(input_format format, std::size_t depth) {
    if (format == input_format::q8) return depth / 32 * sizeof(quantised_inputs);
    return (depth + 31) / 32 * 32 * sizeof(float);
}

}  // namespace augur::backend::host
