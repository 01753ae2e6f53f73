#pragma once
// What the safetensors fuzzer does with its input, and the replay of its corpus too.

#include <algorithm>
#include <augur/io/files/safetensors.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "fuzz/touch.hpp"

namespace augur::testing {

/// Ends the process unless asking for the tensor is an error.
inline void require_refusal(const io::tensor_table& table, const io::unread_tensor& tensor) {
    try {
        table.find(tensor.name);
    } catch (const augur::error&) {
        return;
    }
    std::abort();
}

/// Parses the bytes as a safetensors file and reads every tensor that can be. Errors: augur::error only.
inline void read_safetensors(std::span<const std::byte> bytes) {
    auto contents = io::parse_safetensors(bytes, "fuzz");
    const io::tensor_table table(std::move(contents.tensors), "fuzz", std::move(contents.unread));
    for (const auto& tensor : table.tensors()) touch(tensor, table.find(tensor.name));
    for (const auto& tensor : table.unread()) require_refusal(table, tensor);
}

/// The same for a file made of the bytes: the first is the size of the data, the others are the header. So a mutation
/// of the header does not end at its length.
inline void read_safetensors_header(std::span<const std::byte> bytes) {
    const std::size_t data = bytes.empty() ? 0 : std::to_integer<std::size_t>(bytes[0]);
    const auto header = bytes.subspan(std::min<std::size_t>(bytes.size(), 1));
    const std::uint64_t length = header.size();
    std::vector<std::byte> file(sizeof(length) + header.size() + data);
    std::memcpy(file.data(), &length, sizeof(length));
    std::copy(header.begin(), header.end(), file.begin() + sizeof(length));
    read_safetensors(file);
}

}  // namespace augur::testing
