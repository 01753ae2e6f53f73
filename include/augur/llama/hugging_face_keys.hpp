#pragma once
// The keys of a config.json that would make it another model than a Llama.

#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "augur/io/files/json_reader.hpp"
#include "augur/io/files/quote.hpp"
#include "augur/llama/config.hpp"
#include "augur/types/error.hpp"

namespace augur::llama::detail {

using augur::detail::fail;

/// A value that changes nothing; all others are refused. Keys that stand in none of these lists have no meaning in a
/// Llama (generation, training, names), and pass.
struct neutral_json_number {
    std::string_view key;
    double neutral;
};
inline constexpr neutral_json_number json_neutral_numbers[] = {
    {"partial_rotary_factor", 1},
    {"logits_scaling", 1},
    {"logit_scale", 1},
    {"residual_multiplier", 1},
    {"embedding_multiplier", 1},
    {"embedding_scale", 1},
    {"scale_emb", 1},
    {"scale_depth", 0},
    {"attn_logit_softcapping", 0},
    {"final_logit_softcapping", 0},
    {"num_local_experts", 0},
    {"num_experts", 0},
    {"n_routed_experts", 0},
    {"num_nextn_predict_layers", 0},
    {"clip_qkv", 0},
    {"no_rope_layer_interval", 0},
};
inline constexpr std::string_view json_switches[] = {
    "attention_bias",        "mlp_bias",          "bias",        "qkv_bias",     "use_bias",
    "use_qkv_bias",          "qk_norm",           "use_qk_norm", "qk_layernorm", "rope_interleaved",
    "use_parallel_residual", "parallel_residual", "use_mla",
};

inline void check_json_scale(const io::json_reader<>& in, std::string_view key, double found, const config& c) {
    const double usual = 1 / std::sqrt(static_cast<double>(c.head_size));
    if (std::abs(found - usual) <= 1e-6 * usual) return;
    fail(in.origin(), ": ", key, " makes the scale of attention ", found, ", but only ", usual, ", of the head size ",
         c.head_size, ", is supported");
}

/// Throws, with key and value, where one of them says that the model is not what is computed here.
inline void check_json_keys(const io::json_reader<>& in, const config& c) {
    const auto refuse = [&](std::string_view key) {
        fail(in.origin(), ": ", key, " is ", io::shown(*in.find(key)), ", which is not supported");
    };
    for (const auto& [key, neutral] : json_neutral_numbers) {
        if (in.find(key) && in.required<double>(key) != neutral) refuse(key);
    }
    for (const std::string_view key : json_switches) {
        if (in.value_or<bool>(key, false)) refuse(key);
    }
    for (const std::string_view key : {"hidden_act", "hidden_activation"}) {
        const auto activation = in.value_or<std::string>(key, "silu");
        if (activation != "silu" && activation != "swish") {  // one function
            fail(in.origin(), ": ", key, " is ", io::quote(activation), ", not 'silu'");
        }
    }
    if (in.find("attention_multiplier")) {
        check_json_scale(in, "attention_multiplier", in.required<double>("attention_multiplier"), c);
    }
    if (in.find("query_pre_attn_scalar")) {
        check_json_scale(in, "query_pre_attn_scalar", 1 / std::sqrt(in.required<double>("query_pre_attn_scalar")), c);
    }
    const auto window = in.value_or<std::size_t>("sliding_window", 0);
    if (window != 0 && window < c.context && in.value_or<bool>("use_sliding_window", true)) refuse("sliding_window");
    for (const std::string_view key : {"layer_types", "no_rope_layers"}) {
        const auto* const layers = in.array(key);
        for (const auto& each : layers ? *layers : nlohmann::json::array()) {
            if (each != "full_attention" && each != 1) refuse(key);
        }
    }
}

inline constexpr std::string_view readable_weights = "take a GGUF file, or the original in F32, F16 or BF16";

/// Throws, with the method, where weights are stored as a quantisation of some other program's.
inline void check_not_quantized(const io::json_reader<>& in) {
    for (const std::string_view key : {"quantization_config", "compression_config"}) {
        const auto* const found = in.find(key);
        if (!found) continue;
        const bool has_method =
            found->is_object() && found->contains("quant_method") && (*found)["quant_method"].is_string();
        const std::string method = has_method ? (*found)["quant_method"].get<std::string>() : "unknown";
        fail(in.origin(), ": by its ", key, " (quant_method ", io::quote(method),
             ") the weights are quantized in a way that is not read; ", readable_weights);
    }
}

}  // namespace augur::llama::detail
