#pragma once
// Reads a Llama's hyper-parameters from GGUF metadata.

#include <cstdint>
#include <string>
#include <vector>

#include "augur/io/files/dequantize.hpp"
#include "augur/io/files/gguf.hpp"
#include "augur/io/files/quote.hpp"
#include "augur/io/text/token_texts.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/gguf_keys.hpp"
#include "augur/llama/token_rows.hpp"

namespace augur::llama {

namespace detail {

using augur::detail::fail;

/// A factor without a type is linear, and is read under the key of older files, too, as in llama.cpp.
inline void read_gguf_rotary_scaling(config& c, const io::gguf_view& file, const std::string& origin) {
    const auto type = file.get_or<std::string>("llama.rope.scaling.type", "none");
    const char* const present = "llama.rope.scaling.factor";
    const char* const former = "llama.rope.scale_linear";
    const char* const key = file.contains(former) && !file.contains(present) ? former : present;
    const bool is_implied = !file.contains("llama.rope.scaling.type") && file.contains(key);
    if (type == "linear" && !file.contains(key)) {
        c.notes.push_back("llama.rope.scaling.type is linear without a factor, which is taken as 1");
    } else if (type == "linear" || is_implied) {
        const auto factor = file.get<double>(key);
        c.rotary_factors.assign(c.rotary_size / 2, static_cast<float>(factor));
    } else if (type != "none") {
        fail(origin, ": llama.rope.scaling.type is ", io::quote(type), "; none and linear are supported");
    }
    if (const auto* factors = file.find("rope_freqs.weight")) {
        if (factors->type != io::tensor_type::f32 || factors->element_count() != c.rotary_size / 2) {
            fail(origin, ": rope_freqs.weight holds ", factors->element_count(), " numbers of ",
                 io::name_of(factors->type), ", but ", c.rotary_size / 2, " rotary pairs need as many of f32");
        }
        const bool linear = !c.rotary_factors.empty();
        std::vector<float> values(c.rotary_size / 2);
        io::dequantize(factors->type, factors->read(), values);
        for (std::size_t i = 0; linear && i < values.size(); ++i) values[i] *= c.rotary_factors[i];
        c.rotary_factors = std::move(values);
    }
}

/// What the tokens say: their fingerprint, how many there are, and so which rows belong to none. Where they are there,
/// a `llama.vocab_size` that differs from the rows is stale.
inline void read_gguf_vocabulary(config& c, const io::gguf_view& file, const std::string& origin) {
    const auto declared = file.get_or<std::uint64_t>("llama.vocab_size", c.vocabulary);
    const bool has_tokens = file.contains("tokenizer.ggml.tokens");
    if (declared != c.vocabulary && !has_tokens) {
        fail(origin, ": llama.vocab_size is ", declared, ", but token_embd.weight has ", c.vocabulary, " rows");
    }
    if (!has_tokens) return;
    const auto tokens = file.array<std::string>("tokenizer.ggml.tokens").size();
    if (tokens > c.vocabulary) {
        fail(origin, ": the tokenizer has ", tokens, " tokens, but token_embd.weight only ", c.vocabulary, " rows");
    }
    if (declared != c.vocabulary && declared != tokens) {
        c.notes.push_back(message("llama.vocab_size is ", declared, ", and is passed over: there are ", tokens,
                                  " tokens and ", c.vocabulary, " rows"));
    }
    read_tokens(c, io::token_texts(file));
}

}  // namespace detail

/// Those that read_config reads.
inline std::vector<std::string> tensors_of_config(const io::gguf_view&) {
    return {"rope_freqs.weight"};
}

/// Reads and validates. A file without an embedding has the vocabulary of whoever lends it one. Throws augur::error,
/// with the file's name and the values, where the architecture is not `llama`, a key is missing, of the wrong type or
/// not understood (gguf_keys.hpp), numbers contradict each other, or the tokenizer has more tokens than the embedding
/// has rows. Of rows behind the last token's only the number is kept: no token is theirs (padded_vocabulary).
inline config read_config(const io::gguf_view& file, std::size_t lent_vocabulary = 0) {
    const std::string origin = file.path().string();
    const auto architecture = file.get<std::string>("general.architecture");
    if (architecture != "llama")
        detail::fail(origin, ": the architecture is ", io::quote(architecture), ", not 'llama'");
    const auto size = [&](const char* key) { return static_cast<std::size_t>(file.get<std::uint64_t>(key)); };
    const auto size_or = [&](const char* key, std::size_t fallback) {
        return static_cast<std::size_t>(file.get_or<std::uint64_t>(key, fallback));
    };
    if (const auto experts = size_or("llama.expert_count", 0); experts != 0) {
        detail::fail(origin, ": a mixture of ", experts, " experts is not supported");
    }
    detail::check_is_model(file);
    config c;
    c.layers = size("llama.block_count");
    c.width = size("llama.embedding_length");
    c.heads = detail::layered_size(file, "llama.attention.head_count", c);
    c.key_value_heads = file.contains("llama.attention.head_count_kv")
                            ? detail::layered_size(file, "llama.attention.head_count_kv", c)
                            : c.heads;
    c.feed_forward = detail::layered_size(file, "llama.feed_forward_length", c);
    c.context = size("llama.context_length");
    const bool is_lent = lent_vocabulary != 0 && file.find("token_embd.weight") == nullptr;
    c.vocabulary = is_lent ? lent_vocabulary : static_cast<std::size_t>(file.tensor("token_embd.weight").rows());
    if (c.heads != 0 && !file.contains("llama.attention.key_length") && c.width % c.heads != 0) {
        detail::fail(origin, ": the width ", c.width, " is no multiple of the ", c.heads, " heads");
    }
    c.head_size = size_or("llama.attention.key_length", c.heads == 0 ? 0 : c.width / c.heads);
    if (const auto values = size_or("llama.attention.value_length", c.head_size); values != c.head_size) {
        detail::fail(origin, ": values of size ", values, " beside keys of size ", c.head_size, " are not supported");
    }
    c.rotary_size = size_or("llama.rope.dimension_count", c.head_size);
    c.rotary_base = file.get_or<double>("llama.rope.freq_base", 10000.0);
    c.norm_epsilon = static_cast<float>(file.get<double>("llama.attention.layer_norm_rms_epsilon"));
    c.tied_head = file.find("output.weight") == nullptr;
    validate(c, origin);
    detail::read_gguf_rotary_scaling(c, file, origin);
    validate(c, origin);
    detail::check_gguf_keys(file, c);
    detail::read_gguf_vocabulary(c, file, origin);
    return c;
}

}  // namespace augur::llama
