#pragma once
// A fingerprint that identifies a model's file.

#include <algorithm>
#include <augur/io/files/fnv_hash.hpp>
#include <augur/io/files/gguf.hpp>
#include <augur/io/files/safetensors.hpp>
#include <augur/io/files/tensor.hpp>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace augur::io {
namespace detail {

/// The first and the last 4096 bytes: enough to tell models apart, little enough to read at every start.
inline void add_ends(fnv_hash& hash, const tensor_view& tensor) {
    std::vector<std::byte> end(std::min<std::size_t>(tensor.bytes.size(), 4096));
    for (const std::size_t offset : {std::size_t{0}, tensor.bytes.size() - end.size()}) {
        tensor.read(offset, end);
        hash.add(end);
    }
}

}  // namespace detail

/// Of names, types, shapes and the ends of the data of all tensors, in the order of the file. The same tensors under
/// other metadata have the same fingerprint. It tells models apart; it is no defence against somebody who wants them
/// confused.
inline std::string fingerprint(const gguf_view& file) {
    fnv_hash hash;
    for (const tensor_view& tensor : file.tensors()) {
        hash.add(tensor.name);
        hash.add(tensor.type == tensor_type::u8 ? 255 : ggml_number(tensor.type), 4);
        for (auto d = tensor.shape.rbegin(); d != tensor.shape.rend(); ++d) hash.add(*d, 8);
        detail::add_ends(hash, tensor);
    }
    return hash.text();
}

/// The same of safetensors: in the order of names, whichever file they are in, with the name of the dtype for the type.
inline std::string fingerprint(const safetensors_folder& folder) {
    std::vector<const tensor_view*> order;
    for (const tensor_view& tensor : folder.tensors()) order.push_back(&tensor);
    std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->name < b->name; });
    fnv_hash hash;
    for (const tensor_view* tensor : order) {
        hash.add(tensor->name);
        std::string dtype(name_of(tensor->type));
        for (char& letter : dtype) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
        hash.add(dtype);
        for (const std::uint64_t d : tensor->shape) hash.add(d, 8);
        detail::add_ends(hash, *tensor);
    }
    return hash.text();
}

/// Of a GGUF file, or of a folder or file of safetensors: of everything that can be loaded.
inline std::string fingerprint(const std::filesystem::path& path) {
    return holds_safetensors(path) ? fingerprint(safetensors_folder(path)) : fingerprint(gguf_file(path));
}

}  // namespace augur::io
