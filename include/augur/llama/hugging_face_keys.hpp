#pragma once
// The keys that a config.json may have: those that are read, and those that change no number.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "augur/io/files/json_reader.hpp"
#include "augur/io/files/quote.hpp"
#include "augur/llama/architectures.hpp"
#include "augur/llama/config.hpp"
#include "augur/types/error.hpp"

namespace augur::llama::detail {

using augur::detail::fail;

/// By read_config (hugging_face_config.hpp), or by io's tokenizers.
inline constexpr std::string_view json_keys_read[] = {
    "model_type",
    "num_hidden_layers",
    "hidden_size",
    "num_attention_heads",
    "num_key_value_heads",
    "intermediate_size",
    "vocab_size",
    "max_position_embeddings",
    "head_dim",
    "tie_word_embeddings",
    "rope_parameters",
    "rope_scaling",
    "rope_theta",
    "hidden_act",
    "hidden_activation",
    "quantization_config",
    "compression_config",
    "sliding_window",
    "use_sliding_window",
    "max_window_layers",
    "layer_types",
    "no_rope_layers",
    "no_rope_layer_interval",
    "attention_bias",
    "mlp_bias",
    "attention_multiplier",
    "query_pre_attn_scalar",
    "bos_token_id",
    "eos_token_id",
    "pad_token_id",
    "partial_rotary_factor",
    "original_max_position_embeddings",
};

/// The same of experts, in architectures that have some.
inline constexpr std::string_view json_keys_of_experts[] = {
    "num_local_experts",   "num_experts",     "num_experts_per_tok", "experts_per_token", "moe_intermediate_size",
    "decoder_sparse_step", "mlp_only_layers", "norm_topk_prob",      "swiglu_alpha",      "swiglu_limit",
};

/// Of training, of sampling, of how other programs run the model, of names.
inline constexpr std::string_view json_keys_idle[] = {
    "add_cross_attention",
    "architectures",
    "attention_dropout",
    "attention_probs_dropout_prob",
    "attn_implementation",
    "attn_pdrop",
    "auto_map",
    "bad_words_ids",
    "begin_suppress_tokens",
    "cache_implementation",
    "chunk_size_feed_forward",
    "classifier_dropout",
    "cls_token_id",
    "cross_attention_hidden_size",
    "decoder_start_token_id",
    "diversity_penalty",
    "do_sample",
    "dropout",
    "dtype",
    "early_stopping",
    "embd_pdrop",
    "embedding_dropout",
    "encoder_no_repeat_ngram_size",
    "exponential_decay_length_penalty",
    "finetuning_task",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "gradient_checkpointing",
    "hidden_dropout",
    "hidden_dropout_prob",
    "id2label",
    "initializer_factor",
    "initial_context_length",
    "initializer_range",
    "is_composition",
    "is_decoder",
    "is_encoder_decoder",
    "is_llama_config",
    "keys_to_ignore_at_inference",
    "label2id",
    "length_penalty",
    "mask_token_id",
    "max_length",
    "min_length",
    "model_max_length",
    "name_or_path",
    "neftune_noise_alpha",
    "no_repeat_ngram_size",
    "num_beam_groups",
    "num_beams",
    "num_labels",
    "num_return_sequences",
    "output_attentions",
    "output_hidden_states",
    "output_router_logits",
    "output_scores",
    "prefix",
    "pretraining_tp",
    "problem_type",
    "pruned_heads",
    "remove_invalid_values",
    "repetition_penalty",
    "resid_pdrop",
    "residual_dropout",
    "return_dict",
    "return_dict_in_generate",
    "sep_token_id",
    "router_aux_loss_coef",
    "router_jitter_noise",
    "seq_length",
    "suppress_tokens",
    "task_specific_params",
    "temperature",
    "tf_legacy_loss",
    "tie_encoder_decoder",
    "tokenizer_class",
    "top_k",
    "top_p",
    "torch_dtype",
    "torchscript",
    "transformers.js_config",
    "transformers_version",
    "typical_p",
    "unk_token_id",
    "unsloth_fixed",
    "unsloth_version",
    "use_bfloat16",
    "use_cache",
};

/// A value that changes nothing; all others are refused.
struct neutral_json_number {
    std::string_view key;
    double neutral;
};
inline constexpr neutral_json_number json_neutral_numbers[] = {
    {"logit_scale", 1},        {"embedding_scale", 1},
    {"scale_emb", 1},          {"full_attn_mod", 1},
    {"interpolate_factor", 1}, {"scale_depth", 0},
    {"num_local_experts", 0},  {"num_experts", 0},
    {"n_routed_experts", 0},   {"num_nextn_predict_layers", 0},
    {"clip_qkv", 0},
};
/// The same where the architecture has no such thing; else read_config reads them.
inline constexpr neutral_json_number json_scales[] = {
    {"logits_scaling", 1},
    {"residual_multiplier", 1},
    {"embedding_multiplier", 1},
};
inline constexpr neutral_json_number json_caps[] = {
    {"attn_logit_softcapping", 0},
    {"final_logit_softcapping", 0},
};
inline constexpr std::string_view json_periods[] = {"sliding_window_pattern", "_sliding_window_pattern",
                                                    "rope_local_base_freq"};
inline constexpr std::string_view json_switches[] = {
    "bias",
    "qkv_bias",
    "use_bias",
    "use_qkv_bias",
    "qk_norm",
    "use_qk_norm",
    "qk_layernorm",
    "rope_interleaved",
    "lm_head_bias",
    "use_mrope",
    "use_mla",
    "use_parallel_residual",
    "parallel_residual",
    "use_bidirectional_attention",
};

/// What the first files of a StarCoder 2 say of it beside the keys that are read.
struct neutral_json_text {
    std::string_view key, neutral;
};
inline constexpr neutral_json_text json_texts_without_gate[] = {
    {"activation_function", "gelu"},
    {"mlp_type", "default"},
    {"norm_type", "layer_norm"},
};
inline constexpr std::string_view json_switches_without_gate[] = {
    "attention_softmax_in_fp32",
    "scale_attention_softmax_in_fp32",
    "scale_attn_weights",
};

/// Whether the key is one of these, and of such a file. Throws where it contradicts what is computed.
inline bool is_neutral_without_gate(const io::json_reader<>& in, std::string_view key, const architecture& of) {
    if (of.gated) return false;
    const auto check = [&](bool is_neutral) {
        if (!is_neutral) fail(in.origin(), ": ", key, " is ", io::shown(*in.find(key)), ", which is not supported");
        return true;
    };
    for (const auto& [text, neutral] : json_texts_without_gate) {
        if (key == text) return check(in.required<std::string>(key) == neutral);
    }
    for (const std::string_view each : json_switches_without_gate) {
        if (key == each) return check(in.required<bool>(key));
    }
    return key == "layer_norm_epsilon" && check(in.required<double>(key) == in.required<double>(of.epsilon));
}

/// Whether an object inside says nothing of what the model computes that the file does not say, too.
inline bool repeats(const nlohmann::json& inside, const nlohmann::json& all) {
    const auto is_known = [&](const auto& each) {
        const auto& [key, value] = each;
        const auto* const idle = std::find(std::begin(json_keys_idle), std::end(json_keys_idle), key);
        const bool is_idle = idle != std::end(json_keys_idle) || key.ends_with("_token_id");
        return is_idle || (all.contains(key) && all[key] == value);
    };
    if (!inside.is_object()) return false;
    const auto items = inside.items();
    return std::all_of(items.begin(), items.end(), is_known);
}

/// Throws, with key and value, where one says that the model is not what is computed here, or is not known.
inline void check_json_keys(const io::json_reader<>& in, const architecture& of) {
    const auto refuse = [&](std::string_view key, std::string_view why) {
        fail(in.origin(), ": ", key, " is ", io::shown(*in.find(key)), ", which is not ", why);
    };
    const auto is_in = [](std::string_view key, const auto& list) {
        return std::find(std::begin(list), std::end(list), key) != std::end(list);
    };
    const auto number_in = [](std::string_view key, const auto& list) {
        return std::find_if(std::begin(list), std::end(list), [&](const auto& each) { return each.key == key; });
    };
    const auto check = [&](const std::string& key) {
        if (is_in(key, json_keys_read) || is_in(key, json_keys_idle)) return;
        if (key == of.epsilon || key == of.bias_key) return;
        if (is_neutral_without_gate(in, key, of)) return;
        if (of.has_shared_expert && key == "shared_expert_intermediate_size") return;
        if (is_in(key, json_switches)) {
            if (in.required<bool>(key)) refuse(key, "supported");
            return;
        }
        if (of.windows == window_rule::periodic && is_in(key, json_periods)) return;
        if (of.experts != expert_rule::none && is_in(key, json_keys_of_experts)) return;
        if (of.prediction != nullptr && key == "num_nextn_predict_layers") return;
        const auto is_neutral = [&](const auto& list, bool is_read) {
            const auto* const found = number_in(key, list);
            if (found == std::end(list)) return false;
            if (!is_read && in.required<double>(key) != found->neutral) refuse(key, "supported");
            return true;
        };
        if (is_neutral(json_neutral_numbers, false) || is_neutral(json_scales, of.has_scales)) return;
        if (is_neutral(json_caps, of.has_caps) || key.starts_with("_")) return;
        if (key == "text_config" && repeats(in.value()[key], in.value())) return;
        refuse(key, "understood, and may change what the model computes");
    };
    for (const auto& [key, value] : in.value().items()) {
        if (!value.is_null()) check(key);
    }
}

inline constexpr std::string_view readable_weights = "take a GGUF file, or the original in F32, F16 or BF16";

/// Throws, with the method, where weights are stored as a quantisation of some other program's; but for MXFP4 of
/// experts.
inline void check_not_quantized(const io::json_reader<>& in, const architecture& of) {
    for (const std::string_view key : {"quantization_config", "compression_config"}) {
        const auto* const found = in.find(key);
        if (!found) continue;
        const bool has_method =
            found->is_object() && found->contains("quant_method") && (*found)["quant_method"].is_string();
        const std::string method = has_method ? (*found)["quant_method"].get<std::string>() : "unknown";
        if (method == "mxfp4" && of.stored_experts == expert_tensors::alternating) continue;
        fail(in.origin(), ": by its ", key, " (quant_method ", io::quote(method),
             ") the weights are quantized in a way that is not read; ", readable_weights);
    }
}

}  // namespace augur::llama::detail
