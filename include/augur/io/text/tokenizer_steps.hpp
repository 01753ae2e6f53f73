#pragma once
// The normalizer and pre-tokenizer steps of tokenizer.json.

#include <algorithm>
#include <augur/io/files/json_reader.hpp>
#include <augur/io/files/quote.hpp>
#include <augur/io/text/sentencepiece_bpe.hpp>
#include <augur/io/text/split_rules.hpp>
#include <augur/io/text/vocabulary.hpp>
#include <augur/types/error.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace augur::io::detail {

inline std::string text_of(const json_reader<>& in, const char* key) {
    return in.value_or<std::string>(key, "");
}

/// The elements of an array of objects; none where the key is absent.
inline std::vector<json_reader<>> objects_of(const json_reader<>& in, const char* key) {
    std::vector<json_reader<>> all;
    if (const nlohmann::json* list = in.array(key)) {
        for (const auto& each : *list) {
            all.emplace_back(each, augur::detail::message(in.origin(), ": ", key, "[", all.size(), "]"));
        }
    }
    return all;
}

/// A step, or the steps inside a Sequence.
inline std::vector<json_reader<>> steps_of(const json_reader<>& in, const char* key, const char* list) {
    const auto outer = in.object(key);
    if (!outer) return {};
    return outer->find(list) ? objects_of(*outer, list) : std::vector<json_reader<>>{*outer};
}

/// The pattern by which one step of a byte-level pre-tokenizer cuts; empty when it cuts nothing.
inline std::string pattern_of(const json_reader<>& step) {
    const auto type = text_of(step, "type");
    if (type == "ByteLevel" && !step.value_or<bool>("add_prefix_space", true)) {
        return step.value_or<bool>("use_regex", true) ? std::string(gpt2_pattern) : "";
    }
    if (type == "Digits" && step.value_or<bool>("individual_digits", false)) return std::string(digits_pattern);
    const auto pattern = step.object("pattern");
    const auto behavior = text_of(step, "behavior");
    const bool removes_others = behavior == "Removed" && step.value_or<bool>("invert", false);
    if (type == "Split" && pattern && pattern->find("Regex") && (behavior == "Isolated" || removes_others)) {
        auto regex = pattern->required<std::string>("Regex");
        // Known patterns leave nothing between matches, but for those of digits.
        if (!removes_others || (regex != digit_pattern && regex != digits_pattern)) return regex;
    }
    augur::detail::fail("the pre-tokenizer step ", shown(step.value()), " is not supported");
}

/// The name of the known rules that cut by the same patterns.
inline std::string name_of_rules(const json_reader<>& root) {
    std::vector<std::string> patterns;
    for (const auto& step : steps_of(root, "pre_tokenizer", "pretokenizers")) {
        if (auto pattern = pattern_of(step); !pattern.empty()) patterns.push_back(std::move(pattern));
    }
    for (const auto& rules : known_split_rules) {
        std::vector<std::string> known(rules.patterns.begin(), rules.patterns.end());
        std::erase(known, "");
        if (known == patterns) return std::string(rules.names[0]);
    }
    std::string found = patterns.empty() ? "no pattern" : quote(patterns[0]);
    if (patterns.size() > 1) found += augur::detail::message(" and ", patterns.size() - 1, " more");
    augur::detail::fail("text is cut by ", found, "; supported are the patterns of gpt-2, smollm, llama-bpe, qwen2, ",
                        "qwen35, gpt-4o and tekken");
}

/// Text is cut first and spelled in the byte alphabet then, once.
inline void check_byte_level(const json_reader<>& root) {
    const auto steps = steps_of(root, "pre_tokenizer", "pretokenizers");
    const auto is_byte_level = [](const auto& step) { return text_of(step, "type") == "ByteLevel"; };
    const auto count = std::count_if(steps.begin(), steps.end(), is_byte_level);
    if (count != 1) {
        augur::detail::fail("the pre-tokenizer has ", count,
                            " steps of the type ByteLevel; supported is one, the last");
    }
    if (!is_byte_level(steps.back())) {
        augur::detail::fail("the pre-tokenizer step ", shown(steps.back().value()),
                            " comes behind ByteLevel, which is supported as the last alone");
    }
}

/// Whether byte-level text is normalised to NFC first; other steps are errors.
inline bool reads_nfc(const json_reader<>& root) {
    const auto steps = steps_of(root, "normalizer", "normalizers");
    for (const auto& step : steps) {
        if (text_of(step, "type") != "NFC") {
            augur::detail::fail("the normalizer step ", shown(step.value()), " is not supported; only NFC is");
        }
    }
    return !steps.empty();
}

/// Cuts at spaces (Gemma): where a normalizer has left none, nothing.
inline bool cuts_at_spaces(const json_reader<>& step) {
    const auto pattern = step.object("pattern");
    return text_of(step, "type") == "Split" && pattern && text_of(*pattern, "String") == " " &&
           text_of(step, "behavior") == "MergedWithPrevious" && !step.value_or<bool>("invert", false);
}

/// SentencePiece as tokenizer.json writes it: spaces become U+2581, by a normalizer or by Metaspace. Sets prefix and
/// prefix_joins. What a normalizer put in front, Metaspace leaves as it is. Each may put one space there.
inline void read_prefix(const json_reader<>& root, vocabulary& words) {
    auto& prefix = words.prefix;
    bool marks_spaces = false;
    for (const auto& step : steps_of(root, "normalizer", "normalizers")) {
        const auto type = text_of(step, "type");
        const auto pattern = step.object("pattern");
        if (type == "Prepend" && text_of(step, "prepend") == space_mark) {
            if (prefix == space_prefix::always) {
                augur::detail::fail("the normalizer step ", shown(step.value()), " is there twice; supported is once");
            }
            prefix = space_prefix::always;
        } else if (type == "Replace" && pattern && text_of(*pattern, "String") == " " &&
                   text_of(step, "content") == space_mark) {
            marks_spaces = true;
        } else {
            augur::detail::fail("the normalizer step ", shown(step.value()), " is not supported");
        }
    }
    const auto cuts = steps_of(root, "pre_tokenizer", "pretokenizers");
    for (const auto& step : cuts) {
        if (marks_spaces && cuts.size() == 1 && cuts_at_spaces(step)) continue;
        if (text_of(step, "type") != "Metaspace" || step.value_or<bool>("split", true) ||
            step.value_or<std::string>("replacement", std::string(space_mark)) != space_mark) {
            augur::detail::fail("the pre-tokenizer step ", shown(step.value()), " is not supported");
        }
        if (cuts.size() > 1) {
            augur::detail::fail("the pre-tokenizer has ", cuts.size(),
                                " steps of the type Metaspace; supported is one");
        }
        const auto scheme = text_of(step, "prepend_scheme");
        marks_spaces = true;
        if (scheme == "never" || prefix == space_prefix::always) continue;
        prefix = scheme == "first" ? space_prefix::at_start : space_prefix::always;
        words.prefix_joins = true;
    }
    if (!marks_spaces) augur::detail::fail("nothing turns spaces into U+2581, which SentencePiece tokens need");
}

}  // namespace augur::io::detail
