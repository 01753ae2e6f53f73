#pragma once
// Executes the statements of a template.

#include <augur/io/text/jinja_ast.hpp>
#include <augur/io/text/jinja_calls.hpp>
#include <augur/io/text/jinja_evaluate.hpp>
#include <augur/io/text/jinja_machine.hpp>
#include <augur/io/text/jinja_value.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace augur::io::jinja {

inline void assign_attribute(machine& m, const expression& target, value of) {
    const auto base = evaluate(m, *target.parts[0]);
    const auto* space = base.as<std::shared_ptr<name_space>>();
    if (!space) m.fail("an attribute of a ", type_of(base), " cannot be assigned to; those of a namespace can");
    checked_depth(m, depth_of(of));
    m.step((*space)->attributes.size() / 8);
    for (auto& [name, item] : (*space)->attributes) {
        if (name == target.name) return void(item = std::move(of));
    }
    m.make(sizeof(value) + target.name.size());
    (*space)->attributes.emplace_back(target.name, std::move(of));
}

inline void assign(machine& m, const expression& target, value of) {
    if (target.kind == expression_kind::name) return m.assign(target.symbol, std::move(of));
    if (target.kind == expression_kind::attribute) return assign_attribute(m, target, std::move(of));
    m.line = target.line;
    require_defined(m, of);
    auto items = iterate(m, of);
    if (items.size() != target.parts.size()) m.fail(items.size(), " values for ", target.parts.size(), " variables");
    for (std::size_t i = 0; i < items.size(); ++i) assign(m, *target.parts[i], std::move(items[i]));
}

/// What a block writes, through a filter where there is one.
inline value written_block(machine& m, const statement& of) {
    value text;
    {
        const inner_scope variables(m);
        capture into(m);
        execute(m, of.bodies[0]);
        text = make_text(m, std::move(into.written));
    }
    if (of.values.empty()) return text;
    const auto before = std::exchange(m.block_text, std::move(text));
    auto filtered = evaluate(m, *of.values[0]);
    m.block_text = before;
    return filtered;
}

/// The loop's own test, each item in variables of its own.
inline bool passes(machine& m, const statement& of, const value& item) {
    if (of.values.size() < 2) return true;
    const inner_scope variables(m);
    assign(m, *of.targets[0], item);
    return is_true(evaluate(m, *of.values[1]));
}

/// One turn of a loop.
inline flow run_turn(machine& m, const statement& of, const value& item, const std::shared_ptr<loop_state>& loop) {
    const inner_scope variables(m);
    if (of.names_loop) m.assign_named("loop", value(loop));
    assign(m, *of.targets[0], item);
    return execute(m, of.bodies[0]);
}

/// Jinja2 tests each item when its turn comes, or earlier where the body asks for `loop`: how much earlier depends on
/// what is asked. Here all are tested ahead then, and once more in turn; a test that the body changes is refused.
inline flow run_turns(machine& m, const statement& of, const value& over, std::size_t depth) {
    auto loop = std::make_shared<loop_state>();
    loop->depth = depth;
    loop->recursive = of.is_recursive ? &of : nullptr;
    if (of.is_recursive) loop->around = m.scope;
    const auto items = iterate(m, over);
    std::vector<bool> passed_ahead(items.size());
    for (std::size_t i = 0; of.names_loop && i < items.size(); ++i) {
        passed_ahead[i] = passes(m, of, items[i]);
        if (passed_ahead[i]) loop->items.push_back(items[i]);
    }
    m.make(2 * loop->items.size() * sizeof(value));
    bool is_empty = true;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const auto& item = items[i];
        m.step();
        const bool passed = passes(m, of, item);
        if (of.names_loop && passed != passed_ahead[i]) {
            m.line = of.line;
            m.fail("a loop that changes what its own 'if' tests, and reads 'loop', is not supported");
        }
        if (!passed) continue;
        is_empty = false;
        const auto next = run_turn(m, of, item, loop);
        ++loop->at;
        if (next == flow::leave) break;
    }
    if (is_empty && of.bodies.size() > 1) {
        const inner_scope variables(m);
        return execute(m, of.bodies[1]);
    }
    return flow::on;
}

/// A recursive loop, called: what it writes.
inline std::string run_loop(machine& m, const statement& of, const value& over, std::size_t depth) {
    capture into(m);
    run_turns(m, of, over, depth);
    return std::move(into.written);
}

inline flow run_branch(machine& m, const statement& of) {
    for (std::size_t i = 0; i < of.values.size(); ++i) {
        if (is_true(evaluate(m, *of.values[i]))) return execute(m, of.bodies[i]);
    }
    return of.bodies.size() > of.values.size() ? execute(m, of.bodies.back()) : flow::on;
}

inline flow run_with(machine& m, const statement& of) {
    std::vector<value> values;
    for (const auto& each : of.values) values.push_back(evaluate(m, *each));
    const inner_scope variables(m);
    for (std::size_t i = 0; i < values.size(); ++i) assign(m, *of.targets[i], std::move(values[i]));
    return execute(m, of.bodies[0]);
}

/// {% call %}: the body becomes the macro `caller` of the call.
inline void run_call(machine& m, const statement& of) {
    const auto& called = *of.values[0];
    const auto callee = evaluate(m, *called.parts[0]);
    auto given = evaluate_arguments(m, called);
    given.named.emplace_back("caller", make_macro(m, *of.callee));
    m.line = of.line;
    m.write(text_of(m, call(m, callee, std::move(given))));
}

inline void print(machine& m, const value& of) {
    if (of.is_text()) return m.write(of.bytes());
    m.write(text_of(m, of));
}

inline flow execute(machine& m, const statement& of) {
    m.line = of.line;
    switch (of.kind) {
        case statement_kind::data:
            m.write(of.text);
            return flow::on;
        case statement_kind::print:
            print(m, evaluate(m, *of.values[0]));
            return flow::on;
        case statement_kind::branch:
            return run_branch(m, of);
        case statement_kind::loop:
            return run_turns(m, of, evaluate(m, *of.values[0]), 1);
        case statement_kind::assign:
            assign(m, *of.targets[0], evaluate(m, *of.values[0]));
            return flow::on;
        case statement_kind::assign_block:
            assign(m, *of.targets[0], written_block(m, of));
            return flow::on;
        case statement_kind::macro:
            m.assign(of.symbol, make_macro(m, *of.callee));
            return flow::on;
        case statement_kind::call:
            run_call(m, of);
            return flow::on;
        case statement_kind::filter:
            print(m, written_block(m, of));
            return flow::on;
        case statement_kind::with:
            return run_with(m, of);
        case statement_kind::scope: {
            const inner_scope variables(m);
            return execute(m, of.bodies[0]);
        }
        case statement_kind::leave:
            return flow::leave;
        default:
            return flow::skip;
    }
}

/// A block's statements, up to a break or continue.
inline flow execute(machine& m, const block& of) {
    const meter::level deeper(m);
    for (const auto& each : of) {
        m.step();
        if (const auto next = execute(m, each); next != flow::on) return next;
    }
    return flow::on;
}

}  // namespace augur::io::jinja
