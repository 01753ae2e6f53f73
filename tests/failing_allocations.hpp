#pragma once
// Makes allocations fail, in a test program one file of which includes allocations.hpp.

#include <augur/testing/faults.hpp>
#include <cstddef>

namespace allocations {

/// Of one thread.
struct failing_plan {
    std::size_t numbered = 0, first = 0, count = 0;
    bool is_armed = false;
};
inline thread_local failing_plan failing;

/// Whether the allocation that is asked for fails.
inline bool fails() noexcept {
    if (!failing.is_armed) return false;
    const std::size_t number = failing.numbered++;
    return number >= failing.first && number - failing.first < failing.count;
}

inline augur::testing::allocation_hook hook() {
    return {.arm =
                [](std::size_t first, std::size_t count) {
                    failing = {0, first, count, true};
                },
            .disarm =
                [] {
                    failing.is_armed = false;
                    return failing.numbered;
                }};
}

}  // namespace allocations
