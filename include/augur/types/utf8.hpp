#pragma once
// UTF-8: code point boundaries and validation (Unicode 15, table 3-7).

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "augur/types/error.hpp"

namespace augur::detail {

/// U+FFFD, which stands for bytes that are no text.
inline constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

enum class utf8_state {
    complete,    ///< a well-formed code point
    incomplete,  ///< the text ends inside what could still become one
    invalid      ///< no continuation makes this well-formed
};

/// The first `length` bytes of a text (at least 1), and what they are. An invalid or incomplete start is as long as it
/// could have been part of a code point, so that a decoder replaces it by one U+FFFD.
struct utf8_start {
    std::size_t length;
    utf8_state state;
};

/// The bytes that may follow a lead byte directly, and the length of the code point (0: not a lead byte).
struct utf8_lead {
    std::size_t length;
    unsigned char lowest;
    unsigned char highest;
};

constexpr utf8_lead classify_lead(unsigned char lead) {
    if (lead < 0x80) return {1, 0, 0};
    if (lead < 0xC2) return {0, 0, 0};
    if (lead < 0xE0) return {2, 0x80, 0xBF};
    if (lead < 0xF0) {
        const auto lowest = static_cast<unsigned char>(lead == 0xE0 ? 0xA0 : 0x80);
        return {3, lowest, static_cast<unsigned char>(lead == 0xED ? 0x9F : 0xBF)};
    }
    if (lead > 0xF4) return {0, 0, 0};
    const auto lowest = static_cast<unsigned char>(lead == 0xF0 ? 0x90 : 0x80);
    return {4, lowest, static_cast<unsigned char>(lead == 0xF4 ? 0x8F : 0xBF)};
}

/// Reads the start of a text that is not empty.
constexpr utf8_start first_code_point(std::string_view text) {
    auto [length, lowest, highest] = classify_lead(static_cast<unsigned char>(text[0]));
    if (length == 0) return {1, utf8_state::invalid};
    for (std::size_t i = 1; i < length; ++i) {
        if (i == text.size()) return {i, utf8_state::incomplete};
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte < lowest || byte > highest) return {i, utf8_state::invalid};
        lowest = 0x80;
        highest = 0xBF;
    }
    return {length, utf8_state::complete};
}

/// The offset of the first byte that does not belong to a well-formed code point, if there is one.
constexpr std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
    for (std::size_t offset = 0; offset < text.size();) {
        const auto start = first_code_point(text.substr(offset));
        if (start.state != utf8_state::complete) return offset;
        offset += start.length;
    }
    return std::nullopt;
}

/// Throws augur::error, naming `what`, the offset and the byte, unless the text is UTF-8.
inline void check_utf8(std::string_view text, std::string_view what) {
    const auto offset = find_invalid_utf8(text);
    if (!offset) return;
    constexpr std::string_view digits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(text[*offset]);
    fail(what, " is not UTF-8: byte 0x", digits[byte >> 4], digits[byte & 15], " at offset ", *offset, " of ",
         text.size());
}

/// The text with everything that is not UTF-8 replaced by U+FFFD, one for each maximal broken start.
inline std::string repair_utf8(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const auto start = first_code_point(text);
        out += start.state == utf8_state::complete ? text.substr(0, start.length) : replacement_character;
        text.remove_prefix(start.length);
    }
    return out;
}

}  // namespace augur::detail
