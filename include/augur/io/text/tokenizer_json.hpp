#pragma once
// Reads the vocabulary of a Hugging Face folder: tokenizer.json and tokenizer_config.json.

#include <array>
#include <augur/io/files/json.hpp>
#include <augur/io/files/json_reader.hpp>
#include <augur/io/files/quote.hpp>
#include <augur/io/files/regular_file.hpp>
#include <augur/io/text/byte_alphabet.hpp>
#include <augur/io/text/sentencepiece_bpe.hpp>
#include <augur/io/text/stop_ids.hpp>
#include <augur/io/text/token_texts.hpp>
#include <augur/io/text/tokenizer_steps.hpp>
#include <augur/io/text/vocabulary.hpp>
#include <augur/types/error.hpp>
#include <augur/types/token.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace augur::io {

namespace detail {

using json = nlohmann::json;

/// Special tokens are written as a string, or as an object with a content.
inline std::string special_text(const json_reader<>& in, const char* key) {
    const json* value = in.find(key);
    return value && value->is_object() ? text_of(*in.object(key), "content") : text_of(in, key);
}

inline void place(vocabulary& words, const std::string& text, const json& id, token_kind kind) {
    const json_range<std::size_t> valid{0, words.texts.size() - 1};
    if (!is_within(id, valid)) {
        augur::detail::fail("the token ", quote(text), " has the id ", shown(id), ", not one of 0 to ", valid.most,
                            "; ids may leave few gaps");
    }
    const auto index = id.get<std::size_t>();
    if (!words.texts[index].empty() && words.texts[index] != text) {
        augur::detail::fail("token ", index, " is both ", quote(words.texts[index]), " and ", quote(text));
    }
    words.texts[index] = text;
    words.kinds[index] = kind;
}

/// Fills texts, kinds, found_last and what strips spaces: Hugging Face looks for added tokens that are not normalised
/// first. Ids that no token has become empty, unused tokens: at most as many as there are tokens, plus 1024.
inline void read_tokens(const json_reader<>& root, const json_reader<>& model, vocabulary& words) {
    const auto vocab = model.object("vocab");
    if (!vocab || vocab->value().empty()) augur::detail::fail("model.vocab is not an object with tokens");
    const json& listed = vocab->value();
    const auto added = objects_of(root, "added_tokens");
    const bool marks_spaces =
        words.kind == tokenizer_kind::sentencepiece_bpe && !steps_of(root, "normalizer", "normalizers").empty();
    const auto room = 2 * (listed.size() + added.size()) + 1024;
    words.texts.resize(room);
    words.kinds.resize(room, token_kind::unused);
    for (const auto& [text, id] : listed.items()) {
        const bool is_byte = words.kind == tokenizer_kind::sentencepiece_bpe && parse_byte_token(text).has_value();
        place(words, text, id, is_byte ? token_kind::byte : token_kind::normal);
    }
    for (const auto& entry : added) {
        const auto text = entry.required<std::string>("content");
        if (entry.value_or<bool>("single_word", false)) {
            augur::detail::fail("the added token ", quote(text), " sets single_word, which is not supported");
        }
        const bool is_control = entry.value_or<bool>("special", false);  // a template's, by its id
        const bool is_normalized = entry.value_or<bool>("normalized", false);
        if (marks_spaces && !is_control && is_normalized) {
            augur::detail::fail("the added token ", quote(text), " sets normalized, which is not supported beside a ",
                                "normalizer of spaces: it would be looked for with U+2581");
        }
        const auto id = entry.required<std::size_t>("id");
        place(words, text, id, is_control ? token_kind::control : token_kind::user_defined);
        if (is_normalized && !text.empty()) words.found_last.push_back(static_cast<token>(id));
        if (entry.value_or<bool>("lstrip", false)) words.strips_left.push_back(static_cast<token>(id));
        if (entry.value_or<bool>("rstrip", false)) words.strips_right.push_back(static_cast<token>(id));
    }
    while (!words.texts.empty() && words.texts.back().empty()) words.texts.pop_back();
    words.kinds.resize(words.texts.size());
}

/// A pair that is listed twice would have the place of the last in Hugging Face's tokenizers, of the first in others.
inline void read_merges(const json_reader<>& model, const text_index& index, vocabulary& words) {
    const json* merges = model.array("merges");
    if (!merges) return;
    std::unordered_map<std::uint64_t, std::size_t> positions;
    for (const auto& merge : *merges) {
        const auto position = words.merges.size();
        if (merge.is_string()) {
            words.merges.push_back(make_merge(index, position, merge.get<std::string>()));
        } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
            words.merges.push_back(
                make_merge(index, position, merge[0].get<std::string>(), merge[1].get<std::string>()));
        } else {
            augur::detail::fail("merge ", position, " is ", shown(merge), ", neither \"a b\" nor [\"a\", \"b\"]");
        }
        const auto [left, right, result] = words.merges.back();
        const auto pair = static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
        if (const auto [first, is_new] = positions.emplace(pair, position); !is_new) {
            augur::detail::fail("merge ", position, " is ", shown(merge), ", which merge ", first->second, " is, too");
        }
    }
}

/// The token that a template means by a name: a list beside the template may give it other ids.
inline token special_of(const json_reader<>& step, const text_index& index, const std::string& name) {
    const token id = find_text(index, name);
    if (id == no_token) augur::detail::fail("the template's token ", quote(name), " is not in the vocabulary");
    const auto listed = step.object("special_tokens");
    const auto entry = listed ? listed->object(name.c_str()) : std::nullopt;
    const json* ids = entry ? entry->array("ids") : nullptr;
    if (ids && *ids != json::array({id})) {
        augur::detail::fail("the template's token ", quote(name), " stands for ", shown(*ids), "; supported is its id ",
                            id, " alone");
    }
    return id;
}

/// The special tokens in front of a text and behind it, by the post-processor's template, or no_token.
inline std::array<token, 2> read_template(const json_reader<>& root, const text_index& index) {
    std::array<token, 2> ends{no_token, no_token};
    for (const auto& step : steps_of(root, "post_processor", "processors")) {
        bool is_behind = false;
        for (const auto& part : objects_of(step, "single")) {
            const auto special = part.object("SpecialToken");
            if (!special) {
                is_behind = true;
                continue;
            }
            token& end = ends[is_behind ? 1 : 0];
            const auto name = text_of(*special, "id");
            if (end != no_token) {
                augur::detail::fail("the template has ", quote(name), " as a second special token ",
                                    is_behind ? "behind" : "in front of", " the text; supported is one");
            }
            end = special_of(step, index, name);
        }
        const auto type = text_of(step, "type");
        if (type != "TemplateProcessing" && type != "ByteLevel") {
            augur::detail::fail("the post-processor step ", shown(step.value()), " is not supported");
        }
    }
    return ends;
}

/// Refuses what gives other ids than it is read for here.
inline void check_model(const json_reader<>& model, const text_index& index, const vocabulary& words) {
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
        if (const auto text = text_of(model, key); !text.empty()) {
            augur::detail::fail("model.", key, " is ", quote(text), ", which is not supported");
        }
    }
    if (const auto odds = model.value_or<double>("dropout", 0); odds != 0) {
        augur::detail::fail("model.dropout is ", odds, ", which is not supported: merges would be left out at random");
    }
    const auto unknown = text_of(model, "unk_token");
    for (int byte = 0; byte < 256 && words.kind == tokenizer_kind::byte_level_bpe && !unknown.empty(); ++byte) {
        const auto spelled = spell_bytes(std::string(1, static_cast<char>(byte)));
        if (find_text(index, spelled) != no_token) continue;
        augur::detail::fail("model.unk_token is ", quote(unknown), ", and byte ", byte, ", ", quote(spelled),
                            ", has no token; unknown tokens are not supported for byte-level models");
    }
}

/// One template, or several by name: the one for conversations with tools is called tool_use.
inline void read_chat_templates(const json_reader<>& config, vocabulary& words) {
    const json* source = config.find("chat_template");
    if (!source || !source->is_array()) {
        words.chat_template = text_of(config, "chat_template");
        return;
    }
    for (const auto& named : objects_of(config, "chat_template")) {
        const auto name = text_of(named, "name");
        if (name == "default") words.chat_template = text_of(named, "template");
        if (name == "tool_use") words.tool_template = text_of(named, "template");
    }
}

inline void read_special(const json_reader<>& root, const json_reader<>& model, const json_reader<>& config,
                         const text_index& index, vocabulary& words) {
    const auto token_of = [&](const char* key) {
        const auto text = special_text(config, key);
        const token id = find_text(index, text);
        if (!text.empty() && id == no_token) {
            augur::detail::fail(key, " is ", quote(text), ", which is not in the vocabulary of ", index.size());
        }
        return id;
    };
    words.bos = token_of("bos_token");
    words.eos = token_of("eos_token");
    words.unknown = find_text(index, text_of(model, "unk_token"));
    const auto [first, last] = read_template(root, index);
    if (words.bos == no_token) words.bos = first;
    if (words.eos == no_token) words.eos = last;
    const auto adds = [&](const char* key, const char* role, token in_template, token configured) {
        if (const auto said = config.optional<bool>(key)) return *said;
        if (in_template != no_token && in_template != configured) {
            const auto text = [&](token id) { return quote(words.texts[static_cast<std::size_t>(id)]); };
            augur::detail::fail("the template adds ", text(in_template), ", but ", role, " is ", text(configured));
        }
        return in_template != no_token;
    };
    words.add_bos = adds("add_bos_token", "bos_token", first, words.bos);
    words.add_eos = adds("add_eos_token", "eos_token", last, words.eos);
    read_chat_templates(config, words);
}

}  // namespace detail

/// The vocabulary that tokenizer.json describes, with the bos and eos tokens and the chat template of
/// tokenizer_config.json (an empty object when there is none). Supported are BPE models, byte-level with the
/// pre-tokenizers of split_rules.hpp, or SentencePiece-like with byte fallback; the error for anything else names it.
/// Both documents are untrusted: a key of the wrong type is an error, too.
inline vocabulary read_tokenizer_json(const nlohmann::json& tokens,
                                      const nlohmann::json& settings = nlohmann::json::object()) {
    const json_reader root(tokens, "tokenizer.json"), config(settings, "tokenizer_config.json");
    const auto model = root.object("model");
    if (const auto type = model ? detail::text_of(*model, "type") : ""; type != "BPE") {
        augur::detail::fail("model.type is ", quote(type), "; supported is 'BPE'");
    }
    vocabulary words;
    if (model->value_or<bool>("byte_fallback", false)) {
        words.kind = tokenizer_kind::sentencepiece_bpe;
        detail::read_prefix(root, words);
    } else {
        words.nfc = detail::reads_nfc(root);
        words.pre_tokenizer = detail::name_of_rules(root);
        detail::check_byte_level(root);
        words.ignore_merges = model->value_or<bool>("ignore_merges", false);
    }
    detail::read_tokens(root, *model, words);
    const auto index = index_texts(words.texts);
    detail::check_model(*model, index, words);
    detail::read_merges(*model, index, words);
    detail::read_special(root, *model, config, index, words);
    if (words.kind == tokenizer_kind::sentencepiece_bpe && words.unknown != no_token) {
        words.kinds[static_cast<std::size_t>(words.unknown)] = token_kind::unknown;
    }
    check(words);
    return words;
}

namespace detail {

/// The chat templates that lie beside tokenizer_config.json. chat_template.jinja goes before what is in there, as in
/// transformers; chat_template.json, which processors write, is read where there is no other.
inline void read_template_files(const std::filesystem::path& folder, vocabulary& words) {
    const auto read_where_there = [](const std::filesystem::path& path, std::string& into) {
        std::error_code unknown;  // then it cannot be opened either
        const bool is_there = std::filesystem::exists(path, unknown);
        if (is_there) into = read_text(path, longest_chat_template);
        return is_there;
    };
    if (read_where_there(folder / "chat_template.jinja", words.chat_template)) words.tool_template.clear();
    read_where_there(folder / "additional_chat_templates" / "tool_use.jinja", words.tool_template);
    std::string document;
    const auto path = folder / "chat_template.json";
    if (!words.chat_template.empty() || !read_where_there(path, document)) return;
    const auto parsed = parse_json(document, path.string(), tokenizer_limits);
    read_chat_templates(json_reader(parsed, path.string()), words);
}

}  // namespace detail

/// The same from a folder: tokenizer.json, and tokenizer_config.json, chat_template.jinja, chat_template.json and
/// additional_chat_templates/tool_use.jinja where they exist; with the stop ids of generation_config.json and
/// config.json (stop_ids.hpp). Errors name the file. Files above 64 MiB, and templates above 1 MiB, are not read.
inline vocabulary read_tokenizer_folder(const std::filesystem::path& folder) {
    const auto config_path = folder / "tokenizer_config.json";
    std::error_code unknown;  // then it cannot be opened either
    const auto root = read_json(folder / "tokenizer.json", detail::tokenizer_limits);
    const auto config = std::filesystem::exists(config_path, unknown) ? read_json(config_path, detail::tokenizer_limits)
                                                                      : nlohmann::json::object();
    auto stops = read_stop_ids(folder, detail::tokenizer_limits);
    try {
        auto words = read_tokenizer_json(root, config);
        words.ends = std::move(stops.ids);
        words.notes = std::move(stops.notes);
        detail::read_template_files(folder, words);
        return words;
    } catch (const error& caught) {
        augur::detail::fail("the tokenizer in ", folder.string(), ": ", caught.what());
    }
}

}  // namespace augur::io
