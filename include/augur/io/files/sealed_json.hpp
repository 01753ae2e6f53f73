#pragma once
// JSON files with a kind, a version, an owner and a checksum that detects damage. See docs/io/policy_state.md.

#include <augur/io/files/fnv_hash.hpp>
#include <augur/io/files/json_reader.hpp>
#include <augur/types/error.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace augur::io {

/// Of the text that the content has without white space.
inline std::string checksum_of(const nlohmann::ordered_json& content) {
    fnv_hash hash;
    hash.add(std::string_view(content.dump()));
    return hash.text();
}

/// The content under its checksum, in a line.
inline std::string sealed(nlohmann::ordered_json content) {
    content["checksum"] = checksum_of(content);
    return content.dump() + "\n";
}

/// The same without it. Throws, naming `origin` and the values, unless `content` is of this kind and version, and as it
/// was written.
inline nlohmann::ordered_json unsealed(nlohmann::ordered_json content, std::string_view kind, int version,
                                       const std::string& origin) {
    const json_reader from(content, origin);
    if (const auto written = from.required<int>(kind); written != version) {
        augur::detail::fail(origin, ": its version is ", written, "; this program knows ", version);
    }
    const auto stated = from.required<std::string>("checksum");
    content.erase("checksum");
    if (const auto found = checksum_of(content); found != stated) {
        augur::detail::fail(origin, ": it is damaged: its checksum is ", quote(stated), ", but that of its content is ",
                            found);
    }
    return content;
}

/// Throws, with the first that differs and both values, unless the file was made with what is here.
inline void check_about(const nlohmann::ordered_json& was, const nlohmann::ordered_json& here,
                        const std::string& origin) {
    const auto said = [](const nlohmann::ordered_json& of, const std::string& key) {
        return of.contains(key) ? shown(of[key]) : std::string("not said");
    };
    for (const auto* side : {&here, &was}) {
        for (const auto& [key, value] : side->items()) {
            if (was.contains(key) && here.contains(key) && was[key] == here[key]) continue;
            augur::detail::fail(origin, ": ", key, " was ", said(was, key), " and is ", said(here, key));
        }
    }
}

}  // namespace augur::io
