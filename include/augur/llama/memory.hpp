#pragma once
// Checks the available memory, so that a model that does not fit is an error and not the end of the process.

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <istream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "augur/types/error.hpp"

namespace augur::llama {

namespace detail {

using augur::detail::fail;

/// The first number behind this word in a file of words and numbers, one pair a line; the first of all where the word
/// is empty.
inline std::optional<std::uint64_t> number_in(const std::filesystem::path& path, std::string_view word = {}) {
    std::ifstream in(path);
    std::uint64_t number = 0;
    for (std::string key; word.empty() || in >> key; in.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
        if (key != word) continue;
        return in >> number ? std::optional(number) : std::nullopt;
    }
    return std::nullopt;
}

/// What a memory control group has left: its limit less what it holds, but for pages of files, which can be read again.
inline std::uint64_t room_of_group(const std::filesystem::path& group, bool is_v1) {
    const auto limit = number_in(group / (is_v1 ? "memory.limit_in_bytes" : "memory.max"));
    if (!limit) return std::numeric_limits<std::uint64_t>::max();  // "max", or no such group
    const std::string total = is_v1 ? "total_" : "";
    const auto used = number_in(group / (is_v1 ? "memory.usage_in_bytes" : "memory.current")).value_or(0);
    const auto pages = number_in(group / "memory.stat", total + "active_file").value_or(0) +
                       number_in(group / "memory.stat", total + "inactive_file").value_or(0);
    return *limit - std::min(*limit, used - std::min(used, pages));
}

/// The least that is left to the control groups of a process, and to those around them. `listed`: its groups, as
/// /proc/self/cgroup has them; `root`: where groups are mounted. In containers the listed ones may be out of sight;
/// then the root is the container's.
inline std::uint64_t room_of_groups(std::istream& listed, const std::filesystem::path& root) {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (std::string line; std::getline(listed, line);) {  // number:controllers:path, without controllers in version 2
        const auto first = line.find(':'), second = line.find(':', first + 1);
        if (first == line.npos || second == line.npos) continue;
        const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        const bool is_v1 = controllers.find(",memory,") != controllers.npos;
        if (!is_v1 && controllers != ",,") continue;
        const std::filesystem::path base = is_v1 ? root / "memory" : root;
        const std::filesystem::path own = base / std::filesystem::path(line.substr(second + 1)).relative_path();
        for (auto group = own; group != base; group = group.parent_path()) {
            least = std::min(least, room_of_group(group, is_v1));
        }
        least = std::min(least, room_of_group(base, is_v1));
    }
    return least;
}

}  // namespace detail

/// In bytes: what the system says can be taken without swapping, or else all that it has; at most what this process's
/// control groups have left. Cost: some small reads.
inline std::uint64_t available_memory() {
    std::ifstream groups("/proc/self/cgroup");
    const std::uint64_t most = detail::room_of_groups(groups, "/sys/fs/cgroup");
    if (const auto kilobytes = detail::number_in("/proc/meminfo", "MemAvailable:")) {
        return std::min(most, *kilobytes * 1024);
    }
    const auto pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
    if (pages <= 0 || size <= 0) return most;
    return std::min(most, static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size));
}

/// Throws if weights that take `needed` bytes are more than is available. `origin` opens the message: the file's name.
inline void check_weights(std::string_view origin, std::uint64_t needed) {
    if (const std::uint64_t there = available_memory(); needed > there) {
        detail::fail(origin, ": the weights take ", needed, " bytes, more than the ", there, " that are available");
    }
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
