#pragma once
// The state of a rendering: variables, output, limits; and attribute access of values.

#include <augur/io/text/jinja_ast.hpp>
#include <augur/io/text/jinja_methods.hpp>
#include <augur/io/text/jinja_operators.hpp>
#include <augur/io/text/jinja_value.hpp>
#include <cstddef>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur::io::jinja {

/// The variables of a block with its own. Macros keep those around them.
struct frame {
    std::shared_ptr<frame> around;
    std::vector<std::pair<std::size_t, value>> variables;

    value* find(std::size_t symbol) {
        for (auto& [each, item] : variables) {
            if (each == symbol) return &item;
        }
        return nullptr;
    }
};

/// What `loop` is inside a loop.
struct loop_state {
    std::vector<value> items;
    std::size_t at = 0;
    std::size_t depth = 1;
    const statement* recursive = nullptr;  ///< the loop to run again, where it is recursive
    std::shared_ptr<frame> around{};       ///< of such a loop
    std::optional<value> last_changed{};
};

class machine : public meter {
 public:
    machine(const program& of, const template_limits& limits, std::function<std::tm()> time)
        : meter(limits), names(of.names), clock(std::move(time)), scope(std::make_shared<frame>()) {}

    /// What refers to itself is let go: macros that stand among the variables they keep, namespaces in namespaces.
    ~machine() {
        for (auto& each : kept_frames) each->variables.clear();
        for (auto& each : spaces) each->attributes.clear();
    }
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;

    void write(std::string_view part) {
        if (captures == 0) meter::write(part.size());
        make(part.size());
        out->append(part);
    }

    void assign(std::size_t symbol, value of) {
        if (auto* there = scope->find(symbol)) {
            *there = std::move(of);
        } else {
            make(sizeof(value));
            scope->variables.emplace_back(symbol, std::move(of));
        }
    }

    /// The same by a name, where the program has it.
    void assign_named(std::string_view name, value of) {
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (names[i] == name) return assign(i, std::move(of));
        }
    }

    /// The variable in the innermost block that has it.
    value* find(std::size_t symbol) {
        for (auto* at = scope.get(); at; at = at->around.get()) {
            step(1 + at->variables.size() / 8);
            if (auto* found = at->find(symbol)) return found;
        }
        return nullptr;
    }

    const std::vector<std::string>& names;
    std::function<std::tm()> clock;
    std::shared_ptr<frame> scope;
    std::string text;
    std::string* out = &text;
    std::size_t captures = 0;  ///< texts of blocks and macros being written
    value block_text{};        ///< of the filter of a block
    std::vector<std::shared_ptr<frame>> kept_frames{};
    std::vector<std::shared_ptr<name_space>> spaces{};
};

/// Variables of a block of its own, as long as this lives.
class inner_scope {
 public:
    inner_scope(machine& of, std::shared_ptr<frame> around)
        : of_(of), before_(std::exchange(of.scope, std::make_shared<frame>())) {
        of_.make(sizeof(frame));
        of_.scope->around = std::move(around);
    }
    explicit inner_scope(machine& of) : inner_scope(of, of.scope) {}
    ~inner_scope() { of_.scope = std::move(before_); }
    inner_scope(const inner_scope&) = delete;
    inner_scope& operator=(const inner_scope&) = delete;

 private:
    machine& of_;
    std::shared_ptr<frame> before_;
};

/// What is written goes into a text of its own, as long as this lives.
class capture {
 public:
    explicit capture(machine& of) : of_(of), before_(std::exchange(of.out, &written)) { ++of_.captures; }
    ~capture() {
        of_.out = before_;
        --of_.captures;
    }
    capture(const capture&) = delete;
    capture& operator=(const capture&) = delete;

    std::string written;

 private:
    machine& of_;
    std::string* before_;
};

value evaluate(machine& m, const expression& of);
value call(machine& m, const value& callee, arguments given);
value apply_filter(machine& m, const std::string& name, const value& of, const arguments& given);
bool apply_test(machine& m, const std::string& name, const value& of, const arguments& given);

/// An attribute of `loop`.
inline value loop_attribute(machine& m, const std::shared_ptr<loop_state>& loop, const std::string& name) {
    const auto number = [](std::size_t of) { return value(static_cast<std::int64_t>(of)); };
    const auto size = loop->items.size();
    if (name == "index") return number(loop->at + 1);
    if (name == "index0") return number(loop->at);
    if (name == "first") return value(loop->at == 0);
    if (name == "last") return value(loop->at + 1 == size);
    if (name == "length") return number(size);
    if (name == "revindex") return number(size - loop->at);
    if (name == "revindex0") return number(size - loop->at - 1);
    if (name == "depth") return number(loop->depth);
    if (name == "depth0") return number(loop->depth - 1);
    if (name == "previtem")
        return loop->at > 0 ? loop->items[loop->at - 1] : make_undefined("there is no previous item");
    if (name == "nextitem")
        return loop->at + 1 < size ? loop->items[loop->at + 1] : make_undefined("there is no next item");
    if (name == "cycle" || name == "changed") {
        return value(std::make_shared<const callable>(callable{.name = name, .loop = loop}));
    }
    m.fail("'loop' has no ", quote(name, 40));
}

inline value missing_part(const value& of, std::string_view name) {
    return make_undefined("a " + std::string(type_of(of)) + " has no " + quote(name, 40));
}

inline const value* find_attribute(const name_space& of, std::string_view name) {
    for (const auto& [each, item] : of.attributes) {
        if (each == name) return &item;
    }
    return nullptr;
}

/// of.name: an attribute, else the item under that key.
inline value get_attribute(machine& m, const value& of, const std::string& name) {
    m.step();
    require_defined(m, of);
    if (const auto* loop = of.as<std::shared_ptr<loop_state>>()) return loop_attribute(m, *loop, name);
    if (auto method = method_of(of, name)) return *method;
    if (const auto* space = of.as<std::shared_ptr<name_space>>()) {
        m.step((*space)->attributes.size() / 8);
        const auto* found = find_attribute(**space, name);
        return found ? *found : missing_part(of, name);
    }
    const auto* found = of.members() ? find_key(m, *of.members(), value(name)) : nullptr;
    if (found) return *found;
    const auto* function = of.as<std::shared_ptr<const callable>>();  // a method of a value has none
    const bool is_method =
        function != nullptr && !(*function)->macro && !(*function)->loop && (*function)->self.members();
    if (name.starts_with("__") || (function != nullptr && !is_method)) {
        m.fail("the attribute ", quote(name, 40), " of a ", type_of(of), " is not supported");
    }
    return missing_part(of, name);
}

/// of[key]: the item under that key, else the attribute of that name.
inline value get_item(machine& m, const value& of, const value& key) {
    m.step();
    require_defined(m, of);
    if (const auto* members = of.members()) {
        if (const auto* found = find_key(m, *members, key)) return *found;
    } else if (key.is_integral()) {
        if (auto found = element_at(m, of, key.integer())) return *found;
    }
    if (key.is_text()) return get_attribute(m, of, key.bytes());
    return missing_part(of, text_of(m, key));
}

/// of.a.0.b, as the argument `attribute` of filters has it.
inline value get_path(machine& m, value of, const value& path) {
    if (!path.is_text()) return get_item(m, of, path);
    for (const auto& part : split_at(path.bytes(), ".", -1, false)) {
        const bool is_number =
            !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == std::string::npos;
        of = get_item(m, of, is_number ? value(static_cast<std::int64_t>(std::stoll(part))) : value(part));
    }
    return of;
}

}  // namespace augur::io::jinja
