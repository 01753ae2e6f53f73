#pragma once
// JSON out of untrusted files, bounded.

#include <augur/io/mapped_file.hpp>
#include <augur/io/quote.hpp>
#include <augur/types/error.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace augur::io {

/// The document in `text`; `origin` names it in messages. Errors: anything that is not JSON, nesting beyond 64 levels, a
/// key twice in one object. Memory: linear in the text, at worst some fifty bytes for each of its own.
inline nlohmann::json parse_json(std::span<const std::byte> text, std::string_view origin) {
    using event = nlohmann::json::parse_event_t;
    constexpr std::size_t deepest = 64;
    std::vector<std::set<std::string>> open;  // the keys seen in each object or array around the current place
    const auto check = [&](int, event what, nlohmann::json& parsed) {
        if (what == event::object_start || what == event::array_start) {
            if (open.size() == deepest) augur::detail::fail(origin, ": nested more than ", deepest, " levels deep");
            open.emplace_back();
        } else if (what == event::object_end || what == event::array_end) {
            open.pop_back();
        } else if (what == event::key && !open.back().insert(parsed.get<std::string>()).second) {
            augur::detail::fail(origin, ": duplicate key ", quote(parsed.get_ref<const std::string&>()));
        }
        return true;
    };
    const auto* start = reinterpret_cast<const char*>(text.data());
    try {
        return nlohmann::json::parse(start, start + text.size(), check);
    } catch (const nlohmann::json::exception& caught) {
        augur::detail::fail(origin, ": ", quote(caught.what(), 300));
    }
}

/// The document in a file of at most `most_bytes`; a larger one is an error that names both sizes.
inline nlohmann::json read_json(const std::filesystem::path& path, std::uint64_t most_bytes) {
    const mapped_file file(path);
    if (file.bytes().size() > most_bytes) {
        augur::detail::fail(path.string(), " has ", file.bytes().size(), " bytes, more than the ", most_bytes,
                            " that are read");
    }
    return parse_json(file.bytes(), path.string());
}

}  // namespace augur::io
