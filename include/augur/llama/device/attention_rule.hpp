#pragma once
// What becomes of attention scores before they are weights, on a device: nothing, or a soft cap and a sliding window.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "augur/backend/device/team.hpp"
#include "augur/llama/device/cache.hpp"
#include "augur/llama/device/rows.hpp"

namespace augur::llama::device {

namespace kernels = augur::backend::device;

/// Rows see all positions up to their own, with the scores as they are.
struct every_score {
    static constexpr bool is_plain = true;

    AUGUR_KERNEL static constexpr std::uint32_t first_chunk(const row_place&) { return 0; }
};

/// See llama::score_rule, whose numbers these are.
struct scores_by_rule {
    static constexpr bool is_plain = false;

    std::size_t window = 0;  ///< how many positions a row sees, its own included; 0: all
    float cap = 0;           ///< x becomes cap * tanh(x / cap); 0: none

    /// The first position that a row at `position` sees.
    AUGUR_KERNEL std::size_t first_seen(std::int32_t position) const {
        const std::size_t positions = static_cast<std::size_t>(position) + 1;
        return window == 0 || positions <= window ? 0 : positions - window;
    }
    /// The chunk of 256 positions that it lies in.
    AUGUR_KERNEL std::uint32_t first_chunk(const row_place& row) const {
        return static_cast<std::uint32_t>(first_seen(row.position) / cache_layout::block_positions);
    }

    /// Of `count` scores from position `begin` on: those before the first that is seen are -infinity, and weigh 0. A
    /// lane changes the scores that it weighs.
    template <class Warp>
    AUGUR_KERNEL void apply(const Warp& warp, float* scores, std::size_t begin, unsigned count,
                            std::int32_t position) const {
        const std::size_t first = first_seen(position);
        warp.each_apart([&](unsigned lane) {
            for (unsigned i = lane; i < count; i += kernels::warp_size) {
                const float score = cap == 0 ? scores[i] : cap * std::tanh(scores[i] / cap);
                scores[i] = begin + i < first ? -std::numeric_limits<float>::infinity() : score;
            }
        });
    }
};

}  // namespace augur::llama::device
