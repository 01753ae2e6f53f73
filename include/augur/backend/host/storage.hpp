#pragma once
// How packed weights lie in memory. Rows are grouped in panels of 16; within a panel, K runs outermost and the 16 rows'
// weights for one k lie together, so that an output row is one lane of a vector.

#include <cstddef>
#include <string_view>

#include "augur/types/error.hpp"

namespace augur::backend::host {

/// Formats that have a kernel. The quantised ones are multiplied from their packed form, through the very floats that
/// dequantisation gives.
enum class storage { f32, f16, bf16, q8_0, q4_0, q4_1 };

inline constexpr std::size_t panel_rows = 16;

/// A block is `depth` consecutive k of one panel in `bytes` bytes:
/// f32, f16: sixteen numbers.  bf16: sixteen words, the even k in the low half.
/// q8_0: sixteen scales (binary16), then sixteen signed bytes per k.
/// q4_0: sixteen scales, then sixteen words per eight k, the first k in the lowest four bits.  q4_1: scales, minima, words.
struct storage_layout {
    std::string_view name;
    std::size_t depth;
    std::size_t bytes;
};

inline storage_layout layout_of(storage format) {
    switch (format) {
        case storage::f32:
            return {"f32", 1, 64};
        case storage::f16:
            return {"f16", 1, 32};
        case storage::bf16:
            return {"bf16", 2, 64};
        case storage::q8_0:
            return {"q8_0", 32, 32 + 32 * 16};
        case storage::q4_0:
            return {"q4_0", 32, 32 + 4 * 64};
        case storage::q4_1:
            return {"q4_1", 32, 64 + 4 * 64};
    }
    detail::fail("no storage format has the number ", static_cast<int>(format));
}

inline std::string_view name_of(storage format) {
    return layout_of(format).name;
}

}  // namespace augur::backend::host
