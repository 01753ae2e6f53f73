#pragma once
// A tokenizer's vocabulary, and the checks that make it safe to use.

#include <array>
#include <augur/io/files/quote.hpp>
#include <augur/types/error.hpp>
#include <augur/types/token.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace augur::io {

/// What a token is for. The numbers are those of `tokenizer.ggml.token_type`.
enum class token_kind : std::uint8_t {
    normal = 1,        ///< made by merging
    unknown = 2,       ///< stands for what has no token; rendered as nothing
    control = 3,       ///< <s>, <|im_end|>, ...: never made from ordinary text, rendered as nothing
    user_defined = 4,  ///< found in text as it is, before anything else
    unused = 5,
    byte = 6  ///< <0x00> to <0xFF>: one byte of a character that has no token
};

/// How text becomes tokens. The comments give the names in GGUF files.
enum class tokenizer_kind {
    byte_level_bpe,    ///< "gpt2": words of bytes, merged in the order of a list
    sentencepiece_bpe  ///< "llama": code points, U+2581 for spaces, merged by score (or list), bytes as a last resort
};

/// Where a SentencePiece text gets a space in front.
enum class space_prefix {
    never,
    at_start,  ///< where the text begins, unless with a special token
    always     ///< where the text begins, and after every special token
};

/// `left` and `right`, next to each other, become `result`.
struct merge_rule {
    token left;
    token right;
    token result;
};

/// Of a chat template, in bytes: the longest of published models have some 20,000.
inline constexpr std::size_t longest_chat_template = std::size_t{1} << 20;

/// A tokenizer's data. Plain values: build one by hand, or read one with read_vocabulary (GGUF) or
/// read_tokenizer_folder (Hugging Face). Whoever uses one calls check() first; `tokenizer` does.
struct vocabulary {
    tokenizer_kind kind = tokenizer_kind::byte_level_bpe;
    std::string pre_tokenizer = "gpt-2";  ///< byte level only: a name that find_split_rules knows
    bool ignore_merges = false;           ///< byte level only: a word that is a token is that token
    bool nfc = false;                     ///< text is normalised to NFC, but for special tokens that are found first
    std::vector<std::string> texts;       ///< as in the file: spelled in the byte alphabet, or with U+2581
    std::vector<token_kind> kinds;        ///< one for each text
    std::vector<float> scores;            ///< sentencepiece: one for each text, or none when merges rule
    std::vector<merge_rule> merges;       ///< best first
    std::size_t passing = 0;              ///< byte level only: ids behind the texts, of what merges make on the way
                                          ///< to a token, or in vain: texts that are no tokens, left as single bytes
    std::vector<token> found_last;        ///< special tokens that are looked for in what all others leave of a text
    std::vector<token> strips_left;       ///< special tokens that take the white space before them away
    std::vector<token> strips_right;      ///< and those that take what is behind them
    token bos = no_token;
    token eos = no_token;
    token eot = no_token;
    std::vector<token> ends;  ///< further tokens that end a text; a model's rows may have more ids than there are texts
    token unknown = no_token;
    bool add_bos = false;
    bool add_eos = false;
    space_prefix prefix = space_prefix::never;  ///< sentencepiece only
    bool prefix_joins = false;                  ///< text that begins with a space or U+2581 gets none (Metaspace)
    std::string chat_template;                  ///< Jinja; empty when there is none
    std::string tool_template;                  ///< the one for conversations with tools, where there are two
    std::vector<std::string> notes;             ///< what a reader met in a file and could do without, a line each
};

/// Hashes strings and views alike, so that lookups by view make no copies.
struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

using text_index = std::unordered_map<std::string, token, text_hash, std::equal_to<>>;

/// The token with exactly this text, or no_token.
inline token find_text(const text_index& index, std::string_view text) {
    const auto found = index.find(text);
    return found == index.end() ? no_token : found->second;
}

/// Every text with its token; throws when two tokens have the same text (unless it is empty: those are never found).
inline text_index index_texts(const std::vector<std::string>& texts) {
    text_index index;
    index.reserve(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
        if (texts[i].empty()) continue;
        const auto [position, is_new] = index.emplace(texts[i], static_cast<token>(i));
        if (!is_new) {
            augur::detail::fail("tokens ", position->second, " and ", i, " have the same text ", quote(texts[i]));
        }
    }
    return index;
}

/// The byte that the text of a byte token names, as in <0x0A>, or nothing.
inline std::optional<unsigned char> parse_byte_token(std::string_view text) {
    if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>') return std::nullopt;
    int value = 0;
    for (const char digit : text.substr(3, 2)) {
        const auto found = std::string_view("0123456789ABCDEF").find(digit);
        if (found == std::string_view::npos) return std::nullopt;
        value = value * 16 + static_cast<int>(found);
    }
    return static_cast<unsigned char>(value);
}

namespace detail {

inline void check_token(const vocabulary& words, std::string_view role, token id) {
    if (id != no_token && (id < 0 || static_cast<std::size_t>(id) >= words.texts.size())) {
        augur::detail::fail("the ", role, " token is ", id, ", outside the vocabulary of ", words.texts.size());
    }
}

inline void check_counts(const vocabulary& words) {
    const auto count = words.texts.size();
    if (count == 0) augur::detail::fail("the vocabulary has no tokens");
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<token>::max());
    if (count > most) augur::detail::fail("the vocabulary has ", count, " tokens, more than ", most);
    if (words.passing > most - count) {
        augur::detail::fail("the vocabulary has ", count, " tokens and ", words.passing, " texts on the way to them, ",
                            "more than ", most);
    }
    if (words.kinds.size() != count) {
        augur::detail::fail("the vocabulary has ", count, " tokens but ", words.kinds.size(), " token types");
    }
    if (!words.scores.empty() && words.scores.size() != count) {
        augur::detail::fail("the vocabulary has ", count, " tokens but ", words.scores.size(), " scores");
    }
    if (words.kind == tokenizer_kind::sentencepiece_bpe && words.scores.empty() && words.merges.empty()) {
        augur::detail::fail("a sentencepiece vocabulary needs scores or merges; it has ", count, " tokens and neither");
    }
}

inline void check_entries(const vocabulary& words) {
    for (std::size_t i = 0; i < words.scores.size(); ++i) {
        if (std::isnan(words.scores[i])) augur::detail::fail("the score of token ", i, " is not a number");
    }
    for (std::size_t i = 0; i < words.texts.size(); ++i) {
        if (words.kinds[i] == token_kind::byte && !parse_byte_token(words.texts[i])) {
            augur::detail::fail("token ", i, " is a byte token but its text is ", quote(words.texts[i]),
                                ", not <0x00> to <0xFF>");
        }
    }
    for (std::size_t i = 0; i < words.merges.size(); ++i) {
        const auto& merge = words.merges[i];
        for (const token part : {merge.left, merge.right, merge.result}) {
            if (part < 0 || static_cast<std::size_t>(part) >= words.texts.size() + words.passing) {
                augur::detail::fail("merge ", i, " names token ", part, ", outside the vocabulary of ",
                                    words.texts.size());
            }
        }
    }
    if (words.passing != 0 && words.kind != tokenizer_kind::byte_level_bpe) {
        augur::detail::fail("merges make ", words.passing, " texts that are no tokens, which only byte-level ",
                            "vocabularies may");
    }
    for (const token id : words.ends) {
        if (id < 0) augur::detail::fail("the token ", id, " ends a text; ids are 0 or more");
    }
    for (const auto& [ids, what] : {std::pair{&words.found_last, "is found last"},
                                    {&words.strips_left, "strips white space"},
                                    {&words.strips_right, "strips white space"}}) {
        for (const token id : *ids) {
            if (id >= 0 && static_cast<std::size_t>(id) < words.texts.size()) continue;
            augur::detail::fail("token ", id, " ", what, ", outside the vocabulary of ", words.texts.size());
        }
    }
}

}  // namespace detail

/// Throws augur::error, naming the values at fault, unless counts agree, every id is inside the vocabulary, texts
/// differ, scores are numbers, and tokens to be added exist. Cost: linear in the vocabulary.
inline void check(const vocabulary& words) {
    detail::check_counts(words);
    detail::check_entries(words);
    detail::check_token(words, "bos", words.bos);
    detail::check_token(words, "eos", words.eos);
    detail::check_token(words, "eot", words.eot);
    detail::check_token(words, "unknown", words.unknown);
    if (words.add_bos && words.bos == no_token) augur::detail::fail("add_bos is set but there is no bos token");
    if (words.add_eos && words.eos == no_token) augur::detail::fail("add_eos is set but there is no eos token");
    static_cast<void>(index_texts(words.texts));
}

/// The merge that makes one token of two, found by their texts; `position` is named in the error for a text that is no
/// token.
inline merge_rule make_merge(const text_index& index, std::size_t position, std::string_view left,
                             std::string_view right) {
    const auto require = [&](std::string_view text) {
        const token id = find_text(index, text);
        if (id == no_token) {
            augur::detail::fail("merge ", position, " of ", quote(left), " and ", quote(right), " needs the token ",
                                quote(text), ", which is not in the vocabulary of ", index.size());
        }
        return id;
    };
    return {require(left), require(right), require(std::string(left).append(right))};
}

/// The two texts of a merge that is spelled "left right" in one string; `position` is named in the error for another.
inline std::array<std::string_view, 2> parts_of_merge(std::size_t position, std::string_view both) {
    const auto space = both.find(' ', 1);
    if (space == std::string_view::npos) {
        augur::detail::fail("merge ", position, " is ", quote(both), ", not two tokens with a space between");
    }
    return {both.substr(0, space), both.substr(space + 1)};
}

/// The same merge for that spelling.
inline merge_rule make_merge(const text_index& index, std::size_t position, std::string_view both) {
    const auto [left, right] = parts_of_merge(position, both);
    return make_merge(index, position, left, right);
}

}  // namespace augur::io
