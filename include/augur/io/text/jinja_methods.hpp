#pragma once
// The methods of Python's str, dict and list that templates call.

#include <algorithm>
#include <array>
#include <augur/io/files/quote.hpp>
#include <augur/io/text/jinja_arguments.hpp>
#include <augur/io/text/jinja_case.hpp>
#include <augur/io/text/jinja_names.hpp>
#include <augur/io/text/jinja_operators.hpp>
#include <augur/io/text/jinja_print.hpp>
#include <augur/io/text/jinja_text.hpp>
#include <augur/io/text/jinja_value.hpp>
#include <augur/io/text/markup.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur::io::jinja {

/// All that Python has, those that are not run included: they hide keys of the same name.
inline constexpr std::array<std::string_view, 47> str_methods = {
    "capitalize",   "casefold",   "center",    "count",       "encode",    "endswith",     "expandtabs",   "find",
    "format",       "format_map", "index",     "isalnum",     "isalpha",   "isascii",      "isdecimal",    "isdigit",
    "isidentifier", "islower",    "isnumeric", "isprintable", "isspace",   "istitle",      "isupper",      "join",
    "ljust",        "lower",      "lstrip",    "maketrans",   "partition", "removeprefix", "removesuffix", "replace",
    "rfind",        "rindex",     "rjust",     "rpartition",  "rsplit",    "rstrip",       "split",        "splitlines",
    "startswith",   "strip",      "swapcase",  "title",       "translate", "upper",        "zfill"};
inline constexpr std::array<std::string_view, 11> dict_methods = {
    "clear", "copy", "fromkeys", "get", "items", "keys", "pop", "popitem", "setdefault", "update", "values"};
inline constexpr std::array<std::string_view, 11> list_methods = {
    "append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort"};
inline constexpr std::array<std::string_view, 8> number_attributes = {
    "as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator", "imag", "numerator", "real"};

inline value text_list(meter& at, const std::vector<std::string>& parts, bool is_safe, form kind = form::list) {
    std::vector<value> out;
    for (const auto& part : parts) out.push_back(make_text(at, part, is_safe));
    return make_sequence(at, std::move(out), kind);
}

/// str.split and str.rsplit at blanks.
inline std::vector<std::string> split_at_blanks(std::string_view text, std::int64_t most, bool from_right) {
    std::vector<std::string> out;
    const auto from = from_right ? side::right : side::left;
    for (text = strip(text, from); !text.empty(); text = strip(text, from)) {
        if (most >= 0 && static_cast<std::int64_t>(out.size()) == most) {
            out.emplace_back(text);
            break;
        }
        const auto kept = strip_if(text, from, [](char32_t code) { return !is_blank(code); });
        out.emplace_back(from_right ? text.substr(kept.size()) : text.substr(0, text.size() - kept.size()));
        text = kept;
    }
    if (from_right) std::reverse(out.begin(), out.end());
    return out;
}

/// The same at a text.
inline std::vector<std::string> split_at(std::string_view text, std::string_view mark, std::int64_t most,
                                         bool from_right) {
    std::vector<std::string> out;
    while (most < 0 || static_cast<std::int64_t>(out.size()) < most) {
        const auto found = from_right ? text.rfind(mark) : text.find(mark);
        if (found == std::string_view::npos) break;
        out.emplace_back(from_right ? text.substr(found + mark.size()) : text.substr(0, found));
        text = from_right ? text.substr(0, found) : text.substr(found + mark.size());
    }
    out.emplace_back(text);
    if (from_right) std::reverse(out.begin(), out.end());
    return out;
}

/// str.format with {}, {0} and {name}, as texts; other fields are refused.
inline std::string formatted(meter& at, std::string_view pattern, const arguments& given) {
    std::string out;
    std::size_t next = 0;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const char letter = pattern[i];
        if (letter != '{' && letter != '}') {
            out += letter;
        } else if (i + 1 < pattern.size() && pattern[i + 1] == letter) {
            out += pattern[i++];
        } else {
            const auto end = pattern.find('}', i);
            if (letter == '}' || end == std::string_view::npos) at.fail("format: an unbalanced brace");
            const auto field = pattern.substr(i + 1, end - i - 1);
            const bool is_number = field.find_first_not_of("0123456789") == std::string_view::npos && field.size() < 6;
            const auto named =
                std::find_if(given.named.begin(), given.named.end(), [&](auto& each) { return each.first == field; });
            const auto index = !is_number      ? given.positional.size()
                               : field.empty() ? next++
                                               : std::stoul(std::string(field));
            if (index >= given.positional.size() && named == given.named.end()) {
                at.fail("format: the field ", quote(field, 40), " is not supported, or not given");
            }
            printer(at, out).print(index < given.positional.size() ? given.positional[index] : named->second);
            i = end;
        }
    }
    return out;
}

class str_caller {
 public:
    str_caller(meter& at, const value& self, std::string_view name, const arguments& given)
        : at_(at), self_(self), text_(self.bytes()), is_safe_(self.is_safe()), name_(name), given_(given) {}

    value call() {
        at_.read(text_.size());
        if (const auto cut = strip_side()) return call_strip(*cut);
        if (name_ == "split" || name_ == "rsplit") return call_split();
        if (name_ == "startswith" || name_ == "endswith") return call_ends();
        if (name_ == "replace") return call_replace();
        if (name_ == "find" || name_ == "rfind" || name_ == "index" || name_ == "rindex") return call_find();
        if (name_ == "removeprefix" || name_ == "removesuffix") return call_remove();
        if (name_ == "partition" || name_ == "rpartition") return call_partition();
        if (name_ == "join") return call_join();
        if (name_ == "format") {
            if (is_safe_) at_.fail("format of safe text is not supported");
            return make_text(at_, formatted(at_, text_, given_));
        }
        if (name_ == "count") return value(static_cast<std::int64_t>(count_of(text_, bind({"sub"}).text(0))));
        return call_plain();
    }

 private:
    bound_arguments bind(std::initializer_list<std::string_view> parameters) const {
        return {at_, name_, given_, parameters};
    }

    std::optional<side> strip_side() const {
        if (name_ == "strip") return side::both;
        if (name_ == "lstrip") return side::left;
        return name_ == "rstrip" ? std::optional(side::right) : std::nullopt;
    }

    value make(std::string_view text) const { return make_text(at_, std::string(text), is_safe_); }

    value call_strip(side cut) const {
        const auto in = bind({"chars"});
        if (in.is_none_or_missing(0)) return make(strip(text_, cut));
        at_.make(in.text(0).size() * sizeof(char32_t));
        return make(strip(text_, cut, in.text(0)));
    }

    value call_split() const {
        const auto in = bind({"sep", "maxsplit"});
        const auto most = in.integer_or(1, -1);
        const bool from_right = name_ == "rsplit";
        at_.make(text_.size() * (in.is_none_or_missing(0) ? 32U : 64U / std::max<std::size_t>(in.text(0).size(), 1)));
        if (in.is_none_or_missing(0)) return text_list(at_, split_at_blanks(text_, most, from_right), is_safe_);
        if (in.text(0).empty()) at_.fail(name_, ": an empty separator");
        return text_list(at_, split_at(text_, in.text(0), most, from_right), is_safe_);
    }

    value call_ends() const {
        const auto in = bind({"prefix"});
        const auto fits = [&](const value& part) {
            if (!part.is_text()) at_.fail(name_, " of a ", type_of(part), " is not defined");
            return name_ == "startswith" ? text_.starts_with(part.bytes()) : text_.ends_with(part.bytes());
        };
        const auto* several = in.at(0).elements();
        require_defined(at_, in.at(0));
        if (!several || several->kind != form::tuple) return value(fits(in.at(0)));
        return value(std::any_of(several->items.begin(), several->items.end(), fits));
    }

    value call_replace() const {
        const auto in = bind({"old", "new", "count"});
        const auto part = [&](std::size_t i) {
            return is_safe_ && !in.at(i).is_safe() ? markup_of(in.text(i)) : in.text(i);
        };
        const auto from = part(0), to = part(1);
        at_.make(count_of(text_, from) * to.size());
        return make(replaced(text_, from, to, in.integer_or(2, -1)));
    }

    value call_find() const {
        const auto in = bind({"sub"});
        const auto found = name_[0] == 'r' ? text_.rfind(in.text(0)) : text_.find(in.text(0));
        if (found == std::string::npos && name_.ends_with("index"))
            at_.fail(name_, ": ", quote(in.text(0), 40), " is not there");
        if (found == std::string::npos) return value(std::int64_t{-1});
        return value(static_cast<std::int64_t>(length_of(std::string_view(text_).substr(0, found))));
    }

    value call_remove() const {
        const auto in = bind({"part"});
        std::string_view text = text_;
        if (name_ == "removeprefix" && text.starts_with(in.text(0))) text.remove_prefix(in.text(0).size());
        if (name_ == "removesuffix" && text.ends_with(in.text(0))) text.remove_suffix(in.text(0).size());
        return make(text);
    }

    value call_partition() const {
        const auto in = bind({"sep"});
        if (in.text(0).empty()) at_.fail(name_, ": an empty separator");
        const auto found = name_ == "partition" ? text_.find(in.text(0)) : text_.rfind(in.text(0));
        std::vector<std::string> parts = {text_, "", ""};
        if (found != std::string::npos) {
            parts = {text_.substr(0, found), in.text(0), text_.substr(found + in.text(0).size())};
        } else if (name_ == "rpartition") {
            parts = {"", "", text_};
        }
        return text_list(at_, parts, is_safe_, form::tuple);
    }

    value call_join() const {
        const auto in = bind({"iterable"});
        require_defined(at_, in.at(0));
        std::string out;
        bool is_first = true;
        for (const auto& part : iterate(at_, in.at(0))) {
            if (!part.is_text()) at_.fail("join of a ", type_of(part), " is not defined");
            if (is_safe_) at_.fail("join of safe text is not supported");
            at_.make(text_.size() + part.bytes().size());
            if (!std::exchange(is_first, false)) out += text_;
            out += part.bytes();
        }
        return make_text(at_, std::move(out));
    }

    static bool is_letter(char letter) { return is_ascii_upper(letter) || is_ascii_lower(letter); }

    value call_plain() const {
        bind({});
        if (name_ == "upper") return uppered(at_, text_, is_safe_);
        if (name_ == "lower") return lowered(at_, text_, is_safe_);
        if (name_ == "capitalize") return capitalized(at_, text_, is_safe_);
        if (name_ == "title") return titled(at_, text_, is_safe_, [](char c) { return !is_letter(c); });
        if (name_ == "isspace") return value(!text_.empty() && strip(text_, side::both).empty());
        if (name_ == "splitlines") {
            std::vector<std::string> lines;
            at_.make(text_.size() * 32);
            for (const auto line : lines_of(text_)) lines.emplace_back(line);
            return text_list(at_, lines, is_safe_);
        }
        if (name_ == "isdigit" || name_ == "isalpha" || name_ == "isalnum") {
            if (length_of(text_) != text_.size()) at_.fail(name_, " of a text beyond ASCII is not supported");
            const auto fits = [&](char c) {
                return (name_ != "isalpha" && c >= '0' && c <= '9') || (name_ != "isdigit" && is_letter(c));
            };
            return value(!text_.empty() && std::all_of(text_.begin(), text_.end(), fits));
        }
        at_.fail("the method ", quote(name_), " of str is not supported");
    }

    meter& at_;
    const value& self_;
    const std::string& text_;
    bool is_safe_;
    std::string_view name_;
    const arguments& given_;
};

/// What keys(), values() and items() of a mapping list, or a loop over the filter `items`.
inline value view_of(meter& at, const mapping& of, std::string_view name, form kind = form::view) {
    std::vector<value> out;
    at.make(of.items.size() * sizeof(value));
    for (const auto& [key, item] : of.items) {
        if (name == "items") {
            out.push_back(make_sequence(at, {key, item}, form::tuple));
        } else {
            out.push_back(name == "keys" ? key : item);
        }
    }
    return make_sequence(at, std::move(out), kind);
}

inline value call_dict_method(meter& at, const value& self, std::string_view name, const arguments& given) {
    if (name == "get") {
        const bound_arguments in(at, name, given, {"key", "default"});
        const auto* found = find_key(at, *self.members(), in.at(0));
        return found ? *found : in.value_or(1, none{});
    }
    const bound_arguments in(at, name, given, {});
    if (name == "keys" || name == "values" || name == "items") return view_of(at, *self.members(), name);
    if (name == "copy") return self;
    at.fail("the method ", quote(name), " of dict is not supported: templates do not change values");
}

inline value call_list_method(meter& at, const value& self, std::string_view name, const arguments& given) {
    if (name == "copy") return bound_arguments(at, name, given, {}), self;
    if (name != "count" && name != "index") {
        at.fail("the method ", quote(name), " of list is not supported: templates do not change values");
    }
    const bound_arguments in(at, name, given, {"value"});
    std::int64_t count = 0;
    const auto& items = self.elements()->items;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (!are_equal(at, items[i], in.at(0))) continue;
        if (name == "index") return value(static_cast<std::int64_t>(i));
        ++count;
    }
    if (name == "index") at.fail("index: the value is not in the list");
    return value(count);
}

/// The method of a value by a name, or nothing where Python's type has none.
inline std::optional<value> method_of(const value& of, const std::string& name) {
    const auto* all = of.elements();
    const bool is_list = all && all->kind == form::list;
    const bool is_other =
        all && (name == "count" || name == "index") && (all->kind == form::tuple || all->kind == form::range);
    const bool has = (of.is_text() && is_one_of(name, str_methods)) ||
                     (of.members() && is_one_of(name, dict_methods)) || (is_list && is_one_of(name, list_methods)) ||
                     is_other || (of.is_number() && is_one_of(name, number_attributes));
    if (!has) return std::nullopt;
    return value(std::make_shared<const callable>(callable{name, of}));
}

inline value call_method(meter& at, const callable& method, const arguments& given) {
    if (method.self.is_text()) return str_caller(at, method.self, method.name, given).call();
    if (method.self.members()) return call_dict_method(at, method.self, method.name, given);
    if (method.self.elements()) return call_list_method(at, method.self, method.name, given);
    at.fail("the method ", quote(method.name), " of ", type_of(method.self), " is not supported");
}

}  // namespace augur::io::jinja
