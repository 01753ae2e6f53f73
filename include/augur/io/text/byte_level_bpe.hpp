#pragma once
// Byte-level byte pair encoding (GPT-2, Llama 3, Qwen 2, SmolLM): merges the bytes of words in the order of a list.

#include <array>
#include <augur/io/text/byte_alphabet.hpp>
#include <augur/io/text/merge_symbols.hpp>
#include <augur/io/text/merge_table.hpp>
#include <augur/io/text/pre_tokenizer.hpp>
#include <augur/io/text/vocabulary.hpp>
#include <augur/types/token.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace augur::io {

/// Encodes ordinary text; special tokens are not its business. Immutable: threads may share it.
/// Cost: O(n log n) in the longest word, linear in their number.
class byte_level_bpe {
 public:
    /// `words` must have passed check().
    explicit byte_level_bpe(const vocabulary& words)
        : pre_tokenizer_(find_split_rules(words.pre_tokenizer)), merges_(words.merges), size_(words.texts.size()) {
        byte_tokens_.fill(no_token);
        for (std::size_t i = 0; i < words.texts.size(); ++i) {
            if (words.kinds[i] != token_kind::normal) continue;
            const auto bytes = unspell_bytes(words.texts[i]);
            if (!bytes || bytes->empty()) continue;
            if (bytes->size() == 1) byte_tokens_[static_cast<unsigned char>(bytes->front())] = static_cast<token>(i);
            if (words.ignore_merges) whole_words_.emplace(*bytes, static_cast<token>(i));
        }
    }

    /// Appends the tokens of a text, which must be UTF-8. on_unknown(byte) is called, with a view of one byte, for each
    /// that has no token in this vocabulary; its neighbours merge as if it were not there, as in Hugging Face's
    /// tokenizers. What merges make that is no token is written as its bytes' tokens, as llama.cpp does.
    template <class OnUnknown>
    void encode(std::string_view text, std::vector<token>& out, OnUnknown&& on_unknown) const {
        symbol_merger merger;
        std::vector<token> bytes;  // of the word
        for (const auto word : pre_tokenizer_.split(text)) {
            const token whole = find_text(whole_words_, word);
            if (whole != no_token) {
                out.push_back(whole);
                continue;
            }
            merger.clear();
            bytes.clear();
            for (std::size_t i = 0; i < word.size(); ++i) {
                const token byte = byte_tokens_[static_cast<unsigned char>(word[i])];
                if (byte != no_token) {
                    merger.add(bytes.size(), 1, byte);
                    bytes.push_back(byte);
                } else {
                    on_unknown(word.substr(i, 1));
                }
            }
            merger.merge([&](const symbol& left, const symbol& right) { return merges_.find(left.id, right.id); },
                         [&](const symbol& last) {
                             if (static_cast<std::size_t>(last.id) < size_) {
                                 out.push_back(last.id);
                                 return;
                             }
                             const auto from = bytes.begin() + last.begin;
                             out.insert(out.end(), from, from + last.length);
                         });
        }
    }

    /// The bytes that a normal token stands for: what its text spells, or the text itself if it spells nothing.
    static std::string bytes_of(std::string_view text) {
        auto bytes = unspell_bytes(text);
        return bytes ? *bytes : std::string(text);
    }

 private:
    pre_tokenizer pre_tokenizer_;
    merge_table merges_;
    std::size_t size_;
    std::array<token, 256> byte_tokens_;
    text_index whole_words_;  // empty unless words that are tokens ignore the merges
};

}  // namespace augur::io
