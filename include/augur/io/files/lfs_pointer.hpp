#pragma once
// Detects Git LFS pointers: what a checkout holds in place of a large file that was not fetched.

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace augur::io {

/// A text of some 130 bytes that names an object of the LFS store.
struct lfs_pointer {
    std::string_view object;  ///< "sha256:..."
    std::uint64_t size = 0;   ///< of the file that it stands for, in bytes
};

/// The specification's limit: a pointer has fewer bytes than 1024.
inline constexpr std::uint64_t longest_lfs_pointer = 1023;

/// What a file's whole text says, or nothing where it is no pointer. One has lines "key value": `version` first, `oid`
/// and `size` among the others (git-lfs/docs/spec.md). Refers to the text.
inline std::optional<lfs_pointer> find_lfs_pointer(std::string_view text) {
    if (text.size() > longest_lfs_pointer) return std::nullopt;
    const auto take_line = [&] {
        const auto end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
        if (line.ends_with('\r')) line.remove_suffix(1);
        return line;
    };
    const std::string_view first = take_line();
    if (!first.starts_with("version https://git-lfs.github.com/spec/") &&
        !first.starts_with("version https://hawser.github.com/spec/")) {
        return std::nullopt;
    }
    lfs_pointer found;
    bool has_size = false;
    while (!text.empty()) {
        const std::string_view line = take_line();
        if (line.starts_with("oid ")) found.object = line.substr(4);
        if (!line.starts_with("size ")) continue;
        const auto [end, problem] = std::from_chars(line.data() + 5, line.data() + line.size(), found.size);
        has_size = problem == std::errc() && end == line.data() + line.size();
    }
    if (found.object.empty() || !has_size) return std::nullopt;
    return found;
}

}  // namespace augur::io
