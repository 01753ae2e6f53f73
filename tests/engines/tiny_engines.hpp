#pragma once
// Engines of llama.cpp on tiny models, set up so that their rows differ by rounding only.

#include <string>

#include "augur/engines/llama_cpp/context.hpp"
#include "augur/engines/llama_cpp/weights.hpp"
#include "engines/tiny_gguf.hpp"

namespace augur::testing {

/// Rows of caches in F16 differ by 1e-3.
inline constexpr double rounding = 1e-4;

inline engines::llama_cpp::weights tiny_weights(tiny_gguf file) {
    const temporary_directory folder;
    return engines::llama_cpp::weights::load(file.write(folder / "tiny.gguf"), {.gpu_layers = 0});
}
inline engines::llama_cpp::weights tiny_weights(const std::string& family, unsigned seed = 1) {
    tiny_gguf file;
    file.family = family;
    file.seed = seed;
    return tiny_weights(file);
}

/// One thread: others would spin where other tests run.
inline engines::llama_cpp::context_options exact(std::size_t sequences = 1) {
    return {.context_length = 128,
            .sequences = sequences,
            .threads = 1,
            .keys = GGML_TYPE_F32,
            .values = GGML_TYPE_F32,
            .flash_attention = LLAMA_FLASH_ATTN_TYPE_DISABLED};
}

}  // namespace augur::testing
