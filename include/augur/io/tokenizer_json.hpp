#pragma once
// The vocabulary of a Hugging Face folder: tokenizer.json and tokenizer_config.json.

#include <algorithm>
#include <augur/io/quote.hpp>
#include <augur/io/sentencepiece_bpe.hpp>
#include <augur/io/split_rules.hpp>
#include <augur/io/vocabulary.hpp>
#include <augur/types/error.hpp>
#include <augur/types/token.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace augur::io {

namespace detail {

using json = nlohmann::json;

/// The member of an object; null when it is absent or `object` is none.
inline const json& member(const json& object, const char* key) {
    static const json nothing;
    if (!object.is_object()) return nothing;
    const auto found = object.find(key);
    return found == object.end() ? nothing : *found;
}

inline std::string string_of(const json& value) {
    return value.is_string() ? value.get<std::string>() : "";
}

inline bool flag(const json& object, const char* key, bool fallback) {
    const auto& value = member(object, key);
    return value.is_boolean() ? value.get<bool>() : fallback;
}

/// Special tokens are written as a string, or as an object with a content.
inline std::string special_text(const json& value) {
    return value.is_object() ? string_of(member(value, "content")) : string_of(value);
}

/// A step, or the steps inside a Sequence.
inline std::vector<json> steps_of(const json& value, const char* list) {
    if (value.is_null()) return {};
    const auto& inner = member(value, list);
    return inner.is_array() ? inner.get<std::vector<json>>() : std::vector<json>{value};
}

inline void place(vocabulary& words, const std::string& text, const json& id, token_kind kind) {
    const auto number = id.is_number_integer() ? id.get<std::int64_t>() : -1;
    if (number < 0 || static_cast<std::uint64_t>(number) >= words.texts.size()) {
        augur::detail::fail("the token ", quote(text), " has the id ", id.dump(), ", not one of 0 to ",
                            words.texts.size() - 1, "; ids may leave few gaps");
    }
    const auto index = static_cast<std::size_t>(number);
    if (!words.texts[index].empty() && words.texts[index] != text) {
        augur::detail::fail("token ", index, " is both ", quote(words.texts[index]), " and ", quote(text));
    }
    words.texts[index] = text;
    words.kinds[index] = kind;
}

/// Fills texts and kinds. Ids that no token has become empty, unused tokens: at most as many as there are tokens, plus
/// 1024.
inline void read_tokens(const json& root, vocabulary& words) {
    const auto& listed = member(member(root, "model"), "vocab");
    const auto& added = member(root, "added_tokens");
    if (!listed.is_object() || listed.empty()) augur::detail::fail("model.vocab is not an object with tokens");
    const auto room = 2 * (listed.size() + added.size()) + 1024;
    words.texts.resize(room);
    words.kinds.resize(room, token_kind::unused);
    for (const auto& [text, id] : listed.items()) {
        const bool is_byte = words.kind == tokenizer_kind::sentencepiece_bpe && parse_byte_token(text).has_value();
        place(words, text, id, is_byte ? token_kind::byte : token_kind::normal);
    }
    for (const auto& entry : added) {
        const auto text = string_of(member(entry, "content"));
        for (const char* rule : {"lstrip", "rstrip", "single_word"}) {
            if (flag(entry, rule, false)) {
                augur::detail::fail("the added token ", quote(text), " sets ", rule, ", which is not supported");
            }
        }
        place(words, text, member(entry, "id"),
              flag(entry, "special", false) ? token_kind::control : token_kind::user_defined);
    }
    while (!words.texts.empty() && words.texts.back().empty()) words.texts.pop_back();
    words.kinds.resize(words.texts.size());
}

inline void read_merges(const json& model, const text_index& index, vocabulary& words) {
    for (const auto& merge : member(model, "merges")) {
        const auto position = words.merges.size();
        if (merge.is_string()) {
            words.merges.push_back(make_merge(index, position, merge.get<std::string>()));
        } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
            words.merges.push_back(
                make_merge(index, position, merge[0].get<std::string>(), merge[1].get<std::string>()));
        } else {
            augur::detail::fail("merge ", position, " is ", quote(merge.dump()),
                                ", neither \"a b\" nor [\"a\", \"b\"]");
        }
    }
}

/// The pattern by which one step of a byte-level pre-tokenizer cuts; empty when it cuts nothing.
inline std::string pattern_of(const json& step) {
    const auto type = string_of(member(step, "type"));
    if (type == "ByteLevel" && !flag(step, "add_prefix_space", true)) {
        return flag(step, "use_regex", true) ? std::string(gpt2_pattern) : "";
    }
    if (type == "Digits" && flag(step, "individual_digits", false)) return R"(\p{N})";
    if (type == "Split" && string_of(member(step, "behavior")) == "Isolated" && !flag(step, "invert", false)) {
        return string_of(member(member(step, "pattern"), "Regex"));
    }
    augur::detail::fail("the pre-tokenizer step ", quote(step.dump()), " is not supported");
}

/// The name of the known rules that cut by the same patterns.
inline std::string name_of_rules(const json& pre_tokenizer) {
    std::vector<std::string> patterns;
    for (const auto& step : steps_of(pre_tokenizer, "pretokenizers")) {
        if (auto pattern = pattern_of(step); !pattern.empty()) patterns.push_back(std::move(pattern));
    }
    for (const auto& rules : known_split_rules) {
        std::vector<std::string> known(rules.patterns.begin(), rules.patterns.end());
        std::erase(known, "");
        if (known == patterns) return std::string(rules.names[0]);
    }
    std::string found;
    for (const auto& pattern : patterns) found += (found.empty() ? "" : ", then ") + quote(pattern);
    augur::detail::fail("text is cut by ", found.empty() ? "no pattern" : found,
                        "; supported are the patterns of gpt-2, smollm, llama-bpe and qwen2");
}

/// Byte-level text may be normalised to NFC first; that is left to the caller, so other steps are errors.
inline void check_normalizer(const json& normalizer) {
    for (const auto& step : steps_of(normalizer, "normalizers")) {
        if (string_of(member(step, "type")) != "NFC") {
            augur::detail::fail("the normalizer step ", quote(step.dump()), " is not supported; only NFC is");
        }
    }
}

/// SentencePiece as tokenizer.json writes it: spaces become U+2581, by a normalizer or by Metaspace.
inline space_prefix prefix_of(const json& root) {
    auto prefix = space_prefix::never;
    bool marks_spaces = false;
    for (const auto& step : steps_of(member(root, "normalizer"), "normalizers")) {
        const auto type = string_of(member(step, "type"));
        if (type == "Prepend" && string_of(member(step, "prepend")) == space_mark) {
            prefix = space_prefix::always;
        } else if (type == "Replace" && string_of(member(member(step, "pattern"), "String")) == " " &&
                   string_of(member(step, "content")) == space_mark) {
            marks_spaces = true;
        } else {
            augur::detail::fail("the normalizer step ", quote(step.dump()), " is not supported");
        }
    }
    for (const auto& step : steps_of(member(root, "pre_tokenizer"), "pretokenizers")) {
        if (string_of(member(step, "type")) != "Metaspace" || flag(step, "split", true)) {
            augur::detail::fail("the pre-tokenizer step ", quote(step.dump()), " is not supported");
        }
        const auto scheme = string_of(member(step, "prepend_scheme"));
        marks_spaces = true;
        if (scheme != "never") prefix = scheme == "first" ? space_prefix::at_start : space_prefix::always;
    }
    if (!marks_spaces) augur::detail::fail("nothing turns spaces into U+2581, which SentencePiece tokens need");
    return prefix;
}

/// The special token at one end of the post-processor's template, or no_token.
inline token template_token(const json& root, const text_index& index, bool at_start) {
    for (const auto& step : steps_of(member(root, "post_processor"), "processors")) {
        const auto& single = member(step, "single");
        if (!single.is_array() || single.empty()) continue;
        const auto& end = at_start ? single.front() : single.back();
        return find_text(index, string_of(member(member(end, "SpecialToken"), "id")));
    }
    return no_token;
}

inline std::string chat_template_of(const json& config) {
    const auto& source = member(config, "chat_template");
    if (!source.is_array()) return string_of(source);
    for (const auto& named : source) {
        if (string_of(member(named, "name")) == "default") return string_of(member(named, "template"));
    }
    return {};
}

inline void read_special(const json& root, const json& config, const text_index& index, vocabulary& words) {
    const auto token_of = [&](const char* key) {
        const auto text = special_text(member(config, key));
        const token id = find_text(index, text);
        if (!text.empty() && id == no_token) {
            augur::detail::fail(key, " is ", quote(text), ", which is not in the vocabulary of ", index.size());
        }
        return id;
    };
    words.bos = token_of("bos_token");
    words.eos = token_of("eos_token");
    words.unknown = find_text(index, string_of(member(member(root, "model"), "unk_token")));
    const token first = template_token(root, index, true);
    const token last = template_token(root, index, false);
    if (words.bos == no_token) words.bos = first;
    if (words.eos == no_token) words.eos = last;
    words.add_bos = flag(config, "add_bos_token", first != no_token && first == words.bos);
    words.add_eos = flag(config, "add_eos_token", last != no_token && last == words.eos);
    words.chat_template = chat_template_of(config);
}

}  // namespace detail

/// The vocabulary that tokenizer.json describes, with the bos and eos tokens and the chat template of
/// tokenizer_config.json (null when there is none). Supported are BPE models, byte-level with the pre-tokenizers of
/// split_rules.hpp, or SentencePiece-like with byte fallback; the error for anything else names it. NFC normalisation
/// is not applied. Both documents are untrusted.
inline vocabulary read_tokenizer_json(const nlohmann::json& root, const nlohmann::json& config = nullptr) {
    const auto& model = detail::member(root, "model");
    if (const auto type = detail::string_of(detail::member(model, "type")); type != "BPE") {
        augur::detail::fail("model.type is ", quote(type), "; supported is 'BPE'");
    }
    vocabulary words;
    if (detail::flag(model, "byte_fallback", false)) {
        words.kind = tokenizer_kind::sentencepiece_bpe;
        words.prefix = detail::prefix_of(root);
    } else {
        detail::check_normalizer(detail::member(root, "normalizer"));
        words.pre_tokenizer = detail::name_of_rules(detail::member(root, "pre_tokenizer"));
        words.ignore_merges = detail::flag(model, "ignore_merges", false);
    }
    detail::read_tokens(root, words);
    const auto index = index_texts(words.texts);
    detail::read_merges(model, index, words);
    detail::read_special(root, config, index, words);
    const bool is_sentencepiece = words.kind == tokenizer_kind::sentencepiece_bpe;
    if (is_sentencepiece && words.unknown != no_token) {
        words.kinds[static_cast<std::size_t>(words.unknown)] = token_kind::unknown;
    }
    check(words);
    return words;
}

/// The same from a folder: tokenizer.json, and tokenizer_config.json and chat_template.jinja where they exist. Errors
/// name the file.
inline vocabulary read_tokenizer_folder(const std::filesystem::path& folder) {
    const auto read_text = [](const std::filesystem::path& path) {
        std::ifstream file(path, std::ios::binary);
        std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
        if (!file.is_open() || file.bad()) augur::detail::fail(path.string(), ": cannot be read");
        return text;
    };
    const auto read_json = [&](const std::filesystem::path& path) {
        try {
            return nlohmann::json::parse(read_text(path));
        } catch (const nlohmann::json::exception& caught) {
            augur::detail::fail(path.string(), ": ", caught.what());
        }
    };
    const auto config_path = folder / "tokenizer_config.json";
    const auto template_path = folder / "chat_template.jinja";
    const auto root = read_json(folder / "tokenizer.json");
    const auto config = std::filesystem::exists(config_path) ? read_json(config_path) : nlohmann::json();
    try {
        auto words = read_tokenizer_json(root, config);
        if (std::filesystem::exists(template_path)) words.chat_template = read_text(template_path);
        return words;
    } catch (const error& caught) {
        augur::detail::fail((folder / "tokenizer.json").string(), ": ", caught.what());
    }
}

}  // namespace augur::io
