#pragma once
// A Llama's hyper-parameters from a Hugging Face config.json.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "augur/io/quote.hpp"
#include "augur/io/safetensors.hpp"
#include "augur/llama/config.hpp"

namespace augur::llama {

namespace detail {

using augur::detail::fail;

/// Typed access to one JSON object; every error names the file, the key and what was found.
class json_reader {
 public:
    json_reader(const nlohmann::json& object, std::string origin) : object_(object), origin_(std::move(origin)) {
        if (!object.is_object()) fail(origin_, ": a JSON object is needed, not ", object.type_name());
    }
    const std::string& origin() const { return origin_; }

    /// The value, or null where the key is absent or null.
    const nlohmann::json* find(const char* key) const {
        const auto at = object_.find(key);
        return at == object_.end() || at->is_null() ? nullptr : &*at;
    }
    std::size_t size(const char* key) const {
        const auto& value = need(key);
        if (!value.is_number_integer() || value.get<std::int64_t>() < 0) mismatch(key, "a non-negative integer", value);
        return value.get<std::size_t>();
    }
    std::size_t size_or(const char* key, std::size_t fallback) const { return find(key) ? size(key) : fallback; }
    double number(const char* key) const {
        const auto& value = need(key);
        if (!value.is_number()) mismatch(key, "a number", value);
        return value.get<double>();
    }
    double number_or(const char* key, double fallback) const { return find(key) ? number(key) : fallback; }
    bool flag_or(const char* key, bool fallback) const {
        const auto* value = find(key);
        if (value && !value->is_boolean()) mismatch(key, "true or false", *value);
        return value ? value->get<bool>() : fallback;
    }
    std::string text_or(const char* key, const char* fallback) const {
        const auto* value = find(key);
        if (value && !value->is_string()) mismatch(key, "a string", *value);
        return value ? value->get<std::string>() : fallback;
    }

 private:
    const nlohmann::json& need(const char* key) const {
        const auto* value = find(key);
        if (!value) fail(origin_, ": the key ", key, " is missing");
        return *value;
    }
    [[noreturn]] void mismatch(const char* key, const char* wanted, const nlohmann::json& found) const {
        fail(origin_, ": ", key, " must be ", wanted, ", but is ", io::quote(found.dump()));
    }

    const nlohmann::json& object_;
    std::string origin_;
};

/// `rope_scaling`, or `rope_parameters` in newer files: {rope_type or type, ...}.
inline void read_json_rotary_scaling(config& c, const json_reader& scaling) {
    const auto type = scaling.text_or("rope_type", scaling.text_or("type", "default").c_str());
    if (type == "linear") {
        c.rotary_factors.assign(c.rotary_size / 2, static_cast<float>(scaling.number("factor")));
    } else if (type == "llama3") {
        const llama3_scaling numbers{scaling.number("factor"), scaling.number("low_freq_factor"),
                                     scaling.number("high_freq_factor"),
                                     scaling.number("original_max_position_embeddings")};
        if (!(numbers.factor > 0) || !(numbers.low_frequency_factor < numbers.high_frequency_factor)) {
            fail(scaling.origin(), ": llama3 scaling needs factor > 0 and low_freq_factor < high_freq_factor, not ",
                 numbers.factor, ", ", numbers.low_frequency_factor, " and ", numbers.high_frequency_factor);
        }
        c.rotary_factors = rotary_factors(c, numbers);
    } else if (type != "default") {
        fail(scaling.origin(), ": rope type ", io::quote(type), " is not supported; default, linear and llama3 are");
    }
}

}  // namespace detail

/// Reads and validates. `has_head` says whether the weights bring a head of their own. Throws augur::error, with the
/// file's name and the values, where the model is not a Llama, a key is missing or of the wrong type, or numbers
/// contradict each other.
inline config read_config(const nlohmann::json& json, const std::string& origin, bool has_head) {
    const detail::json_reader in(json, origin);
    if (const auto type = in.text_or("model_type", ""); type != "llama") {
        detail::fail(origin, ": the model type is ", io::quote(type), ", not 'llama'");
    }
    if (in.flag_or("attention_bias", false) || in.flag_or("mlp_bias", false)) {
        detail::fail(origin, ": attention_bias and mlp_bias are not supported");
    }
    if (const auto activation = in.text_or("hidden_act", "silu"); activation != "silu") {
        detail::fail(origin, ": hidden_act is ", io::quote(activation), ", not 'silu'");
    }
    config c;
    c.layers = in.size("num_hidden_layers");
    c.width = in.size("hidden_size");
    c.heads = in.size("num_attention_heads");
    c.key_value_heads = in.size_or("num_key_value_heads", c.heads);
    c.feed_forward = in.size("intermediate_size");
    c.vocabulary = in.size("vocab_size");
    c.context = in.size_or("max_position_embeddings", 2048);
    if (c.heads != 0 && !in.find("head_dim") && c.width % c.heads != 0) {
        detail::fail(origin, ": the width ", c.width, " is no multiple of the ", c.heads, " heads");
    }
    c.head_size = in.size_or("head_dim", c.heads == 0 ? 0 : c.width / c.heads);
    c.rotary_size = c.head_size;
    c.norm_epsilon = static_cast<float>(in.number_or("rms_norm_eps", 1e-6));
    c.tied_head = in.flag_or("tie_word_embeddings", false) || !has_head;
    const auto* parameters = in.find("rope_parameters");
    const auto* scaling = parameters ? parameters : in.find("rope_scaling");
    c.rotary_base = in.number_or("rope_theta", 10000.0);
    if (parameters) c.rotary_base = detail::json_reader(*parameters, origin).number_or("rope_theta", c.rotary_base);
    validate(c, origin);
    if (scaling) detail::read_json_rotary_scaling(c, detail::json_reader(*scaling, origin));
    validate(c, origin);
    return c;
}

/// Of a folder, or of a single file that has config.json beside it.
inline config read_config(const io::safetensors_folder& file) {
    const auto& json = file.config();
    return read_config(json, file.config_path().string(), file.find("lm_head.weight") != nullptr);
}

}  // namespace augur::llama
