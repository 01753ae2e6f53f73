#pragma once
// Strings as Python's str: code points, Unicode white space, slices, numbers as text.

#include <algorithm>
#include <augur/types/utf8.hpp>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur::io::jinja {

/// The code point that a well-formed text begins with.
inline char32_t code_point_of(std::string_view at) {
    const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(at[i])); };
    if (byte(0) < 0x80) return byte(0);
    if (byte(0) < 0xE0) return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    if (byte(0) < 0xF0) return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
}

inline void append_code_point(std::string& out, char32_t code) {
    const auto put = [&](char32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
    if (code < 0x80) return put(code);
    if (code < 0x800) {
        put(0xC0 | code >> 6);
    } else if (code < 0x10000) {
        put(0xE0 | code >> 12);
        put(0x80 | (code >> 6 & 0x3F));
    } else {
        put(0xF0 | code >> 18);
        put(0x80 | (code >> 12 & 0x3F));
        put(0x80 | (code >> 6 & 0x3F));
    }
    put(0x80 | (code & 0x3F));
}

inline bool is_continuation(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

inline std::size_t width_at(std::string_view text, std::size_t at) {
    return augur::detail::classify_lead(static_cast<unsigned char>(text[at])).length;
}

/// How many code points.
inline std::size_t length_of(std::string_view text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

/// Where each code point begins, and the end.
inline std::vector<std::size_t> offsets_of(std::string_view text) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (!is_continuation(text[i])) out.push_back(i);
    }
    out.push_back(text.size());
    return out;
}

/// What str.isspace and the \s of regular expressions say.
inline bool is_blank(char32_t code) {
    if (code < 0x80) return (code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x20);
    return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
           code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

/// What str.splitlines cuts at.
inline bool ends_line(char32_t code) {
    return (code >= 0x0A && code <= 0x0D) || (code >= 0x1C && code <= 0x1E) || code == 0x85 || code == 0x2028 ||
           code == 0x2029;
}

enum class side { left, right, both };

/// Without the code points at the sides that `cut` holds for.
template <class Cut>
std::string_view strip_if(std::string_view text, side where, Cut cut) {
    while (where != side::right && !text.empty() && cut(code_point_of(text))) text.remove_prefix(width_at(text, 0));
    while (where != side::left && !text.empty()) {
        std::size_t last = text.size() - 1;
        while (last > 0 && is_continuation(text[last])) --last;
        if (!cut(code_point_of(text.substr(last)))) break;
        text.remove_suffix(text.size() - last);
    }
    return text;
}

/// str.strip and its kin: blanks, or the code points of `letters`.
inline std::string_view strip(std::string_view text, side where, std::optional<std::string_view> letters = {}) {
    if (!letters) return strip_if(text, where, is_blank);
    std::vector<char32_t> cut;
    for (std::size_t i = 0; i < letters->size(); i += width_at(*letters, i))
        cut.push_back(code_point_of(letters->substr(i)));
    std::sort(cut.begin(), cut.end());
    return strip_if(text, where, [&](char32_t code) { return std::binary_search(cut.begin(), cut.end(), code); });
}

/// str.splitlines.
inline std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> out;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < text.size();) {
        const auto width = width_at(text, i);
        if (!ends_line(code_point_of(text.substr(i)))) {
            i += width;
            continue;
        }
        out.push_back(text.substr(begin, i - begin));
        i += text.substr(i).starts_with("\r\n") ? 2 : width;
        begin = i;
    }
    if (begin < text.size()) out.push_back(text.substr(begin));
    return out;
}

/// Every `from` becomes `to`, at most `most` of them (all where it is negative). An empty `from` stands between all
/// code points.
inline std::string replaced(std::string_view text, std::string_view from, std::string_view to, std::int64_t most = -1) {
    std::string out;
    std::size_t at = 0;
    while (at <= text.size() && most != 0) {
        const auto next = from.empty() ? at : text.find(from, at);
        if (next == std::string_view::npos) break;
        out.append(text.substr(at, next - at)).append(to);
        at = next + from.size();
        --most;
        if (!from.empty()) continue;
        if (at == text.size()) return out;
        const auto width = width_at(text, at);
        out.append(text.substr(at, width));
        at += width;
    }
    return out.append(text.substr(at));
}

/// How often, without overlap; `replaced` makes that many times the difference.
inline std::size_t count_of(std::string_view text, std::string_view part) {
    if (part.empty()) return length_of(text) + 1;
    std::size_t count = 0;
    for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++count;
    return count;
}

/// float.__repr__: the fewest digits that give the number again.
inline std::string real_text(double of) {
    if (std::isnan(of)) return "nan";
    if (std::isinf(of)) return of < 0 ? "-inf" : "inf";
    char buffer[40];
    const auto* end = std::to_chars(std::begin(buffer), std::end(buffer), of, std::chars_format::scientific).ptr;
    const std::string_view written(buffer, static_cast<std::size_t>(end - buffer));
    const auto mark = written.find('e');
    const int exponent = std::atoi(std::string(written.substr(mark + 1)).c_str());
    if (exponent < -4 || exponent >= 16) return std::string(written);
    end = std::to_chars(std::begin(buffer), std::end(buffer), of, std::chars_format::fixed).ptr;
    std::string out(buffer, static_cast<std::size_t>(end - buffer));
    return out.find('.') == std::string::npos ? out + ".0" : out;
}

}  // namespace augur::io::jinja
