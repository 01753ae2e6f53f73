#pragma once
// What the safetensors fuzzer does with its input, and the replay of its corpus too.

#include <augur/io/safetensors.hpp>
#include <cstddef>
#include <span>

#include "fuzz/touch.hpp"

namespace augur::testing {

/// Parses the bytes as a safetensors file and reads every tensor. Errors: augur::error only.
inline void read_safetensors(std::span<const std::byte> bytes) {
    const io::tensor_table table(io::parse_safetensors(bytes, "fuzz"), "fuzz");
    for (const auto& tensor : table.tensors()) touch(tensor, table.find(tensor.name));
}

}  // namespace augur::testing
