#pragma once
// The tokenizer of models that hand each other text: for text that continues other text, and for any bytes.

#include <array>
#include <augur/io/text/sentencepiece_bpe.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <augur/io/text/utf8.hpp>
#include <augur/io/text/vocabulary.hpp>
#include <augur/types/token.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur::io {

/// The codec of a tokenizer's vocabulary: no special tokens, no space in front, nothing thrown for texts up to 1 GiB.
/// Bytes that are no UTF-8, and U+2581 where a vocabulary has it for the space, become the tokens of single bytes.
/// bytes_of(encode(bytes)), put together, are the bytes wherever there are tokens for them; bytes without one are left
/// out.
/// Cost: that of tokenizer::encode; at construction a copy of the vocabulary. Immutable: threads may share it.
class text_codec {
 public:
    explicit text_codec(const tokenizer& tokens) : tokens_(continuing(tokens.words())) {
        spelled_.fill(no_token);
        for (std::size_t i = 0; i < tokens_.vocabulary_size(); ++i) {
            const std::string bytes = bytes_of(static_cast<token>(i));
            if (bytes.size() == 1) spelled_[static_cast<unsigned char>(bytes[0])] = static_cast<token>(i);
        }
    }

    std::vector<token> encode(std::string_view bytes) const {
        std::vector<token> tokens;
        std::size_t done = 0;
        for (std::size_t at = 0; at < bytes.size();) {
            const auto start = first_code_point(bytes.substr(at));
            const std::string_view some = bytes.substr(at, start.length);
            at += start.length;
            if (start.state == utf8_state::complete && !reads_as_space(some)) continue;
            append_text(bytes.substr(done, at - start.length - done), tokens);
            spell(some, tokens);
            done = at;
        }
        append_text(bytes.substr(done), tokens);
        return tokens;
    }

    /// What the token stands for; nothing where a model's rows are longer than the vocabulary.
    std::string bytes_of(token t) const {
        const bool known = t >= 0 && static_cast<std::size_t>(t) < tokens_.vocabulary_size();
        return known ? tokens_.bytes_of(t) : std::string();
    }

 private:
    static vocabulary continuing(vocabulary words) {
        words.prefix = space_prefix::never;
        words.nfc = false;  // the bytes are to come back
        words.strips_left.clear();
        words.strips_right.clear();
        return words;
    }

    bool reads_as_space(std::string_view code_point) const {
        return code_point == space_mark && tokens_.words().kind == tokenizer_kind::sentencepiece_bpe;
    }

    void append_text(std::string_view text, std::vector<token>& out) const {
        const auto tokens = tokens_.encode(text, {.add_special = false});
        out.insert(out.end(), tokens.begin(), tokens.end());
    }

    void spell(std::string_view bytes, std::vector<token>& out) const {
        for (const char byte : bytes) {
            const token t = spelled_[static_cast<unsigned char>(byte)];
            if (t != no_token) out.push_back(t);
        }
    }

    tokenizer tokens_;
    std::array<token, 256> spelled_;
};

}  // namespace augur::io
