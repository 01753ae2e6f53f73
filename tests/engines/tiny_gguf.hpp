#pragma once
// Tiny random models of several families, F32, as files that llama.cpp reads: for laws that hold up to rounding.

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/files.hpp"
#include "io/gguf_writer.hpp"

namespace augur::testing {

/// What such a file is made of. Families: llama, qwen3, gemma3 (a window of 16 tokens in most layers), mamba, lfm2 (of
/// two layers one attends, one has a state).
struct tiny_gguf {
    std::string family = "llama";
    std::uint32_t vocabulary = 96, width = 32, layers = 2, heads = 4, groups = 2, wide = 64, context = 512;
    unsigned seed = 1;
    bool has_words = false;  ///< the vocabulary of `tiny_words`
    bool is_causal = true;   ///< false as in models for embeddings
    std::string chat_template{};
    std::uint32_t bad_token = 0xffffffff;  ///< whose embedding is NaN

    std::filesystem::path write(const std::filesystem::path& path) {
        key("context_length", context);
        key("embedding_length", width);
        key("block_count", layers);
        key("vocab_size", vocabulary);
        out_.set("general.architecture", family);
        if (has_words) {
            write_words();
        } else {
            out_.set("tokenizer.ggml.model", std::string("no_vocab"));
        }
        std::vector<float> embedding = numbers({vocabulary, width}, 1);
        if (bad_token < vocabulary) embedding[bad_token * width] = std::nanf("");
        out_.tensor("token_embd.weight", {vocabulary, width}, embedding);
        for (std::uint32_t layer = 0; layer < layers; ++layer) {
            at_ = "blk." + std::to_string(layer) + ".";
            ones("attn_norm", width);
            family == "mamba" ? state_layer() : attention_layer(layer);
        }
        at_ = "";
        ones(family == "lfm2" ? "token_embd_norm" : "output_norm", width);
        if (family == "llama" || family == "mamba") matrix("output", {vocabulary, width}, 0.3f);
        family == "mamba" ? state_keys() : attention_keys();
        return out_.write(path);
    }

 private:
    using shape = std::vector<std::uint64_t>;

    template <class T>
    void key(std::string_view name, const T& value) {
        out_.set(family + "." + std::string(name), value);
    }
    std::vector<float> numbers(const shape& of, float deviation) {
        std::normal_distribution<float> normal(0, deviation);
        std::uint64_t count = 1;
        for (const std::uint64_t each : of) count *= each;
        std::vector<float> drawn(count);
        for (float& each : drawn) each = normal(random_);
        return drawn;
    }
    void matrix(const std::string& name, const shape& of, float deviation = 0) {
        const float usual = 1 / std::sqrt(static_cast<float>(of.back()));
        out_.tensor(at_ + name + ".weight", of, numbers(of, deviation > 0 ? deviation : usual));
    }
    void ones(const std::string& name, std::uint64_t size, float all = 1) {
        out_.tensor(at_ + name + ".weight", {size}, std::vector<float>(size, all));
    }

    void attention_keys() {
        if (!is_causal) key("attention.causal", false);
        key("feed_forward_length", wide);
        key("attention.head_count", heads);
        if (family == "lfm2") {
            key("attention.head_count_kv", std::vector<std::int32_t>{0, static_cast<std::int32_t>(groups)});
            key("shortconv.l_cache", std::uint32_t{3});
        } else {
            key("attention.head_count_kv", groups);
        }
        key("attention.layer_norm_rms_epsilon", 1e-5f);
        key("rope.dimension_count", width / heads);
        key("attention.key_length", width / heads);
        key("attention.value_length", width / heads);
        if (family == "gemma3") key("attention.sliding_window", std::uint32_t{16});
    }
    void attention_layer(std::uint32_t layer) {
        const std::uint64_t size = width / heads, keys = size * groups;
        ones("ffn_norm", width);
        if (family == "gemma3") {
            ones("post_attention_norm", width);
            ones("post_ffw_norm", width, 0.05f);  // little: ggml looks GELU up in a table of F16, which has steps
        }
        if (family == "lfm2" && layer == 0) {
            matrix("shortconv.conv", {width, 3}, 0.5f);
            matrix("shortconv.in_proj", {3 * width, width});
            matrix("shortconv.out_proj", {width, width});
        } else {
            if (family != "llama") {
                ones("attn_q_norm", size);
                ones("attn_k_norm", size);
            }
            matrix("attn_q", {width, width}, 0.3f);
            matrix("attn_k", {keys, width}, 0.3f);
            matrix("attn_v", {keys, width});
            matrix("attn_output", {width, width});
        }
        matrix("ffn_gate", {wide, width});
        matrix("ffn_up", {wide, width});
        matrix("ffn_down", {width, wide});
    }

    static constexpr std::uint32_t kernel = 4, state = 16, rank = 4;
    void state_keys() {
        key("feed_forward_length", std::uint32_t{0});
        key("attention.head_count", std::uint32_t{0});
        key("attention.layer_norm_rms_epsilon", 1e-5f);
        key("ssm.conv_kernel", kernel);
        key("ssm.inner_size", 2 * width);
        key("ssm.state_size", state);
        key("ssm.time_step_rank", rank);
    }
    void state_layer() {
        const std::uint64_t inner = 2 * width;
        matrix("ssm_in", {2 * inner, width});
        matrix("ssm_conv1d", {inner, kernel});
        out_.tensor(at_ + "ssm_conv1d.bias", {inner}, numbers({inner}, 0.1f));
        matrix("ssm_x", {rank + 2 * state, inner});
        matrix("ssm_dt", {inner, rank});
        out_.tensor(at_ + "ssm_dt.bias", {inner}, numbers({inner}, 0.1f));
        std::vector<float> decay;
        for (std::uint64_t i = 0; i < inner * state; ++i) decay.push_back(-static_cast<float>(i % state + 1));
        out_.tensor(at_ + "ssm_a", {inner, state}, decay);
        out_.tensor(at_ + "ssm_d", {inner}, std::vector<float>(inner, 1.0f));
        matrix("ssm_out", {width, inner});
    }

    /// SentencePiece: <unk>, <s>, </s>, an unused token, and letters with U+2581.
    void write_words() {
        std::vector<std::string> texts{"<unk>", "<s>", "</s>", "<unused0>"};
        std::vector<std::int32_t> kinds{2, 3, 3, 5};
        for (char each = ' ' + 1; texts.size() < vocabulary; ++each) {
            const bool is_space = texts.size() == 4;
            texts.push_back(is_space ? "\u2581" : std::string(1, each));
            if (is_space) --each;
            kinds.push_back(1);
        }
        out_.set("tokenizer.ggml.model", std::string("llama"));
        if (!chat_template.empty()) out_.set("tokenizer.chat_template", chat_template);
        out_.set("tokenizer.ggml.tokens", texts);
        out_.set("tokenizer.ggml.token_type", kinds);
        out_.set("tokenizer.ggml.scores", std::vector<float>(texts.size(), 0.0f));
        out_.set("tokenizer.ggml.bos_token_id", std::uint32_t{1});
        out_.set("tokenizer.ggml.eos_token_id", std::uint32_t{2});
        out_.set("tokenizer.ggml.unknown_token_id", std::uint32_t{0});
    }

    gguf_writer out_;
    std::mt19937 random_{seed};
    std::string at_;
};

}  // namespace augur::testing
