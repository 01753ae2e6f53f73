#pragma once
// Lexes a template into Jinja2's tokens, with trim_blocks and lstrip_blocks as transformers sets them.

#include <algorithm>
#include <array>
#include <augur/io/files/quote.hpp>
#include <augur/io/text/jinja_text.hpp>
#include <augur/types/error.hpp>
#include <cctype>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur::io::jinja {

enum class lexeme_kind { data, block_begin, block_end, print_begin, print_end, name, text, integer, real, sign, end };

struct lexeme {
    lexeme_kind kind;
    std::string text;  ///< of data and literals what they stand for, else as written
    std::size_t line;
};

[[noreturn]] inline void fail_at(std::size_t line, const std::string& what) {
    augur::detail::fail("the chat template, line ", line, ": ", what);
}

/// One kind of line end, and none behind the last line.
inline std::string normal_lines(std::string_view source) {
    std::string out;
    for (std::size_t i = 0; i < source.size(); ++i) {
        const bool is_return = source[i] == '\r';
        if (is_return && i + 1 < source.size() && source[i + 1] == '\n') continue;
        out += is_return ? '\n' : source[i];
    }
    if (out.ends_with('\n')) out.pop_back();
    return out;
}

/// What a string literal means, between its marks: Python's escapes.
class literal_reader {
 public:
    literal_reader(std::string_view written, std::size_t line) : written_(written), line_(line) {}

    std::string read() {
        std::string out;
        while (at_ < written_.size()) {
            const char letter = written_[at_++];
            if (letter != '\\' || at_ == written_.size()) {
                out += letter;
            } else {
                escape(out, written_[at_++]);
            }
        }
        return out;
    }

 private:
    void escape(std::string& out, char kind) {
        constexpr std::string_view names = "abfnrtv\\'\"", meanings = "\a\b\f\n\r\t\v\\'\"";
        if (const auto found = names.find(kind); found != std::string_view::npos) {
            out += meanings[found];
        } else if (kind == 'x' || kind == 'u' || kind == 'U') {
            append_code(out, number(16, kind == 'x' ? 2 : kind == 'u' ? 4 : 8, true));
        } else if (kind >= '0' && kind <= '7') {
            --at_;
            append_code(out, number(8, 3, false));
        } else if (kind == 'N') {
            fail_at(line_, "the escape \\N in a string is not supported");
        } else if (kind != '\n') {
            out += {'\\', kind};
        }
    }

    char32_t number(unsigned base, std::size_t digits, bool all_needed) {
        char32_t code = 0;
        std::size_t i = 0;
        for (; i < digits && at_ < written_.size(); ++i, ++at_) {
            constexpr std::string_view known = "0123456789abcdef";
            const auto lower = static_cast<char>(std::tolower(static_cast<unsigned char>(written_[at_])));
            const auto digit = known.find(lower);
            if (digit >= base) break;
            code = code * base + static_cast<char32_t>(digit);
        }
        if (all_needed && i < digits) fail_at(line_, "an escape in a string has too few digits");
        return code;
    }

    void append_code(std::string& out, char32_t code) {
        if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
            fail_at(line_, "an escape in a string is no valid character");
        append_code_point(out, code);
    }

    std::string_view written_;
    std::size_t line_;
    std::size_t at_ = 0;
};

/// Cuts a source that is UTF-8. Cost: linear.
class lexer {
 public:
    explicit lexer(std::string_view source) : source_(normal_lines(source)) {}

    std::vector<lexeme> run() {
        while (at_ < source_.size()) read_data();
        put(lexeme_kind::end, "");
        return std::move(out_);
    }

 private:
    std::string_view rest() const { return std::string_view(source_).substr(at_); }

    void put(lexeme_kind kind, std::string text) { out_.push_back({kind, std::move(text), line_}); }

    void move_to(std::size_t to) {
        line_ += static_cast<std::size_t>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                                     source_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
        at_ = to;
    }

    void skip_blanks() {
        const auto kept = strip(rest(), side::left);
        move_to(source_.size() - kept.size());
    }

    void skip_line_end() {
        if (rest().starts_with('\n')) move_to(at_ + 1);
    }

    /// What text keeps in front of a tag with this mark: '-', '+' or 0.
    std::string_view before_tag(std::string_view data, char mark, bool is_print) const {
        if (mark == '-') return strip(data, side::right);
        if (mark == '+' || is_print) return data;
        const auto line_begin = data.rfind('\n') + 1;  // 0 where there is none
        if (line_begin == 0 && !at_line_begin_) return data;
        const auto last_line = data.substr(line_begin);
        return strip(last_line, side::both).empty() ? data.substr(0, line_begin) : data;
    }

    void put_data(std::string_view data) {
        if (!data.empty()) put(lexeme_kind::data, std::string(data));
    }

    static char mark_of(std::string_view tag) {
        return tag.size() > 2 && (tag[2] == '-' || tag[2] == '+') ? tag[2] : '\0';
    }

    /// Text up to the next tag, and the tag.
    void read_data() {
        const auto begin = find_tag();
        if (begin == std::string_view::npos) {
            put_data(rest());
            move_to(source_.size());
            return;
        }
        const auto data = rest().substr(0, begin), tag = rest().substr(begin);
        const bool is_print = tag[1] == '{';
        put_data(before_tag(data, mark_of(tag), is_print));
        move_to(at_ + begin);
        const auto tag_line = line_;
        if (tag[1] == '#') return read_comment(tag_line);
        if (!is_print && read_raw()) return;
        move_to(at_ + (mark_of(tag) ? 3 : 2));
        put(is_print ? lexeme_kind::print_begin : lexeme_kind::block_begin, "");
        read_tag(is_print);
    }

    std::size_t find_tag() const {
        const auto text = rest();
        for (auto at = text.find('{'); at != std::string_view::npos && at + 1 < text.size();
             at = text.find('{', at + 1)) {
            if (text[at + 1] == '{' || text[at + 1] == '%' || text[at + 1] == '#') return at;
        }
        return std::string_view::npos;
    }

    /// Behind a tag: `mark` is what stood in front of its end.
    void end_tag(char mark, bool trims) {
        if (mark == '-') {
            skip_blanks();
        } else if (mark != '+' && trims) {
            skip_line_end();
        }
        at_line_begin_ = at_ > 0 && source_[at_ - 1] == '\n';
    }

    void read_comment(std::size_t begun) {
        const auto begin = mark_of(rest()) ? 3U : 2U;
        const auto end = rest().find("#}", begin);
        if (end == std::string_view::npos) fail_at(begun, "a comment is not closed");
        const char before = end > begin ? rest()[end - 1] : '\0';
        move_to(at_ + end + 2);
        end_tag(before == '-' || before == '+' ? before : '\0', true);
    }

    /// The length of `{% name %}` with its marks where that stands here, and the mark at its end.
    std::optional<std::pair<std::size_t, char>> simple_tag(std::string_view text, std::string_view name,
                                                           bool takes_plus) const {
        auto inside = strip(text.substr(mark_of(text) ? 3 : 2), side::left);
        if (!inside.starts_with(name)) return std::nullopt;
        inside = strip(inside.substr(name.size()), side::left);
        const char mark = !inside.empty() && (inside[0] == '-' || (inside[0] == '+' && takes_plus)) ? inside[0] : '\0';
        if (mark) inside.remove_prefix(1);
        if (!inside.starts_with("%}")) return std::nullopt;
        return std::pair(text.size() - inside.size() + 2, mark);
    }

    bool read_raw() {
        const auto opened = simple_tag(rest(), "raw", false);
        if (!opened) return false;
        const auto begun = line_;
        move_to(at_ + opened->first);
        if (opened->second == '-') skip_blanks();
        at_line_begin_ = source_[at_ - 1] == '\n';
        for (auto at = rest().find("{%"); at != std::string_view::npos; at = rest().find("{%", at + 2)) {
            const auto tag = rest().substr(at);
            const auto closed = simple_tag(tag, "endraw", true);
            if (!closed) continue;
            put_data(before_tag(rest().substr(0, at), mark_of(tag), false));
            move_to(at_ + at + closed->first);
            end_tag(closed->second, true);
            return true;
        }
        fail_at(begun, "{% raw %} is not closed");
    }

    /// Whether the tag ends here, and what then follows is skipped.
    bool read_tag_end(bool is_print) {
        const auto text = rest();
        const std::string_view close = is_print ? "}}" : "%}";
        const bool has_mark = text.starts_with('-') || (text.starts_with('+') && !is_print);
        if (!text.substr(has_mark ? 1 : 0).starts_with(close)) return false;
        const char mark = has_mark ? text[0] : '\0';
        put(is_print ? lexeme_kind::print_end : lexeme_kind::block_end, "");
        move_to(at_ + (has_mark ? 3 : 2));
        end_tag(mark, !is_print);
        return true;
    }

    void read_tag(bool is_print) {
        const auto begun = line_;
        std::string open;  // brackets
        while (at_ < source_.size()) {
            if (open.empty() && read_tag_end(is_print)) return;
            if (is_blank(code_point_of(rest()))) {
                skip_blanks();
            } else if (!read_number() && !read_name() && !read_literal()) {
                read_sign(open);
            }
        }
        fail_at(begun, is_print ? "'{{' is not closed" : "'{%' is not closed");
    }

    static bool is_name_letter(char letter) {
        return std::isalnum(static_cast<unsigned char>(letter)) || letter == '_';
    }

    bool read_name() {
        const auto text = rest();
        if (!is_name_letter(text[0])) return false;
        const auto end = std::find_if_not(text.begin(), text.end(), is_name_letter) - text.begin();
        put(lexeme_kind::name, std::string(text.substr(0, static_cast<std::size_t>(end))));
        move_to(at_ + static_cast<std::size_t>(end));
        return true;
    }

    /// Decimal integers and reals; other bases and digits in groups are refused.
    bool read_number() {
        const auto text = rest();
        const auto is_digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
        if (!is_digit(0)) return false;
        std::size_t end = 0;
        const auto skip_digits = [&] {
            while (is_digit(end)) ++end;
        };
        skip_digits();
        bool is_real = false;
        const bool after_dot = !out_.empty() && out_.back().kind == lexeme_kind::sign && out_.back().text == ".";
        if (!after_dot && end < text.size() && text[end] == '.' && is_digit(end + 1)) {
            is_real = true;
            ++end;
            skip_digits();
        }
        if (!after_dot && end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
            const std::size_t sign = end + 1 < text.size() && (text[end + 1] == '+' || text[end + 1] == '-') ? 1 : 0;
            if (is_digit(end + 1 + sign)) {
                is_real = true;
                end += 1 + sign;
                skip_digits();
            }
        }
        if (end < text.size() && is_name_letter(text[end]))
            fail_at(line_, "the number " + quote(text.substr(0, end + 1), 40) + " is not supported");
        if (!is_real && end > 1 && text[0] == '0')
            fail_at(line_, "the number " + quote(text.substr(0, end), 40) + " is not supported");
        put(is_real ? lexeme_kind::real : lexeme_kind::integer, std::string(text.substr(0, end)));
        move_to(at_ + end);
        return true;
    }

    bool read_literal() {
        const auto text = rest();
        if (text[0] != '\'' && text[0] != '"') return false;
        std::size_t end = 1;
        while (end < text.size() && text[end] != text[0]) end += text[end] == '\\' ? 2 : 1;
        if (end >= text.size()) fail_at(line_, "a string is not closed");
        put(lexeme_kind::text, literal_reader(text.substr(1, end - 1), line_).read());
        move_to(at_ + end + 1);
        return true;
    }

    void read_sign(std::string& open) {
        constexpr std::array<std::string_view, 26> signs = {"==", "!=", "<=", ">=", "//", "**", "<", ">", "=",
                                                            "+",  "-",  "*",  "/",  "%",  "~",  "|", ".", ",",
                                                            ":",  ";",  "(",  ")",  "[",  "]",  "{", "}"};
        const auto text = rest();
        const auto* found = std::find_if(signs.begin(), signs.end(), [&](auto sign) { return text.starts_with(sign); });
        if (found == signs.end()) fail_at(line_, "unexpected " + quote(text.substr(0, width_at(text, 0))));
        if (*found == "(" || *found == "[" || *found == "{") open += *found == "(" ? ')' : *found == "[" ? ']' : '}';
        if (*found == ")" || *found == "]" || *found == "}") {
            if (open.empty() || open.back() != found->front()) fail_at(line_, "unexpected " + quote(*found));
            open.pop_back();
        }
        put(lexeme_kind::sign, std::string(*found));
        move_to(at_ + found->size());
    }

    std::string source_;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
    bool at_line_begin_ = true;
    std::vector<lexeme> out_;
};

}  // namespace augur::io::jinja
