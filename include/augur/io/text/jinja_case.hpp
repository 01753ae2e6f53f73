#pragma once
// Upper and lower case of a template's strings.

#include <algorithm>
#include <augur/io/text/jinja_print.hpp>
#include <augur/io/text/jinja_text.hpp>
#include <augur/io/text/jinja_value.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace augur::io::jinja {

constexpr bool is_ascii_upper(char letter) {
    return letter >= 'A' && letter <= 'Z';
}
constexpr bool is_ascii_lower(char letter) {
    return letter >= 'a' && letter <= 'z';
}
constexpr char ascii_lower(char letter) {
    return is_ascii_upper(letter) ? static_cast<char>(letter + 32) : letter;
}
constexpr char ascii_upper(char letter) {
    return is_ascii_lower(letter) ? static_cast<char>(letter - 32) : letter;
}

/// Whether a code point has no case in Unicode 15, for those beyond ASCII: scripts that have none, signs and blanks.
inline bool has_no_case(char32_t code) {
    const auto within = [&](char32_t first, char32_t last) { return code >= first && code <= last; };
    return within(0x80, 0xA9) || within(0xAB, 0xB4) || within(0xB6, 0xB9) || within(0xBB, 0xBF) || code == 0xD7 ||
           code == 0xF7 || within(0x0590, 0x109F) || within(0x1100, 0x139F) || within(0x1400, 0x1C7F) ||
           within(0x2000, 0x2070) || within(0x20A0, 0x20FF) || within(0x2190, 0x24B5) || within(0x2500, 0x2BFF) ||
           within(0x2E00, 0xA63F) || within(0xA960, 0xAAFF) || within(0xAC00, 0xD7FF) || within(0xE000, 0xFAFF) ||
           within(0xFB1D, 0xFF20) || within(0xFF5B, 0x103FF) || within(0x1F000, 0x1F12F) || within(0x1F18A, 0x1FFFF) ||
           within(0x20000, 0x3FFFF);
}

/// As in U+00E4.
inline std::string code_name(char32_t code) {
    std::string out;
    append_hex(out, code, code < 0x10000 ? 4 : 6);
    std::transform(out.begin(), out.end(), out.begin(), ascii_upper);
    return out;
}

/// Letters with case beyond ASCII are refused: their rules are longer than a template needs.
inline void require_known_case(meter& at, std::string_view text, std::string_view name) {
    at.read(text.size());
    for (std::size_t i = 0; i < text.size(); i += width_at(text, i)) {
        const auto code = code_point_of(text.substr(i));
        if (code < 0x80 || has_no_case(code)) continue;
        at.fail(name, " of a text with letters beyond ASCII is not supported: U+", code_name(code));
    }
}

inline value lowered(meter& at, const std::string& text, bool is_safe) {
    require_known_case(at, text, "lower");
    std::string out = text;
    std::transform(out.begin(), out.end(), out.begin(), ascii_lower);
    return make_text(at, std::move(out), is_safe);
}

inline value uppered(meter& at, const std::string& text, bool is_safe) {
    require_known_case(at, text, "upper");
    std::string out = text;
    std::transform(out.begin(), out.end(), out.begin(), ascii_upper);
    return make_text(at, std::move(out), is_safe);
}

/// The first letter upper, all others lower.
inline value capitalized(meter& at, const std::string& text, bool is_safe) {
    require_known_case(at, text, "capitalize");
    std::string out = text;
    std::transform(out.begin(), out.end(), out.begin(), ascii_lower);
    if (!out.empty()) out[0] = ascii_upper(out[0]);
    return make_text(at, std::move(out), is_safe);
}

/// Each word's first letter upper, all others lower; `begins_word(letter)`: whether a word begins behind it.
template <class BeginsWord>
value titled(meter& at, const std::string& text, bool is_safe, BeginsWord begins_word) {
    require_known_case(at, text, "title");
    std::string out = text;
    bool is_first = true;
    for (char& letter : out) {
        const char written = letter;
        letter = is_first ? ascii_upper(letter) : ascii_lower(letter);
        is_first = begins_word(written);
    }
    return make_text(at, std::move(out), is_safe);
}

}  // namespace augur::io::jinja
