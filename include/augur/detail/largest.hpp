#pragma once
// Finds the few largest of many numbers.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "augur/detail/chunks.hpp"
#include "augur/detail/listed.hpp"
#include "augur/detail/row_scan.hpp"

namespace augur::detail {

/// Their places, the largest first, of equals the first; none of -infinity or NaN. Whether all are numbers below
/// +infinity. Where some are listed (listed.hpp) all others are -infinity. Cost: one look at each, of the listed if
/// some are, and a second one at chunks with one that gets among the largest so far.
inline bool largest_of(std::span<const float> all, std::size_t count, std::vector<std::int32_t>& places,
                       listed_places listed = {}) {
    places.clear();
    const auto value = [&](std::int32_t place) { return all[static_cast<std::size_t>(place)]; };
    const auto place_of = [&](std::size_t i) { return listed.empty() ? static_cast<std::int32_t>(i) : listed[i]; };
    const std::size_t size = listed.empty() ? all.size() : listed.size();
    bool valid = true;
    for (std::size_t begin = 0; begin < size; begin += chunk_size) {
        const std::size_t end = end_of_chunk(begin, size);
        const row_extent seen = listed.empty() ? extent_of_chunk(all.subspan(begin, end - begin))
                                               : listed_chunk(all, listed.subspan(begin, end - begin)).extent();
        valid = valid && seen.valid;
        const auto gets_among = [&](float each) {
            return places.size() < count ? each > -INFINITY : count > 0 && each > value(places.back());
        };
        if (!gets_among(seen.largest)) continue;
        for (std::size_t i = begin; i < end; ++i) {
            const std::int32_t place = place_of(i);
            if (!gets_among(value(place))) continue;
            if (places.size() == count) places.pop_back();
            std::size_t at = places.size();
            while (at > 0 && value(places[at - 1]) < value(place)) --at;
            places.insert(places.begin() + static_cast<std::ptrdiff_t>(at), place);
        }
    }
    return valid;
}

}  // namespace augur::detail
