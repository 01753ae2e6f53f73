#pragma once
// The formats of weights in memory, and what a file's types are converted to.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "augur/backend/host/storage.hpp"
#include "augur/io/files/tensor.hpp"
#include "augur/types/error.hpp"

namespace augur::llama {

/// How matrices are held in memory, and so multiplied. `keep`: as in the file; but q5_0 as q8_0 and q3_k as q6_k, which
/// have the same numbers. The others convert: f16 and bf16 round to nearest even, quantised formats as the gguf Python
/// package does. `halved`: as `keep`, but q8_0 as q4_0; for what drafts,
/// whose bits are nobody's promise.
enum class weight_format { keep, f32, f16, bf16, q8_0, q4_0, q4_1, halved };

/// Whether the file decides.
inline bool keeps(weight_format format) {
    return format == weight_format::keep || format == weight_format::halved;
}

/// That a model's weights can be asked for in.
inline constexpr weight_format all_weight_formats[] = {weight_format::keep, weight_format::f32,  weight_format::f16,
                                                       weight_format::bf16, weight_format::q8_0, weight_format::q4_0,
                                                       weight_format::q4_1};

inline std::string_view name_of(weight_format format) {
    switch (format) {
        case weight_format::keep:
            return "keep";
        case weight_format::f32:
            return "f32";
        case weight_format::f16:
            return "f16";
        case weight_format::bf16:
            return "bf16";
        case weight_format::q8_0:
            return "q8_0";
        case weight_format::q4_0:
            return "q4_0";
        case weight_format::q4_1:
            return "q4_1";
        case weight_format::halved:
            return "halved";
    }
    return "unknown";
}

/// The type that `format` gives a tensor of the file: one that kernels multiply.
inline io::tensor_type type_for(io::tensor_type type, weight_format format) {
    using io::tensor_type;
    switch (format) {
        case weight_format::keep:
            if (type == tensor_type::q5_0) return tensor_type::q8_0;
            return type == tensor_type::q3_k ? tensor_type::q6_k : type;
        case weight_format::f32:
            return tensor_type::f32;
        case weight_format::f16:
            return tensor_type::f16;
        case weight_format::bf16:
            return tensor_type::bf16;
        case weight_format::q8_0:
            return tensor_type::q8_0;
        case weight_format::q4_0:
            return tensor_type::q4_0;
        case weight_format::q4_1:
            return tensor_type::q4_1;
        case weight_format::halved:
            return type == tensor_type::q8_0 ? tensor_type::q4_0 : type_for(type, weight_format::keep);
    }
    augur::detail::fail("no weight format has the number ", static_cast<int>(format));
}

/// Throws unless rows of so many numbers can be held in this type's blocks.
inline void check_blocks(std::string_view origin, std::string_view name, std::uint64_t columns, io::tensor_type type) {
    if (columns % io::block_size(type) == 0) return;
    augur::detail::fail(origin, ": the tensor ", name, " has rows of ", columns, ", which ", io::name_of(type),
                        " cannot hold in blocks of ", io::block_size(type));
}

inline backend::host::storage storage_of(io::tensor_type type) {
    for (const auto stored : backend::host::all_storages) {
        if (backend::host::name_of(stored) == io::name_of(type)) return stored;
    }
    augur::detail::fail("no kernel multiplies ", io::name_of(type));
}

/// What so many numbers take in a format, about.
inline std::uint64_t stored_bytes(backend::host::storage format, std::uint64_t numbers) {
    const auto layout = backend::host::layout_of(format);
    return numbers / layout.file_depth * layout.file_bytes;
}

/// A sentence for each format that the file has and memory has not, though weights are kept, with the bytes of both.
template <class File>
void note_widened(const File& file, weight_format format, std::vector<std::string>& notes) {
    if (!keeps(format)) return;
    for (const auto type : {io::tensor_type::q5_0, io::tensor_type::q3_k}) {
        const io::tensor_type held = type_for(type, weight_format::keep);
        std::uint64_t count = 0, numbers = 0;
        for (const io::tensor_view& each : file.tensors()) {
            if (each.type == type) count += 1, numbers += each.element_count();
        }
        if (count == 0) continue;
        const std::uint64_t before = numbers / io::block_size(type) * io::block_bytes(type);
        const std::uint64_t after = numbers / io::block_size(held) * io::block_bytes(held);
        notes.push_back(augur::detail::message(count, count == 1 ? " tensor of " : " tensors of ", io::name_of(type),
                                               count == 1 ? " is" : " are", " held as ", io::name_of(held),
                                               ", with the same numbers: ", before, " bytes become ", after));
    }
}

}  // namespace augur::llama
