#pragma once
// The tensor names in files of Llamas.

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace augur::llama {

/// What a file calls its tensors, and how it orders the rows of queries and keys.
struct tensor_names {
    std::string embedding, head, final_norm, layer_prefix, attention_norm, feed_forward_norm;
    std::string query, key, value, attention_output, gate, up, down;
    bool halves;  ///< rotary pairs are (i, i + half a head) rather than (2i, 2i + 1)

    /// Of a layer.
    std::array<std::string, 7> matrices() const { return {query, key, value, attention_output, gate, up, down}; }
    /// All tensors of layer `index`, as the file calls them.
    std::vector<std::string> of_layer(std::size_t index) const {
        std::vector<std::string> out{attention_norm, feed_forward_norm};
        for (auto& each : matrices()) out.push_back(each);
        for (auto& each : out) each = layer_prefix + std::to_string(index) + "." + each;
        return out;
    }
};

inline tensor_names gguf_names() {
    return {"token_embd.weight",  "output.weight",
            "output_norm.weight", "blk.",
            "attn_norm.weight",   "ffn_norm.weight",
            "attn_q.weight",      "attn_k.weight",
            "attn_v.weight",      "attn_output.weight",
            "ffn_gate.weight",    "ffn_up.weight",
            "ffn_down.weight",    false};
}

inline tensor_names hugging_face_names() {
    return {"model.embed_tokens.weight", "lm_head.weight",
            "model.norm.weight",         "model.layers.",
            "input_layernorm.weight",    "post_attention_layernorm.weight",
            "self_attn.q_proj.weight",   "self_attn.k_proj.weight",
            "self_attn.v_proj.weight",   "self_attn.o_proj.weight",
            "mlp.gate_proj.weight",      "mlp.up_proj.weight",
            "mlp.down_proj.weight",      true};
}

}  // namespace augur::llama
