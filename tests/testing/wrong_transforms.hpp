#pragma once
// Transforms that are wrong far out only, for the tests of the law suites.

#include <algorithm>
#include <augur/transform/pipeline.hpp>
#include <augur/types/prefix.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace wrong_transforms {

using augur::prefix;
using augur::token;
namespace transform = augur::transform;

/// Which part of a row a transform sees: a token beyond it is left as it was.
using part = std::size_t (*)(std::size_t size);
template <std::size_t N>
std::size_t first(std::size_t size) {
    return std::min(size, N);
}
/// Without the last part of a vector or a chunk, where there is a whole one.
template <std::size_t N>
std::size_t whole(std::size_t size) {
    return size < N ? size : size / N * N;
}
inline std::size_t all_but_the_last(std::size_t size) {
    return size > 40 ? size - 1 : size;
}

/// Applies another to a part of the row.
template <class T>
struct to_a_part {
    T right;
    part seen;
    void operator()(std::span<float> logits, const prefix& before) const {
        const std::size_t size = seen(logits.size());
        std::vector<float> some(logits.begin(), logits.begin() + static_cast<std::ptrdiff_t>(size));
        if (std::none_of(some.begin(), some.end(), [](float l) { return l > -1e30f; })) return;
        right(std::span<float>(some), before);
        std::copy(some.begin(), some.end(), logits.begin());
    }
};

/// Cuts the ids of what it counts.
template <class Id>
struct penalties_of_cut_ids : transform::penalties {
    void operator()(std::span<float> logits, const prefix& before) const {
        for (const auto& [t, count] : before.counts()) {
            const auto cut = static_cast<token>(static_cast<Id>(t));
            if (cut < 0 || static_cast<std::size_t>(cut) >= logits.size()) continue;
            apply(logits[static_cast<std::size_t>(cut)], static_cast<float>(count.generated));
        }
    }
};

/// Cuts the ids that it is told.
template <class Id>
struct bias_of_cut_ids : transform::bias {
    void operator()(std::span<float> logits, const prefix&) const {
        for (const auto& [t, by] : added) {
            const auto cut = static_cast<token>(static_cast<Id>(t));
            if (cut >= 0 && static_cast<std::size_t>(cut) < logits.size()) logits[static_cast<std::size_t>(cut)] += by;
        }
    }
};

/// Bans the token before, by a set of so many bits.
template <std::size_t Bits>
void bans_by_a_short_set(std::span<float> logits, const prefix& before) {
    const auto last = static_cast<std::size_t>(before.tokens().back());
    if (last < Bits) logits[last] = -std::numeric_limits<float>::infinity();
}

}  // namespace wrong_transforms
