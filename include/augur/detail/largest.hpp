#pragma once
// The few largest of many numbers.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "augur/detail/chunks.hpp"
#include "augur/detail/row_scan.hpp"

namespace augur::detail {

/// Their places, the largest first, of equals the first; none of -infinity or NaN. Whether all are numbers below
/// +infinity. Cost: one look at each, and a second one at chunks with one that gets among the largest so far.
inline bool largest_of(std::span<const float> all, std::size_t count, std::vector<std::int32_t>& places) {
    places.clear();
    const auto value = [&](std::int32_t place) { return all[static_cast<std::size_t>(place)]; };
    bool valid = true;
    for (std::size_t begin = 0; begin < all.size(); begin += chunk_size) {
        const std::size_t end = end_of_chunk(begin, all.size());
        const row_extent seen = extent_of_chunk(all.subspan(begin, end - begin));
        valid = valid && seen.valid;
        const auto gets_among = [&](float each) {
            return places.size() < count ? each > -INFINITY : count > 0 && each > value(places.back());
        };
        if (!gets_among(seen.largest)) continue;
        for (std::size_t i = begin; i < end; ++i) {
            if (!gets_among(all[i])) continue;
            if (places.size() == count) places.pop_back();
            std::size_t at = places.size();
            while (at > 0 && value(places[at - 1]) < all[i]) --at;
            places.insert(places.begin() + static_cast<std::ptrdiff_t>(at), static_cast<std::int32_t>(i));
        }
    }
    return valid;
}

}  // namespace augur::detail
