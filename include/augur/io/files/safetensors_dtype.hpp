#pragma once
// The names of safetensors' element types. Source: Dtype in the reference implementation, version 0.8,
// https://github.com/huggingface/safetensors/blob/main/safetensors/src/tensor.rs

#include <augur/io/files/checked.hpp>
#include <augur/io/files/tensor.hpp>
#include <augur/types/error.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace augur::io {

struct safetensors_dtype {
    std::string_view name;
    std::uint64_t bits;               ///< of one element; elements are packed without gaps
    std::optional<tensor_type> type;  ///< nothing where this library does not read the numbers
};

/// Nothing for a name that the format does not define.
constexpr std::optional<safetensors_dtype> find_safetensors_dtype(std::string_view name) {
    constexpr auto unread = std::optional<tensor_type>();
    constexpr safetensors_dtype known[] = {{"F32", 32, tensor_type::f32},
                                           {"F16", 16, tensor_type::f16},
                                           {"BF16", 16, tensor_type::bf16},
                                           {"F64", 64, unread},
                                           {"C64", 64, unread},
                                           {"BOOL", 8, unread},
                                           {"I8", 8, unread},
                                           {"U8", 8, tensor_type::u8},
                                           {"I16", 16, unread},
                                           {"U16", 16, unread},
                                           {"I32", 32, unread},
                                           {"U32", 32, unread},
                                           {"I64", 64, unread},
                                           {"U64", 64, unread},
                                           {"F8_E4M3", 8, unread},
                                           {"F8_E4M3FNUZ", 8, unread},
                                           {"F8_E5M2", 8, unread},
                                           {"F8_E5M2FNUZ", 8, unread},
                                           {"F8_E8M0", 8, unread},
                                           {"F6_E2M3", 6, unread},
                                           {"F6_E3M2", 6, unread},
                                           {"F4", 4, unread}};
    for (const auto& dtype : known) {
        if (dtype.name == name) return dtype;
    }
    return std::nullopt;
}

/// The bytes a tensor of this shape (outermost dimension first) takes. Errors, opening with `tensor` (who it is): those
/// of element_count_of; a size of 2^64 bits or more, or one that is not whole bytes.
inline std::uint64_t byte_count(std::string_view tensor, const safetensors_dtype& dtype,
                                std::span<const std::uint64_t> shape) {
    const auto bits = checked_multiply(element_count_of(tensor, shape), dtype.bits);
    if (!bits) {
        augur::detail::fail(tensor, " of shape ", shape_text(shape), " and dtype ", dtype.name, " exceeds 2^64 bits");
    }
    if (*bits % 8 != 0) {
        augur::detail::fail(tensor, " of shape ", shape_text(shape), " and dtype ", dtype.name, " takes ", *bits,
                            " bits, which are no whole bytes");
    }
    return *bits / 8;
}

}  // namespace augur::io
