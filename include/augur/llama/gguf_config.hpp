#pragma once
// Reads a decoder's hyper-parameters from GGUF metadata.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "augur/io/files/gguf.hpp"
#include "augur/io/files/quote.hpp"
#include "augur/io/text/token_texts.hpp"
#include "augur/llama/architectures.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/gguf_keys.hpp"
#include "augur/llama/gguf_rotary.hpp"
#include "augur/llama/token_rows.hpp"
#include "augur/types/error.hpp"

namespace augur::llama {

namespace detail {

/// What the tokens say: their fingerprint, how many there are, and so which rows belong to none. Where they are there,
/// a `vocab_size` that differs from the rows is stale.
inline void read_gguf_vocabulary(config& c, const io::gguf_view& file, const std::string& prefix) {
    const std::string key = prefix + "vocab_size", origin = file.path().string();
    const auto declared = file.get_or<std::uint64_t>(key, c.vocabulary);
    const bool has_tokens = file.contains("tokenizer.ggml.tokens");
    if (declared != c.vocabulary && !has_tokens) {
        fail(origin, ": ", key, " is ", declared, ", but token_embd.weight has ", c.vocabulary, " rows");
    }
    if (!has_tokens) return;
    const auto tokens = file.array<std::string>("tokenizer.ggml.tokens").size();
    if (tokens > c.vocabulary) {
        fail(origin, ": the tokenizer has ", tokens, " tokens, but token_embd.weight only ", c.vocabulary, " rows");
    }
    if (declared != c.vocabulary && declared != tokens) {
        c.notes.push_back(message(key, " is ", declared, ", and is passed over: there are ", tokens, " tokens and ",
                                  c.vocabulary, " rows"));
    }
    read_tokens(c, io::token_texts(file));
}

inline void read_gguf_sizes(config& c, const io::gguf_view& file, const std::string& prefix) {
    const std::string origin = file.path().string();
    const auto size = [&](const char* key) { return static_cast<std::size_t>(file.get<std::uint64_t>(prefix + key)); };
    const auto size_or = [&](const char* key, std::size_t fallback) {
        return static_cast<std::size_t>(file.get_or<std::uint64_t>(prefix + key, fallback));
    };
    check_is_model(file);
    c.layers = size("block_count");
    c.width = size("embedding_length");
    c.heads = layered_size(file, prefix + "attention.head_count", c);
    const std::string keys = prefix + "attention.head_count_kv";
    c.key_value_heads = file.contains(keys) ? layered_size(file, keys, c) : c.heads;
    c.feed_forward = layered_size(file, prefix + "feed_forward_length", c);
    c.context = size("context_length");
    if (c.heads != 0 && !file.contains(prefix + "attention.key_length") && c.width % c.heads != 0) {
        fail(origin, ": the width ", c.width, " is no multiple of the ", c.heads, " heads");
    }
    c.head_size = size_or("attention.key_length", c.heads == 0 ? 0 : c.width / c.heads);
    if (const auto values = size_or("attention.value_length", c.head_size); values != c.head_size) {
        fail(origin, ": values of size ", values, " beside keys of size ", c.head_size, " are not supported");
    }
    c.rotary_size = size_or("rope.dimension_count", c.head_size);
}

/// A mixture's numbers. How its scores become weights is the architecture's, and only repeated by keys.
inline void read_gguf_experts(config& c, const io::gguf_view& file, const architecture& of, const std::string& prefix) {
    const std::string origin = file.path().string();
    const auto size = [&](const char* key) { return static_cast<std::size_t>(file.get<std::uint64_t>(prefix + key)); };
    const std::size_t count =
        of.experts == expert_rule::always || file.contains(prefix + "expert_count") ? size("expert_count") : 0;
    if (count == 0 && of.experts != expert_rule::always) return;
    if (of.experts == expert_rule::none) {
        fail(origin, ": a mixture of ", count, " experts is not supported in a ", of.gguf);
    }
    if (count == 0) fail(origin, ": ", prefix, "expert_count is 0, but a ", of.gguf, " has experts");
    c.experts = mixture{.count = count,
                        .used = size("expert_used_count"),
                        .feed_forward = c.feed_forward,
                        .shares_of_chosen = of.shares_of_chosen,
                        .biased = of.biased_experts};
    if (file.contains(prefix + "expert_feed_forward_length")) {
        c.experts.feed_forward = layered_size(file, prefix + "expert_feed_forward_length", c);
    }
    if (of.has_shared_expert) {
        const std::string shared = prefix + "expert_shared_feed_forward_length";
        c.experts.shared_feed_forward = static_cast<std::size_t>(file.get_or<std::uint64_t>(shared, c.feed_forward));
        if (c.experts.shared_feed_forward == 0) fail(origin, ": ", shared, " is 0, but a ", of.gguf, " has one");
    }
    const std::string norm = prefix + "expert_weights_norm";
    if (file.get_or<bool>(norm, of.shares_of_chosen) != of.shares_of_chosen) {
        fail(origin, ": the metadata key ", io::quote(norm), " is ", of.shares_of_chosen ? "false" : "true",
             ", which is not supported in a ", of.gguf);
    }
}

/// Windows, and layers that turn otherwise.
inline void read_gguf_positions(config& c, const io::gguf_view& file, const architecture& of,
                                const std::string& prefix) {
    const std::string key = prefix + "attention.sliding_window";
    const bool is_needed = of.windows == window_rule::periodic && of.window == 0 && !of.may_lack_windows;
    const auto window =
        static_cast<std::size_t>(is_needed ? file.get<std::uint64_t>(key) : file.get_or<std::uint64_t>(key, of.window));
    // of the models whose config.json has a window of some layers, llama.cpp's writer keeps no list of them
    if (window != 0 && window < c.context && of.windows != window_rule::all && of.windows != window_rule::periodic) {
        fail(file.path().string(), ": the metadata key ", io::quote(key), " is ", window, ", within the context of ",
             c.context, "; a ", of.gguf, " has no windows");
    }
    std::size_t period = of.window_period;
    const std::string pattern = prefix + "attention.sliding_window_pattern";
    std::vector<bool> listed;
    if (const io::gguf_value* const value = file.metadata().find(pattern); value != nullptr && value->is_array) {
        listed = file.array<bool>(pattern);
        if (listed.size() != c.layers) {
            fail(file.path().string(), ": ", pattern, " holds ", listed.size(), " layers of ", c.layers);
        }
    } else if (value != nullptr) {
        period = static_cast<std::size_t>(file.get<std::uint64_t>(pattern));
    }
    const double local = of.local_is_main ? c.rotary_base : of.local_rotary_base;
    c.local_rotary_base = local == 0 ? 0 : file.get_or<double>(prefix + "rope.freq_base_swa", local);
    const bool is_still = of.can_stand_still && !file.get_or<bool>(prefix + "rope.scaling.finetuned", true);
    set_positions(
        of, c, window,
        [&](std::size_t layer) {
            if (!listed.empty()) return listed[layer] && (window != 0 || !of.may_lack_windows);
            return window != 0 && !is_periodic(period, layer);
        },
        [&](std::size_t layer) { return is_still || is_periodic(of.still_period, layer); });
}

/// Scales and caps: those of the architecture, or as the file has them.
inline void read_gguf_scales(config& c, const io::gguf_view& file, const architecture& of, const std::string& prefix) {
    const auto number = [&](const char* key, float fallback) {
        const auto found = static_cast<float>(file.get_or<double>(prefix + key, static_cast<double>(fallback)));
        return found == 0 ? fallback : found;
    };
    if (c.layers == of.layers_scaled_by_width) {
        set_attention_scale(c, 1 / std::sqrt(static_cast<double>(c.width) / static_cast<double>(c.heads)));
    }
    const double scale = file.get_or<double>(prefix + "attention.scale", 0.0);
    if (scale != 0) set_attention_scale(c, scale);
    if (c.attention_scale != 0 && scale != 0 && !of.has_scales) {
        fail(file.path().string(), ": the metadata key ", io::quote(prefix + "attention.scale"), " is ", scale,
             ", but only ", usual_scale(c), ", of the head size ", c.head_size, ", is supported in a ", of.gguf);
    }
    if (of.has_scales) {
        c.embedding_scale = number("embedding_scale", 1);
        c.residual_scale = number("residual_scale", 1);
        c.logit_scale = 1 / number("logit_scale", 1);
    }
    if (of.has_temperature) {
        c.attention_temperature = number("attention.temperature_scale", 0);
        c.temperature_context = static_cast<std::size_t>(
            c.attention_temperature == 0 ? 0 : file.get<std::uint64_t>(prefix + "attention.temperature_length"));
    }
    if (of.has_caps) {
        c.attention_cap = static_cast<float>(
            file.get_or<double>(prefix + "attn_logit_softcapping", static_cast<double>(of.attention_cap)));
        c.logit_cap = static_cast<float>(
            file.get_or<double>(prefix + "final_logit_softcapping", static_cast<double>(of.logit_cap)));
    }
}

/// What only the tensors say.
inline void read_gguf_layout(config& c, const io::gguf_view& file, const architecture& of) {
    const auto has = [&](const char* name) { return file.find(std::string("blk.0.") + name) != nullptr; };
    c.stored.halves = of.halves_in_gguf;
    c.stored.experts = expert_tensors::stacked;
    c.stored.after_attention = of.norm_after_attention;
    c.stored.joined_query_key_value = has("attn_qkv.weight");
    c.stored.joined_gate_up = of.joined && !has("ffn_gate.weight");
    if (of.layer_norms && !has("ffn_norm.weight")) {
        fail(file.path().string(), ": there is no blk.0.ffn_norm.weight; a ", of.gguf, " whose attention and ",
             "feed-forward read one norm is not supported");
    }
    c.query_key_value_bias = has("attn_q.bias") || has("attn_qkv.bias");
    c.attention_output_bias = has("attn_output.bias");
    c.feed_forward_bias = has("ffn_down.bias");
}

}  // namespace detail

/// Those that read_config reads.
inline std::vector<std::string> tensors_of_config(const io::gguf_view&) {
    return {"rope_freqs.weight", "rope_factors_short.weight", "rope_factors_long.weight"};
}

/// Reads and validates. A file without an embedding has the vocabulary of whoever lends it one. Throws augur::error,
/// with the file's name and the values, where the architecture is none of architectures.hpp, a key is missing, of the
/// wrong type or not understood (gguf_keys.hpp), numbers contradict each other, or the tokenizer has more tokens than
/// the embedding has rows. Of rows behind the last token's only the number is kept: no token is theirs
/// (padded_vocabulary).
inline config read_config(const io::gguf_view& file, std::size_t lent_vocabulary = 0) {
    const std::string origin = file.path().string();
    const auto name = file.get<std::string>("general.architecture");
    const architecture& of = detail::architecture_of(&architecture::gguf, name, origin, "the architecture");
    const std::string prefix = name + ".";
    config c;
    detail::read_gguf_sizes(c, file, prefix);
    const bool is_lent = lent_vocabulary != 0 && file.find("token_embd.weight") == nullptr;
    c.vocabulary = is_lent ? lent_vocabulary : static_cast<std::size_t>(file.tensor("token_embd.weight").rows());
    c.rotary_base = file.get_or<double>(prefix + "rope.freq_base", 10000.0);
    c.norm_epsilon = static_cast<float>(file.get<double>(prefix + detail::gguf_epsilon(of.layer_norms)));
    c.tied_head = file.find("output.weight") == nullptr;
    validate(c, origin);
    detail::apply(of, c);
    detail::read_gguf_experts(c, file, of, prefix);
    detail::read_gguf_positions(c, file, of, prefix);
    detail::read_gguf_scales(c, file, of, prefix);
    detail::read_gguf_layout(c, file, of);
    detail::read_gguf_rotary_scaling(c, file, of, prefix);
    validate(c, origin);
    detail::check_gguf_keys(file, of);
    detail::read_gguf_vocabulary(c, file, prefix);
    return c;
}

}  // namespace augur::llama
