#pragma once
// The hyper-parameters of a decoder, validated before anything is built from them.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/llama/mixture.hpp"
#include "augur/types/error.hpp"

namespace augur::llama {

/// What the gate of a feed-forward goes through. `clamped`: gpt-oss's, with gate_slope and gate_limit: min(gate, limit)
/// times its sigmoid of slope * gate, and up within -limit..limit, plus 1.
enum class activation { silu, gelu_tanh, gelu, clamped };

/// RMS norms of queries and keys before they turn: of each head, or of all heads as one row.
enum class query_key_norm { none, per_head, whole };

/// How a layer sees positions.
struct layer_positions {
    enum class rotary { main, local, none };

    std::size_t window = 0;  ///< how many a token attends to, itself included; 0: to all
    rotary turns = rotary::main;

    bool operator==(const layer_positions&) const = default;
};

/// How a file stores the matrices of experts. `separate`: as matrices of their own, under one of two kinds of names;
/// `stacked`: each kind as one tensor; `joined`: the same, with rows of gate, then of up, in one; `alternating`: with
/// inputs outermost, and gate and up alternating; `blocks`: as MXFP4 blocks and scales, whose rows alternate.
enum class expert_tensors { separate, separate_by_number, stacked, joined, alternating, blocks };

/// What files call the parts that a layer for multi-token prediction has and a decoder's layer has not, and how its
/// projection joins a token's embedding and the state before it, which go through a norm each.
struct prediction_layout {
    std::string_view prefix;  ///< before the layer's number
    std::string_view embedding_norm, state_norm, projection, final_norm;
    bool state_first;  ///< the projection reads the state, then the embedding

    bool operator==(const prediction_layout&) const = default;
};

/// How a file stores what the configuration describes: the reader's concern alone.
struct stored_layout {
    bool halves = false;  ///< rotary pairs are (i, i + half of what turns) rather than (2i, 2i + 1)
    bool joined_query_key_value = false, joined_gate_up = false;  ///< one tensor, the rows of each after the other's
    bool shifted_norms = false;                                   ///< weights of norms are stored less 1
    bool after_attention = false;  ///< the norm before the feed-forward is called that after attention
    expert_tensors experts = expert_tensors::separate;
    const prediction_layout* prediction = nullptr;  ///< null: an architecture without such layers

    bool operator==(const stored_layout&) const = default;
};

/// A decoder-only transformer with RMS norms, rotary positions, grouped-query attention and a gated feed-forward. As it
/// is made it is a Llama; `beyond_llama` says what sets it apart from one.
struct config {
    std::size_t layers = 0;
    std::size_t width = 0;  ///< of the hidden state
    std::size_t heads = 0;
    std::size_t key_value_heads = 0;  ///< divides heads
    std::size_t head_size = 0;
    std::size_t feed_forward = 0;
    std::size_t vocabulary = 0;
    std::size_t context = 0;      ///< tokens the model was trained for
    std::size_t rotary_size = 0;  ///< even, at most head_size: the leading components that turn
    double rotary_base = 10000.0;
    std::vector<float> rotary_factors;  ///< divisors of the frequencies, one per pair; empty means 1
    float norm_epsilon = 1e-5f;
    bool tied_head = false;              ///< the head is the embedding
    std::string vocabulary_fingerprint;  ///< of the file's tokens (io/text/token_texts.hpp); empty where it holds none
    std::size_t padded_vocabulary = 0;   ///< rows of embedding and head in the file, where they are more; else 0
    std::vector<std::string> notes{};    ///< what was taken otherwise than the file says it, one sentence each

    // ---- what a Llama has not
    activation gate = activation::silu;
    bool norms_before = true, norms_after = false;  ///< of attention and feed-forward: their input, what they add
    bool layer_norms = false;  ///< with biases, in place of RMS norms; of norms before, and of the last
    query_key_norm query_key_norms = query_key_norm::none;
    bool gated = true;  ///< or activation(gate) alone is what a feed-forward holds
    bool query_key_value_bias = false, attention_output_bias = false, feed_forward_bias = false;
    float embedding_scale = 1;
    float residual_scale = 1;   ///< of what attention and feed-forward add
    float attention_scale = 0;  ///< of scores; 0: 1 / sqrt(head_size)
    float logit_scale = 1;
    float attention_cap = 0, logit_cap = 0;     ///< x becomes cap * tanh(x / cap); 0: none
    float gate_slope = 1.702f, gate_limit = 7;  ///< of activation::clamped
    bool attention_sinks = false;               ///< a score of each head that takes weight, and has no value
    mixture experts{};
    float attention_temperature = 0;           ///< scores: times 1 + this * ln(1 + whole temperature_contexts before)
    std::size_t temperature_context = 0;       ///< in tokens
    float rotary_scale = 1;                    ///< of cosines and sines
    double local_rotary_base = 0;              ///< of layers that turn locally, without factors
    std::vector<layer_positions> positions{};  ///< one per layer; empty: as they are made
    std::size_t short_context = 0;             ///< longer contexts take the long factors; 0: there are none
    std::vector<float> long_rotary_factors{};
    bool wide_first_layer = false;      ///< whose queries, keys and values read an embedding and a state (EAGLE-3)
    std::size_t prediction_layers = 0;  ///< for multi-token prediction, which no pass runs (prediction_layers.hpp)
    stored_layout stored{};

    /// Rows of embedding and head in the file, those of no token included.
    std::size_t stored_rows() const { return std::max(vocabulary, padded_vocabulary); }
    layer_positions positions_of(std::size_t layer) const {
        return positions.empty() ? layer_positions{} : positions[layer];
    }
};

/// Leaves these layers, in this order.
inline void take_layers(config& c, const std::vector<std::size_t>& indices) {
    std::vector<layer_positions> taken;
    for (const std::size_t index : indices) taken.push_back(c.positions_of(index));
    if (!c.positions.empty()) c.positions = std::move(taken);
    if (!c.experts.is_dense.empty()) {
        std::vector<bool> dense;
        for (const std::size_t index : indices) dense.push_back(c.experts.is_dense[index]);
        c.experts.is_dense = std::move(dense);
    }
    c.layers = indices.size();
}

/// The first thing, in words, that the model has and a Llama has not; empty for a Llama.
inline std::string_view beyond_llama(const config& c) {
    const auto windowed = [](const layer_positions& each) { return each.window != 0; };
    const auto turned = [](const layer_positions& each) { return each.turns != layer_positions::rotary::main; };
    if (c.experts.count != 0) return "a mixture of experts";
    if (c.attention_sinks) return "attention sinks";
    if (c.layer_norms) return "layer norms";
    if (!c.gated) return "a feed-forward without a gate";
    if (c.gate != activation::silu) return "another activation than SiLU";
    if (!c.norms_before || c.norms_after) return "norms after attention";
    if (c.query_key_norms != query_key_norm::none) return "norms of queries and keys";
    if (c.query_key_value_bias || c.attention_output_bias || c.feed_forward_bias) return "biases";
    if (c.embedding_scale != 1) return "a scale of embeddings";
    if (c.residual_scale != 1) return "a scale of residuals";
    if (c.attention_scale != 0) return "a scale of attention";
    if (c.logit_scale != 1) return "a scale of logits";
    if (c.attention_cap != 0 || c.logit_cap != 0) return "a soft cap";
    if (c.attention_temperature != 0) return "a temperature of attention";
    if (c.short_context != 0) return "two lists of rotary factors";
    if (c.rotary_scale != 1) return "a scale of rotary positions";
    if (c.wide_first_layer) return "a first layer of twice the width";
    if (std::any_of(c.positions.begin(), c.positions.end(), windowed)) return "sliding windows";
    if (std::any_of(c.positions.begin(), c.positions.end(), turned)) return "layers that turn otherwise";
    return {};
}

/// Throws, with what it has, unless the model is a Llama: `who` lacks the rest.
inline void check_is_llama(const config& c, std::string_view who) {
    if (const auto more = beyond_llama(c); !more.empty()) {
        augur::detail::fail(who, " takes Llamas alone, and this model has ", more,
                            ", which the bundled engine runs on the CPU");
    }
}

namespace detail {

inline void validate_beyond_llama(const config& c, std::string_view origin) {
    using augur::detail::fail;
    const auto positive = [&](std::string_view name, double value, bool or_none) {
        if (std::isfinite(value) && (value > 0 || (or_none && value == 0))) return;
        fail(origin, ": ", name, " is ", value, ", not a positive number");
    };
    positive("the scale of embeddings", static_cast<double>(c.embedding_scale), false);
    positive("the scale of residuals", static_cast<double>(c.residual_scale), false);
    positive("the scale of attention", static_cast<double>(c.attention_scale), true);
    positive("the scale of logits", static_cast<double>(c.logit_scale), false);
    positive("the cap of attention scores", static_cast<double>(c.attention_cap), true);
    positive("the cap of logits", static_cast<double>(c.logit_cap), true);
    positive("the scale of rotary positions", static_cast<double>(c.rotary_scale), false);
    positive("the temperature of attention", static_cast<double>(c.attention_temperature), true);
    positive("the slope of the gate", static_cast<double>(c.gate_slope), false);
    positive("the limit of the gate", static_cast<double>(c.gate_limit), false);
    positive("the local rotary base", c.local_rotary_base, true);
    validate(c.experts, c.layers, c.width, origin);
    if (c.layer_norms && (!c.norms_before || c.norms_after || c.query_key_norms != query_key_norm::none)) {
        fail(origin, ": layer norms are supported before attention and feed-forward alone");
    }
    if (!c.positions.empty() && c.positions.size() != c.layers) {
        fail(origin, ": windows and rotary positions of ", c.positions.size(), " layers for ", c.layers);
    }
    for (const layer_positions& each : c.positions) {
        if (each.turns == layer_positions::rotary::local && c.local_rotary_base == 0) {
            fail(origin, ": layers turn locally, but there is no local rotary base");
        }
    }
    if (c.attention_temperature != 0 && c.temperature_context == 0) {
        fail(origin, ": attention has a temperature of ", c.attention_temperature, ", by contexts of 0 tokens");
    }
    if (c.short_context > c.context) {
        fail(origin, ": the context of the short factors is ", c.short_context, ", beyond the ", c.context, " of all");
    }
}

}  // namespace detail

inline constexpr std::size_t most_prediction_layers = 64;

/// Throws unless every number makes sense alone and with the others. `origin` opens the messages: the file's name.
inline void validate(const config& c, std::string_view origin) {
    const auto within = [&](std::string_view name, std::size_t value, std::size_t least, std::size_t most) {
        if (value < least || value > most) {
            augur::detail::fail(origin, ": ", name, " is ", value, ", not within ", least, "..", most);
        }
    };
    within("the number of layers", c.layers, 1, 1024);
    within("the number of layers for multi-token prediction", c.prediction_layers, 0, most_prediction_layers);
    within("the width", c.width, 1, 1u << 20);
    within("the number of heads", c.heads, 1, 4096);
    within("the number of key-value heads", c.key_value_heads, 1, c.heads);
    if (c.heads % c.key_value_heads != 0) {
        augur::detail::fail(origin, ": ", c.heads, " heads cannot share ", c.key_value_heads,
                            " key-value heads equally");
    }
    within("the head size", c.head_size, 1, 4096);
    within("the size of all queries (heads by head size)", c.heads * c.head_size, 1, 1u << 18);
    within("the size of all keys (key-value heads by head size)", c.key_value_heads * c.head_size, 1, 1u << 16);
    within("the feed-forward width", c.feed_forward, 1, 1u << 22);
    within("the vocabulary size", c.vocabulary, 1, std::numeric_limits<std::int32_t>::max());
    within("the context length", c.context, 1, std::numeric_limits<std::int32_t>::max());
    within("the rotary size", c.rotary_size, 2, c.head_size);
    if (c.rotary_size % 2 != 0) augur::detail::fail(origin, ": the rotary size ", c.rotary_size, " is odd");
    if (!std::isfinite(c.rotary_base) || c.rotary_base <= 0) {
        augur::detail::fail(origin, ": the rotary base ", c.rotary_base, " is not a positive number");
    }
    if (!std::isfinite(c.norm_epsilon) || c.norm_epsilon < 0) {
        augur::detail::fail(origin, ": the norm's epsilon ", c.norm_epsilon, " is not a number of at least 0");
    }
    for (const auto* factors : {&c.rotary_factors, &c.long_rotary_factors}) {
        if (!factors->empty() && factors->size() != c.rotary_size / 2) {
            augur::detail::fail(origin, ": ", factors->size(), " rotary factors for ", c.rotary_size / 2, " pairs");
        }
        for (const float factor : *factors) {
            if (!std::isfinite(factor) || factor <= 0) augur::detail::fail(origin, ": a rotary factor is ", factor);
        }
    }
    detail::validate_beyond_llama(c, origin);
}

}  // namespace augur::llama
