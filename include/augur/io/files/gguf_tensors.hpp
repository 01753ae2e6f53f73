#pragma once
// The tensor directory of a GGUF file.

#include <algorithm>
#include <array>
#include <augur/io/files/byte_reader.hpp>
#include <augur/io/files/tensor.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur::io {

/// The format's number for a tensor type; nothing when this library does not read it.
constexpr std::optional<tensor_type> tensor_type_of_ggml(std::uint32_t number) {
    switch (number) {
        case 0:
            return tensor_type::f32;
        case 1:
            return tensor_type::f16;
        case 2:
            return tensor_type::q4_0;
        case 3:
            return tensor_type::q4_1;
        case 6:
            return tensor_type::q5_0;
        case 7:
            return tensor_type::q5_1;
        case 8:
            return tensor_type::q8_0;
        case 10:
            return tensor_type::q2_k;
        case 11:
            return tensor_type::q3_k;
        case 12:
            return tensor_type::q4_k;
        case 13:
            return tensor_type::q5_k;
        case 14:
            return tensor_type::q6_k;
        case 20:
            return tensor_type::iq4_nl;
        case 23:
            return tensor_type::iq4_xs;
        case 26:
            return tensor_type::i32;
        case 30:
            return tensor_type::bf16;
        case 39:
            return tensor_type::mxfp4;
        default:
            return std::nullopt;
    }
}

/// The format's number of a type that is read from it: of all but u8.
constexpr std::uint32_t ggml_number(tensor_type type) {
    if (type == tensor_type::u8) augur::detail::fail("GGUF has no tensors of u8");
    std::uint32_t number = 0;
    while (tensor_type_of_ggml(number) != type) ++number;
    return number;
}

/// What ggml calls a type number, for messages.
constexpr std::string_view ggml_type_name(std::uint32_t number) {
    constexpr std::array<std::string_view, 42> names = {
        "f32",       "f16",       "q4_0",      "q4_1",  "(removed)", "(removed)", "q5_0",      "q5_1",    "q8_0",
        "q8_1",      "q2_k",      "q3_k",      "q4_k",  "q5_k",      "q6_k",      "q8_k",      "iq2_xxs", "iq2_xs",
        "iq3_xxs",   "iq1_s",     "iq4_nl",    "iq3_s", "iq2_s",     "iq4_xs",    "i8",        "i16",     "i32",
        "i64",       "f64",       "iq1_m",     "bf16",  "(removed)", "(removed)", "(removed)", "tq1_0",   "tq2_0",
        "(removed)", "(removed)", "(removed)", "mxfp4", "nvfp4",     "q1_0"};
    return number < names.size() ? names[number] : "(unknown)";
}

/// Thrown for a file that may be sound, with a tensor of a type that this library does not read.
class unread_tensor_type : public error {
 public:
    using error::error;
};

/// The part of the directory that precedes placement: sizes are known, places are offsets into the data section.
struct gguf_tensor_entry {
    tensor_view tensor;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

/// Errors: an empty name, no or more than four dimensions, whatever byte_count refuses, a type that is not read.
inline gguf_tensor_entry read_gguf_tensor(byte_reader& in) {
    gguf_tensor_entry entry;
    entry.tensor.name = in.read_string("a tensor name");
    if (entry.tensor.name.empty()) augur::detail::fail(in.origin(), ": empty tensor name before byte ", in.position());
    const auto who = augur::detail::message(in.origin(), ": tensor ", quote(entry.tensor.name));
    const auto dimensions = in.read<std::uint32_t>("the number of dimensions of a tensor");
    if (dimensions < 1 || dimensions > 4) augur::detail::fail(who, " has ", dimensions, " dimensions, not 1 to 4");
    for (std::uint32_t i = 0; i < dimensions; ++i) {
        entry.tensor.shape.push_back(in.read<std::uint64_t>("a dimension of a tensor"));
    }
    std::reverse(entry.tensor.shape.begin(), entry.tensor.shape.end());
    const auto number = in.read<std::uint32_t>("the type of a tensor");
    const auto type = tensor_type_of_ggml(number);
    if (!type) {
        throw unread_tensor_type(
            augur::detail::message(who, " has type ", number, " ", ggml_type_name(number), ", which is not supported"));
    }
    entry.tensor.type = *type;
    entry.offset = in.read<std::uint64_t>("the offset of a tensor");
    entry.size = byte_count(who, *type, entry.tensor.shape);
    return entry;
}

/// The smallest tensor: a name of one letter and one dimension.
inline constexpr std::uint64_t least_tensor_bytes = 8 + 1 + 4 + 8 + 4 + 8;

/// Gives every tensor its bytes in `data`. Errors: an offset that is not a multiple of `alignment`, a tensor that ends
/// beyond the data, two tensors that share bytes. Cost: n log n.
inline std::vector<tensor_view> place_gguf_tensors(std::vector<gguf_tensor_entry> entries,
                                                   std::span<const std::byte> data, std::uint64_t alignment,
                                                   std::string_view origin) {
    std::vector<tensor_view> tensors;
    for (auto& entry : entries) {
        const auto who = [&] { return augur::detail::message(origin, ": tensor ", quote(entry.tensor.name)); };
        if (entry.offset % alignment != 0) {
            augur::detail::fail(who(), " starts at offset ", entry.offset, ", not a multiple of the alignment ",
                                alignment);
        }
        const auto bytes = checked_slice(data, entry.offset, entry.size);
        if (!bytes) {
            augur::detail::fail(who(), " of ", entry.size, " bytes at offset ", entry.offset, " does not fit the ",
                                data.size(), " bytes of tensor data");
        }
        entry.tensor.bytes = *bytes;
        tensors.push_back(std::move(entry.tensor));
    }
    std::vector<const tensor_view*> order;
    for (const auto& tensor : tensors) order.push_back(&tensor);
    std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->bytes.data() < b->bytes.data(); });
    for (std::size_t i = 1; i < order.size(); ++i) {
        const auto& before = *order[i - 1];
        const auto& after = *order[i];
        if (before.bytes.data() + before.bytes.size() > after.bytes.data()) {
            augur::detail::fail(origin, ": tensors ", quote(before.name), " and ", quote(after.name),
                                " overlap at offset ", after.bytes.data() - data.data());
        }
    }
    return tensors;
}

}  // namespace augur::io
