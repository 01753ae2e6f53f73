#pragma once
// Llamas with random weights, without files.

#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "augur/llama/config.hpp"
#include "augur/llama/weights.hpp"

namespace augur::testing {

inline llama::config some_config(std::size_t layers, std::size_t width, std::size_t heads, std::size_t key_value_heads,
                                 std::size_t feed_forward, std::size_t vocabulary, std::size_t context) {
    llama::config c;
    c.layers = layers;
    c.width = width;
    c.heads = heads;
    c.key_value_heads = key_value_heads;
    c.head_size = c.rotary_size = width / heads;
    c.feed_forward = feed_forward;
    c.vocabulary = vocabulary;
    c.context = context;
    c.tied_head = true;
    return c;
}

/// With all that a device runs beyond a Llama.
inline llama::config some_dense_config(std::size_t layers, std::size_t width, std::size_t heads,
                                       std::size_t key_value_heads, std::size_t feed_forward, std::size_t vocabulary,
                                       std::size_t context) {
    llama::config c = some_config(layers, width, heads, key_value_heads, feed_forward, vocabulary, context);
    c.gate = llama::activation::gelu_tanh;
    c.norms_after = true;
    c.query_key_norms = llama::query_key_norm::per_head;
    c.query_key_value_bias = c.attention_output_bias = c.feed_forward_bias = true;
    c.embedding_scale = 3;
    c.residual_scale = 0.5f;
    c.attention_scale = 0.2f;
    c.logit_scale = 0.25f;
    c.attention_cap = 5;
    c.logit_cap = 30;
    c.attention_temperature = 0.1f;
    c.temperature_context = 16;
    c.rotary_scale = 1.1f;
    c.local_rotary_base = 100;
    c.positions.assign(layers, {.window = 40, .turns = llama::layer_positions::rotary::local});
    c.positions.back() = {};
    return c;
}

inline llama::weights random_weights(const llama::config& c, std::uint32_t seed) {
    std::mt19937 bits(seed);
    std::normal_distribution<float> normal;
    const auto matrix = [&](std::size_t rows, std::size_t depth, float scale) {
        backend::host::packed_matrix out(backend::host::storage::f32, rows, depth);
        std::vector<float> row(depth);
        for (std::size_t i = 0; i < rows; ++i) {
            for (float& x : row) x = scale * normal(bits);
            out.set_row(i, std::as_bytes(std::span(row)));
        }
        return out;
    };
    const auto scale = [](std::size_t depth) { return 1 / std::sqrt(static_cast<float>(depth)); };
    const std::size_t queries = c.heads * c.head_size, keys = c.key_value_heads * c.head_size;
    llama::weights out;
    out.embedding = std::make_shared<const backend::host::packed_matrix>(matrix(c.vocabulary, c.width, 1));
    for (std::size_t i = 0; i < c.layers; ++i) {
        llama::layer_weights layer;
        layer.attention_norm.assign(c.width, 1);
        layer.feed_forward_norm.assign(c.width, 1);
        layer.query = matrix(queries, c.width, scale(c.width));
        layer.key = matrix(keys, c.width, scale(c.width));
        layer.value = matrix(keys, c.width, scale(c.width));
        layer.attention_output = matrix(c.width, queries, scale(queries));
        layer.gate = matrix(c.feed_forward, c.width, scale(c.width));
        layer.up = matrix(c.feed_forward, c.width, scale(c.width));
        layer.down = matrix(c.width, c.feed_forward, scale(c.feed_forward));
        const auto put = [&](std::vector<float>& to, bool has, std::size_t size) {
            if (has) to = std::vector<float>(size, 0.5f);
        };
        put(layer.query_bias, c.query_key_value_bias, queries);
        put(layer.key_bias, c.query_key_value_bias, keys);
        put(layer.value_bias, c.query_key_value_bias, keys);
        put(layer.attention_output_bias, c.attention_output_bias, c.width);
        put(layer.gate_bias, c.feed_forward_bias, c.feed_forward);
        put(layer.up_bias, c.feed_forward_bias, c.feed_forward);
        put(layer.down_bias, c.feed_forward_bias, c.width);
        put(layer.query_norm, c.query_key_norms == llama::query_key_norm::per_head, c.head_size);
        put(layer.key_norm, c.query_key_norms == llama::query_key_norm::per_head, c.head_size);
        put(layer.after_attention_norm, c.norms_after, c.width);
        put(layer.after_feed_forward_norm, c.norms_after, c.width);
        out.layers.push_back(std::make_shared<const llama::layer_weights>(std::move(layer)));
    }
    out.final_norm.assign(c.width, 1);
    return out;
}

}  // namespace augur::testing
