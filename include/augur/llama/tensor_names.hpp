#pragma once
// The tensor names in files of decoders.

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "augur/llama/config.hpp"

namespace augur::llama {

/// What a file calls its tensors, and how it stores them. Those that the model has not are empty.
struct tensor_names {
    std::string embedding, head, final_norm, layer_prefix, attention_norm, feed_forward_norm;
    std::string query, key, value, attention_output, gate, up, down;
    std::string after_attention_norm{}, after_feed_forward_norm{}, query_norm{}, key_norm{};
    std::vector<std::string> biases{};  ///< of a layer
    bool numbers_layers = true;         ///< or there is one, and its names begin with the prefix alone
    stored_layout stored{};

    /// Of a layer, as a plain Llama has them.
    std::array<std::string, 7> matrices() const { return {query, key, value, attention_output, gate, up, down}; }
    std::vector<std::string> norms() const {
        std::vector<std::string> out;
        for (const auto* each : {&attention_norm, &feed_forward_norm, &after_attention_norm, &after_feed_forward_norm,
                                 &query_norm, &key_norm}) {
            if (!each->empty()) out.push_back(*each);
        }
        return out;
    }
    /// Of a matrix.
    static std::string bias_of(std::string_view matrix) {
        return std::string(matrix.substr(0, matrix.rfind('.'))) + ".bias";
    }
    /// The matrices of a layer that the file has: joined ones once.
    std::vector<std::string> stored_matrices() const {
        std::vector<std::string> out;
        for (const std::string& each : matrices()) {
            if (out.empty() || out.back() != each) out.push_back(each);
        }
        return out;
    }
    /// All tensors of layer `index`, as the file calls them.
    std::vector<std::string> of_layer(std::size_t index) const {
        std::vector<std::string> out = norms();
        for (const std::string& each : stored_matrices()) out.push_back(each);
        out.insert(out.end(), biases.begin(), biases.end());
        for (auto& each : out) each = in_layer(index, each);
        return out;
    }
    /// A tensor of layer `index`, as the file calls it.
    std::string in_layer(std::size_t index, const std::string& name) const {
        return layer_prefix + (numbers_layers ? std::to_string(index) + "." : "") + name;
    }
};

namespace detail {

/// Leaves what the configuration has, with the names of joined tensors.
inline tensor_names names_for(const config& c, tensor_names all, const char* joined, const char* gate_up) {
    all.stored = c.stored;
    if (c.stored.joined_query_key_value) all.query = all.key = all.value = joined;
    if (c.stored.joined_gate_up) all.gate = all.up = gate_up;
    if (!c.norms_before) all.attention_norm = all.feed_forward_norm = "";
    if (!c.norms_after) all.after_attention_norm = all.after_feed_forward_norm = "";
    if (c.query_key_norms == query_key_norm::none) all.query_norm = all.key_norm = "";
    const auto add = [&](bool has, const std::string& matrix) {
        if (has) all.biases.push_back(tensor_names::bias_of(matrix));
    };
    for (const auto* each : {&all.query, &all.key, &all.value}) add(c.query_key_value_bias, *each);
    add(c.attention_output_bias, all.attention_output);
    for (const auto* each : {&all.gate, &all.up, &all.down}) add(c.feed_forward_bias, *each);
    return all;
}

}  // namespace detail

inline tensor_names gguf_names(const config& c = {}) {
    const tensor_names all{.embedding = "token_embd.weight",
                           .head = "output.weight",
                           .final_norm = "output_norm.weight",
                           .layer_prefix = "blk.",
                           .attention_norm = "attn_norm.weight",
                           .feed_forward_norm = "ffn_norm.weight",
                           .query = "attn_q.weight",
                           .key = "attn_k.weight",
                           .value = "attn_v.weight",
                           .attention_output = "attn_output.weight",
                           .gate = "ffn_gate.weight",
                           .up = "ffn_up.weight",
                           .down = "ffn_down.weight",
                           .after_attention_norm = "post_attention_norm.weight",
                           .after_feed_forward_norm = "post_ffw_norm.weight",
                           .query_norm = "attn_q_norm.weight",
                           .key_norm = "attn_k_norm.weight"};
    return detail::names_for(c, all, "attn_qkv.weight", "ffn_up.weight");
}

/// Of a model with norms after attention, what others call the norm after it is that, and not the next one's before.
inline tensor_names hugging_face_names(const config& c) {
    const tensor_names all{
        .embedding = "model.embed_tokens.weight",
        .head = "lm_head.weight",
        .final_norm = "model.norm.weight",
        .layer_prefix = "model.layers.",
        .attention_norm = "input_layernorm.weight",
        .feed_forward_norm = c.norms_after ? "pre_feedforward_layernorm.weight" : "post_attention_layernorm.weight",
        .query = "self_attn.q_proj.weight",
        .key = "self_attn.k_proj.weight",
        .value = "self_attn.v_proj.weight",
        .attention_output = "self_attn.o_proj.weight",
        .gate = "mlp.gate_proj.weight",
        .up = "mlp.up_proj.weight",
        .down = "mlp.down_proj.weight",
        .after_attention_norm = "post_attention_layernorm.weight",
        .after_feed_forward_norm = "post_feedforward_layernorm.weight",
        .query_norm = "self_attn.q_norm.weight",
        .key_norm = "self_attn.k_norm.weight"};
    return detail::names_for(c, all, "self_attn.qkv_proj.weight", "mlp.gate_up_proj.weight");
}
/// Of a Llama.
inline tensor_names hugging_face_names() {
    config c;
    c.stored.halves = true;
    return hugging_face_names(c);
}

}  // namespace augur::llama
