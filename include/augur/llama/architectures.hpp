#pragma once
// The architectures that the bundled decoder reads: what their files leave unsaid.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include "augur/io/files/quote.hpp"
#include "augur/llama/config.hpp"
#include "augur/types/error.hpp"

namespace augur::llama {

/// Which layers a sliding window is of, where the file does not say it layer by layer.
enum class window_rule {
    none,      ///< a window within the context is refused
    all,       ///< of every layer
    switched,  ///< where use_sliding_window is true: of those from max_window_layers on
    periodic,  ///< of all but each `window_period`-th
};

/// Whether files of an architecture have experts.
enum class expert_rule { none, perhaps, always };

inline constexpr prediction_layout mimo_prediction{.prefix = "model.mtp_layers.",
                                                   .embedding_norm = "token_layernorm.weight",
                                                   .state_norm = "hidden_layernorm.weight",
                                                   .projection = "input_proj.weight",
                                                   .final_norm = "final_layernorm.weight",
                                                   .state_first = true};

/// What is the same in all models of an architecture. A name that is empty: there are no such files.
struct architecture {
    std::string_view gguf;           ///< `general.architecture`
    std::string_view model_type;     ///< in config.json
    bool is_llama_like = true;       ///< config.json may lack what a Llama's may
    bool has_own_head_size = false;  ///< config.json must say it: it is not width / heads
    double turning_part = 1;         ///< of a head, where config.json does not say it
    bool turns_in_part = false;      ///< partial_rotary_factor is read
    bool is_tied = false;            ///< the head, where config.json does not say it
    bool halves_in_gguf = true;      ///< see stored_layout; safetensors always are so
    bool shifted_norms = false;      ///< in safetensors
    bool norms_before = true, norms_after = false;
    bool layer_norms = false;
    std::string_view epsilon = "rms_norm_eps";  ///< its key in config.json
    query_key_norm query_key_norms = query_key_norm::none;
    activation gate = activation::silu;
    bool gelu_is_tanh = false;       ///< config.json may say gelu, and mean its form with tanh
    bool gated = true;               ///< the feed-forward
    bool biased = false;             ///< queries, keys and values have biases, where config.json does not say it
    std::string_view bias_key = "";  ///< its key in config.json, if it may say it
    bool biased_throughout = false;  ///< and with them all other matrices
    bool joined = false;             ///< safetensors hold queries, keys and values as one tensor, and gate and up
    bool has_scales = false;         ///< Granite's four
    bool has_temperature = false;    ///< of attention
    bool scaled_embedding = false;   ///< by sqrt(width)
    bool has_caps = false;
    float attention_cap = 0, logit_cap = 0;  ///< where the file does not say it
    window_rule windows = window_rule::none;
    std::size_t window = 0;  ///< where the file does not say it
    std::size_t window_period = 0;
    bool may_lack_windows = false;           ///< in GGUF, which then names none
    std::size_t still_period = 0;            ///< each so many-th layer does not turn, unless the file says which
    double rotary_base = 10000;              ///< where the file does not say it
    double local_rotary_base = 0;            ///< of layers with a window
    bool local_is_main = false;              ///< they turn by the same base, but without factors
    std::size_t layers_scaled_by_width = 0;  ///< in GGUF: with so many layers scores are scaled as of width / heads
    bool can_stand_still = false;            ///< in GGUF: rope.scaling.finetuned = false means that no layer turns
    bool whole_yarn = true;                  ///< in GGUF: see yarn_scaling
    bool norm_after_attention = false;       ///< in GGUF: see stored_layout::after_attention
    expert_rule experts = expert_rule::none;
    bool has_shared_expert = false;
    bool own_expert_width = false;  ///< config.json must say it: it is not intermediate_size; it may name dense layers
    bool says_shares = false;       ///< norm_topk_prob is read, and is false where it is not there
    bool shares_of_chosen = true;   ///< in GGUF, and where config.json does not say it
    bool biased_experts = false;
    bool has_sinks = false;
    expert_tensors stored_experts = expert_tensors::separate;  ///< in safetensors, unless their names say otherwise
    const prediction_layout* prediction = nullptr;  ///< safetensors may hold layers for multi-token prediction
};

inline constexpr architecture architectures[] = {
    {.gguf = "llama",  // Mistral's and Mixtral's, too
     .model_type = "",
     .halves_in_gguf = false,
     .windows = window_rule::all,
     .experts = expert_rule::perhaps},
    {.gguf = "", .model_type = "llama"},
    {.gguf = "", .model_type = "mistral", .is_llama_like = false, .windows = window_rule::all, .window = 4096},
    {.gguf = "mistral3",
     .model_type = "ministral3",
     .is_llama_like = false,
     .has_own_head_size = true,
     .halves_in_gguf = false,
     .has_temperature = true,
     .windows = window_rule::all},
    {.gguf = "qwen2", .model_type = "qwen2", .is_llama_like = false, .biased = true, .windows = window_rule::switched},
    {.gguf = "",
     .model_type = "mimo",
     .is_llama_like = false,
     .biased = true,
     .windows = window_rule::switched,
     .prediction = &mimo_prediction},
    {.gguf = "qwen3",
     .model_type = "qwen3",
     .is_llama_like = false,
     .has_own_head_size = true,
     .query_key_norms = query_key_norm::per_head,
     .windows = window_rule::switched},
    {.gguf = "phi3",
     .model_type = "phi3",
     .is_llama_like = false,
     .turns_in_part = true,
     .joined = true,
     .windows = window_rule::all},
    {.gguf = "smollm3",
     .model_type = "smollm3",
     .is_llama_like = false,
     .is_tied = true,
     .halves_in_gguf = false,
     .windows = window_rule::switched,
     .still_period = 4},
    {.gguf = "granite",
     .model_type = "granite",
     .is_llama_like = false,
     .halves_in_gguf = false,
     .has_scales = true,
     .can_stand_still = true},
    {.gguf = "olmo2",  // OLMo 3's, too
     .model_type = "",
     .norms_before = false,
     .norms_after = true,
     .query_key_norms = query_key_norm::whole,
     .windows = window_rule::periodic,
     .window_period = 4,
     .may_lack_windows = true,
     .local_is_main = true},
    {.gguf = "",
     .model_type = "olmo2",
     .is_llama_like = false,
     .norms_before = false,
     .norms_after = true,
     .query_key_norms = query_key_norm::whole},
    {.gguf = "",
     .model_type = "olmo3",
     .is_llama_like = false,
     .norms_before = false,
     .norms_after = true,
     .query_key_norms = query_key_norm::whole,
     .windows = window_rule::periodic,
     .window = 4096,
     .window_period = 4,
     .rotary_base = 500000,
     .local_is_main = true},
    {.gguf = "stablelm",
     .model_type = "stablelm",
     .is_llama_like = false,
     .turning_part = 0.25,
     .turns_in_part = true,
     .layer_norms = true,
     .epsilon = "layer_norm_eps",
     .bias_key = "use_qkv_bias"},
    {.gguf = "starcoder2",
     .model_type = "starcoder2",
     .is_llama_like = false,
     .is_tied = true,
     .layer_norms = true,
     .epsilon = "norm_epsilon",
     .gate = activation::gelu_tanh,
     .gated = false,
     .biased = true,
     .bias_key = "use_bias",
     .biased_throughout = true,
     .windows = window_rule::all},
    {.gguf = "gemma",
     .model_type = "gemma",
     .is_llama_like = false,
     .has_own_head_size = true,
     .is_tied = true,
     .shifted_norms = true,
     .gate = activation::gelu_tanh,
     .gelu_is_tanh = true,
     .scaled_embedding = true},
    {.gguf = "gemma2",
     .model_type = "gemma2",
     .is_llama_like = false,
     .has_own_head_size = true,
     .is_tied = true,
     .shifted_norms = true,
     .norms_after = true,
     .gate = activation::gelu_tanh,
     .gelu_is_tanh = true,
     .scaled_embedding = true,
     .has_caps = true,
     .attention_cap = 50,
     .logit_cap = 30,
     .windows = window_rule::periodic,
     .window = 4096,
     .window_period = 2,
     .layers_scaled_by_width = 46},
    {.gguf = "gemma3",
     .model_type = "gemma3_text",
     .is_llama_like = false,
     .has_own_head_size = true,
     .is_tied = true,
     .shifted_norms = true,
     .norms_after = true,
     .query_key_norms = query_key_norm::per_head,
     .gate = activation::gelu_tanh,
     .gelu_is_tanh = true,
     .scaled_embedding = true,
     .has_caps = true,
     .windows = window_rule::periodic,
     .window_period = 6,
     .rotary_base = 1e6,
     .local_rotary_base = 10000,
     .layers_scaled_by_width = 62},
    {.gguf = "",
     .model_type = "mixtral",
     .is_llama_like = false,
     .windows = window_rule::all,
     .rotary_base = 1e6,
     .experts = expert_rule::always},
    {.gguf = "qwen2moe",
     .model_type = "qwen2_moe",
     .is_llama_like = false,
     .biased = true,
     .bias_key = "qkv_bias",
     .experts = expert_rule::always,
     .has_shared_expert = true,
     .own_expert_width = true,
     .says_shares = true,
     .shares_of_chosen = false},
    {.gguf = "qwen3moe",
     .model_type = "qwen3_moe",
     .is_llama_like = false,
     .has_own_head_size = true,
     .query_key_norms = query_key_norm::per_head,
     .windows = window_rule::switched,
     .experts = expert_rule::always,
     .own_expert_width = true,
     .says_shares = true},
    {.gguf = "olmoe",
     .model_type = "olmoe",
     .is_llama_like = false,
     .query_key_norms = query_key_norm::whole,
     .experts = expert_rule::always,
     .says_shares = true,
     .shares_of_chosen = false},
    {.gguf = "gpt-oss",
     .model_type = "gpt_oss",
     .is_llama_like = false,
     .has_own_head_size = true,
     .gate = activation::clamped,
     .windows = window_rule::periodic,
     .window_period = 2,
     .rotary_base = 150000,
     .whole_yarn = false,
     .norm_after_attention = true,
     .experts = expert_rule::always,
     .biased_experts = true,
     .has_sinks = true,
     .stored_experts = expert_tensors::alternating},
};

namespace detail {

/// The one whose `name` is this. Errors: there is none, with all that there are and with what runs others.
inline const architecture& architecture_of(std::string_view architecture::*name, const std::string& found,
                                           const std::string& origin, std::string_view what) {
    std::string all;
    for (const architecture& each : architectures) {
        if ((each.*name).empty()) continue;
        if (each.*name == found) return each;
        all += (all.empty() ? "" : ", ") + std::string(each.*name);
    }
    augur::detail::fail(origin, ": ", what, " is ", io::quote(found), ", and the bundled engine reads ", all,
                        "; llama.cpp runs others from GGUF files (--engine llama.cpp, or augur::engines::llama_cpp)");
}

/// What needs no file to be known.
inline void apply(const architecture& of, config& c) {
    c.norms_before = of.norms_before;
    c.norms_after = of.norms_after;
    c.layer_norms = of.layer_norms;
    c.gated = of.gated;
    c.query_key_norms = of.query_key_norms;
    c.gate = of.gate;
    c.attention_sinks = of.has_sinks;
    if (of.scaled_embedding) c.embedding_scale = std::sqrt(static_cast<float>(c.width));
}

/// Whether layers with a window turn otherwise.
inline bool turns_locally(const architecture& of) {
    return of.local_rotary_base != 0 || of.local_is_main;
}

/// Windows and rotary positions of all layers, with `window` tokens (0: none) in those that `is_windowed` names, and no
/// turning in those that `is_still` names.
inline void set_positions(const architecture& of, config& c, std::size_t window, const auto& is_windowed,
                          const auto& is_still) {
    using rotary = layer_positions::rotary;
    c.positions.clear();
    for (std::size_t layer = 0; layer < c.layers; ++layer) {
        const bool local = is_windowed(layer) && turns_locally(of);
        c.positions.push_back({is_windowed(layer) && window < c.context ? window : 0, is_still(layer) ? rotary::none
                                                                                      : local         ? rotary::local
                                                                                                      : rotary::main});
    }
    const auto differs = [](const layer_positions& each) { return each != layer_positions{}; };
    if (std::none_of(c.positions.begin(), c.positions.end(), differs)) c.positions.clear();
}

/// Of attention's scores.
inline double usual_scale(const config& c) {
    return 1 / std::sqrt(static_cast<double>(c.head_size));
}

/// A scale that is the usual one is left to the head size.
inline void set_attention_scale(config& c, double scale) {
    const double usual = usual_scale(c);
    c.attention_scale = std::abs(scale - usual) <= 1e-6 * usual ? 0 : static_cast<float>(scale);
}

/// Whether the architecture's periods say so of a layer.
inline bool is_periodic(std::size_t period, std::size_t layer) {
    return period != 0 && (layer + 1) % period == 0;
}

}  // namespace detail

}  // namespace augur::llama
