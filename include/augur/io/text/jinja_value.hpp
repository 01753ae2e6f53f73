#pragma once
// The values of a template's program: Python's, as far as templates use them. All but namespaces are immutable, as in
// Jinja2's immutable sandbox.

#include <algorithm>
#include <augur/io/text/jinja_meter.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace augur::io::jinja {

class value;
struct sequence;
struct mapping;
struct name_space;
struct callable;
struct loop_state;
struct frame;
struct macro_node;

/// What a name or an attribute that is not there gives; `why` says which, for the error of whoever needs it.
struct undefined {
    std::shared_ptr<const std::string> why;
};

struct none {};

/// UTF-8. `is_safe`: markup, which escapes what is added to it.
struct text {
    std::shared_ptr<const std::string> bytes;
    bool is_safe = false;
};

class value {
 public:
    using any = std::variant<undefined, none, bool, std::int64_t, double, text, std::shared_ptr<const sequence>,
                             std::shared_ptr<const mapping>, std::shared_ptr<name_space>,
                             std::shared_ptr<const callable>, std::shared_ptr<loop_state>>;

    value() = default;
    value(none of) : any_(of) {}
    explicit value(undefined of) : any_(std::move(of)) {}
    explicit value(bool of) : any_(of) {}
    explicit value(std::int64_t of) : any_(of) {}
    explicit value(double of) : any_(of) {}
    explicit value(std::string of, bool is_safe = false)
        : any_(text{std::make_shared<const std::string>(std::move(of)), is_safe}) {}
    explicit value(std::shared_ptr<const sequence> of) : any_(std::move(of)) {}
    explicit value(std::shared_ptr<const mapping> of) : any_(std::move(of)) {}
    explicit value(std::shared_ptr<name_space> of) : any_(std::move(of)) {}
    explicit value(std::shared_ptr<const callable> of) : any_(std::move(of)) {}
    explicit value(std::shared_ptr<loop_state> of) : any_(std::move(of)) {}

    template <class T>
    bool is() const {
        return std::holds_alternative<T>(any_);
    }
    template <class T>
    const T* as() const {
        return std::get_if<T>(&any_);
    }
    bool is_text() const { return is<text>(); }
    bool is_safe() const { return is_text() && as<text>()->is_safe; }
    /// Of a text.
    const std::string& bytes() const { return *as<text>()->bytes; }
    /// Of list, tuple and the like; nullptr for other values.
    const sequence* elements() const {
        const auto* found = as<std::shared_ptr<const sequence>>();
        return found ? found->get() : nullptr;
    }
    const mapping* members() const {
        const auto* found = as<std::shared_ptr<const mapping>>();
        return found ? found->get() : nullptr;
    }
    /// Whether it is an integer for Python: True and False are.
    bool is_integral() const { return is<bool>() || is<std::int64_t>(); }
    bool is_number() const { return is_integral() || is<double>(); }
    std::int64_t integer() const {
        const auto* truth = as<bool>();
        return truth ? (*truth ? 1 : 0) : *as<std::int64_t>();
    }
    double real() const { return is<double>() ? *as<double>() : static_cast<double>(integer()); }

 private:
    any any_;
};

enum class form {
    list,
    tuple,
    range,
    view,      ///< keys(), values(), items() of a mapping: no element by number
    generator  ///< what map, select and the like give: read once
};

struct sequence {
    form kind = form::list;
    std::vector<value> items;
    std::size_t depth = 1;
    mutable std::size_t taken = 0;  ///< generators: how many were read
};

/// In the order in which keys came.
struct mapping {
    std::vector<std::pair<value, value>> items;
    std::size_t depth = 1;
};

struct name_space {
    std::vector<std::pair<std::string, value>> attributes;
};

/// A macro with the variables around it, a method of a value, or a global function.
struct callable {
    std::string name;
    value self{};                        ///< of a method
    const macro_node* macro = nullptr;   ///< of a macro
    std::shared_ptr<frame> around{};     ///< of a macro
    std::shared_ptr<loop_state> loop{};  ///< of a method of `loop`
};

/// Python's name of a value's type, for errors.
inline std::string_view type_of(const value& of) {
    if (of.is<undefined>()) return "Undefined";
    if (of.is<none>()) return "NoneType";
    if (of.is<bool>()) return "bool";
    if (of.is<std::int64_t>()) return "int";
    if (of.is<double>()) return "float";
    if (of.is_text()) return of.is_safe() ? "Markup" : "str";
    if (of.members()) return "dict";
    if (const auto* all = of.elements()) {
        constexpr std::string_view names[] = {"list", "tuple", "range", "dict view", "generator"};
        return names[static_cast<std::size_t>(all->kind)];
    }
    if (of.is<std::shared_ptr<name_space>>()) return "Namespace";
    return of.is<std::shared_ptr<loop_state>>() ? "LoopContext" : "function";
}

inline value make_undefined(std::string why) {
    return value(undefined{std::make_shared<const std::string>(std::move(why))});
}

/// Refuses a use of what is not there.
inline void require_defined(const meter& at, const value& of) {
    if (const auto* missing = of.as<undefined>()) at.fail(missing->why ? *missing->why : "a value is undefined");
}

inline std::size_t depth_of(const value& of) {
    if (const auto* all = of.elements()) return all->depth;
    if (const auto* all = of.members()) return all->depth;
    return 0;
}

inline std::size_t checked_depth(const meter& at, std::size_t inside) {
    if (inside >= deepest_value) at.fail("values nested more than ", deepest_value, " levels deep");
    return inside + 1;
}

inline value make_sequence(meter& at, std::vector<value> items, form kind = form::list) {
    std::size_t inside = 0;
    for (const auto& item : items) inside = std::max(inside, depth_of(item));
    at.make(sizeof(sequence) + items.size() * sizeof(value));
    sequence held{kind, std::move(items), checked_depth(at, inside)};
    return value(std::make_shared<const sequence>(std::move(held)));
}

inline value make_mapping(meter& at, std::vector<std::pair<value, value>> items) {
    std::size_t inside = 0;
    for (const auto& [key, item] : items) inside = std::max({inside, depth_of(key), depth_of(item)});
    at.make(sizeof(mapping) + items.size() * 2 * sizeof(value));
    mapping map{std::move(items), checked_depth(at, inside)};
    return value(std::make_shared<const mapping>(std::move(map)));
}

inline value make_text(meter& at, std::string bytes, bool is_safe = false) {
    at.make(sizeof(std::string) + bytes.size());
    return value(std::move(bytes), is_safe);
}

/// Python's bool(): what is empty, zero or not there is false.
inline bool is_true(const value& of) {
    if (of.is<undefined>() || of.is<none>()) return false;
    if (of.is_number()) return of.real() != 0;
    if (of.is_text()) return !of.bytes().empty();
    if (const auto* all = of.members()) return !all->items.empty();
    if (const auto* all = of.elements()) return all->kind == form::generator || !all->items.empty();
    return true;
}

}  // namespace augur::io::jinja
