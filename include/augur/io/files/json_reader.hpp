#pragma once
// Typed access to JSON: a wrong type or a value out of range is an error, never a default. See docs/io/json.md.

#include <augur/io/files/quote.hpp>
#include <augur/types/error.hpp>
#include <concepts>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace augur::io {

/// The range of a number; ignored for other types.
template <class T>
struct json_range {};

template <class T>
requires std::is_arithmetic_v<T>
struct json_range<T> {
    T least = std::numeric_limits<T>::lowest();
    T most = std::numeric_limits<T>::max();
};

template <class T>
struct json_range<std::vector<T>> : json_range<T> {};  ///< of each element

/// A value as a message shows it: cut, and safe to print.
template <class Json>
std::string shown(const Json& value) {
    if (value.is_structured() && value.size() > 8) {
        return std::string(value.is_array() ? "an array of " : "an object of ") + std::to_string(value.size());
    }
    return quote(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

namespace detail {

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;

/// A number is kept as it is written, so 1e30, -1 and 1.5 are no std::size_t.
template <class T, class Json>
bool is_within(const Json& value, const json_range<T>& range) {
    if constexpr (std::floating_point<T>) {
        if (!value.is_number()) return false;
        const auto number = value.template get<double>();
        return number >= range.least && number <= range.most;
    } else {
        if (value.is_number_unsigned()) {
            const auto number = value.template get<std::uint64_t>();
            return std::cmp_greater_equal(number, range.least) && std::cmp_less_equal(number, range.most);
        }
        if (!value.is_number_integer()) return false;
        const auto number = value.template get<std::int64_t>();
        return std::cmp_greater_equal(number, range.least) && std::cmp_less_equal(number, range.most);
    }
}

/// "a number", "a whole number within 1..64".
template <class T>
std::string wanted_number(const json_range<T>& range) {
    const json_range<T> any{};
    const bool bounded = range.least != any.least || range.most != any.most;
    if (std::floating_point<T> && !bounded) return "a number";
    return augur::detail::message(std::floating_point<T> ? "a number" : "a whole number", " within ", +range.least,
                                  "..", +range.most);
}

}  // namespace detail

/// The value as a T: bool, a whole or floating number, std::string, or a vector of these. Errors, opening with `who`
/// (file and key): another type, a number out of range, with what was found.
template <class T, class Json>
T json_value(const Json& value, std::string_view who, const json_range<T>& range = {}) {
    const auto refuse = [&](std::string_view wanted) {
        augur::detail::fail(who, " must be ", wanted, ", but is ", shown(value));
    };
    if constexpr (std::same_as<T, bool>) {
        if (!value.is_boolean()) refuse("true or false");
        return value.template get<bool>();
    } else if constexpr (std::is_arithmetic_v<T>) {
        if (!detail::is_within(value, range)) refuse(detail::wanted_number(range));
        const T number = value.template get<T>();
        if (number == 0 && value.template get<double>() != 0) {
            refuse(augur::detail::message("a number that ", 8 * sizeof(T), " bits can tell from 0"));
        }
        return number;
    } else if constexpr (detail::is_vector<T>) {
        if (!value.is_array()) refuse("an array");
        T all;
        for (const auto& element : value) {
            const auto index = augur::detail::message(who, "[", all.size(), "]");
            all.push_back(json_value<typename T::value_type>(element, index, range));
        }
        return all;
    } else {
        static_assert(std::same_as<T, std::string>, "json_value: bool, numbers, std::string, or a vector of these");
        if (!value.is_string()) refuse("a string");
        return value.template get<std::string>();
    }
}

/// One object, read by its keys. `origin` opens the messages: the file's name. Refers to the object, which must outlive
/// it. A key whose value is null counts as absent.
template <class Json = nlohmann::json>
class json_reader {
 public:
    json_reader(const Json& object, std::string origin) : object_(object), origin_(std::move(origin)) {
        if (!object.is_object()) {
            augur::detail::fail(origin_, ": a JSON object is needed, not ", shown(object));
        }
    }

    const std::string& origin() const { return origin_; }
    const Json& value() const { return object_; }

    /// The value, or null where the key is absent.
    const Json* find(std::string_view key) const {
        const auto at = object_.find(std::string(key));
        return at == object_.end() || at->is_null() ? nullptr : &*at;
    }

    template <class T>
    T required(std::string_view key, const json_range<T>& range = {}) const {
        return json_value<T>(need(key), who(key), range);
    }
    template <class T>
    std::optional<T> optional(std::string_view key, const json_range<T>& range = {}) const {
        const Json* value = find(key);
        return value ? std::optional<T>(json_value<T>(*value, who(key), range)) : std::nullopt;
    }
    /// `fallback` only where the key is absent.
    template <class T>
    T value_or(std::string_view key, T fallback, const json_range<T>& range = {}) const {
        return optional<T>(key, range).value_or(std::move(fallback));
    }

    /// An object inside this one, or nothing where the key is absent.
    std::optional<json_reader> object(std::string_view key) const {
        const Json* value = find(key);
        return value ? std::optional<json_reader>(std::in_place, *value, who(key)) : std::nullopt;
    }
    /// An array of any values.
    const Json& required_array(std::string_view key) const {
        const Json* value = array(key);
        if (!value) augur::detail::fail(origin_, ": the key ", key, " is missing");
        return *value;
    }
    /// The same, or null where the key is absent.
    const Json* array(std::string_view key) const {
        const Json* value = find(key);
        if (value && !value->is_array()) {
            augur::detail::fail(who(key), " must be an array, but is ", shown(*value));
        }
        return value;
    }

 private:
    std::string who(std::string_view key) const { return augur::detail::message(origin_, ": ", key); }

    const Json& need(std::string_view key) const {
        const Json* value = find(key);
        if (!value) augur::detail::fail(origin_, ": the key ", key, " is missing");
        return *value;
    }

    const Json& object_;
    std::string origin_;
};

}  // namespace augur::io
