#pragma once
// Small random Llamas as GGUF files, sound or spoiled, and ways to run them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "augur/llama/host_model.hpp"
#include "augur/model/concepts.hpp"
#include "backend/host/matrices.hpp"
#include "io/files.hpp"
#include "io/gguf_writer.hpp"

namespace augur::testing {

inline std::uint32_t gguf_number(io::tensor_type type) {
    switch (type) {
        case io::tensor_type::f32:
            return 0;
        case io::tensor_type::f16:
            return 1;
        case io::tensor_type::q4_0:
            return 2;
        case io::tensor_type::q4_1:
            return 3;
        case io::tensor_type::q5_0:
            return 6;
        case io::tensor_type::q5_1:
            return 7;
        case io::tensor_type::q8_0:
            return 8;
        case io::tensor_type::q2_k:
            return 10;
        case io::tensor_type::q3_k:
            return 11;
        case io::tensor_type::q4_k:
            return 12;
        case io::tensor_type::q5_k:
            return 13;
        case io::tensor_type::q6_k:
            return 14;
        case io::tensor_type::iq4_nl:
            return 20;
        case io::tensor_type::iq4_xs:
            return 23;
        case io::tensor_type::i32:
        case io::tensor_type::u8:
            return 26;
        case io::tensor_type::bf16:
            return 30;
        case io::tensor_type::mxfp4:
            return 39;
    }
    augur::detail::fail("unknown type");
}

/// Keys and shapes of a model in the making. Change them before `write`.
struct small_llama {
    io::tensor_type type = io::tensor_type::f32;  ///< of the matrices
    std::map<std::string, std::uint32_t> sizes;
    std::map<std::string, float> numbers{{"llama.attention.layer_norm_rms_epsilon", 1e-5f},
                                         {"llama.rope.freq_base", 500.0f}};
    std::map<std::string, std::string> texts{{"general.architecture", "llama"}};
    std::map<std::string, std::vector<std::int32_t>> lists;
    std::map<std::string, std::vector<std::uint64_t>> shapes;
    std::map<std::string, std::vector<float>> given;  ///< f32 tensors with these values
    std::vector<std::string> zeros;                   ///< tensors with one of these in their names hold nothing else
    std::vector<std::string> tokens;

    explicit small_llama(io::tensor_type of = io::tensor_type::f32, std::uint32_t width = 64, std::uint32_t heads = 8,
                         std::uint32_t key_value_heads = 2, std::uint32_t hidden = 96, std::uint32_t vocabulary = 77)
        : type(of) {
        sizes = {{"llama.block_count", 2},
                 {"llama.context_length", 600},
                 {"llama.embedding_length", width},
                 {"llama.attention.head_count", heads},
                 {"llama.attention.head_count_kv", key_value_heads},
                 {"llama.feed_forward_length", hidden}};
        const std::uint64_t keys = width / heads * key_value_heads;
        shapes = {{"token_embd.weight", {vocabulary, width}}, {"output_norm.weight", {width}}};
        for (const std::string layer : {"blk.0.", "blk.1."}) {
            shapes[layer + "attn_norm.weight"] = shapes[layer + "ffn_norm.weight"] = {width};
            shapes[layer + "attn_q.weight"] = shapes[layer + "attn_output.weight"] = {width, width};
            shapes[layer + "attn_k.weight"] = shapes[layer + "attn_v.weight"] = {keys, width};
            shapes[layer + "ffn_gate.weight"] = shapes[layer + "ffn_up.weight"] = {hidden, width};
            shapes[layer + "ffn_down.weight"] = {width, hidden};
        }
    }

    /// Two more layers, in the shapes of the first.
    small_llama& with_four_layers() {
        sizes["llama.block_count"] = 4;
        const auto before = shapes;
        for (const auto& [name, shape] : before) {
            if (!name.starts_with("blk.0.")) continue;
            for (const char* layer : {"blk.2.", "blk.3."}) shapes[layer + name.substr(6)] = shape;
        }
        return *this;
    }

    std::filesystem::path write(const std::filesystem::path& path) const {
        gguf_writer out;
        for (const auto& [key, value] : texts) out.set(key, value);
        for (const auto& [key, value] : sizes) out.set(key, value);
        for (const auto& [key, value] : numbers) out.set(key, value);
        for (const auto& [key, value] : lists) out.set(key, value);
        if (!tokens.empty()) out.set("tokenizer.ggml.tokens", tokens);
        for (const auto& [name, values] : given) out.tensor(name, {values.size()}, values);
        std::mt19937 random(11);
        for (const auto& [name, shape] : shapes) {
            std::uint64_t count = 1;
            for (const auto dimension : shape) count *= dimension;
            if (shape.size() == 1) {
                auto values = normal_numbers(count, random);
                for (float& value : values) value = 1 + value / 8;
                out.tensor(name, shape, values);
            } else {
                auto stored = stored_numbers(type, count, random);
                for (const std::string& part : zeros) {
                    if (name.find(part) != name.npos) std::fill(stored.begin(), stored.end(), std::byte{});
                }
                out.tensor(name, shape, gguf_number(type), stored);
            }
        }
        return out.write(path);
    }

    /// Written, loaded and deleted.
    llama::host_model load(const llama::load_options& options = {}) const {
        const temporary_directory folder;
        return llama::host_model::load(write(folder / "model.gguf"), options);
    }
};

inline std::vector<token> some_tokens(std::size_t count, std::size_t vocabulary) {
    std::vector<token> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(static_cast<token>((i * i * 31 + i * 17 + 5) % vocabulary));
    return out;
}

/// Rows of logits that outlive their sequence.
std::vector<float> copied(const LogitRows auto& rows) {
    std::vector<float> out;
    for (std::size_t i = 0; i < rows.size(); ++i) out.insert(out.end(), rows[i].begin(), rows[i].end());
    return out;
}

/// Logits after each token, `rows` tokens at a time, of a fresh sequence.
template <class Model>
std::vector<float> logits_in_steps(const Model& model, std::span<const token> tokens, std::size_t rows) {
    auto sequence = model.make_sequence();
    std::vector<float> out;
    for (std::size_t at = 0; at < tokens.size(); at += rows) {
        const auto step = copied(model.extend(sequence, tokens.subspan(at, std::min(rows, tokens.size() - at))));
        out.insert(out.end(), step.begin(), step.end());
    }
    return out;
}

inline std::vector<token> greedy(const llama::host_model& model, std::span<const token> prompt, std::size_t count) {
    auto sequence = model.make_sequence();
    auto rows = model.extend(sequence, prompt, 1);
    std::vector<token> out;
    for (;;) {
        const auto row = rows.back();
        out.push_back(static_cast<token>(std::max_element(row.begin(), row.end()) - row.begin()));
        if (out.size() == count) return out;
        rows = model.extend(sequence, std::span(out).last(1), 1);
    }
}

}  // namespace augur::testing
