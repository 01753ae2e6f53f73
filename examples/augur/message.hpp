#pragma once
// What is said on standard error, and JSON on standard output. Neither lets a file or an argument drive the terminal.

#include <augur/types/error.hpp>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace augur::program {

/// On one line and at most about `most` bytes long: line feeds are spaces, other control characters (C0, C1, delete)
/// and bytes that are not UTF-8 are \xNN.
std::string one_line(std::string_view text, std::size_t most = 4096);

/// "augur: KIND: ..." as one line on standard error; kinds are error, warning and note.
template <class... Parts>
void tell(std::string_view kind, const Parts&... parts);
void tell_line(std::string_view kind, std::string_view message);

/// One line. Valid whatever bytes the strings hold: what is not UTF-8 is U+FFFD, and no control character is left raw.
std::string json_line(const nlohmann::ordered_json& object);

template <class... Parts>
void tell(std::string_view kind, const Parts&... parts) {
    tell_line(kind, detail::message(parts...));
}

}  // namespace augur::program
