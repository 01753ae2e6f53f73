#pragma once
// Models of different vocabularies that take turns: how each reads the text that they hand each other.

#include <augur/io/text/text_codec.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <augur/types/token.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "known_words.hpp"
#include "options.hpp"

namespace augur::program {

/// A model that takes turns: what its tokens are known by.
struct turn_model {
    std::string path;
    std::size_t vocabulary, context;  ///< tokens
    std::string fingerprint;          ///< of its tokens' texts; empty where nothing says them
};

/// Whether any two of them have other tokens: not as many, or, where both say so, other texts.
bool vocabularies_differ(std::span<const turn_model> models);

/// One model's side of a text that is handed over.
struct bridged_side {
    turn_model of;
    io::tokenizer words;
    io::text_codec codec;
    std::vector<token> prompt;
    std::vector<token> end_tokens;

    bridged_side(turn_model model, io::tokenizer its_words, std::vector<token> begins_with, std::vector<token> ends)
        : of(std::move(model)),
          words(std::move(its_words)),
          codec(words),
          prompt(std::move(begins_with)),
          end_tokens(std::move(ends)) {}
};

/// What is to be handed over.
struct bridged_request {
    const prompt_options& prompt;      ///< with its text, or the target's ids
    std::span<const token> of_target;  ///< the same in the target's tokens
    std::span<const std::string> stop_strings;
    bool ignores_ends;  ///< --ignore-eos: no end tokens
};

/// The sides of all models, cheapest first, the target last. Each encodes the prompt's text by its own tokenizer and
/// chat template. Throws, with the file, where one has no tokenizer that augur reads or cannot continue the prompt;
/// where ids of the target's are no text; and where a stop string is a token of one vocabulary.
std::vector<bridged_side> bridge_of(std::span<const turn_model> models, const known_words& of_target,
                                    const bridged_request& asked);

}  // namespace augur::program
