#pragma once
// The few largest of many numbers.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace augur::detail {

/// Their places, the largest first, of equals the first; none of -infinity or NaN. O(size + count * numbers that get
/// among the largest so far).
inline void largest_of(std::span<const float> all, std::size_t count, std::vector<std::int32_t>& places) {
    places.clear();
    const auto value = [&](std::int32_t place) { return all[static_cast<std::size_t>(place)]; };
    for (std::size_t i = 0; i < all.size(); ++i) {
        const bool full = places.size() == count;
        if (full && (count == 0 || !(all[i] > value(places.back())))) continue;
        if (std::isnan(all[i]) || all[i] == -INFINITY) continue;
        if (full) places.pop_back();
        std::size_t at = places.size();
        while (at > 0 && value(places[at - 1]) < all[i]) --at;
        places.insert(places.begin() + static_cast<std::ptrdiff_t>(at), static_cast<std::int32_t>(i));
    }
}

}  // namespace augur::detail
