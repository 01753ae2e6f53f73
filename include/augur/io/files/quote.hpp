#pragma once
// Quotes names from untrusted files so that they are safe to print.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace augur::io {

/// Whether quote shows the text as it is.
inline bool is_printable(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char letter) { return letter >= 0x20 && letter < 0x7f; });
}

/// The text in single quotes for an error message: cut after `most` bytes, control characters and bytes beyond ASCII as
/// \xNN.
inline std::string quote(std::string_view text, std::size_t most = 80) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out = "'";
    for (const char letter : text.substr(0, most)) {
        const auto code = static_cast<unsigned char>(letter);
        if (code >= 0x20 && code < 0x7f) {
            out += letter;
        } else {
            out += {'\\', 'x', digits[code >> 4], digits[code & 15]};
        }
    }
    if (text.size() > most) out += "... (" + std::to_string(text.size()) + " bytes)";
    return out + "'";
}

}  // namespace augur::io
