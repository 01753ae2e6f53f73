#pragma once
// Reads the vocabulary of a GGUF file.

#include <augur/io/files/quote.hpp>
#include <augur/io/text/sentencepiece_bpe.hpp>
#include <augur/io/text/split_rules.hpp>
#include <augur/io/text/utf8.hpp>
#include <augur/io/text/vocabulary.hpp>
#include <augur/types/error.hpp>
#include <augur/types/token.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur::io {

namespace detail {

/// The token that a key names; no_token where it is absent. One outside the vocabulary, as -1 and 0xFFFFFFFF for none,
/// is an error if something needs it, which `needed_by` says; otherwise there is no such token, and a note.
template <class File>
token read_token_id(const File& file, std::string_view key, vocabulary& words, std::string_view needed_by = "") {
    if (!file.contains(key)) return no_token;
    const auto id = file.template get<std::int64_t>(key);
    if (std::cmp_greater_equal(id, 0) && std::cmp_less(id, words.texts.size())) return static_cast<token>(id);
    const auto what = augur::detail::message(key, " is ", id, ", outside the vocabulary of ", words.texts.size());
    if (!needed_by.empty()) augur::detail::fail(what, ", but ", needed_by, " needs it");
    words.notes.push_back(what + ": there is no such token");
    return no_token;
}

/// Those of GGUF's special tokens that readers have a use for.
template <class File>
void read_special(const File& file, vocabulary& words) {
    words.add_bos = file.template get_or<bool>("tokenizer.ggml.add_bos_token", words.add_bos);
    words.add_eos = file.template get_or<bool>("tokenizer.ggml.add_eos_token", false);
    words.bos = read_token_id(file, "tokenizer.ggml.bos_token_id", words,
                              words.add_bos ? "bos in front of texts" : std::string_view());
    words.eos = read_token_id(file, "tokenizer.ggml.eos_token_id", words,
                              words.add_eos ? "eos behind texts" : std::string_view());
    words.eot = read_token_id(file, "tokenizer.ggml.eot_token_id", words);
    const token eom = read_token_id(file, "tokenizer.ggml.eom_token_id", words);
    if (eom != no_token) words.ends.push_back(eom);
    words.unknown = read_token_id(file, "tokenizer.ggml.unknown_token_id", words);
}

/// Merges by their texts. What one makes or takes need not be a token: other merges may go on from it, and where none
/// does, it is left as single bytes (llama.cpp does so).
template <class File>
void read_merges(const File& file, vocabulary& words) {
    const auto index = index_texts(words.texts);
    text_index others;
    std::string first;
    const auto id_of = [&](std::string_view text) {
        if (const token id = find_text(index, text); id != no_token) return id;
        const auto next = static_cast<token>(words.texts.size() + others.size());
        return others.emplace(text, next).first->second;
    };
    for (const auto& both : file.template array<std::string>("tokenizer.ggml.merges")) {
        const auto position = words.merges.size();
        const auto [left, right] = parts_of_merge(position, both);
        const auto known = others.size();
        words.merges.push_back({id_of(left), id_of(right), id_of(std::string(left).append(right))});
        if (known == 0 && !others.empty()) {
            first = augur::detail::message("merge ", position, " of ", quote(left), " and ", quote(right));
        }
    }
    words.passing = others.size();
    if (others.empty()) return;
    words.notes.push_back(augur::detail::message(first, " is of texts that are no tokens (", others.size(),
                                                 " such texts in all merges): what they make is left as single bytes"));
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
    constexpr std::string_view key = "tokenizer.ggml.pre";
    const auto& rules = find_split_rules(file.template get_or<std::string>(key, "default"));
    if (!file.contains(key)) {
        words.notes.push_back(augur::detail::message(key, " is not there: texts are split as by ", quote("default"),
                                                     ", which may not be how the model's were"));
    }
    words.kind = tokenizer_kind::byte_level_bpe;
    words.pre_tokenizer = rules.names[0];
    words.ignore_merges = rules.ignore_merges;
    words.add_bos = rules.add_bos;
    words.nfc = rules.nfc;
    if (!file.contains("tokenizer.ggml.merges") && is_alphabet(words)) return;
    read_merges(file, words);
}

/// Phi-3's control tokens take the white space behind them away, but for those of texts and what is unknown; files do
/// not say so.
inline void read_phi3(vocabulary& words) {
    for (std::size_t i = 0; i < words.texts.size(); ++i) {
        const std::string_view text = words.texts[i];
        const bool is_special = words.kinds[i] == token_kind::control || words.kinds[i] == token_kind::user_defined;
        if (!is_special || text == "<unk>" || text == "<s>" || text == "<|endoftext|>") continue;
        words.strips_right.push_back(static_cast<token>(i));
    }
}

/// Runs of spaces that are tokens as they are (Gemma): SentencePiece puts them together before anything else, the
/// longest first, of spaces and of U+2581 alike. Read so where there are all lengths from 2 on; others are left.
inline void merge_runs_first(vocabulary& words) {
    std::map<std::size_t, std::size_t> by_length;
    for (std::size_t i = 0; i < words.texts.size(); ++i) {
        const std::string spaces = sentencepiece_bpe::bytes_of(words.texts[i]);
        const bool is_run = spaces.size() > 1 && spaces.find_first_not_of(' ') == spaces.npos;
        if (is_run && words.kinds[i] == token_kind::user_defined) by_length.emplace(spaces.size(), i);
    }
    if (words.scores.size() != words.texts.size() || by_length.empty()) return;
    if (by_length.rbegin()->first != by_length.size() + 1) return;
    for (const auto& [length, i] : by_length) {
        words.texts[i] = replace_all(std::string(length, ' '), " ", space_mark);
        words.kinds[i] = token_kind::normal;
        words.scores[i] = static_cast<float>(length);  // others have at most 0
    }
}

template <class File>
void read_sentencepiece(const File& file, vocabulary& words) {
    words.kind = tokenizer_kind::sentencepiece_bpe;
    words.scores = file.template array<float>("tokenizer.ggml.scores");
    words.add_bos = true;
    const bool prefix = file.template get_or<bool>("tokenizer.ggml.add_space_prefix", true);
    words.prefix = prefix ? space_prefix::always : space_prefix::never;
    if (file.template get_or<std::string>("general.architecture", "") == "phi3") read_phi3(words);
    merge_runs_first(words);
}

/// Gemma 4: merges instead of scores, spaces as U+2581, bytes as a last resort.
template <class File>
void read_gemma4(const File& file, vocabulary& words) {
    words.kind = tokenizer_kind::sentencepiece_bpe;
    words.add_bos = true;
    if (file.template get_or<bool>("tokenizer.ggml.add_space_prefix", false)) {
        augur::detail::fail("tokenizer.ggml.add_space_prefix is set, which is not supported for 'gemma4'");
    }
    read_merges(file, words);
}

}  // namespace detail

/// Reads and checks what a GGUF file says about its tokenizer; the file is untrusted. `File` answers contains(key),
/// get<T>(key), get_or<T>(key, fallback) and array<T>(key), as gguf_file and gguf_view do. Throws augur::error for keys
/// that are missing or of the wrong type (merges may be missing where every token is one letter), a tokenizer model or
/// pre-tokenizer that is not supported (listing those that are), bos and eos outside the vocabulary that texts are to
/// get, and everything that check() refuses. Special tokens outside the vocabulary that nothing needs, merges of texts
/// that are no tokens, and a byte-level vocabulary that names no pre-tokenizer are notes.
template <class File>
vocabulary read_vocabulary(const File& file) {
    vocabulary words;
    const auto model = file.template get<std::string>("tokenizer.ggml.model");
    words.texts = file.template array<std::string>("tokenizer.ggml.tokens");
    words.kinds = detail::read_kinds(file, words.texts.size(), model == "llama" || model == "gemma4");
    if (model == "gpt2") {
        detail::read_byte_level(file, words);
    } else if (model == "llama") {
        detail::read_sentencepiece(file, words);
    } else if (model == "gemma4") {
        detail::read_gemma4(file, words);
    } else {
        augur::detail::fail("tokenizer.ggml.model is ", quote(model),
                            "; supported are 'gpt2' (byte-level BPE), 'llama' and 'gemma4' (SentencePiece BPE)");
    }
    detail::read_special(file, words);
    words.chat_template = file.template get_or<std::string>("tokenizer.chat_template", "");
    words.tool_template = file.template get_or<std::string>("tokenizer.chat_template.tool_use", "");
    check(words);
    return words;
}

}  // namespace augur::io
