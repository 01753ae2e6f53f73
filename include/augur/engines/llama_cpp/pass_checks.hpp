#pragma once
// What engines check before llama.cpp is asked: where a pass is wrong, it ends the process or changes its memory.

#include <llama.h>

#include <algorithm>
#include <cstddef>

#include "augur/engines/llama_cpp/context.hpp"
#include "augur/engines/llama_cpp/weights.hpp"
#include "augur/model/check_passes.hpp"
#include "augur/model/pass.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::engines::llama_cpp {

inline void check_option(const char* name, std::size_t value, std::size_t least, std::size_t most) {
    if (value >= least && value <= most) return;
    augur::detail::fail("context_options::", name, " is ", value, "; it must be from ", least, " to ", most);
}

inline void check_options(const context_options& options) {
    check_option("sequences", options.sequences, 1, llama_max_parallel_sequences());
    check_option("threads", options.threads, 0, 512);
    check_option("pass_tokens", options.pass_tokens, 1, 1u << 20);
    check_option("pass_rows", options.pass_rows, 1, 1u << 20);
    check_option("states", options.states, 1, 1u << 10);
    const auto is_format = [](ggml_type of) { return of >= 0 && of < GGML_TYPE_COUNT && ggml_blck_size(of) > 0; };
    if (!is_format(options.keys) || !is_format(options.values)) {
        augur::detail::fail("context_options::keys and values are ggml's formats ", static_cast<int>(options.keys),
                            " and ", static_cast<int>(options.values), ", of ", static_cast<int>(GGML_TYPE_COUNT));
    }
}

/// That the options ask for; throws where the model was trained for less.
inline std::size_t context_length_of(const weights& of, const context_options& options) {
    constexpr std::size_t usual = 4096;
    if (options.context_length > of.trained_length()) {
        augur::detail::fail("a context of ", options.context_length, " tokens, but ", of.description(),
                            " was trained for ", of.trained_length());
    }
    return options.context_length != 0 ? options.context_length : std::min(usual, of.trained_length());
}

/// One that goes through all layers, makes no states, and has tokens of the vocabulary; of a chain, that it has room.
template <class Sequence>
void check_pass(const pass<Sequence>& asked, std::size_t vocabulary, std::size_t length, std::size_t context) {
    if (asked.states) augur::detail::fail("run: llama.cpp shows no hidden states to this engine");
    for (const token each : asked.tokens) {
        if (each >= 0 && static_cast<std::size_t>(each) < vocabulary) continue;
        augur::detail::fail("run: token ", each, " of a vocabulary of ", vocabulary);
    }
    if (asked.parents.empty()) model::check_room(length, asked.tokens.size(), context);
}

}  // namespace augur::engines::llama_cpp
