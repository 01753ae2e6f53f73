#pragma once
// A tensor of a model file: its type, its shape and its checked bytes.

#include <algorithm>
#include <augur/io/files/checked.hpp>
#include <augur/io/files/mapped_file.hpp>
#include <augur/io/files/quote.hpp>
#include <augur/types/error.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace augur::io {

/// How a tensor's numbers are stored. Quantised types store blocks of elements along a row. All but i32 and u8 are
/// weights; bytes are parts of what other programs quantised.
enum class tensor_type {
    f32,
    f16,
    bf16,
    q8_0,
    q4_0,
    q4_1,
    q5_0,
    q5_1,
    q2_k,
    q3_k,
    q4_k,
    q5_k,
    q6_k,
    iq4_nl,
    iq4_xs,
    mxfp4,
    i32,
    u8
};

/// A block: this many elements in this many bytes.
struct block_layout {
    std::string_view name;
    std::uint64_t elements;
    std::uint64_t bytes;
};

constexpr block_layout layout_of(tensor_type type) {
    switch (type) {
        case tensor_type::f32:
            return {"f32", 1, 4};
        case tensor_type::f16:
            return {"f16", 1, 2};
        case tensor_type::bf16:
            return {"bf16", 1, 2};
        case tensor_type::q8_0:
            return {"q8_0", 32, 34};
        case tensor_type::q4_0:
            return {"q4_0", 32, 18};
        case tensor_type::q4_1:
            return {"q4_1", 32, 20};
        case tensor_type::q5_0:
            return {"q5_0", 32, 22};
        case tensor_type::q5_1:
            return {"q5_1", 32, 24};
        case tensor_type::q2_k:
            return {"q2_k", 256, 84};
        case tensor_type::q3_k:
            return {"q3_k", 256, 110};
        case tensor_type::q4_k:
            return {"q4_k", 256, 144};
        case tensor_type::q5_k:
            return {"q5_k", 256, 176};
        case tensor_type::q6_k:
            return {"q6_k", 256, 210};
        case tensor_type::iq4_nl:
            return {"iq4_nl", 32, 18};
        case tensor_type::iq4_xs:
            return {"iq4_xs", 256, 136};
        case tensor_type::mxfp4:
            return {"mxfp4", 32, 17};
        case tensor_type::i32:
            return {"i32", 1, 4};
        case tensor_type::u8:
            return {"u8", 1, 1};
    }
    augur::detail::fail("no tensor type has the number ", static_cast<int>(type));
}

constexpr std::string_view name_of(tensor_type type) {
    return layout_of(type).name;
}
constexpr std::uint64_t block_size(tensor_type type) {
    return layout_of(type).elements;
}
constexpr std::uint64_t block_bytes(tensor_type type) {
    return layout_of(type).bytes;
}

/// "{3, 4}", for messages; the first eight of more.
inline std::string shape_text(std::span<const std::uint64_t> shape) {
    std::string out = "{";
    for (const auto dimension : shape.first(std::min<std::size_t>(shape.size(), 8))) {
        out += (out.size() > 1 ? ", " : "") + std::to_string(dimension);
    }
    return out + (shape.size() > 8 ? "... (" + std::to_string(shape.size()) + " dimensions)}" : "}");
}

/// The product of the dimensions. Errors, opening with `tensor` (who it is): no dimension or one of 0, 2^63 elements or
/// more.
inline std::uint64_t element_count_of(std::string_view tensor, std::span<const std::uint64_t> shape) {
    if (shape.empty()) augur::detail::fail(tensor, " has no dimensions");
    for (const auto dimension : shape) {
        if (dimension == 0) augur::detail::fail(tensor, " has a dimension of 0 in ", shape_text(shape));
    }
    const auto count = checked_product(shape);
    if (!count) augur::detail::fail(tensor, " of shape ", shape_text(shape), " has more than 2^63-1 elements");
    return *count;
}

/// The bytes a tensor of this shape (outermost dimension first) takes. Errors, opening with `tensor` (who it is): those
/// of element_count_of, rows that are not whole blocks, bytes beyond 64 bits.
inline std::uint64_t byte_count(std::string_view tensor, tensor_type type, std::span<const std::uint64_t> shape) {
    const auto [name, elements, bytes] = layout_of(type);
    const auto count = element_count_of(tensor, shape);
    if (shape.back() % elements != 0) {
        augur::detail::fail(tensor, " has rows of ", shape.back(), " elements, not a multiple of ", name,
                            "'s block of ", elements);
    }
    const auto total = checked_multiply(count / elements, bytes);
    if (!total) augur::detail::fail(tensor, " of shape ", shape_text(shape), " and type ", name, " exceeds 2^64 bytes");
    return *total;
}

/// A tensor inside a mapped file; valid while the file object lives. Readers hand out only tensors that were checked:
/// every dimension is positive, `element_count()` fits in 63 bits, rows are whole blocks, and `bytes` is exactly
/// element_count() / block_size(type) * block_bytes(type) bytes of the file.
struct tensor_view {
    std::string name;
    tensor_type type{};
    std::vector<std::uint64_t> shape;  ///< outermost first: {rows, columns}
    std::span<const std::byte> bytes;
    const mapped_file* file = nullptr;  ///< that the bytes are of; null: memory

    /// Copies some of the bytes, those from `offset` on. Errors: a file that has become shorter; touching the bytes
    /// themselves would end the process then.
    void read(std::uint64_t offset, std::span<std::byte> out) const {
        const auto* from = bytes.data() + offset;
        if (file) return file->read(from, out);
        std::memcpy(out.data(), from, out.size());
    }
    std::vector<std::byte> read() const {
        std::vector<std::byte> all(bytes.size());
        read(0, all);
        return all;
    }

    /// The last, contiguous dimension.
    std::uint64_t columns() const { return shape.back(); }
    std::uint64_t rows() const { return element_count() / columns(); }
    std::uint64_t element_count() const {
        std::uint64_t count = 1;
        for (const auto dimension : shape) count *= dimension;
        return count;
    }
};

}  // namespace augur::io
