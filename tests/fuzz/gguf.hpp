#pragma once
// What the GGUF fuzzer does with its input, and the replay of its corpus too.

#include <augur/io/files/dequantize.hpp>
#include <augur/io/files/gguf.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fuzz/touch.hpp"

namespace augur::testing {

/// Asks for one key as everything a caller could want; only augur::error may come of it.
template <class T>
void ask(const io::gguf_view& file, std::string_view key) {
    try {
        file.get<T>(key);
    } catch (const augur::error&) {  // it is of another type
    }
    try {
        file.array<T>(key);
    } catch (const augur::error&) {  // it is no array of these
    }
}

/// Parses the bytes as a GGUF file, asks for what models are asked for, and reads every tensor. Errors: augur::error
/// only.
inline void read_gguf(std::span<const std::byte> bytes) {
    const io::gguf_view file(bytes, "fuzz");
    for (const auto* key : {"general.architecture", "general.alignment", "a", "b", "llama.block_count"}) {
        ask<bool>(file, key);
        ask<std::int8_t>(file, key);
        ask<std::uint64_t>(file, key);
        ask<float>(file, key);
        ask<double>(file, key);
        ask<std::string>(file, key);
    }
    for (const auto& tensor : file.tensors()) touch(tensor, file.find(tensor.name));
}

}  // namespace augur::testing
