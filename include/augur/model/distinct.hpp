#pragma once
// Checks that composed models are distinct: each has a cache of its own.

#include <cstddef>
#include <span>

#include "augur/types/error.hpp"

namespace augur::detail {

/// Throws, for `who`, if two of these models are one and the same.
inline void check_distinct(const char* who, std::span<const void* const> models) {
    for (std::size_t later = 1; later < models.size(); ++later) {
        for (std::size_t before = 0; before < later; ++before) {
            if (models[before] != models[later]) continue;
            fail(who, ": model ", before, " and model ", later, " are one and the same");
        }
    }
}

}  // namespace augur::detail
