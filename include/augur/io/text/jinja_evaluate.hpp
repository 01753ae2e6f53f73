#pragma once
// Evaluates the expressions of a template.

#include <augur/io/text/jinja_ast.hpp>
#include <augur/io/text/jinja_calls.hpp>
#include <augur/io/text/jinja_list_filters.hpp>
#include <augur/io/text/jinja_machine.hpp>
#include <augur/io/text/jinja_operators.hpp>
#include <augur/io/text/jinja_tests.hpp>
#include <augur/io/text/jinja_value.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace augur::io::jinja {

inline value evaluate_name(machine& m, const expression& of) {
    if (const auto* found = m.find(of.symbol)) return *found;
    if (is_one_of(of.name, global_names)) return value(std::make_shared<const callable>(callable{.name = of.name}));
    if (is_one_of(of.name, other_globals)) m.fail("the function ", quote(of.name), " is not supported");
    return make_undefined(quote(of.name, 40) + " is undefined");
}

inline arguments evaluate_arguments(machine& m, const expression& of) {
    arguments given;
    for (std::size_t i = 1; i < of.parts.size(); ++i) given.positional.push_back(evaluate(m, *of.parts[i]));
    for (const auto& [name, part] : of.named) given.named.emplace_back(name, evaluate(m, *part));
    m.make((of.parts.size() + of.named.size()) * sizeof(value));
    return given;
}

inline value evaluate_list(machine& m, const expression& of) {
    std::vector<value> items;
    for (const auto& part : of.parts) items.push_back(evaluate(m, *part));
    return make_sequence(m, std::move(items), of.kind == expression_kind::tuple ? form::tuple : form::list);
}

inline value evaluate_dict(machine& m, const expression& of) {
    std::vector<std::pair<value, value>> items;
    for (std::size_t i = 0; i < of.parts.size(); i += 2) {
        auto key = evaluate(m, *of.parts[i]), item = evaluate(m, *of.parts[i + 1]);
        const auto* all = key.elements();
        if (key.members() || (all && all->kind != form::tuple)) m.fail("a ", type_of(key), " as a key");
        m.step(1 + items.size() / 8);
        const auto there = std::find_if(items.begin(), items.end(), [&](const auto& each) {
            return each.first.is_text() == key.is_text() && are_equal(m, each.first, key);
        });
        if (there != items.end()) {
            there->second = std::move(item);
        } else {
            items.emplace_back(std::move(key), std::move(item));
        }
    }
    return make_mapping(m, std::move(items));
}

inline value evaluate_slice(machine& m, const expression& of) {
    const auto base = evaluate(m, *of.parts[0]);
    const auto bound = [&](std::size_t i) -> std::optional<std::int64_t> {
        if (!of.parts[i]) return std::nullopt;
        const auto given = evaluate(m, *of.parts[i]);
        if (given.is<none>()) return std::nullopt;
        if (!given.is_integral()) m.fail("a slice by a ", type_of(given), " is not defined");
        return given.integer();
    };
    const slice by{bound(1), bound(2), bound(3)};
    m.line = of.line;
    return sliced(m, base, by);
}

/// a < b < c: each part once, up to the first that does not hold.
inline value evaluate_comparison(machine& m, const expression& of) {
    auto left = evaluate(m, *of.parts[0]);
    for (std::size_t i = 0; i < of.signs.size(); ++i) {
        auto right = evaluate(m, *of.parts[i + 1]);
        m.line = of.line;
        if (!compare(m, of.signs[i], left, right)) return value(false);
        left = std::move(right);
    }
    return value(true);
}

inline value evaluate_together(machine& m, const expression& of) {
    std::string out;
    for (const auto& part : of.parts) printer(m, out).print(evaluate(m, *part));
    return make_text(m, std::move(out));
}

inline value evaluate_sign(machine& m, const expression& of) {
    const auto given = evaluate(m, *of.parts[0]);
    m.line = of.line;
    require_defined(m, given);
    if (!given.is_number()) m.fail("a sign in front of a ", type_of(given));
    if (given.is<double>()) return value(of.kind == expression_kind::negative ? -given.real() : given.real());
    return integer_operation(m, of.kind == expression_kind::negative ? '-' : '+', 0, given.integer());
}

inline value evaluate_test(machine& m, const expression& of) {
    const auto base = evaluate(m, *of.parts[0]);
    const auto given = evaluate_arguments(m, of);
    m.line = of.line;
    return value(apply_test(m, of.name, base, given));
}

inline value evaluate_conditional(machine& m, const expression& of) {
    if (is_true(evaluate(m, *of.parts[1]))) return evaluate(m, *of.parts[0]);
    if (of.parts[2]) return evaluate(m, *of.parts[2]);
    return make_undefined("the condition is false, and there is no else");
}

/// Operations on the values of all parts.
inline value evaluate_operation(machine& m, const expression& of) {
    const auto first = evaluate(m, *of.parts[0]);
    switch (of.kind) {
        case expression_kind::attribute:
            m.line = of.line;
            return get_attribute(m, first, of.name);
        case expression_kind::item: {
            const auto key = evaluate(m, *of.parts[1]);
            m.line = of.line;
            return get_item(m, first, key);
        }
        case expression_kind::call: {
            auto given = evaluate_arguments(m, of);
            m.line = of.line;
            return call(m, first, std::move(given));
        }
        case expression_kind::filter: {
            const auto given = evaluate_arguments(m, of);
            m.line = of.line;
            return apply_filter(m, of.name, first, given);
        }
        case expression_kind::both:
            return is_true(first) ? evaluate(m, *of.parts[1]) : first;
        case expression_kind::either:
            return is_true(first) ? first : evaluate(m, *of.parts[1]);
        case expression_kind::opposite:
            return value(!is_true(first));
        default: {
            const auto second = evaluate(m, *of.parts[1]);
            m.line = of.line;
            return operate(m, of.sign, first, second);
        }
    }
}

inline value evaluate(machine& m, const expression& of) {
    const meter::level deeper(m);
    m.step();
    m.line = of.line;
    switch (of.kind) {
        case expression_kind::constant:
            return of.constant;
        case expression_kind::name:
            return evaluate_name(m, of);
        case expression_kind::block_text:
            return m.block_text;
        case expression_kind::list:
        case expression_kind::tuple:
            return evaluate_list(m, of);
        case expression_kind::dict:
            return evaluate_dict(m, of);
        case expression_kind::slice:
            return evaluate_slice(m, of);
        case expression_kind::test:
            return evaluate_test(m, of);
        case expression_kind::negative:
        case expression_kind::positive:
            return evaluate_sign(m, of);
        case expression_kind::comparison:
            return evaluate_comparison(m, of);
        case expression_kind::together:
            return evaluate_together(m, of);
        case expression_kind::conditional:
            return evaluate_conditional(m, of);
        default:
            return evaluate_operation(m, of);
    }
}

}  // namespace augur::io::jinja
