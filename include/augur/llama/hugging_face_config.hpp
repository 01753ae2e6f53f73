#pragma once
// Reads a Llama's hyper-parameters from a Hugging Face config.json.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/io/files/json_reader.hpp"
#include "augur/io/files/quote.hpp"
#include "augur/io/files/safetensors.hpp"
#include "augur/io/text/token_texts.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/hugging_face_keys.hpp"
#include "augur/llama/token_rows.hpp"

namespace augur::llama {

namespace detail {

using augur::detail::fail;

/// `rope_scaling`, or `rope_parameters` in newer files: {rope_type or type, ...}. A factor needs a type: without one
/// engines differ in what it means.
inline void read_json_rotary_scaling(config& c, const io::json_reader<>& scaling) {
    for (const auto& [key, value] : scaling.value().items()) {
        if (value.is_object()) fail(scaling.origin(), ": ", key, " is an object; layers of several kinds are not read");
    }
    const auto* factor = scaling.find("factor");
    if (factor && !scaling.find("rope_type") && !scaling.find("type")) {
        fail(scaling.origin(), ": a factor of ", io::shown(*factor), " has no rope_type beside it");
    }
    if (const auto turned = scaling.value_or<double>("partial_rotary_factor", 1.0); turned != 1) {
        fail(scaling.origin(), ": partial_rotary_factor is ", turned, ", which is not supported, only 1");
    }
    const auto type = scaling.value_or<std::string>("rope_type", scaling.value_or<std::string>("type", "default"));
    if (type == "linear") {
        c.rotary_factors.assign(c.rotary_size / 2, scaling.required<float>("factor"));
    } else if (type == "llama3") {
        const llama3_scaling numbers{scaling.required<double>("factor"), scaling.required<double>("low_freq_factor"),
                                     scaling.required<double>("high_freq_factor"),
                                     scaling.required<double>("original_max_position_embeddings")};
        if (!(numbers.factor > 0) || !(numbers.low_frequency_factor < numbers.high_frequency_factor)) {
            fail(scaling.origin(), ": llama3 scaling needs factor > 0 and low_freq_factor < high_freq_factor, not ",
                 numbers.factor, ", ", numbers.low_frequency_factor, " and ", numbers.high_frequency_factor);
        }
        if (!(numbers.original_context > 0)) {
            fail(scaling.origin(), ": original_max_position_embeddings is ", numbers.original_context, ", not above 0");
        }
        c.rotary_factors = rotary_factors(c, numbers);
    } else if (type != "default") {
        fail(scaling.origin(), ": rope type ", io::quote(type), " is not supported; default, linear and llama3 are");
    }
}

/// Files of two versions at once: of two objects that differ some engines take this one, others that.
inline void check_one_rotary_scaling(const io::json_reader<>& newer, const io::json_reader<>& older) {
    nlohmann::json objects[] = {newer.value(), older.value()};
    for (auto& each : objects) {
        each.erase("rope_theta");
        if (each.contains("type")) each["rope_type"] = std::exchange(each["type"], nullptr);
        each.erase("type");
    }
    if (objects[0] != objects[1]) {
        fail(newer.origin(), " is ", io::shown(newer.value()), ", but rope_scaling beside it is ",
             io::shown(older.value()));
    }
}

}  // namespace detail

/// Reads and validates. `has_head` says whether the weights bring a head of their own. Throws augur::error, with the
/// file's name and the values, where the model is not a Llama, a key is missing or of the wrong type, or numbers
/// contradict each other.
inline config read_config(const nlohmann::json& json, const std::string& origin, bool has_head) {
    const io::json_reader in(json, origin);
    if (const auto type = in.value_or<std::string>("model_type", ""); type != "llama") {
        detail::fail(origin, ": the model type is ", io::quote(type), ", not 'llama'");
    }
    detail::check_not_quantized(in);
    config c;
    c.layers = in.required<std::size_t>("num_hidden_layers");
    c.width = in.required<std::size_t>("hidden_size");
    c.heads = in.required<std::size_t>("num_attention_heads");
    c.key_value_heads = in.value_or<std::size_t>("num_key_value_heads", c.heads);
    c.feed_forward = in.required<std::size_t>("intermediate_size");
    c.vocabulary = in.required<std::size_t>("vocab_size");
    c.context = in.value_or<std::size_t>("max_position_embeddings", 2048);
    if (c.heads != 0 && !in.find("head_dim") && c.width % c.heads != 0) {
        detail::fail(origin, ": the width ", c.width, " is no multiple of the ", c.heads, " heads");
    }
    c.head_size = in.value_or<std::size_t>("head_dim", c.heads == 0 ? 0 : c.width / c.heads);
    c.rotary_size = c.head_size;
    c.norm_epsilon = in.value_or<float>("rms_norm_eps", 1e-6f);
    if (const auto tied = in.optional<bool>("tie_word_embeddings"); tied == false && !has_head) {
        detail::fail(origin, ": tie_word_embeddings is false, but the weights hold no lm_head.weight");
    }
    c.tied_head = in.value_or<bool>("tie_word_embeddings", false) || !has_head;
    const auto parameters = in.object("rope_parameters");
    const auto older = in.object("rope_scaling");
    if (parameters && older) detail::check_one_rotary_scaling(*parameters, *older);
    const auto scaling = parameters ? parameters : older;
    c.rotary_base = in.value_or<double>("rope_theta", 10000.0);
    if (parameters) c.rotary_base = parameters->value_or<double>("rope_theta", c.rotary_base);
    validate(c, origin);
    if (scaling) detail::read_json_rotary_scaling(c, *scaling);
    validate(c, origin);
    detail::check_json_keys(in, c);
    return c;
}

inline std::vector<std::string> tensors_of_config(const io::safetensors_folder&) {
    return {};
}

namespace detail {

/// Tokens that were added after the model was made have rows, and a `vocab_size` that was not told of them is stale.
inline void take_stored_rows(config& c, const io::safetensors_folder& file, std::span<const io::token_text> tokens) {
    const io::tensor_view* const embedding = file.find("model.embed_tokens.weight");
    if (embedding == nullptr || tokens.empty() || tokens.back().id < c.vocabulary) return;
    const auto rows = static_cast<std::size_t>(embedding->rows());
    if (rows <= tokens.back().id) return;
    c.notes.push_back(message("vocab_size is ", c.vocabulary, ", and is passed over: there are ", tokens.back().id + 1,
                              " tokens and ", rows, " rows"));
    c.vocabulary = rows;
}

}  // namespace detail

/// Of a folder, or of a single file that has config.json beside it.
inline config read_config(const io::safetensors_folder& file) {
    const auto& json = file.config();
    if (const auto quantized = file.config_path().parent_path() / "quantize_config.json";
        std::filesystem::exists(quantized)) {
        detail::fail(quantized.string(), ": by this file the weights are quantized in a way that is not read; ",
                     detail::readable_weights);
    }
    config c = read_config(json, file.config_path().string(), file.find("lm_head.weight") != nullptr);
    const auto tokens = io::token_texts(file);
    detail::take_stored_rows(c, file, tokens);
    detail::read_tokens(c, tokens);
    return c;
}

}  // namespace augur::llama
