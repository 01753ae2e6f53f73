#pragma once
// How much memory there is to take, so that what does not fit is an error and not the end of the process.

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>

#include "augur/types/error.hpp"

namespace augur::llama {

/// In bytes: what the system says can be taken without swapping, or else all that it has; at most what this process's
/// control group may have. Cost: two small reads.
inline std::uint64_t available_memory() {
    std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    std::ifstream group("/sys/fs/cgroup/memory.max");
    if (std::uint64_t limit = 0; group >> limit) most = limit;  // else "max", or no such group
    std::ifstream system("/proc/meminfo");
    for (std::string key; system >> key; system.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
        std::uint64_t kilobytes = 0;
        if (key == "MemAvailable:" && system >> kilobytes) return std::min(most, kilobytes * 1024);
    }
    const auto pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
    if (pages <= 0 || size <= 0) return most;
    return std::min(most, static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size));
}

/// Throws if keys and values of `positions` tokens, which take `needed` bytes of which `held` are there, are more than
/// `limit`, or than what is available where the limit is 0.
inline void check_cache(std::size_t positions, std::uint64_t needed, std::uint64_t held, std::uint64_t limit) {
    if (needed <= held) return;
    const std::uint64_t most = limit != 0 ? limit : held + std::min(available_memory(), ~held);
    if (needed <= most) return;
    augur::detail::fail("the keys and values of ", positions, " tokens take ", needed, " bytes, more than the ", most,
                        limit != 0 ? " that a sequence may take" : " that are available");
}

}  // namespace augur::llama
