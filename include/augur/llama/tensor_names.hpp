#pragma once
// The tensor names in files of decoders.

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/llama/config.hpp"

namespace augur::llama {

/// Of a layer with experts, in place of gate, up and down. A star stands for an expert's number, where each has tensors
/// of its own. Those that the model has not are empty.
struct expert_names {
    std::string router{}, router_bias{}, gate{}, up{}, down{}, gate_bias{}, up_bias{}, down_bias{};
    std::string gate_scales{}, down_scales{};                               ///< beside blocks
    std::string shared_score{}, shared_gate{}, shared_up{}, shared_down{};  ///< of the expert of all rows

    static std::string of_expert(std::string name, std::size_t expert) {
        const auto star = name.find('*');
        return star == name.npos ? name : name.replace(star, 1, std::to_string(expert));
    }
    /// All matrices of experts that the file has, of so many: joined ones once.
    std::vector<std::string> matrices(std::size_t count) const {
        std::vector<std::string> out;
        for (const std::string& each : {gate, up, down}) {
            const bool is_one = each.find('*') == each.npos;
            for (std::size_t expert = 0; expert < (is_one ? 1 : count); ++expert) {
                const std::string name = of_expert(each, expert);
                if (!name.empty() && (out.empty() || out.back() != name)) out.push_back(name);
            }
        }
        for (const auto* each : {&shared_gate, &shared_up, &shared_down}) {
            if (!each->empty()) out.push_back(*each);
        }
        return out;
    }
    std::vector<std::string> all(std::size_t count) const {
        std::vector<std::string> out = matrices(count);
        for (const auto* each :
             {&router, &router_bias, &gate_bias, &up_bias, &down_bias, &gate_scales, &down_scales, &shared_score}) {
            if (!each->empty()) out.push_back(*each);
        }
        return out;
    }
};

/// What a file calls its tensors, and how it stores them. Those that the model has not are empty.
struct tensor_names {
    std::string embedding, head, final_norm, layer_prefix, attention_norm, feed_forward_norm;
    std::string query, key, value, attention_output, gate, up, down;
    std::string after_attention_norm{}, after_feed_forward_norm{}, query_norm{}, key_norm{};
    std::string sinks{};
    std::vector<std::string> biases{};  ///< of a layer's matrices and norms
    bool numbers_layers = true;         ///< or there is one, and its names begin with the prefix alone
    expert_names experts{};
    std::size_t expert_count = 0;
    stored_layout stored{};

    /// Of a layer, as a plain Llama has them.
    std::array<std::string, 7> matrices() const { return {query, key, value, attention_output, gate, up, down}; }
    /// And other vectors that are no biases.
    std::vector<std::string> norms() const {
        std::vector<std::string> out;
        for (const auto* each : {&attention_norm, &feed_forward_norm, &after_attention_norm, &after_feed_forward_norm,
                                 &query_norm, &key_norm, &sinks}) {
            if (!each->empty()) out.push_back(*each);
        }
        return out;
    }
    /// Of a matrix.
    static std::string bias_of(std::string_view matrix) {
        return std::string(matrix.substr(0, matrix.rfind('.'))) + ".bias";
    }
    /// The matrices of a layer that the file has: joined ones once. Of one with experts theirs.
    std::vector<std::string> stored_matrices(bool has_experts = false) const {
        std::vector<std::string> out;
        const auto all = matrices();
        for (auto each = all.begin(); each != all.end() - (has_experts ? 3 : 0); ++each) {
            if (!each->empty() && (out.empty() || out.back() != *each)) out.push_back(*each);
        }
        if (!has_experts) return out;
        for (std::string& each : experts.matrices(expert_count)) out.push_back(std::move(each));
        return out;
    }
    /// All tensors of layer `index`, as the file calls them, whether it has experts or not.
    std::vector<std::string> of_layer(std::size_t index) const {
        std::vector<std::string> out = norms();
        for (const std::string& each : stored_matrices()) out.push_back(each);
        out.insert(out.end(), biases.begin(), biases.end());
        for (const std::string& each : experts.all(expert_count)) out.push_back(each);
        for (auto& each : out) each = in_layer(index, each);
        return out;
    }
    /// Of layer `index` for multi-token prediction, of an architecture that may have some.
    tensor_names of_prediction(std::size_t index) const {
        tensor_names out = *this;
        out.layer_prefix = std::string(stored.prediction->prefix) + std::to_string(index) + ".";
        out.numbers_layers = false;
        out.final_norm = out.layer_prefix + std::string(stored.prediction->final_norm);
        return out;
    }
    std::string prediction_projection(std::size_t index) const {
        return of_prediction(index).layer_prefix + std::string(stored.prediction->projection);
    }
    /// All its tensors, as the file calls them.
    std::vector<std::string> of_prediction_layer(std::size_t index) const {
        const tensor_names names = of_prediction(index);
        std::vector<std::string> out = names.of_layer(0);
        const prediction_layout& more = *stored.prediction;
        for (const auto each : {more.embedding_norm, more.state_norm, more.projection, more.final_norm}) {
            out.push_back(names.layer_prefix + std::string(each));
        }
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
    const auto add = [&](bool has, const std::string& of) {
        if (has && !of.empty()) all.biases.push_back(tensor_names::bias_of(of));
    };
    for (const auto* each : {&all.attention_norm, &all.feed_forward_norm}) add(c.layer_norms, *each);
    for (const auto* each : {&all.query, &all.key, &all.value}) add(c.query_key_value_bias, *each);
    add(c.attention_output_bias, all.attention_output);
    for (const auto* each : {&all.gate, &all.up, &all.down}) add(c.feed_forward_bias, *each);
    if (!c.attention_sinks) all.sinks = "";
    all.expert_count = c.experts.count;
    expert_names& experts = all.experts;
    if (c.experts.count == 0) experts = {};
    if (c.experts.shared_feed_forward == 0) {
        for (auto* each : {&experts.shared_score, &experts.shared_gate, &experts.shared_up, &experts.shared_down})
            each->clear();
    }
    if (!c.experts.biased) {
        for (auto* each : {&experts.router_bias, &experts.gate_bias, &experts.up_bias, &experts.down_bias})
            each->clear();
    }
    return all;
}

inline expert_names gguf_expert_names() {
    return {.router = "ffn_gate_inp.weight",
            .router_bias = "ffn_gate_inp.bias",
            .gate = "ffn_gate_exps.weight",
            .up = "ffn_up_exps.weight",
            .down = "ffn_down_exps.weight",
            .gate_bias = "ffn_gate_exps.bias",
            .up_bias = "ffn_up_exps.bias",
            .down_bias = "ffn_down_exps.bias",
            .shared_score = "ffn_gate_inp_shexp.weight",
            .shared_gate = "ffn_gate_shexp.weight",
            .shared_up = "ffn_up_shexp.weight",
            .shared_down = "ffn_down_shexp.weight"};
}

/// And those of the expert of all rows.
inline expert_names with_shared(expert_names of) {
    of.shared_score = "mlp.shared_expert_gate.weight";
    of.shared_gate = "mlp.shared_expert.gate_proj.weight";
    of.shared_up = "mlp.shared_expert.up_proj.weight";
    of.shared_down = "mlp.shared_expert.down_proj.weight";
    return of;
}

/// By how they are stored.
inline expert_names hugging_face_expert_names(expert_tensors stored) {
    switch (stored) {
        case expert_tensors::separate:
            return with_shared({.router = "mlp.gate.weight",
                                .gate = "mlp.experts.*.gate_proj.weight",
                                .up = "mlp.experts.*.up_proj.weight",
                                .down = "mlp.experts.*.down_proj.weight"});
        case expert_tensors::separate_by_number:
            return {.router = "block_sparse_moe.gate.weight",
                    .gate = "block_sparse_moe.experts.*.w1.weight",
                    .up = "block_sparse_moe.experts.*.w3.weight",
                    .down = "block_sparse_moe.experts.*.w2.weight"};
        case expert_tensors::stacked:
        case expert_tensors::joined:
            return with_shared({.router = "mlp.gate.weight",
                                .gate = "mlp.experts.gate_up_proj",
                                .up = "mlp.experts.gate_up_proj",
                                .down = "mlp.experts.down_proj"});
        case expert_tensors::alternating:
        case expert_tensors::blocks:
            break;
    }
    const std::string end = stored == expert_tensors::blocks ? "_blocks" : "";
    const std::string both = "mlp.experts.gate_up_proj", down = "mlp.experts.down_proj";
    return {.router = "mlp.router.weight",
            .router_bias = "mlp.router.bias",
            .gate = both + end,
            .up = both + end,
            .down = down + end,
            .gate_bias = both + "_bias",
            .up_bias = both + "_bias",
            .down_bias = down + "_bias",
            .gate_scales = end.empty() ? "" : both + "_scales",
            .down_scales = end.empty() ? "" : down + "_scales"};
}

}  // namespace detail

inline tensor_names gguf_names(const config& c = {}) {
    const tensor_names all{
        .embedding = "token_embd.weight",
        .head = "output.weight",
        .final_norm = "output_norm.weight",
        .layer_prefix = "blk.",
        .attention_norm = "attn_norm.weight",
        .feed_forward_norm = c.stored.after_attention ? "post_attention_norm.weight" : "ffn_norm.weight",
        .query = "attn_q.weight",
        .key = "attn_k.weight",
        .value = "attn_v.weight",
        .attention_output = "attn_output.weight",
        .gate = c.gated ? "ffn_gate.weight" : "ffn_up.weight",
        .up = c.gated ? "ffn_up.weight" : "",
        .down = "ffn_down.weight",
        .after_attention_norm = "post_attention_norm.weight",
        .after_feed_forward_norm = "post_ffw_norm.weight",
        .query_norm = "attn_q_norm.weight",
        .key_norm = "attn_k_norm.weight",
        .sinks = "attn_sinks.weight",
        .experts = detail::gguf_expert_names()};
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
        .gate = c.gated ? "mlp.gate_proj.weight" : "mlp.c_fc.weight",
        .up = c.gated ? "mlp.up_proj.weight" : "",
        .down = c.gated ? "mlp.down_proj.weight" : "mlp.c_proj.weight",
        .after_attention_norm = "post_attention_layernorm.weight",
        .after_feed_forward_norm = "post_feedforward_layernorm.weight",
        .query_norm = "self_attn.q_norm.weight",
        .key_norm = "self_attn.k_norm.weight",
        .sinks = "self_attn.sinks",
        .experts = detail::hugging_face_expert_names(c.stored.experts)};
    return detail::names_for(c, all, "self_attn.qkv_proj.weight", "mlp.gate_up_proj.weight");
}
/// How many layers for multi-token prediction the file has, by their projections.
template <class File>
std::size_t stored_prediction_layers(const File& file, const tensor_names& names) {
    std::size_t count = 0;
    if (names.stored.prediction == nullptr) return count;
    for (std::size_t i = 0; i < most_prediction_layers; ++i) {
        if (file.find(names.prediction_projection(i)) != nullptr) ++count;
    }
    return count;
}
/// Of a Llama.
inline tensor_names hugging_face_names() {
    config c;
    c.stored.halves = true;
    return hugging_face_names(c);
}

}  // namespace augur::llama
