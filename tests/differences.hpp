#pragma once
// How far numbers are apart.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace augur::testing {

/// Infinity where there are not as many of both, or one is no number.
inline double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
    double largest = a.size() == b.size() ? 0 : INFINITY;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        const double apart = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
        largest = std::max(largest, std::isnan(apart) ? INFINITY : apart);
    }
    return largest;
}

}  // namespace augur::testing
