#pragma once
// Reads the end-of-text tokens from the files beside a Hugging Face folder's tokenizer.

#include <algorithm>
#include <augur/io/files/json.hpp>
#include <augur/io/files/json_reader.hpp>
#include <augur/types/error.hpp>
#include <augur/types/token.hpp>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace augur::io {

/// Ids in ascending order, each once, and a line about each value that says that there is none.
struct stop_ids {
    std::vector<token> ids{};
    std::vector<std::string> notes{};
};

namespace detail {

/// One id, or -1 for none.
inline void take_stop_id(const nlohmann::json& value, const std::string& who, stop_ids& into) {
    const auto id = json_value<token>(value, who, {.least = -1, .most = std::numeric_limits<token>::max()});
    if (id == no_token) {
        into.notes.push_back(who + " is -1: there is no such token");
    } else {
        into.ids.push_back(id);
    }
}

inline void take_stop_ids(const json_reader<>& config, stop_ids& into) {
    constexpr const char* key = "eos_token_id";
    const nlohmann::json* value = config.find(key);
    if (value == nullptr) return;
    const auto who = augur::detail::message(config.origin(), ": ", key);
    if (!value->is_array()) return take_stop_id(*value, who, into);
    std::size_t index = 0;
    for (const auto& each : *value) take_stop_id(each, augur::detail::message(who, "[", index++, "]"), into);
}

}  // namespace detail

/// What `eos_token_id` of a configuration says: a number or a list of numbers, at the top and in a `text_config`. -1 is
/// none, as null and an absent key are. Errors name the value that is neither.
inline stop_ids stop_ids_of(const json_reader<>& config) {
    stop_ids found;
    detail::take_stop_ids(config, found);
    if (const auto text = config.object("text_config")) detail::take_stop_ids(*text, found);
    std::sort(found.ids.begin(), found.ids.end());
    found.ids.erase(std::unique(found.ids.begin(), found.ids.end()), found.ids.end());
    return found;
}

/// The union of generation_config.json and config.json; either may be missing. Errors name the file: what is no JSON
/// object, or above the limits, and what stop_ids_of refuses.
inline stop_ids read_stop_ids(const std::filesystem::path& folder, const json_limits& limits = {}) {
    stop_ids all;
    for (const char* name : {"generation_config.json", "config.json"}) {
        const auto path = folder / name;
        std::error_code unknown;  // then it cannot be opened either
        if (!std::filesystem::exists(path, unknown)) continue;
        const auto root = read_json(path, limits);
        const auto found = stop_ids_of(json_reader<>(root, path.string()));
        all.ids.insert(all.ids.end(), found.ids.begin(), found.ids.end());
        all.notes.insert(all.notes.end(), found.notes.begin(), found.notes.end());
    }
    std::sort(all.ids.begin(), all.ids.end());
    all.ids.erase(std::unique(all.ids.begin(), all.ids.end()), all.ids.end());
    return all;
}

}  // namespace augur::io
