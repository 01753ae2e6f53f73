#pragma once
// By which a vocabulary in llama.cpp is known again: the mark that the same file has in augur::io.

#include <llama.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "augur/io/files/fnv_hash.hpp"

namespace augur::engines::llama_cpp {

/// That of io/text/token_texts.hpp: over ids and texts of all tokens that have one and are not marked as unused. Empty
/// where the file has no vocabulary. llama.cpp names tokens without a text "[EMPTY_id]". Cost: linear in the texts.
inline std::string fingerprint(const llama_vocab& vocabulary) {
    if (llama_vocab_type(&vocabulary) == LLAMA_VOCAB_TYPE_NONE) return "";
    io::fnv_hash hash;
    for (llama_token id = 0; id < llama_vocab_n_tokens(&vocabulary); ++id) {
        const std::string_view text = llama_vocab_get_text(&vocabulary, id);
        const bool unused = (llama_vocab_get_attr(&vocabulary, id) & LLAMA_TOKEN_ATTR_UNUSED) != 0;
        if (unused || text.empty() || text == "[EMPTY_" + std::to_string(id) + "]") continue;
        hash.add(static_cast<std::uint64_t>(id), 8);
        hash.add(text.size(), 8);
        hash.add(text);
    }
    return hash.text();
}

}  // namespace augur::engines::llama_cpp
