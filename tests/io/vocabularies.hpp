#pragma once
// Small vocabularies made by hand, and random text, for tests of tokenizers.

#include <augur/io/text/byte_alphabet.hpp>
#include <augur/io/text/sentencepiece_bpe.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <augur/io/text/vocabulary.hpp>
#include <augur/types/token.hpp>
#include <cstddef>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace augur::testing {

/// Appends a token and returns its id.
inline token add_token(io::vocabulary& words, std::string text, io::token_kind kind = io::token_kind::normal) {
    words.texts.push_back(std::move(text));
    words.kinds.push_back(kind);
    return static_cast<token>(words.texts.size() - 1);
}

/// The token with this text, which must be there.
inline token token_of(const io::vocabulary& words, std::string_view text) {
    const token id = io::find_text(io::index_texts(words.texts), text);
    if (id == no_token) augur::detail::fail("no token ", text);
    return id;
}

/// All 256 bytes as tokens 0 to 255, then one token per merge ("h e" makes "he"; a space is spelled U+0120), then
/// <|endoftext|> (eos), <|im_start|> (bos), <|im_end|>, all control, and <tool>, <tool_call>, user-defined.
inline io::vocabulary byte_level_words(std::initializer_list<std::string_view> merges = {"h e", "l l", "he ll",
                                                                                         "hell o", "Ġ w", "Ġw o"}) {
    io::vocabulary words;
    for (int byte = 0; byte < 256; ++byte) {
        add_token(words, io::spell_bytes(std::string(1, static_cast<char>(byte))));
    }
    for (const auto merge : merges) {
        std::string text(merge);
        text.erase(text.find(' ', 1), 1);
        add_token(words, text);
        words.merges.push_back(io::make_merge(io::index_texts(words.texts), words.merges.size(), merge));
    }
    words.eos = add_token(words, "<|endoftext|>", io::token_kind::control);
    words.bos = add_token(words, "<|im_start|>", io::token_kind::control);
    add_token(words, "<|im_end|>", io::token_kind::control);
    add_token(words, "<tool>", io::token_kind::user_defined);
    add_token(words, "<tool_call>", io::token_kind::user_defined);
    return words;
}

/// <unk>, <s> and </s> as tokens 0 to 2, bytes from 3, then pieces, the better the earlier; a space is U+2581.
inline io::vocabulary sentencepiece_words(std::initializer_list<std::string_view> pieces = {
                                              "he", "ll", "▁w", "hell", "hello", "▁hello", "▁", "h", "e", "l", "o", "w",
                                              "日本", "日"}) {
    io::vocabulary words;
    words.kind = io::tokenizer_kind::sentencepiece_bpe;
    words.prefix = io::space_prefix::always;
    words.unknown = add_token(words, "<unk>", io::token_kind::unknown);
    words.bos = add_token(words, "<s>", io::token_kind::control);
    words.eos = add_token(words, "</s>", io::token_kind::control);
    constexpr std::string_view digits = "0123456789ABCDEF";
    for (std::size_t byte = 0; byte < 256; ++byte) {
        add_token(words, std::string("<0x") + digits[byte / 16] + digits[byte % 16] + ">", io::token_kind::byte);
    }
    for (const auto piece : pieces) add_token(words, std::string(piece));
    for (std::size_t i = 0; i < words.texts.size(); ++i) words.scores.push_back(-static_cast<float>(i));
    words.add_bos = true;
    return words;
}

/// Appends a code point as UTF-8.
inline void append_code_point(std::string& text, unsigned point) {
    const auto tail = [&](unsigned shift) { text += static_cast<char>(0x80 | ((point >> shift) & 0x3F)); };
    if (point < 0x80) {
        text += static_cast<char>(point);
    } else if (point < 0x800) {
        text += static_cast<char>(0xC0 | (point >> 6));
        tail(0);
    } else if (point < 0x10000) {
        text += static_cast<char>(0xE0 | (point >> 12));
        tail(6);
        tail(0);
    } else {
        text += static_cast<char>(0xF0 | (point >> 18));
        tail(12);
        tail(6);
        tail(0);
    }
}

/// Valid UTF-8 of all lengths, with much white space and ASCII between.
inline std::string random_text(std::mt19937& random, std::size_t length) {
    constexpr unsigned ends[] = {0x80, 0x250, 0x3000, 0xD800, 0x10000, 0x110000};
    constexpr std::string_view common = "  \n\thelo w'sd12.<|>";
    std::string text;
    while (text.size() < length) {
        const auto choice = random() % 12;
        if (choice >= 6) {
            text += common[random() % common.size()];
            continue;
        }
        const unsigned point = static_cast<unsigned>(random() % ends[choice]);
        if (point < 0xD800 || point > 0xDFFF) append_code_point(text, point);
    }
    return text;
}

}  // namespace augur::testing
