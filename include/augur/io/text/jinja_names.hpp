#pragma once
// The names of the supported Jinja2 filters, tests and methods.

#include <algorithm>
#include <array>
#include <string_view>

namespace augur::io::jinja {

inline constexpr std::array<std::string_view, 38> filter_names = {
    "abs",     "capitalize", "count",  "d",          "default", "dictsort", "e",      "escape", "first",  "float",
    "groupby", "indent",     "int",    "items",      "join",    "last",     "length", "list",   "lower",  "map",
    "max",     "min",        "reject", "rejectattr", "replace", "reverse",  "round",  "safe",   "select", "selectattr",
    "sort",    "string",     "sum",    "title",      "tojson",  "trim",     "unique", "upper"};

inline constexpr std::array<std::string_view, 37> test_names = {
    "!=",       "<",           "<=",      "==",        ">",       ">=",       "boolean", "callable",
    "defined",  "divisibleby", "eq",      "equalto",   "even",    "false",    "filter",  "float",
    "ge",       "greaterthan", "gt",      "in",        "integer", "iterable", "le",      "lessthan",
    "lower",    "lt",          "mapping", "ne",        "none",    "number",   "odd",     "sameas",
    "sequence", "string",      "true",    "undefined", "upper"};

template <class Names>
bool is_one_of(std::string_view name, const Names& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace augur::io::jinja
