#pragma once
// The vocabulary inside a GGUF file.

#include <augur/io/quote.hpp>
#include <augur/io/split_rules.hpp>
#include <augur/io/utf8.hpp>
#include <augur/io/vocabulary.hpp>
#include <augur/types/error.hpp>
#include <augur/types/token.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace augur::io {

namespace detail {

template <class File>
token read_token_id(const File& file, std::string_view key, std::size_t count) {
    if (!file.contains(key)) return no_token;
    const auto id = file.template get<std::uint64_t>(key);
    if (id >= count) augur::detail::fail(key, " is ", id, ", outside the vocabulary of ", count);
    return static_cast<token>(id);
}

/// Byte-level files may leave the types out: all tokens are normal then.
template <class File>
std::vector<token_kind> read_kinds(const File& file, std::size_t count, bool required) {
    constexpr std::string_view key = "tokenizer.ggml.token_type";
    if (!required && !file.contains(key)) return std::vector<token_kind>(count, token_kind::normal);
    std::vector<token_kind> kinds;
    for (const auto number : file.template array<std::int32_t>(key)) {
        if (number < 1 || number > 6) {
            augur::detail::fail("the token type of token ", kinds.size(), " is ", number, ", not 1 to 6");
        }
        kinds.push_back(static_cast<token_kind>(number));
    }
    return kinds;
}

/// Whether merges could make nothing: every normal token is one letter. Writers leave empty lists out.
inline bool is_alphabet(const vocabulary& words) {
    for (std::size_t i = 0; i < words.texts.size(); ++i) {
        const std::string_view text = words.texts[i];
        if (words.kinds[i] == token_kind::normal && first_code_point(text).length != text.size()) return false;
    }
    return true;
}

template <class File>
void read_byte_level(const File& file, vocabulary& words) {
    const auto& rules = find_split_rules(file.template get_or<std::string>("tokenizer.ggml.pre", "default"));
    words.kind = tokenizer_kind::byte_level_bpe;
    words.pre_tokenizer = rules.names[0];
    words.ignore_merges = rules.ignore_merges;
    words.add_bos = rules.add_bos;
    if (!file.contains("tokenizer.ggml.merges") && is_alphabet(words)) return;
    const auto index = index_texts(words.texts);
    for (const auto& both : file.template array<std::string>("tokenizer.ggml.merges")) {
        words.merges.push_back(make_merge(index, words.merges.size(), both));
    }
}

template <class File>
void read_sentencepiece(const File& file, vocabulary& words) {
    words.kind = tokenizer_kind::sentencepiece_bpe;
    words.scores = file.template array<float>("tokenizer.ggml.scores");
    words.add_bos = true;
    const bool prefix = file.template get_or<bool>("tokenizer.ggml.add_space_prefix", true);
    words.prefix = prefix ? space_prefix::always : space_prefix::never;
}

}  // namespace detail

/// Reads and checks what a GGUF file says about its tokenizer; the file is untrusted. `File` answers contains(key),
/// get<T>(key), get_or<T>(key, fallback) and array<T>(key), as gguf_file and gguf_view do. Throws augur::error for keys
/// that are missing or of the wrong type (merges may be missing where every token is one letter), a tokenizer model or
/// pre-tokenizer that is not supported (listing those that are), merges of texts that are no tokens, and everything
/// that check() refuses.
template <class File>
vocabulary read_vocabulary(const File& file) {
    vocabulary words;
    const auto model = file.template get<std::string>("tokenizer.ggml.model");
    words.texts = file.template array<std::string>("tokenizer.ggml.tokens");
    words.kinds = detail::read_kinds(file, words.texts.size(), model == "llama");
    if (model == "gpt2") {
        detail::read_byte_level(file, words);
    } else if (model == "llama") {
        detail::read_sentencepiece(file, words);
    } else {
        augur::detail::fail("tokenizer.ggml.model is ", quote(model),
                            "; supported are 'gpt2' (byte-level BPE) and 'llama' (SentencePiece BPE)");
    }
    const auto count = words.texts.size();
    words.bos = detail::read_token_id(file, "tokenizer.ggml.bos_token_id", count);
    words.eos = detail::read_token_id(file, "tokenizer.ggml.eos_token_id", count);
    words.eot = detail::read_token_id(file, "tokenizer.ggml.eot_token_id", count);
    words.unknown = detail::read_token_id(file, "tokenizer.ggml.unknown_token_id", count);
    words.add_bos = file.template get_or<bool>("tokenizer.ggml.add_bos_token", words.add_bos);
    words.add_eos = file.template get_or<bool>("tokenizer.ggml.add_eos_token", false);
    words.chat_template = file.template get_or<std::string>("tokenizer.chat_template", "");
    words.tool_template = file.template get_or<std::string>("tokenizer.chat_template.tool_use", "");
    check(words);
    return words;
}

}  // namespace augur::io
