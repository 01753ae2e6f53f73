#pragma once
// Prints a template's values as Python's str and repr do.

#include <array>
#include <augur/io/text/jinja_text.hpp>
#include <augur/io/text/jinja_value.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace augur::io::jinja {

/// Whether repr shows a code point as it is: not controls, formats, private ones and blanks but the space (Unicode 15;
/// code points that are in no version yet are shown).
inline bool is_shown(char32_t code) {
    constexpr std::array<std::pair<char32_t, char32_t>, 29> hidden = {{
        {0x00, 0x1F},       {0x7F, 0xA0},       {0xAD, 0xAD},       {0x600, 0x605},       {0x61C, 0x61C},
        {0x6DD, 0x6DD},     {0x70F, 0x70F},     {0x890, 0x891},     {0x8E2, 0x8E2},       {0x1680, 0x1680},
        {0x180E, 0x180E},   {0x2000, 0x200F},   {0x2028, 0x202F},   {0x205F, 0x206F},     {0x3000, 0x3000},
        {0xD800, 0xF8FF},   {0xFEFF, 0xFEFF},   {0xFFF0, 0xFFFB},   {0xFFFE, 0xFFFF},     {0x110BD, 0x110BD},
        {0x110CD, 0x110CD}, {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},   {0x1FFFE, 0x1FFFF},
        {0x2FFFE, 0x2FFFF}, {0x3FFFE, 0xE00FF}, {0xE01F0, 0xFFFFF}, {0x100000, 0x10FFFF},
    }};
    for (const auto& [first, last] : hidden) {
        if (code >= first && code <= last) return false;
    }
    return true;
}

inline void append_hex(std::string& out, char32_t code, int digits) {
    for (int i = digits - 1; i >= 0; --i) out += "0123456789abcdef"[code >> (4 * i) & 15];
}

/// repr of a str.
inline std::string python_quoted(std::string_view text) {
    const bool has_single = text.find('\'') != std::string_view::npos;
    const char mark = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
    std::string out(1, mark);
    for (std::size_t i = 0; i < text.size(); i += width_at(text, i)) {
        const auto code = code_point_of(text.substr(i));
        if (code == '\\' || code == static_cast<char32_t>(mark)) {
            out += {'\\', static_cast<char>(code)};
        } else if (code == '\n' || code == '\r' || code == '\t') {
            out += {'\\', code == '\n' ? 'n' : code == '\r' ? 'r' : 't'};
        } else if (is_shown(code)) {
            out += text.substr(i, width_at(text, i));
        } else {
            out += {'\\', code < 0x100 ? 'x' : code < 0x10000 ? 'u' : 'U'};
            append_hex(out, code, code < 0x100 ? 2 : code < 0x10000 ? 4 : 8);
        }
    }
    return out += mark;
}

class printer {
 public:
    printer(meter& at, std::string& out) : at_(at), out_(out) {}

    /// str().
    void print(const value& of) {
        if (of.is<undefined>()) return;
        if (of.is_text()) return put(of.bytes());
        represent(of);
    }

    void represent(const value& of) {
        if (of.is<none>()) return put("None");
        if (const auto* truth = of.as<bool>()) return put(*truth ? "True" : "False");
        if (const auto* number = of.as<std::int64_t>()) return put(std::to_string(*number));
        if (const auto* number = of.as<double>()) return put(real_text(*number));
        if (of.is_text() && !of.is_safe()) return put(python_quoted(of.bytes()));
        if (of.is<undefined>()) return put("Undefined");
        if (const auto* all = of.members()) return represent(*all);
        const auto* all = of.elements();
        if (!all || (all->kind != form::list && all->kind != form::tuple)) {
            at_.fail("a ", type_of(of), " as text is not supported");
        }
        represent(*all);
    }

 private:
    void put(std::string_view text) {
        at_.make(text.size() + 1);
        out_ += text;
    }

    void represent(const mapping& all) {
        put("{");
        bool is_first = true;
        for (const auto& [key, item] : all.items) {
            if (!std::exchange(is_first, false)) put(", ");
            represent(key);
            put(": ");
            represent(item);
        }
        put("}");
    }

    void represent(const sequence& all) {
        const bool is_tuple = all.kind == form::tuple;
        put(is_tuple ? "(" : "[");
        for (std::size_t i = 0; i < all.items.size(); ++i) {
            if (i > 0) put(", ");
            represent(all.items[i]);
        }
        if (is_tuple && all.items.size() == 1) put(",");
        put(is_tuple ? ")" : "]");
    }

    meter& at_;
    std::string& out_;
};

/// str().
inline std::string text_of(meter& at, const value& of) {
    std::string out;
    printer(at, out).print(of);
    return out;
}

}  // namespace augur::io::jinja
