#pragma once
// Converts a template's values from and to JSON: json.dumps, as transformers' tojson calls it.

#include <augur/io/text/jinja_print.hpp>
#include <augur/io/text/jinja_text.hpp>
#include <augur/io/text/jinja_value.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur::io::jinja {

/// A document, the order of keys kept. Errors: integers of more than 63 bits, text that is not UTF-8, deep nesting.
inline value from_json(meter& at, const nlohmann::ordered_json& of, std::size_t depth = 0) {
    if (depth >= deepest_value) at.fail("a variable is nested more than ", deepest_value, " levels deep");
    const auto checked = [](const std::string& text) {
        augur::detail::check_utf8(text, "a variable of the chat template");
        return text;
    };
    if (of.is_null()) return none{};
    if (of.is_boolean()) return value(of.get<bool>());
    if (of.is_number_unsigned() && of.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
        at.fail("the integer ", of.get<std::uint64_t>(), " is over 63 bits");
    }
    if (of.is_number_integer()) return value(of.get<std::int64_t>());
    if (of.is_number()) return value(of.get<double>());
    if (of.is_string()) return value(checked(of.get_ref<const std::string&>()));
    if (of.is_object()) {
        std::vector<std::pair<value, value>> members;
        for (const auto& [key, item] : of.items())
            members.emplace_back(value(checked(key)), from_json(at, item, depth + 1));
        return make_mapping(at, std::move(members));
    }
    if (!of.is_array()) at.fail("a variable is JSON of the type ", of.type_name());
    std::vector<value> items;
    for (const auto& item : of) items.push_back(from_json(at, item, depth + 1));
    return make_sequence(at, std::move(items));
}

/// The arguments of tojson.
struct json_style {
    bool ascii_only = false;
    bool is_indented = false;
    std::string indent{};
    std::string between_items = ", ";
    std::string after_key = ": ";
    bool sorts_keys = false;
};

/// A str as JSON.
inline std::string json_quoted(std::string_view text, bool ascii_only) {
    constexpr std::string_view special = "\"\\\n\r\t\f\b", written = "\"\\nrtfb";
    std::string out = "\"";
    for (std::size_t i = 0; i < text.size(); i += width_at(text, i)) {
        const auto code = code_point_of(text.substr(i));
        const auto found = code < 0x80 ? special.find(static_cast<char>(code)) : std::string_view::npos;
        if (found != std::string_view::npos) {
            out += {'\\', written[found]};
        } else if (code >= 0x10000 && ascii_only) {
            append_hex(out += "\\u", 0xD800 + ((code - 0x10000) >> 10), 4);
            append_hex(out += "\\u", 0xDC00 + ((code - 0x10000) & 0x3FF), 4);
        } else if (code < 0x20 || (code >= 0x7F && ascii_only)) {
            append_hex(out += "\\u", code, 4);
        } else {
            out += text.substr(i, width_at(text, i));
        }
    }
    return out += '"';
}

class json_writer {
 public:
    json_writer(meter& at, const json_style& style, std::string& out) : at_(at), style_(style), out_(out) {}

    void write(const value& of) {
        if (of.is<none>()) return put("null");
        if (const auto* truth = of.as<bool>()) return put(*truth ? "true" : "false");
        if (const auto* number = of.as<std::int64_t>()) return put(std::to_string(*number));
        if (const auto* number = of.as<double>()) return put(real(*number));
        if (of.is_text()) return put(json_quoted(of.bytes(), style_.ascii_only));
        if (const auto* all = of.members()) return write(*all);
        const auto* all = of.elements();
        if (!all || (all->kind != form::list && all->kind != form::tuple)) {
            require_defined(at_, of);
            at_.fail("tojson: a value of the type ", type_of(of), " is not JSON");
        }
        write(*all);
    }

 private:
    static std::string real(double of) {
        if (std::isnan(of)) return "NaN";
        if (std::isinf(of)) return of < 0 ? "-Infinity" : "Infinity";
        return real_text(of);
    }

    void put(std::string_view text) {
        at_.make(text.size() + 1);
        out_ += text;
    }

    void begin_line() {
        if (!style_.is_indented) return;
        put("\n");
        for (std::size_t i = 0; i < depth_; ++i) put(style_.indent);
    }

    template <class Items, class Write>
    void write_items(const Items& items, std::string_view brackets, Write write_one) {
        put(brackets.substr(0, 1));
        ++depth_;
        bool is_first = true;
        for (const auto& item : items) {
            if (!std::exchange(is_first, false)) put(style_.between_items);
            begin_line();
            write_one(item);
        }
        --depth_;
        if (!items.empty()) begin_line();
        put(brackets.substr(1));
    }

    void write(const sequence& all) {
        write_items(all.items, "[]", [&](const value& item) { write(item); });
    }

    std::string key_text(const value& key) const {
        if (key.is_text()) return key.bytes();
        if (key.is<none>()) return "null";
        if (const auto* truth = key.as<bool>()) return *truth ? "true" : "false";
        if (const auto* number = key.as<std::int64_t>()) return std::to_string(*number);
        if (const auto* number = key.as<double>()) return real(*number);
        at_.fail("tojson: a key of the type ", type_of(key), " is not JSON");
    }

    void write(const mapping& all) {
        auto items = all.items;
        if (style_.sorts_keys) {
            for (const auto& [key, item] : items) {
                if (!key.is_text()) at_.fail("tojson: keys of the type ", type_of(key), " are not sorted");
            }
            std::stable_sort(items.begin(), items.end(),
                             [](const auto& a, const auto& b) { return a.first.bytes() < b.first.bytes(); });
        }
        write_items(items, "{}", [&](const std::pair<value, value>& item) {
            put(json_quoted(key_text(item.first), style_.ascii_only));
            put(style_.after_key);
            write(item.second);
        });
    }

    meter& at_;
    const json_style& style_;
    std::string& out_;
    std::size_t depth_ = 0;
};

}  // namespace augur::io::jinja
