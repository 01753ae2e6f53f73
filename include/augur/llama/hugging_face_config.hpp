#pragma once
// Reads a decoder's hyper-parameters from a Hugging Face config.json.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "augur/io/files/json_reader.hpp"
#include "augur/io/files/quote.hpp"
#include "augur/io/files/safetensors.hpp"
#include "augur/io/text/token_texts.hpp"
#include "augur/llama/architectures.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/hugging_face_keys.hpp"
#include "augur/llama/hugging_face_rotary.hpp"
#include "augur/llama/token_rows.hpp"

namespace augur::llama {

namespace detail {

using augur::detail::fail;

inline void read_json_sizes(config& c, const io::json_reader<>& in, const architecture& of) {
    c.layers = in.required<std::size_t>("num_hidden_layers");
    c.width = in.required<std::size_t>("hidden_size");
    c.heads = in.required<std::size_t>("num_attention_heads");
    c.feed_forward = in.required<std::size_t>("intermediate_size");
    c.vocabulary = in.required<std::size_t>("vocab_size");
    if (of.is_llama_like) {
        c.key_value_heads = in.value_or<std::size_t>("num_key_value_heads", c.heads);
        c.context = in.value_or<std::size_t>("max_position_embeddings", 2048);
        c.norm_epsilon = in.value_or<float>("rms_norm_eps", 1e-6f);
    } else {
        c.key_value_heads = in.required<std::size_t>("num_key_value_heads");
        c.context = in.required<std::size_t>("max_position_embeddings");
        c.norm_epsilon = in.required<float>(of.epsilon);
    }
    if (of.has_own_head_size) {
        c.head_size = in.required<std::size_t>("head_dim");
    } else {
        if (c.heads != 0 && !in.find("head_dim") && c.width % c.heads != 0) {
            fail(in.origin(), ": the width ", c.width, " is no multiple of the ", c.heads, " heads");
        }
        c.head_size = in.value_or<std::size_t>("head_dim", c.heads == 0 ? 0 : c.width / c.heads);
    }
}

inline activation read_json_gate(const io::json_reader<>& in, const architecture& of) {
    const activation usual = of.gate;
    const char* const key = in.find("hidden_activation") ? "hidden_activation" : "hidden_act";
    if (!in.find(key)) return usual;
    const auto name = in.required<std::string>(key);
    if (usual == activation::clamped && name == "silu") return usual;  // of which it is a form
    if (name == "silu" || name == "swish") return activation::silu;    // one function
    if (name == "gelu_pytorch_tanh" || name == "gelu_new") return activation::gelu_tanh;
    // a Gemma's first files say gelu, and mean its form with tanh, as all who run it know
    if (name == "gelu") return of.gelu_is_tanh ? usual : activation::gelu;
    fail(in.origin(), ": ", key, " is ", io::quote(name), "; silu, gelu, gelu_new and gelu_pytorch_tanh are supported");
}

/// One number that two keys may say.
inline std::size_t json_one_of(const io::json_reader<>& in, const char* key, const char* other) {
    if (!in.find(other)) return in.required<std::size_t>(key);
    const auto found = in.required<std::size_t>(other);
    if (in.find(key) && in.required<std::size_t>(key) != found) {
        fail(in.origin(), ": ", key, " is ", in.required<std::size_t>(key), ", but ", other, " is ", found);
    }
    return found;
}

/// Layers that have one feed-forward: those that are named, and all but each `step`-th.
inline std::vector<bool> json_dense_layers(const io::json_reader<>& in, const config& c) {
    const auto step = in.value_or<std::size_t>("decoder_sparse_step", 1);
    if (step == 0) fail(in.origin(), ": decoder_sparse_step is 0");
    std::vector<bool> out(c.layers);
    for (std::size_t layer = 0; layer < c.layers; ++layer) out[layer] = (layer + 1) % step != 0;
    if (const auto* const named = in.array("mlp_only_layers"); named != nullptr) {
        for (const auto& each : *named) {
            if (!each.is_number_unsigned() || each.get<std::size_t>() >= c.layers) {
                fail(in.origin(), ": mlp_only_layers holds ", io::shown(each), ", no layer of ", c.layers);
            }
            out[each.get<std::size_t>()] = true;
        }
    }
    if (std::find(out.begin(), out.end(), true) == out.end()) out.clear();
    return out;
}

inline void read_json_experts(config& c, const io::json_reader<>& in, const architecture& of) {
    if (of.experts == expert_rule::none) return;
    mixture& m = c.experts;
    m.count = json_one_of(in, "num_local_experts", "num_experts");
    if (m.count == 0) fail(in.origin(), ": the number of experts is 0, but a ", of.model_type, " has some");
    m.used = json_one_of(in, "num_experts_per_tok", "experts_per_token");
    m.feed_forward = of.own_expert_width ? in.required<std::size_t>("moe_intermediate_size") : c.feed_forward;
    m.shares_of_chosen = of.says_shares ? in.value_or<bool>("norm_topk_prob", false) : of.shares_of_chosen;
    m.biased = of.biased_experts;
    if (of.has_shared_expert)
        m.shared_feed_forward = in.required<std::size_t>("shared_expert_intermediate_size", {.least = 1});
    if (of.own_expert_width) m.is_dense = json_dense_layers(in, c);
    c.gate_slope = in.value_or<float>("swiglu_alpha", c.gate_slope);
    c.gate_limit = in.value_or<float>("swiglu_limit", c.gate_limit);
}

inline void read_json_scales(config& c, const io::json_reader<>& in, const architecture& of) {
    if (of.has_scales) {
        c.embedding_scale = in.value_or<float>("embedding_multiplier", 1);
        c.residual_scale = in.value_or<float>("residual_multiplier", 1);
        c.logit_scale = 1 / in.value_or<float>("logits_scaling", 1);
    }
    if (of.has_caps) {
        c.attention_cap = in.value_or<float>("attn_logit_softcapping", 0);
        c.logit_cap = in.value_or<float>("final_logit_softcapping", 0);
    }
    const auto take = [&](const char* key, bool is_read, double scale) {
        set_attention_scale(c, scale);
        if (is_read || c.attention_scale == 0) return;
        fail(in.origin(), ": ", key, " makes the scale of attention ", scale, ", but only ", usual_scale(c),
             ", of the head size ", c.head_size, ", is supported");
    };
    if (const auto scale = in.optional<double>("attention_multiplier")) {
        take("attention_multiplier", of.has_scales, *scale);
    }
    if (of.has_caps || in.find("query_pre_attn_scalar")) {
        take("query_pre_attn_scalar", of.has_caps, 1 / std::sqrt(in.required<double>("query_pre_attn_scalar")));
    }
}

inline void read_json_rotary(config& c, const io::json_reader<>& in, const architecture& of) {
    const json_rotary found = find_json_rotary(in, turns_locally(of));
    c.rotary_base = in.value_or<double>("rope_theta", of.rotary_base);
    double part = in.value_or<double>("partial_rotary_factor", of.turning_part);
    if (found.main) {
        c.rotary_base = found.main->value_or<double>("rope_theta", c.rotary_base);
        part = found.main->value_or<double>("partial_rotary_factor", part);
    }
    if (part != 1 && !(of.turns_in_part && part > 0 && part < 1)) {
        fail(found.main ? found.main->origin() : in.origin(), ": partial_rotary_factor is ", part,
             ", which is not supported, only 1");
    }
    c.rotary_size = c.head_size;
    validate(c, in.origin());
    if (part != 1) c.rotary_size = static_cast<std::size_t>(static_cast<double>(c.head_size) * part);
    if (found.main) read_json_rotary_scaling(c, in, *found.main, of);
    if (!turns_locally(of)) return;
    c.local_rotary_base = of.local_is_main ? in.value_or<double>("rope_theta", of.rotary_base)
                                           : in.value_or<double>("rope_local_base_freq", of.local_rotary_base);
    if (!found.local) return;
    c.local_rotary_base = found.local->value_or<double>("rope_theta", c.local_rotary_base);
    if (const auto type = found.local->value_or<std::string>("rope_type", "default"); type != "default") {
        fail(found.local->origin(), ": rope type ", io::quote(type), " is not supported here; default is");
    }
}

/// Whether `layer_types` says of each layer that it has a window; empty where the file does not say it.
inline std::vector<bool> json_layer_types(const io::json_reader<>& in, const config& c) {
    std::vector<bool> out;
    const auto* const types = in.array("layer_types");
    if (types == nullptr) return out;
    for (const auto& each : *types) {
        if (each != "full_attention" && each != "sliding_attention") {
            fail(in.origin(), ": layer_types holds ", io::shown(each), ", which is not supported");
        }
        out.push_back(each == "sliding_attention");
    }
    if (out.size() != c.layers) {
        fail(in.origin(), ": layer_types has ", out.size(), " layers of ", c.layers);
    }
    return out;
}

/// The tokens of a window, 0 for none.
inline std::size_t json_window(const io::json_reader<>& in, const architecture& of) {
    const bool is_there = in.value().contains("sliding_window");  // null says that there is none
    const auto window = in.value_or<std::size_t>("sliding_window", is_there ? 0 : of.window);
    const bool is_used = of.windows != window_rule::switched || in.value_or<bool>("use_sliding_window", false);
    return is_used && in.value_or<bool>("use_sliding_window", true) ? window : 0;
}

inline void read_json_positions(config& c, const io::json_reader<>& in, const architecture& of) {
    const std::size_t window = json_window(in, of);
    const std::vector<bool> listed = json_layer_types(in, c);
    const bool is_listed = std::find(listed.begin(), listed.end(), true) != listed.end();
    const auto refuse = [&](const char* key) {
        fail(in.origin(), ": ", key, " is ", io::shown(*in.find(key)), ", which is not supported in a ", of.model_type);
    };
    if (of.windows == window_rule::none && window != 0 && window < c.context) refuse("sliding_window");
    if ((of.windows == window_rule::none || (is_listed && window == 0)) && is_listed) refuse("layer_types");
    const auto first = in.value_or<std::size_t>("max_window_layers", 0);
    const auto period = in.value_or<std::size_t>(
        in.find("_sliding_window_pattern") ? "_sliding_window_pattern" : "sliding_window_pattern", of.window_period);
    const auto* const turning = in.array("no_rope_layers");  // 1: turns
    if (turning != nullptr && turning->size() != c.layers && !turning->empty()) refuse("no_rope_layers");
    const auto is_still = [&](std::size_t layer) {
        if (turning == nullptr || turning->empty()) {
            return is_periodic(in.value_or<std::size_t>("no_rope_layer_interval", of.still_period), layer);
        }
        const auto& each = (*turning)[layer];
        if (each != 0 && each != 1) refuse("no_rope_layers");
        return each == 0;
    };
    for (std::size_t layer = 0; layer < c.layers; ++layer) {
        if (of.still_period == 0 && is_still(layer)) {
            refuse(in.find("no_rope_layers") ? "no_rope_layers" : "no_rope_layer_interval");
        }
    }
    const auto is_windowed = [&](std::size_t layer) {
        if (window == 0) return false;
        if (!listed.empty() && of.windows != window_rule::all) return bool{listed[layer]};
        return of.windows == window_rule::switched ? layer >= first : !is_periodic(period, layer);
    };
    set_positions(of, c, window, is_windowed, is_still);
}

inline void read_json_layout(config& c, const io::json_reader<>& in, const architecture& of) {
    const bool biased = in.value_or<bool>("attention_bias", false);
    const bool own = of.bias_key.empty() ? of.biased : in.value_or<bool>(of.bias_key, of.biased);
    c.query_key_value_bias = own || biased;
    c.attention_output_bias = (biased && !of.biased) || (own && of.biased_throughout);
    c.feed_forward_bias = in.value_or<bool>("mlp_bias", false) || (own && of.biased_throughout);
    c.stored.halves = true;
    c.stored.experts = of.stored_experts;
    c.stored.shifted_norms = of.shifted_norms;
    c.stored.joined_query_key_value = c.stored.joined_gate_up = of.joined;
    c.stored.prediction = of.prediction;
    if (of.prediction != nullptr) c.prediction_layers = in.value_or<std::size_t>("num_nextn_predict_layers", 0);
}

}  // namespace detail

/// Reads and validates. `has_head` says whether the weights bring a head of their own. Throws augur::error, with the
/// file's name and the values, where the architecture is none of architectures.hpp, a key is missing, of the wrong type
/// or not understood (hugging_face_keys.hpp), or numbers contradict each other.
inline config read_config(const nlohmann::json& json, const std::string& origin, bool has_head) {
    const io::json_reader in(json, origin);
    const architecture& of = detail::architecture_of(
        &architecture::model_type, in.value_or<std::string>("model_type", ""), origin, "the model type");
    detail::check_not_quantized(in, of);
    config c;
    detail::read_json_sizes(c, in, of);
    if (const auto tied = in.optional<bool>("tie_word_embeddings"); tied == false && !has_head) {
        detail::fail(origin, ": tie_word_embeddings is false, but the weights hold no lm_head.weight");
    }
    c.tied_head = in.value_or<bool>("tie_word_embeddings", of.is_tied) || !has_head;
    detail::apply(of, c);
    detail::read_json_experts(c, in, of);
    detail::read_json_rotary(c, in, of);
    detail::read_json_scales(c, in, of);
    c.gate = detail::read_json_gate(in, of);
    detail::read_json_positions(c, in, of);
    detail::read_json_layout(c, in, of);
    validate(c, origin);
    detail::check_json_keys(in, of);
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

namespace detail {

/// As the names of the first layer that has experts say it.
inline void find_expert_tensors(config& c, const io::safetensors_folder& file) {
    std::size_t layer = 0;
    while (layer < c.layers && !c.experts.is_in(layer)) ++layer;
    if (layer == c.layers) return;
    const auto has = [&](const char* name) {
        return file.find("model.layers." + std::to_string(layer) + "." + name) != nullptr;
    };
    const bool is_alternating = c.stored.experts == expert_tensors::alternating;
    if (is_alternating && has("mlp.experts.gate_up_proj_blocks")) c.stored.experts = expert_tensors::blocks;
    if (!is_alternating && has("mlp.experts.gate_up_proj")) c.stored.experts = expert_tensors::joined;
    if (!is_alternating && has("block_sparse_moe.gate.weight")) c.stored.experts = expert_tensors::separate_by_number;
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
    detail::find_expert_tensors(c, file);
    const auto tokens = io::token_texts(file);
    detail::take_stored_rows(c, file, tokens);
    detail::read_tokens(c, tokens);
    return c;
}

}  // namespace augur::llama
