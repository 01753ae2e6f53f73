#pragma once
// Jinja2's tests: `value is name`.

#include <algorithm>
#include <augur/io/text/jinja_arguments.hpp>
#include <augur/io/text/jinja_case.hpp>
#include <augur/io/text/jinja_machine.hpp>
#include <augur/io/text/jinja_names.hpp>
#include <augur/io/text/jinja_operators.hpp>
#include <augur/io/text/jinja_value.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace augur::io::jinja {

/// == != < <= > >= by their signs and names, or nothing.
inline std::string_view sign_of_test(std::string_view name) {
    constexpr std::string_view names[][2] = {{"eq", "=="}, {"equalto", "=="},    {"ne", "!="},
                                             {"lt", "<"},  {"lessthan", "<"},    {"le", "<="},
                                             {"gt", ">"},  {"greaterthan", ">"}, {"ge", ">="}};
    for (const auto& [word, sign] : names) {
        if (word == name) return sign;
    }
    for (const std::string_view sign : {"==", "!=", "<", "<=", ">", ">="}) {
        if (sign == name) return sign;
    }
    return {};
}

/// a == b and so on, also `in` and `not in`.
inline bool compare(machine& m, std::string_view sign, const value& a, const value& b) {
    if (sign == "==") return are_equal(m, a, b);
    if (sign == "!=") return !are_equal(m, a, b);
    if (sign == "<") return is_less(m, a, b);
    if (sign == ">") return is_less(m, b, a);
    if (sign == "<=") return is_less(m, a, b) || are_equal(m, a, b);
    if (sign == ">=") return is_less(m, b, a) || are_equal(m, a, b);
    return contains(m, b, a) == (sign == "in");
}

inline bool is_iterable(const value& of) {
    return of.is<undefined>() || of.is_text() || of.elements() || of.members() || of.is<std::shared_ptr<loop_state>>();
}

/// The tests of a value's type.
inline std::optional<bool> test_type(std::string_view name, const value& of) {
    if (name == "defined") return !of.is<undefined>();
    if (name == "undefined") return of.is<undefined>();
    if (name == "none") return of.is<none>();
    if (name == "string") return of.is_text();
    if (name == "mapping") return of.members() != nullptr;
    if (name == "number") return of.is_number();
    if (name == "integer") return of.is<std::int64_t>();
    if (name == "float") return of.is<double>();
    if (name == "boolean") return of.is<bool>();
    if (name == "true") return of.is<bool>() && is_true(of);
    if (name == "false") return of.is<bool>() && !is_true(of);
    if (name == "callable")
        return of.is<std::shared_ptr<const callable>>() || of.is<undefined>() || of.is<std::shared_ptr<loop_state>>();
    if (name == "iterable") return is_iterable(of);
    const auto* all = of.elements();
    const bool is_numbered = all && all->kind != form::view && all->kind != form::generator;
    if (name == "sequence") return of.is<undefined>() || of.is_text() || of.members() || is_numbered;
    return std::nullopt;
}

inline bool test_number(machine& m, std::string_view name, const value& of, std::int64_t by, std::int64_t rest) {
    if (!of.is_integral()) fail_operands(m, name, of, value(by));
    const auto found = integer_operation(m, '%', of.integer(), by).integer();
    return found == rest;
}

/// str.islower and str.isupper.
inline bool test_case(machine& m, std::string_view name, const value& of) {
    const auto text = text_of(m, of);
    require_known_case(m, text, name);
    bool (*wanted)(char) = is_ascii_upper;
    bool (*other)(char) = is_ascii_lower;
    if (name == "lower") std::swap(wanted, other);
    return std::any_of(text.begin(), text.end(), wanted) && std::none_of(text.begin(), text.end(), other);
}

inline bool apply_test(machine& m, const std::string& name, const value& of, const arguments& given) {
    m.step();
    if (!is_one_of(name, test_names)) m.fail("the test ", quote(name, 40), " is not supported");
    if (const auto found = test_type(name, of)) return bound_arguments(m, name, given, {}), *found;
    if (name == "even" || name == "odd")
        return bound_arguments(m, name, given, {}), test_number(m, name, of, 2, name == "odd");
    if (name == "lower" || name == "upper") return bound_arguments(m, name, given, {}), test_case(m, name, of);
    const bound_arguments in(m, name, given, {"other"});
    const auto& other = in.at(0);
    if (const auto sign = sign_of_test(name); !sign.empty()) return compare(m, sign, of, other);
    if (name == "in") return contains(m, other, of);
    if (name == "divisibleby") return test_number(m, name, of, in.integer(0), 0);
    if (name == "filter") return is_one_of(text_of(m, of), filter_names);
    if (!other.is<none>() && !other.is<bool>())
        m.fail("the test 'sameas' with a ", type_of(other), " is not supported");
    return other.is<none>() ? of.is<none>() : of.is<bool>() && is_true(of) == is_true(other);
}

}  // namespace augur::io::jinja
