#pragma once
// Jinja2's filters of single values: `value|name`. Those of lists are in jinja_list_filters.hpp.

#include <augur/io/text/jinja_arguments.hpp>
#include <augur/io/text/jinja_case.hpp>
#include <augur/io/text/jinja_json.hpp>
#include <augur/io/text/jinja_machine.hpp>
#include <augur/io/text/jinja_operators.hpp>
#include <augur/io/text/jinja_text.hpp>
#include <augur/io/text/jinja_value.hpp>
#include <augur/io/text/markup.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace augur::io::jinja {

/// The number that a text spells for Python's int or float, blanks around it.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
    text = strip(text, side::both);
    if (text.starts_with('+') && !text.substr(1).starts_with('-')) text.remove_prefix(1);
    Number number{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

inline value to_integer(machine& m, double of) {
    if (!(std::fabs(of) < 9.2e18)) m.fail("int of ", real_text(of), " is not supported");
    return value(static_cast<std::int64_t>(of));
}

inline value filter_int(machine& m, const value& of, const arguments& given) {
    const bound_arguments in(m, "int", given, {"default", "base"});
    if (in.integer_or(1, 10) != 10) m.fail("int: the base ", in.integer(1), " is not supported");
    require_defined(m, of);
    if (of.is_integral()) return value(of.integer());
    if (of.is<double>()) return to_integer(m, of.real());
    if (of.is_text()) {
        if (of.bytes().find('_') != std::string::npos) m.fail("int of ", quote(of.bytes(), 40), " is not supported");
        if (const auto number = parse_number<std::int64_t>(of.bytes())) return value(*number);
        if (const auto number = parse_number<double>(of.bytes()); number && std::isfinite(*number))
            return to_integer(m, *number);
    }
    return in.value_or(0, value(std::int64_t{0}));
}

inline value filter_float(machine& m, const value& of, const arguments& given) {
    const bound_arguments in(m, "float", given, {"default"});
    require_defined(m, of);
    if (of.is_number()) return value(of.real());
    if (of.is_text()) {
        if (of.bytes().find('_') != std::string::npos) m.fail("float of ", quote(of.bytes(), 40), " is not supported");
        if (const auto number = parse_number<double>(of.bytes())) return value(*number);
    }
    return in.value_or(0, value(0.0));
}

inline value filter_round(machine& m, const value& of, const arguments& given) {
    const bound_arguments in(m, "round", given, {"precision", "method"});
    const auto precision = in.integer_or(0, 0);
    const auto method = in.has(1) ? in.text(1) : "common";
    if (!of.is_number() || precision < 0 || precision > 15)
        m.fail("round of a ", type_of(of), " to ", precision, " digits is not supported");
    if (method == "common") {
        char digits[400];
        std::snprintf(digits, sizeof digits, "%.*f", static_cast<int>(precision), of.real());
        return value(parse_number<double>(digits).value_or(of.real()));
    }
    if (method != "ceil" && method != "floor") m.fail("round: the method ", quote(method, 40), " is not known");
    const double scale = std::pow(10.0, static_cast<double>(precision)), scaled = of.real() * scale;
    return value((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

inline value filter_abs(machine& m, const value& of, const arguments& given) {
    bound_arguments(m, "abs", given, {});
    if (!of.is_number()) m.fail("abs of a ", type_of(of), " is not defined");
    if (of.is<double>()) return value(std::fabs(of.real()));
    return of.integer() < 0 ? integer_operation(m, '-', 0, of.integer()) : value(of.integer());
}

inline value filter_default(machine& m, const value& of, const arguments& given) {
    const bound_arguments in(m, "default", given, {"default_value", "boolean"});
    const bool is_missing = of.is<undefined>() || (in.truth_or(1, false) && !is_true(of));
    return is_missing ? in.value_or(0, value(std::string())) : of;
}

/// str(), but markup stays.
inline value soft_text(machine& m, const value& of) {
    return of.is_text() ? of : make_text(m, text_of(m, of));
}

inline value filter_trim(machine& m, const value& of, const arguments& given) {
    const bound_arguments in(m, "trim", given, {"chars"});
    const auto text = soft_text(m, of);
    m.read(text.bytes().size());
    const auto letters = in.is_none_or_missing(0) ? std::nullopt : std::optional<std::string_view>(in.text(0));
    return make_text(m, std::string(strip(text.bytes(), side::both, letters)), text.is_safe());
}

inline value filter_replace(machine& m, const value& of, const arguments& given) {
    const bound_arguments in(m, "replace", given, {"old", "new", "count"});
    const auto text = text_of(m, of), from = text_of(m, in.at(0)), to = text_of(m, in.at(1));
    const auto most = in.is_none_or_missing(2) ? -1 : in.integer(2);
    m.make(count_of(text, from) * to.size());
    return make_text(m, replaced(text, from, to, most));
}

/// Lines but the first, and empty ones, begin with blanks.
inline value filter_indent(machine& m, const value& of, const arguments& given) {
    const bound_arguments in(m, "indent", given, {"width", "first", "blank"});
    if (!of.is_text()) m.fail("indent of a ", type_of(of), " is not defined");
    const auto width = in.has(0) && in.at(0).is_text() ? 0 : in.integer_or(0, 4);
    if (width > 1000) m.fail("indent: ", width, " blanks are not supported");
    const auto blanks = in.has(0) && in.at(0).is_text()
                            ? in.text(0)
                            : std::string(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)), ' ');
    const auto text = of.bytes() + "\n";
    m.make(text.size() * sizeof(std::string_view));
    std::string out;
    bool is_first = true;
    for (const auto line : lines_of(text)) {
        m.make(line.size() + blanks.size() + 1);
        if (!is_first) out += '\n';
        if (is_first ? in.truth_or(1, false) : in.truth_or(2, false) || !line.empty()) out += blanks;
        out += line;
        is_first = false;
    }
    return make_text(m, std::move(out), of.is_safe());
}

inline json_style json_style_of(machine& m, const arguments& given) {
    const bound_arguments in(m, "tojson", given, {"ensure_ascii", "indent", "separators", "sort_keys"});
    json_style style{.ascii_only = in.truth_or(0, false), .sorts_keys = in.truth_or(3, false)};
    if (!in.is_none_or_missing(1)) {
        style.is_indented = true;
        style.between_items = ",";
        const auto width = in.at(1).is_text() ? 0 : in.integer(1);
        if (width > 1000) m.fail("tojson: an indent of ", width, " is not supported");
        style.indent = in.at(1).is_text()
                           ? in.text(1)
                           : std::string(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)), ' ');
    }
    if (in.is_none_or_missing(2)) return style;
    const auto* both = in.at(2).elements();
    if (!both || both->items.size() != 2 || !both->items[0].is_text() || !both->items[1].is_text()) {
        m.fail("tojson: separators must be two strings");
    }
    style.between_items = both->items[0].bytes();
    style.after_key = both->items[1].bytes();
    return style;
}

inline value filter_tojson(machine& m, const value& of, const arguments& given) {
    const auto style = json_style_of(m, given);
    std::string out;
    json_writer(m, style, out).write(of);
    return make_text(m, std::move(out));
}

/// The filters of one text that take no arguments, or nothing.
inline std::optional<value> filter_text(machine& m, std::string_view name, const value& of) {
    if (name == "string") return soft_text(m, of);
    if (name == "safe") return value(text_of(m, of), true);
    if (name == "escape" || name == "e") return of.is_safe() ? of : make_text(m, markup_of(text_of(m, of)), true);
    const auto text = soft_text(m, of);
    if (name == "lower") return lowered(m, text.bytes(), text.is_safe());
    if (name == "upper") return uppered(m, text.bytes(), text.is_safe());
    if (name == "capitalize") return capitalized(m, text.bytes(), text.is_safe());
    if (name != "title") return std::nullopt;
    return titled(m, text.bytes(), text.is_safe(), [](char c) {
        return std::string_view("-({[<").find(c) != std::string_view::npos || is_blank(static_cast<unsigned char>(c));
    });
}

}  // namespace augur::io::jinja
