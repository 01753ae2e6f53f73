#pragma once
// Python's operators on a template's values: comparison, membership, arithmetic, subscripts and slices.

#include <algorithm>
#include <augur/io/text/jinja_print.hpp>
#include <augur/io/text/jinja_text.hpp>
#include <augur/io/text/jinja_value.hpp>
#include <augur/io/text/markup.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur::io::jinja {

inline bool are_equal(meter& at, const value& a, const value& b);

inline bool are_equal(meter& at, const sequence& a, const sequence& b) {
    if (a.kind != b.kind || a.items.size() != b.items.size()) return false;
    for (std::size_t i = 0; i < a.items.size(); ++i) {
        if (!are_equal(at, a.items[i], b.items[i])) return false;
    }
    return true;
}

/// The item under a key, or nullptr.
inline const value* find_key(meter& at, const mapping& in, const value& key) {
    at.step(1 + in.items.size() / 8);
    for (const auto& [each, item] : in.items) {
        if (each.is_text() != key.is_text()) continue;
        if (each.is_text() ? each.bytes() == key.bytes() : are_equal(at, each, key)) return &item;
    }
    return nullptr;
}

inline bool are_equal(meter& at, const mapping& a, const mapping& b) {
    if (a.items.size() != b.items.size()) return false;
    return std::all_of(a.items.begin(), a.items.end(), [&](const auto& item) {
        const auto* other = find_key(at, b, item.first);
        return other && are_equal(at, item.second, *other);
    });
}

/// ==
inline bool are_equal(meter& at, const value& a, const value& b) {
    at.step();
    if (a.is_integral() && b.is_integral()) return a.integer() == b.integer();
    if (a.is_number() && b.is_number()) return a.real() == b.real();
    if (a.is_text() && b.is_text()) {
        at.read(std::min(a.bytes().size(), b.bytes().size()));
        return a.bytes() == b.bytes();
    }
    if (a.is<none>() || a.is<undefined>()) return a.is<none>() ? b.is<none>() : b.is<undefined>();
    if (a.members() && b.members()) return a.members() == b.members() || are_equal(at, *a.members(), *b.members());
    if (a.elements() && b.elements()) {
        return a.elements() == b.elements() || are_equal(at, *a.elements(), *b.elements());
    }
    if (const auto* one = a.as<std::shared_ptr<name_space>>()) {
        const auto* other = b.as<std::shared_ptr<name_space>>();
        return other && *one == *other;
    }
    return false;
}

/// < of numbers, texts, lists and tuples.
inline bool is_less(meter& at, const value& a, const value& b) {
    at.step();
    require_defined(at, a);
    require_defined(at, b);
    if (a.is_integral() && b.is_integral()) return a.integer() < b.integer();
    if (a.is_number() && b.is_number()) return a.real() < b.real();
    if (a.is_text() && b.is_text()) {
        at.read(std::min(a.bytes().size(), b.bytes().size()));
        return a.bytes() < b.bytes();
    }
    const auto *one = a.elements(), *other = b.elements();
    if (one && other && one->kind == other->kind && (one->kind == form::list || one->kind == form::tuple)) {
        const auto count = std::min(one->items.size(), other->items.size());
        for (std::size_t i = 0; i < count; ++i) {
            if (!are_equal(at, one->items[i], other->items[i])) return is_less(at, one->items[i], other->items[i]);
        }
        return one->items.size() < other->items.size();
    }
    at.fail("'<' of ", type_of(a), " and ", type_of(b), " is not defined");
}

/// The elements that a loop over the value takes; of a text its code points, of a mapping its keys. A generator is
/// read to its end.
inline std::vector<value> iterate(meter& at, const value& of) {
    std::vector<value> out;
    if (of.is<undefined>()) return out;
    if (const auto* all = of.elements()) {
        at.make(all->items.size() * sizeof(value));
        out.assign(all->items.begin() + static_cast<std::ptrdiff_t>(all->taken), all->items.end());
        if (all->kind == form::generator) all->taken = all->items.size();
    } else if (const auto* members = of.members()) {
        at.make(members->items.size() * sizeof(value));
        for (const auto& [key, item] : members->items) out.push_back(key);
    } else if (of.is_text()) {
        const std::string_view bytes = of.bytes();
        at.make(bytes.size() * (sizeof(value) + sizeof(std::string)));
        for (std::size_t i = 0; i < bytes.size(); i += width_at(bytes, i)) {
            out.emplace_back(std::string(bytes.substr(i, width_at(bytes, i))));
        }
    } else {
        at.fail("a value of the type ", type_of(of), " cannot be iterated");
    }
    return out;
}

/// `needle in hay`
inline bool contains(meter& at, const value& hay, const value& needle) {
    if (hay.is_text()) {
        require_defined(at, needle);
        if (!needle.is_text()) at.fail("'in' of ", type_of(needle), " and ", type_of(hay), " is not defined");
        at.read(hay.bytes().size());
        return hay.bytes().find(needle.bytes()) != std::string::npos;
    }
    if (const auto* all = hay.members()) return find_key(at, *all, needle) != nullptr;
    const auto* all = hay.elements();
    if (!all) return iterate(at, hay), false;
    for (auto i = all->taken; i < all->items.size(); ++i) {
        if (all->kind == form::generator) all->taken = i + 1;
        if (are_equal(at, all->items[i], needle)) return true;
    }
    return false;
}

/// len()
inline std::int64_t count_of(meter& at, const value& of) {
    if (of.is<undefined>()) return 0;
    if (of.is_text()) return at.read(of.bytes().size()), static_cast<std::int64_t>(length_of(of.bytes()));
    if (const auto* all = of.members()) return static_cast<std::int64_t>(all->items.size());
    const auto* all = of.elements();
    if (!all || all->kind == form::generator) at.fail("a value of the type ", type_of(of), " has no length");
    return static_cast<std::int64_t>(all->items.size());
}

[[noreturn]] inline void fail_operands(const meter& at, std::string_view sign, const value& a, const value& b) {
    require_defined(at, a);
    require_defined(at, b);
    at.fail("'", sign, "' of ", type_of(a), " and ", type_of(b), " is not supported");
}

/// Text, lists or tuples, so often.
inline value repeated(meter& at, const value& of, std::int64_t times) {
    const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(times, 0));
    const auto size = of.is_text() ? of.bytes().size() : of.elements()->items.size() * sizeof(value);
    if (size != 0 && count > std::numeric_limits<std::uint64_t>::max() / 2 / size) at.fail("'*' makes too much");
    at.make(size * count);
    if (of.is_text()) {
        std::string out;
        for (std::uint64_t i = 0; size != 0 && i < count; ++i) out += of.bytes();
        return make_text(at, std::move(out), of.is_safe());
    }
    std::vector<value> out;
    const auto& items = of.elements()->items;
    for (std::uint64_t i = 0; size != 0 && i < count; ++i) out.insert(out.end(), items.begin(), items.end());
    return make_sequence(at, std::move(out), of.elements()->kind);
}

/// Texts side by side; markup escapes the other.
inline value joined(meter& at, const value& a, const value& b) {
    const bool is_safe = a.is_safe() || b.is_safe();
    const auto part = [&](const value& of) { return is_safe && !of.is_safe() ? markup_of(of.bytes()) : of.bytes(); };
    at.make(a.bytes().size() + b.bytes().size());
    return make_text(at, part(a) + part(b), is_safe);
}

inline value power(meter& at, const value& a, const value& b) {
    if (!a.is_integral() || !b.is_integral() || b.integer() < 0) {
        const double result = std::pow(a.real(), b.real());
        if (!std::isfinite(result)) at.fail("'**' of ", a.real(), " and ", b.real(), " has no value");
        return value(result);
    }
    std::int64_t result = 1;
    for (std::int64_t i = 0; i < b.integer(); ++i) {
        at.step();
        if (__builtin_mul_overflow(result, a.integer(), &result)) at.fail("an integer is over 63 bits");
    }
    return value(result);
}

/// + - * of integers, and // and %, which round down.
inline value integer_operation(meter& at, char sign, std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    bool is_over = false;
    if (sign == '+') is_over = __builtin_add_overflow(a, b, &result);
    if (sign == '-') is_over = __builtin_sub_overflow(a, b, &result);
    if (sign == '*') is_over = __builtin_mul_overflow(a, b, &result);
    if (sign == 'd' || sign == '%') {
        if (b == 0) at.fail("division by zero");
        if (b == -1) return integer_operation(at, '-', 0, sign == 'd' ? a : 0);
        const std::int64_t rest = a % b, down = rest != 0 && (rest < 0) != (b < 0) ? 1 : 0;
        result = sign == 'd' ? a / b - down : rest + down * b;
    }
    if (is_over) at.fail("an integer is over 63 bits");
    return value(result);
}

inline value real_operation(meter& at, char sign, double a, double b) {
    if (sign == '+') return value(a + b);
    if (sign == '-') return value(a - b);
    if (sign == '*') return value(a * b);
    if (b == 0) at.fail("division by zero");
    if (sign == '/') return value(a / b);
    double rest = std::fmod(a, b);
    if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
    if (sign == '%') return value(rest == 0 ? std::copysign(0.0, b) : rest);
    const double exact = (a - rest) / b, down = std::floor(exact);
    return value(exact - down > 0.5 ? down + 1 : down);
}

/// a + b and so on; `sign`: + - * / % and d for //, p for **.
inline value operate(meter& at, char sign, const value& a, const value& b) {
    at.step();
    const std::string_view name = sign == 'd' ? "//" : sign == 'p' ? "**" : std::string_view(&sign, 1);
    if (a.is_number() && b.is_number()) {
        if (sign == 'p') return power(at, a, b);
        if (a.is_integral() && b.is_integral() && sign != '/')
            return integer_operation(at, sign, a.integer(), b.integer());
        return real_operation(at, sign, a.real(), b.real());
    }
    const auto is_repeatable = [](const value& of) {
        const auto* all = of.elements();
        return of.is_text() || (all && (all->kind == form::list || all->kind == form::tuple));
    };
    if (sign == '+' && a.is_text() && b.is_text()) return joined(at, a, b);
    if (sign == '+' && is_repeatable(a) && is_repeatable(b) && a.elements() && b.elements() &&
        a.elements()->kind == b.elements()->kind) {
        auto items = a.elements()->items;
        items.insert(items.end(), b.elements()->items.begin(), b.elements()->items.end());
        return make_sequence(at, std::move(items), a.elements()->kind);
    }
    if (sign == '*' && is_repeatable(a) && b.is_integral()) return repeated(at, a, b.integer());
    if (sign == '*' && a.is_integral() && is_repeatable(b)) return repeated(at, b, a.integer());
    fail_operands(at, name, a, b);
}

struct slice {
    std::optional<std::int64_t> start, stop, step;
};

/// The numbers of the elements that a slice of `size` takes.
inline std::vector<std::size_t> indices_of(meter& at, const slice& of, std::size_t elements) {
    const auto size = static_cast<std::int64_t>(elements);
    const std::int64_t step = std::clamp<std::int64_t>(of.step.value_or(1), -size - 1, size + 1);
    if (step == 0) at.fail("a slice's step is 0");
    const std::int64_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? size - 1 : size;
    const auto bounded = [&](std::optional<std::int64_t> given, std::int64_t otherwise) {
        if (!given) return otherwise;
        return std::clamp(*given < 0 ? std::max(*given, -size - 1) + size : *given, lowest, highest);
    };
    const auto stop = bounded(of.stop, step < 0 ? lowest : highest);
    std::vector<std::size_t> out;
    for (auto i = bounded(of.start, step < 0 ? highest : lowest); step < 0 ? i > stop : i < stop; i += step) {
        out.push_back(static_cast<std::size_t>(i));
    }
    at.make(out.size() * sizeof(std::size_t));
    return out;
}

inline value sliced(meter& at, const value& of, const slice& by) {
    require_defined(at, of);
    if (of.is_text()) {
        const std::string_view bytes = of.bytes();
        at.make(bytes.size() * sizeof(std::size_t));
        const auto offsets = offsets_of(bytes);
        std::string out;
        for (const auto i : indices_of(at, by, offsets.size() - 1)) {
            out += bytes.substr(offsets[i], offsets[i + 1] - offsets[i]);
        }
        return make_text(at, std::move(out), of.is_safe());
    }
    const auto* all = of.elements();
    if (!all || all->kind == form::view || all->kind == form::generator) {
        return make_undefined(std::string(type_of(of)) + " has no slices");
    }
    std::vector<value> out;
    for (const auto i : indices_of(at, by, all->items.size())) out.push_back(all->items[i]);
    return make_sequence(at, std::move(out), all->kind);
}

/// The element by a number, negative from the end; nothing where there is none.
inline std::optional<value> element_at(meter& at, const value& of, std::int64_t index) {
    if (!of.is_text() && !of.elements()) return std::nullopt;
    const auto* all = of.elements();
    if (all && (all->kind == form::view || all->kind == form::generator)) return std::nullopt;
    const auto size = count_of(at, of);
    if (index < -size || index >= size) return std::nullopt;
    const auto i = static_cast<std::size_t>(index < 0 ? index + size : index);
    if (all) return all->items[i];
    const std::string_view bytes = of.bytes();
    if (bytes.size() == static_cast<std::size_t>(size)) return make_text(at, std::string(1, bytes[i]), of.is_safe());
    const auto offsets = offsets_of(bytes);
    at.make(offsets.size() * sizeof(std::size_t));
    return make_text(at, std::string(bytes.substr(offsets[i], offsets[i + 1] - offsets[i])), of.is_safe());
}

}  // namespace augur::io::jinja
