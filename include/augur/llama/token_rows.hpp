#pragma once
// Crops padded vocabularies: finds the rows of an embedding and a head that belong to tokens.

#include <span>
#include <utility>

#include "augur/io/text/token_texts.hpp"
#include "augur/llama/config.hpp"
#include "augur/types/error.hpp"

namespace augur::llama::detail {

using augur::detail::message;

/// Writers fill embeddings up to round numbers of rows, and one draft bundle's models up to different ones. Rows behind
/// the last token belong to nothing that could be read or written, so the vocabulary ends with the tokens: models of
/// the same tokens have rows of the same size. Takes the tokens' fingerprint, too; `c.vocabulary` is the number of rows
/// in the file before.
inline void read_tokens(config& c, std::span<const io::token_text> tokens) {
    c.vocabulary_fingerprint = io::vocabulary_fingerprint(tokens);
    if (tokens.empty() || tokens.back().id + 1 >= c.vocabulary) return;
    c.padded_vocabulary = std::exchange(c.vocabulary, tokens.back().id + 1);
    c.notes.push_back(message("the last ", c.padded_vocabulary - c.vocabulary, " of ", c.padded_vocabulary,
                              " rows belong to no token, and are left out"));
}

}  // namespace augur::llama::detail
