#pragma once
// Maximum, sum and entropy of a row of logits, in loops that compilers vectorise.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "augur/detail/chunks.hpp"
#include "augur/detail/exponential.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/detail/vectors.hpp"

namespace augur::detail {

/// The largest logit, and whether all are numbers below +infinity.
struct row_extent {
    float largest = -std::numeric_limits<float>::infinity();
    bool valid = true;

    /// Whether something can be drawn.
    AUGUR_HOST_DEVICE bool possible() const { return valid && std::isfinite(largest); }
};

/// Of a chunk, or of any part of a row.
AUGUR_HOST_DEVICE inline row_extent extent_of_chunk(std::span<const float> part) {
    row_extent seen;
    std::size_t i = 0;
#if AUGUR_VECTORS
    if (vectors::there()) i = vectors::find_extent(part.data(), part.size(), seen.largest, seen.valid);
#endif
    for (; i < part.size(); ++i) {
        seen.largest = part[i] > seen.largest ? part[i] : seen.largest;
        seen.valid = seen.valid && part[i] < std::numeric_limits<float>::infinity();
    }
    return seen;
}

/// The same of a row, with the index of its first largest logit.
struct row_scan : row_extent {
    std::size_t first = 0;
};

/// Numbers between which a scan's lanes are joined: of one chunk that takes half of the time.
inline constexpr std::size_t scan_piece = 8 * chunk_size;

AUGUR_HOST_DEVICE inline row_scan scan_row(std::span<const float> row) {
    row_scan seen;
    std::size_t begin_of_best = 0;
    for (std::size_t begin = 0; begin < row.size(); begin += scan_piece) {
        const row_extent here =
            extent_of_chunk(row.subspan(begin, row.size() - begin < scan_piece ? row.size() - begin : scan_piece));
        seen.valid = seen.valid && here.valid;
        if (here.largest > seen.largest) {
            seen.largest = here.largest;
            begin_of_best = begin;
        }
    }
    seen.first = begin_of_best;
    while (seen.possible() && row[seen.first] != seen.largest) ++seen.first;
    return seen;
}

/// How logits become weights: e^((logit - shift) * factor - top), the largest weight being 1. Without a temperature
/// shift is 0 and factor 1, which change no bit.
struct sharpening {
    float shift = 0;
    float factor = 1;
    float top = 0;

    /// At a temperature above 0, for a row whose largest logit this is.
    static AUGUR_HOST_DEVICE sharpening at(float temperature, float largest) {
        if (temperature == 1) return {0, 1, largest};
        return {largest, 1 / temperature, 0};
    }

    AUGUR_HOST_DEVICE float sharpened(float logit) const { return (logit - shift) * factor; }
    AUGUR_HOST_DEVICE float weight(float logit) const { return exp_nonpositive(sharpened(logit) - top); }

    /// Of each logit; `weights` may be the same memory.
    void weigh(std::span<const float> logits, float* weights) const {
        const sharpening by = *this;
        for (std::size_t i = 0; i < logits.size(); ++i) weights[i] = by.sharpened(logits[i]) - by.top;
        exp_nonpositive(weights, logits.size());
    }
};

}  // namespace augur::detail
