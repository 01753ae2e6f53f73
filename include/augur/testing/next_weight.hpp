#pragma once
// Iterates over the tokens of a row that have weight, without a look at each that has none.

#include <cstddef>

#include "augur/detail/chunks.hpp"
#include "augur/random/chooser.hpp"

namespace augur::testing {

/// The first index from `from` on whose weight is above 0; size() where there is none. Passes over chunks whose sum is
/// 0, where the weights have sums(), as production's chooser does.
std::size_t next_weight(const Weights auto& weights, std::size_t from) {
    const std::size_t size = weights.size();
    if constexpr (requires { weights.is_point(); }) {
        if (weights.is_point()) {
            const auto point = static_cast<std::size_t>(weights.mode());
            return from <= point ? point : size;
        }
    }
    while (from < size) {
        if constexpr (requires { weights.sums()[size]; }) {
            if (from % augur::detail::chunk_size == 0 && weights.sums()[from / augur::detail::chunk_size] == 0) {
                from += augur::detail::chunk_size;
                continue;
            }
        }
        if (weights[from] > 0) return from;
        ++from;
    }
    return size;
}

}  // namespace augur::testing
