#pragma once
// Builds GGUF files for tests: small synthetic models, and broken files nobody else would write.

#include <augur/io/files/gguf.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "io/files.hpp"

namespace augur::testing {

template <class T>
constexpr io::gguf_type gguf_type_for() {
    using io::gguf_type;
    if constexpr (std::same_as<T, bool>)
        return gguf_type::boolean;
    else if constexpr (std::convertible_to<T, std::string_view>)
        return gguf_type::string;
    else if constexpr (std::same_as<T, float>)
        return gguf_type::f32;
    else if constexpr (std::same_as<T, double>)
        return gguf_type::f64;
    else if constexpr (sizeof(T) == 1)
        return std::is_signed_v<T> ? gguf_type::i8 : gguf_type::u8;
    else if constexpr (sizeof(T) == 2)
        return std::is_signed_v<T> ? gguf_type::i16 : gguf_type::u16;
    else if constexpr (sizeof(T) == 4)
        return std::is_signed_v<T> ? gguf_type::i32 : gguf_type::u32;
    else
        return std::is_signed_v<T> ? gguf_type::i64 : gguf_type::u64;
}

/// A GGUF file in the making. `set` and `tensor` write what a sound file has; the public members and the `raw_`
/// functions make any of it untrue.
///
///     gguf_writer model;
///     model.set("general.architecture", "llama").set("llama.block_count", std::uint32_t{2});
///     model.set("tokenizer.ggml.tokens", std::vector<std::string>{"<s>", "a"});
///     model.tensor("token_embd.weight", {2, 4}, std::vector<float>(8, 0.5f));
///     augur::io::gguf_file file(model.write("tiny.gguf"));
class gguf_writer {
 public:
    std::string magic = "GGUF";
    std::uint32_t version = 3;
    std::uint64_t alignment = 32;               ///< used for layout; not written as a key
    std::optional<std::uint64_t> tensor_count;  ///< in place of the true one
    std::optional<std::uint64_t> key_count;     ///< in place of the true one

    template <class T>
    gguf_writer& set(std::string_view key, const T& value) {
        byte_writer encoded;
        put(encoded, value);
        return raw_value(key, static_cast<std::uint32_t>(gguf_type_for<T>()), encoded.bytes());
    }
    template <class T>
    gguf_writer& set(std::string_view key, const std::vector<T>& values) {
        byte_writer encoded;
        encoded.number(static_cast<std::uint32_t>(gguf_type_for<T>())).number(std::uint64_t{values.size()});
        for (const auto& value : values) put(encoded, value);
        return raw_value(key, static_cast<std::uint32_t>(io::gguf_type::array), encoded.bytes());
    }

    /// f32, shape outermost first.
    gguf_writer& tensor(std::string_view name, const std::vector<std::uint64_t>& shape, std::span<const float> values) {
        return tensor(name, shape, 0, std::as_bytes(values));
    }
    /// Any type by its number in the file, with its stored bytes; placed after the tensors before it.
    gguf_writer& tensor(std::string_view name, const std::vector<std::uint64_t>& shape, std::uint32_t type,
                        std::span<const std::byte> stored) {
        raw_tensor(name, {shape.rbegin(), shape.rend()}, type, data_.pad_to(alignment).size());
        data_.raw_bytes(stored);
        return *this;
    }

    /// A key with any type number and any bytes for a value.
    gguf_writer& raw_value(std::string_view key, std::uint32_t type, std::span<const std::byte> encoded) {
        keys_.string(key).number(type).raw_bytes(encoded);
        ++written_keys_;
        return *this;
    }
    /// A directory entry (innermost dimension first) that brings no data.
    gguf_writer& raw_tensor(std::string_view name, const std::vector<std::uint64_t>& dimensions, std::uint32_t type,
                            std::uint64_t offset) {
        directory_.string(name).number(static_cast<std::uint32_t>(dimensions.size()));
        for (const auto dimension : dimensions) directory_.number(dimension);
        directory_.number(type).number(offset);
        ++written_tensors_;
        return *this;
    }
    gguf_writer& raw_data(std::span<const std::byte> stored) {
        data_.raw_bytes(stored);
        return *this;
    }

    std::vector<std::byte> bytes() const {
        byte_writer out;
        out.raw_bytes(std::as_bytes(std::span(magic))).number(version);
        out.number(tensor_count.value_or(written_tensors_)).number(key_count.value_or(written_keys_));
        out.raw_bytes(keys_.bytes()).raw_bytes(directory_.bytes());
        if (data_.size() > 0) out.pad_to(alignment).raw_bytes(data_.bytes());
        return out.bytes();
    }

    /// Writes the file and returns its path.
    std::filesystem::path write(const std::filesystem::path& path) const { return write_file(path, bytes()); }

 private:
    template <class T>
    static void put(byte_writer& out, const T& value) {
        if constexpr (std::same_as<T, bool>)
            out.number(static_cast<std::uint8_t>(value));
        else if constexpr (std::is_arithmetic_v<T>)
            out.number(value);
        else
            out.string(value);
    }

    byte_writer keys_;
    byte_writer directory_;
    byte_writer data_;
    std::uint64_t written_keys_ = 0;
    std::uint64_t written_tensors_ = 0;
};

}  // namespace augur::testing
