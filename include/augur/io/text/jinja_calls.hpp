#pragma once
// Calls in a template: macros, `loop`, and the global functions that Jinja2 and transformers give.

#include <algorithm>
#include <array>
#include <augur/io/files/quote.hpp>
#include <augur/io/text/jinja_arguments.hpp>
#include <augur/io/text/jinja_ast.hpp>
#include <augur/io/text/jinja_machine.hpp>
#include <augur/io/text/jinja_methods.hpp>
#include <augur/io/text/jinja_value.hpp>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur::io::jinja {

/// What a block does to the loop around it.
enum class flow { on, leave, skip };

flow execute(machine& m, const block& of);
std::string run_loop(machine& m, const statement& of, const value& items, std::size_t depth);

inline constexpr std::array<std::string_view, 5> global_names = {"range", "namespace", "dict", "raise_exception",
                                                                 "strftime_now"};

/// What is there in Jinja2, but not run here.
inline constexpr std::array<std::string_view, 3> other_globals = {"lipsum", "cycler", "joiner"};

inline value call_range(machine& m, const arguments& given) {
    const bound_arguments in(m, "range", given, {"start", "stop", "step"});
    const bool has_start = in.has(1);
    const auto start = has_start ? in.integer(0) : 0, stop = in.integer(has_start ? 1 : 0), step = in.integer_or(2, 1);
    if (step == 0) m.fail("range: a step of 0");
    constexpr std::int64_t most = std::int64_t{1} << 40;
    if (std::max({std::abs(start / 2), std::abs(stop / 2), std::abs(step / 2)}) > most)
        m.fail("range: ", start, " to ", stop, " is out of bounds");
    const auto distance = step > 0 ? stop - start : start - stop, width = std::abs(step);
    const auto count = distance <= 0 ? 0 : (distance - 1) / width + 1;
    if (count > longest_range) m.fail("range: ", count, " numbers, more than ", longest_range);
    std::vector<value> out;
    m.make(static_cast<std::uint64_t>(count) * sizeof(value));
    for (std::int64_t i = 0; i < count; ++i) out.emplace_back(start + i * step);
    return make_sequence(m, std::move(out), form::range);
}

/// The items that namespace(...) and dict(...) name: of a mapping, and by name.
inline std::vector<std::pair<value, value>> call_members(machine& m, std::string_view name, const arguments& given) {
    std::vector<std::pair<value, value>> out;
    const auto put = [&](const value& key, const value& item) {
        m.step(1 + out.size() / 8);
        const auto there =
            std::find_if(out.begin(), out.end(), [&](const auto& each) { return are_equal(m, each.first, key); });
        if (there == out.end()) return out.emplace_back(key, item), void();
        there->second = item;
    };
    if (given.positional.size() > 1) m.fail(name, ": ", given.positional.size(), " positional arguments");
    if (!given.positional.empty()) {
        const auto* members = given.positional[0].members();
        if (!members) m.fail(name, " of a ", type_of(given.positional[0]), " is not supported");
        for (const auto& [key, item] : members->items) put(key, item);
    }
    for (const auto& [key, item] : given.named) put(value(key), item);
    return out;
}

inline value call_namespace(machine& m, const arguments& given) {
    auto space = std::make_shared<name_space>();
    for (auto& [key, item] : call_members(m, "namespace", given)) {
        if (!key.is_text()) m.fail("namespace: a key of the type ", type_of(key));
        space->attributes.emplace_back(key.bytes(), std::move(item));
    }
    m.make(sizeof(name_space) + space->attributes.size() * sizeof(space->attributes[0]));
    m.spaces.push_back(space);
    return value(std::move(space));
}

/// strftime of C's locale; directives that differ between systems, or name a zone, are refused.
inline value call_strftime(machine& m, const arguments& given) {
    const bound_arguments in(m, "strftime_now", given, {"format"});
    const auto& format = in.text(0);
    if (format.size() > 200) m.fail("strftime_now: a format of ", format.size(), " bytes");
    for (std::size_t i = 0; i < format.size(); ++i) {
        if (format[i] == '\0') m.fail("strftime_now: a zero byte in the format");
        if (format[i] != '%') continue;
        if (i + 1 < format.size() && format[i + 1] == '-') ++i;
        if (++i == format.size() ||
            std::string_view("aAbBcCdDeFhHIjklmMnpPrRStTuUVwWxXyYG%").find(format[i]) == std::string_view::npos) {
            m.fail("strftime_now: the format ", quote(format), " is not supported");
        }
    }
    if (format.empty()) return value(std::string());
    char out[4096];
    const auto now = m.clock();
    return make_text(m, std::string(out, std::strftime(out, sizeof out, format.c_str(), &now)));
}

inline value call_global(machine& m, const std::string& name, const arguments& given) {
    if (name == "range") return call_range(m, given);
    if (name == "namespace") return call_namespace(m, given);
    if (name == "dict") return make_mapping(m, call_members(m, "dict", given));
    if (name == "strftime_now") return call_strftime(m, given);
    const bound_arguments in(m, name, given, {"message"});
    augur::detail::fail("the chat template refuses the conversation (its line ", m.line,
                        "): ", quote(text_of(m, in.at(0)), 400));
}

/// loop.cycle(a, b, ...) and loop.changed(a, ...).
inline value call_loop_method(machine& m, const callable& method, const arguments& given) {
    if (!given.named.empty()) m.fail("loop.", method.name, ": keyword arguments");
    auto& loop = *method.loop;
    if (method.name == "cycle") {
        if (given.positional.empty()) m.fail("loop.cycle: no items");
        return given.positional[loop.at % given.positional.size()];
    }
    auto now = make_sequence(m, given.positional, form::tuple);
    const bool is_same = loop.last_changed && are_equal(m, *loop.last_changed, now);
    if (!is_same) loop.last_changed = std::move(now);
    return value(!is_same);
}

/// The variables of a macro's parameters; defaults are computed where they are needed.
inline void bind_parameters(machine& m, const macro_node& of, arguments& given) {
    std::vector<std::optional<value>> bound(of.parameters.size());
    const auto count = std::min(bound.size(), given.positional.size());
    for (std::size_t i = 0; i < count; ++i) bound[i] = std::move(given.positional[i]);
    std::vector<std::pair<value, value>> rest;
    for (auto& [name, item] : given.named) {
        const auto at = std::find_if(of.parameters.begin(), of.parameters.end(),
                                     [&, &wanted = name](auto each) { return m.names[each] == wanted; });
        const auto i = static_cast<std::size_t>(at - of.parameters.begin());
        if (at != of.parameters.end() && bound[i])
            m.fail("macro ", quote(of.name, 40), ": the argument ", quote(name, 40), " twice");
        if (at != of.parameters.end()) {
            bound[i] = std::move(item);
        } else if (name == "caller" && of.takes_caller) {
            m.assign_named("caller", std::move(item));
        } else if (of.takes_named) {
            rest.emplace_back(value(name), std::move(item));
        } else {
            m.fail("macro ", quote(of.name, 40), " takes no argument ", quote(name, 40));
        }
    }
    if (given.positional.size() > bound.size() && !of.takes_rest) {
        m.fail("macro ", quote(of.name, 40), " takes ", bound.size(), " arguments, not ", given.positional.size());
    }
    for (std::size_t i = 0; i < bound.size(); ++i) {
        if (bound[i]) {
            m.assign(of.parameters[i], std::move(*bound[i]));
        } else if (of.defaults[i]) {
            m.assign(of.parameters[i], evaluate(m, *of.defaults[i]));
        } else {
            m.assign(of.parameters[i],
                     make_undefined("the parameter " + quote(m.names[of.parameters[i]], 40) + " was not given"));
        }
    }
    if (of.takes_named) m.assign_named("kwargs", make_mapping(m, std::move(rest)));
    if (!of.takes_rest) return;
    given.positional.erase(given.positional.begin(), given.positional.begin() + static_cast<std::ptrdiff_t>(count));
    m.assign_named("varargs", make_sequence(m, std::move(given.positional), form::tuple));
}

inline value call_macro(machine& m, const callable& callee, arguments given) {
    const auto line = m.line;
    const inner_scope variables(m, callee.around);
    bind_parameters(m, *callee.macro, given);
    capture into(m);
    execute(m, callee.macro->body);
    m.line = line;
    return make_text(m, std::move(into.written));
}

inline value call(machine& m, const value& callee, arguments given) {
    const meter::level deeper(m);
    m.step();
    require_defined(m, callee);
    if (const auto* loop = callee.as<std::shared_ptr<loop_state>>()) {
        const auto state = *loop;
        if (!state->recursive) m.fail("'loop' is called, but the loop is not recursive");
        const bound_arguments in(m, "loop", given, {"iterable"});
        const inner_scope variables(m, state->around);
        return make_text(m, run_loop(m, *state->recursive, in.at(0), state->depth + 1));
    }
    const auto* function = callee.as<std::shared_ptr<const callable>>();
    if (!function) m.fail("a ", type_of(callee), " is called");
    const auto kept = *function;  // the macro may assign to the variable that holds it
    if (kept->macro) return call_macro(m, *kept, std::move(given));
    if (kept->loop) return call_loop_method(m, *kept, given);
    if (kept->self.is<undefined>()) return call_global(m, kept->name, given);
    return call_method(m, *kept, given);
}

/// A macro with the variables around it.
inline value make_macro(machine& m, const macro_node& of) {
    m.make(sizeof(callable));
    if (m.kept_frames.empty() || m.kept_frames.back() != m.scope) m.kept_frames.push_back(m.scope);
    return value(std::make_shared<const callable>(callable{.name = of.name, .macro = &of, .around = m.scope}));
}

}  // namespace augur::io::jinja
