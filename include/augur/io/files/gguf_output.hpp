#pragma once
// Writes a GGUF file: keys, a directory of tensors, and the tensors' data in the directory's order.

#include <augur/io/files/gguf_tensors.hpp>
#include <augur/io/files/gguf_value.hpp>
#include <augur/io/files/tensor.hpp>
#include <augur/types/error.hpp>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace augur::io {

/// Version 3, aligned to 32 bytes. add() the keys and add_tensor() what will follow; then write head(), and for each
/// tensor its bytes and padding(their number). Errors: an empty key, a tensor whose shape its type cannot have.
class gguf_output {
 public:
    /// As it was found in another file.
    void add(std::string_view key, const gguf_value& value) {
        begin(key, value.is_array ? gguf_type::array : value.type);
        if (value.is_array) {
            put(static_cast<std::uint32_t>(value.type), keys_);
            put(value.count, keys_);
        }
        append(value.bytes, keys_);
    }
    void add(std::string_view key, std::uint32_t value) {
        begin(key, gguf_type::u32);
        put(value, keys_);
    }
    void add(std::string_view key, float value) {
        begin(key, gguf_type::f32);
        put(value, keys_);
    }
    void add(std::string_view key, std::string_view value) {
        begin(key, gguf_type::string);
        put_text(value, keys_);
    }
    void add(std::string_view key, const std::vector<std::uint32_t>& values) {
        begin(key, gguf_type::array);
        put(static_cast<std::uint32_t>(gguf_type::u32), keys_);
        put(std::uint64_t{values.size()}, keys_);
        for (const std::uint32_t value : values) put(value, keys_);
    }

    void add_tensor(std::string_view name, tensor_type type, std::span<const std::uint64_t> shape) {
        const std::uint64_t bytes = byte_count(name, type, shape);
        put_text(name, directory_);
        put(static_cast<std::uint32_t>(shape.size()), directory_);
        for (std::size_t i = shape.size(); i-- > 0;) put(shape[i], directory_);
        put(ggml_number(type), directory_);
        put(offset_, directory_);
        offset_ += bytes + padding(bytes);
        ++tensors_;
    }

    /// All that comes before the first tensor's data.
    std::vector<std::byte> head() const {
        std::vector<std::byte> out;
        append(std::as_bytes(std::span("GGUF", 4)), out);
        put(std::uint32_t{3}, out);
        put(tensors_, out);
        put(count_, out);
        append(keys_, out);
        append(directory_, out);
        out.resize(out.size() + padding(out.size()));
        return out;
    }
    /// Of the whole file.
    std::uint64_t byte_size() const { return head().size() + offset_; }

    /// Zeros that follow so many bytes.
    static std::size_t padding(std::uint64_t bytes) { return static_cast<std::size_t>((32 - bytes % 32) % 32); }

 private:
    static_assert(std::endian::native == std::endian::little);

    void begin(std::string_view key, gguf_type type) {
        if (key.empty()) augur::detail::fail("a metadata key to write is empty");
        put_text(key, keys_);
        put(static_cast<std::uint32_t>(type), keys_);
        ++count_;
    }
    static void append(std::span<const std::byte> bytes, std::vector<std::byte>& out) {
        out.insert(out.end(), bytes.begin(), bytes.end());
    }
    template <class T>
    static void put(const T& value, std::vector<std::byte>& out) {
        append(std::as_bytes(std::span(&value, 1)), out);
    }
    static void put_text(std::string_view text, std::vector<std::byte>& out) {
        put(std::uint64_t{text.size()}, out);
        append(std::as_bytes(std::span(text)), out);
    }

    std::vector<std::byte> keys_, directory_;
    std::uint64_t count_ = 0, tensors_ = 0, offset_ = 0;
};

}  // namespace augur::io
