#pragma once
// llama.cpp as an engine: any GGUF file, any of its backends, several machines. See docs/engines/llama_cpp.md.

#include "augur/engines/llama_cpp/attention.hpp"
#include "augur/engines/llama_cpp/checkpoints.hpp"
#include "augur/engines/llama_cpp/context.hpp"
#include "augur/engines/llama_cpp/tokenizer.hpp"
#include "augur/engines/llama_cpp/weights.hpp"
#include "augur/model/any_model.hpp"

namespace augur::engines::llama_cpp {

/// What drafters of a scheme make.
enum class shape { chains, trees };

/// The engine for a file: `checkpoints` where its memory cannot be taken back, else `trees` or `streams` as the scheme
/// asks. Chains run on all three, trees too (path by path where the engine has none). Errors: the engine's.
inline model::any_model any_engine(const weights& of, const context_options& options = {},
                                   shape drafted = shape::chains) {
    if (!of.rewinds()) return model::any_model(checkpoints(of, options));
    if (drafted == shape::trees) return model::any_model(trees(of, options));
    return model::any_model(streams(of, options));
}

}  // namespace augur::engines::llama_cpp
