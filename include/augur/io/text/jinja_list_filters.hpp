#pragma once
// Jinja2's filters of lists, and the dispatch to all filters.

#include <algorithm>
#include <augur/io/text/jinja_arguments.hpp>
#include <augur/io/text/jinja_case.hpp>
#include <augur/io/text/jinja_filters.hpp>
#include <augur/io/text/jinja_machine.hpp>
#include <augur/io/text/jinja_names.hpp>
#include <augur/io/text/jinja_operators.hpp>
#include <augur/io/text/jinja_value.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur::io::jinja {

/// What a filter sorts or compares by: an attribute, texts without their case.
inline value sort_key(machine& m, const value& of, const bound_arguments& in, std::size_t attribute,
                      std::size_t case_sensitive) {
    auto key = in.is_none_or_missing(attribute) ? of : get_path(m, of, in.at(attribute));
    if (in.truth_or(case_sensitive, false) || !key.is_text()) return key;
    return lowered(m, key.bytes(), false);
}

/// Stable, by `key(item)`, and by `key` downwards where it is reversed.
template <class Key>
std::vector<value> sorted(machine& m, std::vector<value> items, bool is_reversed, Key key) {
    std::vector<std::pair<value, value>> keyed;
    for (auto& item : items) keyed.emplace_back(key(item), item);
    m.make(keyed.size() * sizeof(keyed[0]));
    std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
        return is_reversed ? is_less(m, b.first, a.first) : is_less(m, a.first, b.first);
    });
    for (std::size_t i = 0; i < items.size(); ++i) items[i] = keyed[i].second;
    return items;
}

inline value filter_sort(machine& m, const value& of, const arguments& given) {
    const bound_arguments in(m, "sort", given, {"reverse", "case_sensitive", "attribute"});
    if (in.has(2) && in.at(2).is_text() && in.text(2).find(',') != std::string::npos)
        m.fail("sort by several attributes is not supported");
    return make_sequence(m, sorted(m, iterate(m, of), in.truth_or(0, false),
                                   [&](const value& item) { return sort_key(m, item, in, 2, 1); }));
}

inline value filter_dictsort(machine& m, const value& of, const arguments& given) {
    const bound_arguments in(m, "dictsort", given, {"case_sensitive", "by", "reverse"});
    require_defined(m, of);
    if (!of.members()) m.fail("dictsort of a ", type_of(of), " is not defined");
    const auto by = in.has(1) ? in.text(1) : "key";
    if (by != "key" && by != "value") m.fail("dictsort: by ", quote(by, 40), " is not known");
    const auto pairs = view_of(m, *of.members(), "items");
    return make_sequence(m, sorted(m, pairs.elements()->items, in.truth_or(2, false), [&](const value& item) {
                             const auto& part = item.elements()->items[by == "key" ? 0 : 1];
                             return part.is_text() && !in.truth_or(0, false) ? lowered(m, part.bytes(), false) : part;
                         }));
}

inline value filter_join(machine& m, const value& of, const arguments& given) {
    const bound_arguments in(m, "join", given, {"d", "attribute"});
    const auto mark = in.has(0) ? text_of(m, in.at(0)) : "";
    std::string out;
    bool is_first = true;
    for (const auto& item : iterate(m, of)) {
        if (!std::exchange(is_first, false)) {
            m.make(mark.size());
            out += mark;
        }
        printer(m, out).print(in.is_none_or_missing(1) ? item : get_path(m, item, in.at(1)));
    }
    return make_text(m, std::move(out));
}

inline value filter_first(machine& m, const value& of) {
    if (const auto* all = of.elements(); all && all->kind == form::generator) {
        return all->taken < all->items.size() ? all->items[all->taken++] : make_undefined("there is no first item");
    }
    const auto items = iterate(m, of);
    return items.empty() ? make_undefined("there is no first item, the sequence is empty") : items.front();
}

inline value filter_last(machine& m, const value& of) {
    if (const auto* all = of.elements(); all && all->kind == form::generator)
        m.fail("last of a generator is not defined");
    const auto items = iterate(m, of);
    return items.empty() ? make_undefined("there is no last item, the sequence is empty") : items.back();
}

inline value filter_reverse(machine& m, const value& of) {
    if (const auto* all = of.elements(); all && all->kind == form::generator)
        m.fail("reverse of a generator is not supported");
    auto items = iterate(m, of);
    std::reverse(items.begin(), items.end());
    if (!of.is_text()) return make_sequence(m, std::move(items), form::generator);
    std::string out;
    for (const auto& item : items) out += item.bytes();
    return make_text(m, std::move(out), of.is_safe());
}

/// What map, select and the like read: nothing of a value that is false.
inline std::vector<value> iterate_if_true(machine& m, const value& of) {
    return is_true(of) ? iterate(m, of) : std::vector<value>();
}

/// By an attribute with a default, or through a filter.
inline value filter_map(machine& m, const value& of, const arguments& given) {
    std::vector<value> out;
    if (given.positional.empty()) {
        const bound_arguments in(m, "map", given, {"attribute", "default"});
        in.at(0);
        for (const auto& item : iterate_if_true(m, of)) {
            auto found = get_path(m, item, in.at(0));
            out.push_back(found.is<undefined>() ? in.value_or(1, std::move(found)) : std::move(found));
        }
        return make_sequence(m, std::move(out), form::generator);
    }
    const auto& name = given.positional[0];
    if (!name.is_text()) m.fail("map: the name of a filter must be a string, not a ", type_of(name));
    const arguments rest{{given.positional.begin() + 1, given.positional.end()}, given.named};
    for (const auto& item : iterate_if_true(m, of)) out.push_back(apply_filter(m, name.bytes(), item, rest));
    return make_sequence(m, std::move(out), form::generator);
}

/// select, reject, selectattr, rejectattr: those that a test, or being true, holds for.
inline value filter_select(machine& m, std::string_view name, const value& of, const arguments& given) {
    const bool by_attribute = name.ends_with("attr"), is_kept = name.starts_with("select");
    const std::size_t skipped = by_attribute ? 1 : 0;
    if (given.positional.size() < skipped) m.fail(name, ": the argument attribute is missing");
    const bool has_test = given.positional.size() > skipped;
    if (has_test && !given.positional[skipped].is_text()) m.fail(name, ": the name of a test must be a string");
    arguments rest{{}, given.named};
    if (has_test)
        rest.positional.assign(given.positional.begin() + static_cast<std::ptrdiff_t>(skipped) + 1,
                               given.positional.end());
    std::vector<value> out;
    for (const auto& item : iterate_if_true(m, of)) {
        const auto part = by_attribute ? get_path(m, item, given.positional[0]) : item;
        const bool holds = has_test ? apply_test(m, given.positional[skipped].bytes(), part, rest) : is_true(part);
        if (holds == is_kept) out.push_back(item);
    }
    return make_sequence(m, std::move(out), form::generator);
}

inline value filter_unique(machine& m, const value& of, const arguments& given) {
    const bound_arguments in(m, "unique", given, {"case_sensitive", "attribute"});
    std::vector<value> out, keys;
    for (const auto& item : iterate(m, of)) {
        auto key = sort_key(m, item, in, 1, 0);
        if (std::any_of(keys.begin(), keys.end(), [&](const value& each) { return are_equal(m, each, key); })) continue;
        keys.push_back(std::move(key));
        out.push_back(item);
    }
    return make_sequence(m, std::move(out), form::generator);
}

inline value filter_extreme(machine& m, std::string_view name, const value& of, const arguments& given) {
    const bound_arguments in(m, name, given, {"case_sensitive", "attribute"});
    const auto items = iterate(m, of);
    if (items.empty()) return make_undefined("there is no aggregated item, the sequence is empty");
    auto best = items[0], best_key = sort_key(m, best, in, 1, 0);
    for (std::size_t i = 1; i < items.size(); ++i) {
        auto key = sort_key(m, items[i], in, 1, 0);
        if (!(name == "min" ? is_less(m, key, best_key) : is_less(m, best_key, key))) continue;
        best = items[i];
        best_key = std::move(key);
    }
    return best;
}

inline value filter_sum(machine& m, const value& of, const arguments& given) {
    const bound_arguments in(m, "sum", given, {"attribute", "start"});
    auto sum = in.value_or(1, value(std::int64_t{0}));
    for (const auto& item : iterate(m, of))
        sum = operate(m, '+', sum, in.is_none_or_missing(0) ? item : get_path(m, item, in.at(0)));
    return sum;
}

/// Tuples of a key and the list of its items, in the order of keys.
inline value filter_groupby(machine& m, const value& of, const arguments& given) {
    const bound_arguments in(m, "groupby", given, {"attribute", "default", "case_sensitive"});
    const auto key_of = [&](const value& item) {
        auto key = get_path(m, item, in.at(0));
        if (key.is<undefined>()) key = in.value_or(1, std::move(key));
        return key.is_text() && !in.truth_or(2, false) ? lowered(m, key.bytes(), false) : key;
    };
    std::vector<std::pair<value, std::vector<value>>> groups;
    for (const auto& item : sorted(m, iterate(m, of), false, key_of)) {
        auto key = key_of(item);
        if (groups.empty() || !are_equal(m, groups.back().first, key))
            groups.emplace_back(std::move(key), std::vector<value>());
        groups.back().second.push_back(item);
    }
    std::vector<value> out;
    for (auto& [key, items] : groups) {
        auto name = get_path(m, items[0], in.at(0));
        if (name.is<undefined>()) name = in.value_or(1, key);
        out.push_back(make_sequence(m, {std::move(name), make_sequence(m, std::move(items))}, form::tuple));
    }
    return make_sequence(m, std::move(out));
}

inline value filter_items(machine& m, const value& of) {
    if (of.is<undefined>()) return make_sequence(m, {}, form::generator);
    if (!of.members()) m.fail("items of a ", type_of(of), " is not defined");
    return view_of(m, *of.members(), "items", form::generator);
}

/// The filters of lists that take no arguments, or nothing.
inline std::optional<value> filter_list(machine& m, std::string_view name, const value& of) {
    if (name == "length" || name == "count") return value(count_of(m, of));
    if (name == "list") return make_sequence(m, iterate(m, of));
    if (name == "first") return filter_first(m, of);
    if (name == "last") return filter_last(m, of);
    if (name == "items") return filter_items(m, of);
    return name == "reverse" ? std::optional(filter_reverse(m, of)) : std::nullopt;
}

inline value apply_filter(machine& m, const std::string& name, const value& of, const arguments& given) {
    using function = value (*)(machine&, const value&, const arguments&);
    constexpr std::pair<std::string_view, function> with_arguments[] = {
        {"abs", filter_abs},           {"d", filter_default},       {"default", filter_default},
        {"dictsort", filter_dictsort}, {"float", filter_float},     {"groupby", filter_groupby},
        {"indent", filter_indent},     {"int", filter_int},         {"join", filter_join},
        {"map", filter_map},           {"replace", filter_replace}, {"round", filter_round},
        {"sort", filter_sort},         {"sum", filter_sum},         {"tojson", filter_tojson},
        {"trim", filter_trim},         {"unique", filter_unique}};
    m.step();
    for (const auto& [each, run] : with_arguments) {
        if (each == name) return run(m, of, given);
    }
    if (name == "min" || name == "max") return filter_extreme(m, name, of, given);
    if (name == "select" || name == "reject" || name == "selectattr" || name == "rejectattr")
        return filter_select(m, name, of, given);
    if (!is_one_of(name, filter_names)) m.fail("the filter ", quote(name, 40), " is not supported");
    bound_arguments(m, name, given, {});
    if (auto found = filter_list(m, name, of)) return *found;
    return *filter_text(m, name, of);
}

}  // namespace augur::io::jinja
