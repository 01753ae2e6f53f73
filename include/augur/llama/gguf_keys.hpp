#pragma once
// The keys of an architecture that a GGUF file may have: those that are read, and those that change no number.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "augur/io/files/gguf.hpp"
#include "augur/io/files/quote.hpp"
#include "augur/llama/architectures.hpp"
#include "augur/llama/config.hpp"
#include "augur/types/error.hpp"

namespace augur::llama {

namespace detail {

using augur::detail::fail;
using augur::detail::message;

/// By read_config (gguf_config.hpp).
inline constexpr std::string_view gguf_keys_read[] = {
    "block_count",
    "embedding_length",
    "feed_forward_length",
    "context_length",
    "vocab_size",
    "expert_count",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.value_length",
    "attention.scale",
    "attention.sliding_window",
    "rope.dimension_count",
    "rope.freq_base",
    "rope.scaling.type",
    "rope.scaling.factor",
    "rope.scaling.original_context_length",
    "rope.scaling.attn_factor",
    "rope.scaling.yarn_beta_fast",
    "rope.scaling.yarn_beta_slow",
    "rope.scaling.yarn_log_multiplier",
    "rope.scale_linear",
};

/// Of layer norms, or of RMS norms; what a file says of the other kind is idle.
inline const char* gguf_epsilon(bool of_layer_norms) {
    return of_layer_norms ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon";
}

/// By read_config of architectures that have what they are about; in others they are neutral numbers.
inline constexpr std::string_view gguf_scales[] = {"logit_scale", "residual_scale", "embedding_scale"};
inline constexpr std::string_view gguf_caps[] = {"attn_logit_softcapping", "final_logit_softcapping"};
inline constexpr std::string_view gguf_temperatures[] = {"attention.temperature_scale", "attention.temperature_length"};
inline constexpr std::string_view gguf_keys_of_periods[] = {"attention.sliding_window_pattern", "rope.freq_base_swa"};

/// The same of experts; where there are none, no key of theirs says anything.
inline constexpr std::string_view gguf_keys_of_experts[] = {"expert_used_count", "expert_feed_forward_length",
                                                            "expert_weights_norm"};

/// Of how the file was made, of poolings that it does not have. Whether a scaling was
/// there in training changes nothing, but where read_config asks for it.
inline constexpr std::string_view gguf_keys_idle[] = {
    "tensor_data_layout",
    "pooling_type",
    "rope.scaling.finetuned",
};

/// Numbers that change nothing where they have one of two values.
struct neutral_number {
    std::string_view key;
    double one, other;
};
inline constexpr neutral_number gguf_neutral_numbers[] = {
    {"logit_scale", 0, 1},
    {"residual_scale", 0, 1},
    {"embedding_scale", 0, 1},
    {"attn_logit_softcapping", 0, 0},
    {"final_logit_softcapping", 0, 0},
    {"attention.max_alibi_bias", 0, 0},
    {"attention.clamp_kqv", 0, 0},
    {"rescale_every_n_layers", 0, 0},
    {"leading_dense_block_count", 0, 0},
    {"nextn_predict_layers", 0, 0},
    {"expert_weights_scale", 0, 1},
    {"expert_shared_count", 0, 0},
    {"expert_shared_feed_forward_length", 0, 0},
    {"expert_group_count", 0, 1},
    {"expert_group_used_count", 0, 1},
};

/// Switches, with what they are in a Llama.
struct neutral_switch {
    std::string_view key;
    bool neutral;
};
inline constexpr neutral_switch gguf_neutral_switches[] = {
    {"attention.causal", true},
    {"use_parallel_residual", false},
    {"swin_norm", false},
};

/// Throws unless the key, which begins with the architecture's name and a dot, is known and changes nothing that is
/// computed otherwise.
inline void check_gguf_key(const io::gguf_view& file, std::string_view key, const architecture& of) {
    const std::string_view name = key.substr(of.gguf.size() + 1);
    const auto refuse = [&](const auto&... what) {
        fail(file.path().string(), ": the metadata key ", io::quote(key), what...);
    };
    const auto is_in = [&](const auto& list) {
        return std::find(std::begin(list), std::end(list), name) != std::end(list);
    };
    if (is_in(gguf_keys_read) || is_in(gguf_keys_idle)) return;
    if (name == gguf_epsilon(true) || name == gguf_epsilon(false)) return;
    // whether a StableLM's attention and feed-forward read one norm its tensors say; some writers' key says it of all
    if (of.layer_norms && name == "use_parallel_residual") return;
    if (of.has_shared_expert && name == "expert_shared_feed_forward_length") return;
    if (of.has_scales && is_in(gguf_scales)) return;
    if (of.has_caps && is_in(gguf_caps)) return;
    if (of.has_temperature && is_in(gguf_temperatures)) return;
    if (of.windows == window_rule::periodic && is_in(gguf_keys_of_periods)) return;
    if (name.starts_with("expert_")) {
        const bool has_experts = file.get_or<std::uint64_t>(std::string(of.gguf) + ".expert_count", 0) != 0;
        if (!has_experts || is_in(gguf_keys_of_experts)) return;
        if (name == "expert_gating_func") {  // 1: softmax; 3: gpt-oss's, of the chosen
            const auto found = file.get<std::uint64_t>(key);
            if (found > 1 && !(found == 3 && of.shares_of_chosen)) refuse(" is ", found, ", which is not supported");
            return;
        }
    }
    for (const auto& [known, one, other] : gguf_neutral_numbers) {
        if (name != known) continue;
        const auto found = file.get<double>(key);
        if (found != one && found != other) refuse(" is ", found, ", which is not supported, only ", other);
        return;
    }
    for (const auto& [known, neutral] : gguf_neutral_switches) {
        if (name != known) continue;
        if (file.get<bool>(key) != neutral) refuse(" is ", neutral ? "false" : "true", ", which is not supported");
        return;
    }
    refuse(" is not understood, and may change what the model computes");
}

/// The same of all of them.
inline void check_gguf_keys(const io::gguf_view& file, const architecture& of) {
    const std::string prefix = std::string(of.gguf) + ".";
    file.metadata().each([&](std::string_view key, const io::gguf_value&) {
        if (key.starts_with(prefix)) check_gguf_key(file, key, of);
    });
}

/// Errors: `general.type` is another than a model's.
inline void check_is_model(const io::gguf_view& file) {
    const auto type = file.get_or<std::string>("general.type", "model");
    if (type == "model") return;
    fail(file.path().string(), ": general.type is ", io::quote(type), ", so this is no model that runs alone",
         type == "adapter" ? " but a change to one; merge it into its model" : "");
}

/// A size, or one for each layer, which must be the same for all.
inline std::size_t layered_size(const io::gguf_view& file, std::string_view key, config& c) {
    const io::gguf_value* const value = file.metadata().find(key);
    if (value == nullptr || !value->is_array) return static_cast<std::size_t>(file.get<std::uint64_t>(key));
    const auto all = file.array<std::uint64_t>(key);
    const std::string origin = file.path().string();
    if (all.empty() || all.size() != c.layers) {
        fail(origin, ": ", key, " holds ", all.size(), " numbers for ", c.layers, " layers");
    }
    const auto other = std::find_if(all.begin(), all.end(), [&](std::uint64_t each) { return each != all.front(); });
    if (other != all.end()) {
        fail(origin, ": ", key, " is ", all.front(), " in layer 0 and ", *other, " in layer ", other - all.begin(),
             "; layers of different sizes are not supported");
    }
    c.notes.push_back(message(key, " is an array of ", all.size(), " equal numbers, and is taken as ", all.front()));
    return static_cast<std::size_t>(all.front());
}

}  // namespace detail

}  // namespace augur::llama
