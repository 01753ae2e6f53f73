#pragma once
// A part of the work for one process of several.

#include <augur/io/files/quote.hpp>
#include <augur/types/error.hpp>
#include <cstddef>
#include <string>
#include <string_view>

#include "options.hpp"

namespace augur::program {

struct shard_of {
    std::size_t index = 0, count = 1;

    /// Whether this one of many things is its part.
    bool has(std::size_t which) const { return which % count == index; }
    bool is_all() const { return count == 1; }
    /// Of its file.
    std::string name() const { return is_all() ? "all" : std::to_string(index + 1) + "_of_" + std::to_string(count); }
};

/// "2/8": the second of eight.
inline shard_of parse_shard(const std::string& text) {
    const std::size_t slash = text.find('/');
    if (slash == std::string::npos) detail::fail("--shard is ", io::quote(text), "; it must be like 2/8");
    const auto index = parse_number<std::size_t>("--shard", std::string_view(text).substr(0, slash));
    const auto count = parse_number<std::size_t>("--shard", std::string_view(text).substr(slash + 1));
    if (index == 0 || index > count) detail::fail("--shard is ", text, "; the first number is from 1 to ", count);
    return {index - 1, count};
}

}  // namespace augur::program
