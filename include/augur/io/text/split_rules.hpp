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
/// `\s` means Unicode's White_Space; of classes there are `\p{L}`, `\p{N}` and `\p{M}` (unicode_classes.hpp), and of
/// characters ASCII.
struct split_rules {
    std::array<std::string_view, 5> names;  ///< `tokenizer.ggml.pre` in GGUF files, the first is ours; empty: none
    std::array<std::string_view, 2> patterns;
    bool ignore_merges;  ///< a word that is a token is that token, whatever the merges say
    bool add_bos;        ///< what holds when the file does not say
};

inline constexpr std::string_view gpt2_pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// `Digits` of tokenizer.json: numbers of a later Unicode version than the patterns', by their stand-in.
inline constexpr std::string_view digits_pattern = R"([\p{N}\x{1D101}])";

inline constexpr std::array<split_rules, 5> known_split_rules = {{
    {{"gpt-2", "default", "phi-2"}, {gpt2_pattern}, false, false},
    {{"smollm", "starcoder", "refact", "command-r"}, {digits_pattern, gpt2_pattern}, false, false},
    {{"split-digits"}, {R"(\p{N})", gpt2_pattern}, false, false},  // ours: a tokenizer.json that spells the step out
    {{"llama-bpe", "llama3", "llama-v3"},
     {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
     true,
     true},
    {{"qwen2", "deepseek-r1-qwen"},
     {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
     false,
     false},
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
