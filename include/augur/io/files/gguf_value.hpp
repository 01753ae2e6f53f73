#pragma once
// One metadata value of a GGUF file, decoded on demand.

#include <augur/io/files/byte_reader.hpp>
#include <augur/io/files/quote.hpp>
#include <augur/types/error.hpp>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace augur::io {

/// The numbers are the file format's.
enum class gguf_type : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

constexpr std::string_view name_of(gguf_type type) {
    constexpr std::string_view names[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                          "bool", "string", "array", "u64", "i64", "f64"};
    return names[static_cast<std::uint32_t>(type)];
}

/// The fewest bytes a value takes in the file: a string has a length, an array a type and a length.
constexpr std::uint64_t least_bytes(gguf_type type) {
    constexpr std::uint64_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};
    return sizes[static_cast<std::uint32_t>(type)];
}

/// A value inside the file's bytes; valid while they are.
struct gguf_value {
    gguf_type type{};                  ///< of the value, or of the elements of an array
    bool is_array = false;             ///< `type` is never `array` unless this is an array of arrays
    std::uint64_t count = 1;           ///< elements; 1 for a value that is not an array
    std::span<const std::byte> bytes;  ///< of the value or of all elements
};

/// Errors: a number that the format does not define.
inline gguf_type read_gguf_type(byte_reader& in, std::string_view what) {
    const auto number = in.read<std::uint32_t>(what);
    if (number > static_cast<std::uint32_t>(gguf_type::f64)) {
        augur::detail::fail(in.origin(), ": ", what, " at byte ", in.position() - 4, " is ", number,
                            ", but value types end at 12");
    }
    return static_cast<gguf_type>(number);
}

/// Steps over the `count` elements of an array. Arrays of fixed-size elements take constant time, all else one step per
/// element. `depth` is 1
/// for an array that is in no other. Errors: more elements than the bytes left can hold; arrays nested more than four
/// deep.
inline void skip_values(byte_reader& in, gguf_type type, std::uint64_t count, int depth) {
    in.check_count(count, "the length of an array", least_bytes(type));
    if (type == gguf_type::string) {
        for (std::uint64_t i = 0; i < count; ++i) in.read_string("a metadata string");
    } else if (type == gguf_type::array) {
        if (depth == 4) augur::detail::fail(in.origin(), ": arrays nested more than 4 deep at byte ", in.position());
        for (std::uint64_t i = 0; i < count; ++i) {
            const auto element = read_gguf_type(in, "the element type of an array");
            skip_values(in, element, in.read<std::uint64_t>("the length of an array"), depth + 1);
        }
    } else {
        in.take(count * least_bytes(type), "an array");  // at most in.remaining(), by check_count
    }
}

/// Reads one value's extent: its type first, then, for an array, element type and length.
inline gguf_value read_gguf_value(byte_reader& in, std::span<const std::byte> file) {
    gguf_value value;
    value.type = read_gguf_type(in, "the type of a metadata value");
    value.is_array = value.type == gguf_type::array;
    if (value.is_array) {
        value.type = read_gguf_type(in, "the element type of an array");
        value.count = in.read<std::uint64_t>("the length of an array");
    }
    const auto start = in.position();
    if (value.is_array) {
        skip_values(in, value.type, value.count, 1);
    } else if (value.type == gguf_type::string) {
        in.read_string("a metadata string");
    } else {
        in.take(least_bytes(value.type), "a metadata value");
    }
    value.bytes = file.subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(in.position() - start));
    return value;
}

/// Whether the C++ type is one that metadata can be asked for as.
template <class T>
concept MetadataType =
    std::integral<T> || std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::string>;

/// The same value as a T, or nothing: integers convert when in range, integers to floating point when exact, floating
/// point to floating point when finite values stay finite; booleans and strings only to themselves.
template <MetadataType T, class From>
std::optional<T> convert_value(From from) {
    if constexpr (std::same_as<T, From> || (std::same_as<T, std::string> && std::same_as<From, std::string_view>)) {
        return T(from);
    } else if constexpr (std::same_as<T, bool> || std::same_as<From, bool> || std::same_as<T, std::string> ||
                         std::same_as<From, std::string_view>) {
        return std::nullopt;
    } else if constexpr (std::integral<T> && std::integral<From>) {
        if (std::in_range<T>(from)) return static_cast<T>(from);
    } else if constexpr (std::floating_point<T> && std::integral<From>) {
        constexpr auto exact = std::int64_t{1} << std::numeric_limits<T>::digits;
        if (std::cmp_less_equal(from, exact) && std::cmp_greater_equal(from, -exact)) return static_cast<T>(from);
    } else if constexpr (std::floating_point<T> && std::floating_point<From>) {
        if (!std::isfinite(from) || std::abs(static_cast<double>(from)) <= std::numeric_limits<T>::max()) {
            return static_cast<T>(from);
        }
    }
    return std::nullopt;
}

/// Calls `use` with the next value: a fixed-width number, bool or std::string_view. Errors: a boolean other than 0 or
/// 1; an array.
template <class Use>
decltype(auto) read_scalar(byte_reader& in, gguf_type type, Use&& use) {
    constexpr std::string_view what = "a metadata value";
    switch (type) {
        case gguf_type::u8:
            return use(in.read<std::uint8_t>(what));
        case gguf_type::i8:
            return use(in.read<std::int8_t>(what));
        case gguf_type::u16:
            return use(in.read<std::uint16_t>(what));
        case gguf_type::i16:
            return use(in.read<std::int16_t>(what));
        case gguf_type::u32:
            return use(in.read<std::uint32_t>(what));
        case gguf_type::i32:
            return use(in.read<std::int32_t>(what));
        case gguf_type::u64:
            return use(in.read<std::uint64_t>(what));
        case gguf_type::i64:
            return use(in.read<std::int64_t>(what));
        case gguf_type::f32:
            return use(in.read<float>(what));
        case gguf_type::f64:
            return use(in.read<double>(what));
        case gguf_type::string:
            return use(in.read_string(what));
        case gguf_type::boolean: {
            const auto raw = in.read<std::uint8_t>(what);
            if (raw > 1) augur::detail::fail(in.origin(), ": a boolean is stored as ", int{raw}, ", neither 0 nor 1");
            return use(raw == 1);
        }
        case gguf_type::array:
            break;
    }
    augur::detail::fail(in.origin(), ": arrays of arrays are not decoded");
}

}  // namespace augur::io
