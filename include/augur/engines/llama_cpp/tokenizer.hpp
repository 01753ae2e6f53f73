#pragma once
// A model's vocabulary in llama.cpp: text to tokens and back.

#include <llama.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/engines/llama_cpp/weights.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::engines::llama_cpp {

struct encode_options {
    bool add_special = true;     ///< put the bos and eos tokens there that the vocabulary asks for
    bool parse_special = false;  ///< control tokens written in the text, such as <|im_end|>, become those tokens
};

/// Immutable, and safe to share between threads; a copy shares the weights, which stay as long.
class tokenizer {
 public:
    /// Throws where the file has no vocabulary.
    explicit tokenizer(weights of) : weights_(std::move(of)) {
        if (llama_vocab_type(words()) == LLAMA_VOCAB_TYPE_NONE) {
            augur::detail::fail(weights_.description(), " has no vocabulary, of ", weights_.vocabulary_size(),
                                " tokens: it takes and gives ids only");
        }
    }

    /// Throws where the text has 2 GiB or more. Bytes that are no UTF-8 are llama.cpp's to read.
    std::vector<token> encode(std::string_view text, encode_options options = {}) const {
        const auto size = checked(text.size());
        std::vector<token> ids(text.size() / 2 + 8);
        const auto into = [&] {
            return llama_tokenize(words(), text.data(), size, ids.data(), static_cast<std::int32_t>(ids.size()),
                                  options.add_special, options.parse_special);
        };
        std::int32_t count = into();
        if (count < 0 && count > std::numeric_limits<std::int32_t>::min()) {
            ids.resize(static_cast<std::size_t>(-count));
            count = into();
        }
        if (count < 0) augur::detail::fail("llama.cpp cannot tokenize a text of ", text.size(), " bytes");
        ids.resize(static_cast<std::size_t>(count));
        return ids;
    }

    /// What a token stands for: any bytes, not always whole code points. Control tokens stand for nothing unless
    /// `show_control`.
    std::string bytes_of(token id, bool show_control = false) const {
        if (id < 0 || static_cast<std::size_t>(id) >= weights_.vocabulary_size()) {
            augur::detail::fail("token ", id, " is outside the vocabulary of ", weights_.vocabulary_size());
        }
        std::string bytes(16, '\0');
        const auto into = [&] {
            return llama_token_to_piece(words(), id, bytes.data(), static_cast<std::int32_t>(bytes.size()), 0,
                                        show_control);
        };
        std::int32_t size = into();
        if (size < 0) {
            bytes.resize(static_cast<std::size_t>(-size));
            size = into();
        }
        bytes.resize(static_cast<std::size_t>(size));
        return bytes;
    }
    /// Their bytes one after another: a space that a SentencePiece text begins with stays.
    std::string decode(std::span<const token> ids, bool show_control = false) const {
        std::string text;
        for (const token id : ids) text += bytes_of(id, show_control);
        return text;
    }

    /// no_token where there is none.
    token bos() const { return llama_vocab_bos(words()); }
    token eos() const { return llama_vocab_eos(words()); }
    /// Whether a text ends with it.
    bool is_end(token id) const { return llama_vocab_is_eog(words(), id); }
    /// All such, ascending: for decode::stop_rules::tokens.
    std::vector<token> ends() const {
        std::vector<token> found;
        for (token id = 0; static_cast<std::size_t>(id) < weights_.vocabulary_size(); ++id) {
            if (is_end(id)) found.push_back(id);
        }
        return found;
    }
    /// Jinja; empty where there is none.
    std::string chat_template() const {
        const char* const found = llama_model_chat_template(weights_.get(), nullptr);
        return found == nullptr ? "" : found;
    }

 private:
    const llama_vocab* words() const { return weights_.vocabulary(); }
    static std::int32_t checked(std::size_t size) {
        if (size <= 0x7fffffff) return static_cast<std::int32_t>(size);
        augur::detail::fail("llama.cpp tokenizes texts of less than 2 GiB, not of ", size, " bytes");
    }

    weights weights_;
};

}  // namespace augur::engines::llama_cpp
