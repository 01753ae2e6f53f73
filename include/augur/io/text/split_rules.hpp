#pragma once
// The pre-tokenizer patterns of byte-level tokenizers, by the names that model files use.

#include <array>
#include <augur/io/files/quote.hpp>
#include <augur/types/error.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace augur::io {

/// One way to cut a text into words. Each pattern in turn cuts every piece left by the one before: matches, and what
/// lies between them, are pieces of their own. Patterns are written as in tokenizer.json; empty ones are not there.
/// `\s` means Unicode's White_Space; of classes there are those of unicode_classes.hpp's stand-ins, and of characters
/// ASCII. The last pattern has a match for every text.
struct split_rules {
    std::array<std::string_view, 5> names;  ///< `tokenizer.ggml.pre` in GGUF files, the first is ours; empty: none
    std::array<std::string_view, 2> patterns;
    bool ignore_merges;  ///< a word that is a token is that token, whatever the merges say
    bool add_bos;        ///< what holds when the file does not say
    bool nfc;            ///< text is normalised first; tokenizer.json says so itself
};

inline constexpr std::string_view gpt2_pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// `Digits` of tokenizer.json: numbers of a later Unicode version than the patterns', by their stand-in.
inline constexpr std::string_view digits_pattern = R"([\p{N}\x{1D101}])";

inline constexpr std::string_view digit_pattern = R"(\p{N})";

inline constexpr std::string_view llama3_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

inline constexpr std::string_view qwen2_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

inline constexpr std::string_view qwen35_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+)"
    R"(|\s+(?!\S)|\s+)";

inline constexpr std::string_view gpt4o_pattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

inline constexpr std::string_view tekken_pattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

inline constexpr std::array<split_rules, 11> known_split_rules = {{
    {{"gpt-2", "default", "phi-2"}, {gpt2_pattern}, false, false, false},
    {{"olmo", "mpt"}, {gpt2_pattern}, false, false, true},
    {{"smollm", "starcoder", "refact", "command-r"}, {digits_pattern, gpt2_pattern}, false, false, false},
    {{"split-digits"}, {digit_pattern, gpt2_pattern}, false, false, false},  // ours: as tokenizer.json may spell it
    {{"llama-bpe", "llama3", "llama-v3"}, {llama3_pattern}, true, true, false},
    {{"dbrx"}, {llama3_pattern}, false, false, false},
    {{"qwen2"}, {qwen2_pattern}, false, false, true},
    {{"deepseek-r1-qwen"}, {qwen2_pattern}, false, false, false},
    {{"qwen35"}, {qwen35_pattern}, false, false, true},
    {{"gpt-4o"}, {gpt4o_pattern}, false, false, false},
    {{"tekken"}, {tekken_pattern}, true, true, false},
}};

/// The rules by any of their names; the error for an unknown one lists all.
inline const split_rules& find_split_rules(std::string_view name) {
    std::string supported;
    for (const auto& rules : known_split_rules) {
        for (const auto candidate : rules.names) {
            if (candidate.empty()) continue;
            if (candidate == name) return rules;
            supported += (supported.empty() ? "" : ", ") + std::string(candidate);
        }
    }
    augur::detail::fail("unknown pre-tokenizer ", quote(name), "; supported are ", supported);
}

}  // namespace augur::io
