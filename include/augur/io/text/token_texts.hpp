#pragma once
// The texts of a model's tokens by id, to check that two models share a vocabulary.

#include <algorithm>
#include <augur/io/files/fingerprint.hpp>
#include <augur/io/files/gguf.hpp>
#include <augur/io/files/json.hpp>
#include <augur/io/files/json_reader.hpp>
#include <augur/io/files/quote.hpp>
#include <augur/io/files/safetensors.hpp>
#include <augur/io/text/vocabulary.hpp>
#include <augur/types/error.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace augur::io {

/// A token as the file spells it.
struct token_text {
    std::size_t id;
    std::string text;

    friend bool operator==(const token_text&, const token_text&) = default;
};

namespace detail {

/// What a tokenizer's files may take: those of Gemma 3 have 33 MB and 1.8 million values.
inline constexpr json_limits tokenizer_limits{.bytes = 1 << 26, .depth = 64, .values = 1 << 22};

}  // namespace detail

/// Of a GGUF file, ascending; none where it holds no tokenizer. Tokens that it marks as unused (writers fill up with
/// them) and those without a text are left out. Of the tokenizer nothing else is read, so that it may be one of a kind
/// that is not supported.
inline std::vector<token_text> token_texts(const gguf_view& file) {
    std::vector<token_text> found;
    if (!file.contains("tokenizer.ggml.tokens")) return found;
    auto texts = file.array<std::string>("tokenizer.ggml.tokens");
    std::vector<std::int32_t> kinds;
    if (file.contains("tokenizer.ggml.token_type")) kinds = file.array<std::int32_t>("tokenizer.ggml.token_type");
    kinds.resize(texts.size(), static_cast<std::int32_t>(token_kind::normal));
    for (std::size_t id = 0; id < texts.size(); ++id) {
        const bool unused = kinds[id] == static_cast<std::int32_t>(token_kind::unused);
        if (!unused && !texts[id].empty()) found.push_back({id, std::move(texts[id])});
    }
    return found;
}

/// The same of a tokenizer.json: of model.vocab, where that is an object, and added_tokens.
inline std::vector<token_text> token_texts(const nlohmann::json& tokenizer, std::string_view origin) {
    const json_reader root(tokenizer, std::string(origin));
    std::vector<token_text> found;
    const auto add = [&](const std::string& text, const nlohmann::json& id) {
        if (!detail::is_within(id, json_range<std::size_t>{0, SIZE_MAX})) {
            augur::detail::fail(origin, ": the token ", quote(text), " has the id ", shown(id), ", not a whole number");
        }
        if (!text.empty()) found.push_back({id.get<std::size_t>(), text});
    };
    const auto model = root.object("model");
    const nlohmann::json* const listed = model ? model->find("vocab") : nullptr;
    if (listed == nullptr || !listed->is_object()) return found;
    for (const auto& [text, id] : listed->items()) add(text, id);
    if (const nlohmann::json* const added = root.array("added_tokens")) {
        for (const auto& entry : *added) {
            const json_reader in(entry, std::string(origin) + ": added_tokens");
            const nlohmann::json* const id = in.find("id");
            add(in.required<std::string>("content"), id ? *id : nlohmann::json());
        }
    }
    std::sort(found.begin(), found.end(),
              [](const token_text& a, const token_text& b) { return std::tie(a.id, a.text) < std::tie(b.id, b.text); });
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

/// The same of the tokenizer.json beside safetensors; none where there is none.
inline std::vector<token_text> token_texts(const safetensors_folder& file) {
    const auto path = file.config_path().parent_path() / "tokenizer.json";
    std::error_code unknown;  // then it cannot be opened either
    if (!std::filesystem::exists(path, unknown)) return {};
    return token_texts(read_json(path, detail::tokenizer_limits), path.string());
}

/// Of everything that can be loaded.
inline std::vector<token_text> token_texts(const std::filesystem::path& path) {
    return holds_safetensors(path) ? token_texts(safetensors_folder(path)) : token_texts(gguf_file(path));
}

/// A mark by which these tokens are known again; empty if there are none.
inline std::string vocabulary_fingerprint(std::span<const token_text> tokens) {
    if (tokens.empty()) return "";
    fnv_hash hash;
    for (const token_text& each : tokens) {
        hash.add(each.id, 8);
        hash.add(each.text.size(), 8);
        hash.add(each.text);
    }
    return hash.text();
}

/// Throws, naming the first token that differs with both texts, unless two files have the same tokens. Where one says
/// nothing of its tokens, there is nothing to compare.
inline void check_same_tokens(const std::filesystem::path& one, const std::filesystem::path& other) {
    const auto ours = token_texts(one), theirs = token_texts(other);
    if (ours.empty() || theirs.empty()) return;
    const auto [at, there] = std::mismatch(ours.begin(), ours.end(), theirs.begin(), theirs.end());
    const auto id_at = [](const auto& place, const auto& of) { return place == of.end() ? SIZE_MAX : place->id; };
    const std::size_t id = std::min(id_at(at, ours), id_at(there, theirs));
    if (id == SIZE_MAX) return;
    const auto text_at = [id](const auto& place, const auto& of) {
        return place != of.end() && place->id == id ? quote(place->text) : std::string("no token");
    };
    augur::detail::fail("models that decode together must have the same tokens, but token ", id, " is ",
                        text_at(at, ours), " in ", one.string(), " and ", text_at(there, theirs), " in ",
                        other.string());
}

}  // namespace augur::io
