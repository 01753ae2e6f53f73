#pragma once
// Random weights of a shape, for measuring the passes of a model that is not at hand. See docs/tune/advise.md.

#include <algorithm>
#include <augur/backend/host/packed_matrix.hpp>
#include <augur/backend/host/storage.hpp>
#include <augur/detail/half.hpp>
#include <augur/io/files/quantize.hpp>
#include <augur/io/files/tensor.hpp>
#include <augur/llama/config.hpp>
#include <augur/llama/memory.hpp>
#include <augur/llama/published_heads.hpp>
#include <augur/llama/weight_format.hpp>
#include <augur/llama/weights.hpp>
#include <augur/types/error.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "llama_shape.hpp"

namespace augur::program {

/// A configuration of a shape for synthetic weights.
inline llama::config synthetic_config(const llama_shape& of, std::size_t vocabulary, std::size_t context) {
    llama::config c = of.sized({});
    c.vocabulary = vocabulary;
    c.context = context;
    c.rotary_size = c.head_size;
    c.tied_head = true;
    llama::validate(c, "the shape");
    return c;
}

/// Numbers of a layer's matrices.
inline std::uint64_t layer_parameters(const llama::config& c) {
    const std::uint64_t width = c.width, heads = c.heads, keys = c.key_value_heads, size = c.head_size;
    return width * size * (2 * heads + 2 * keys) + 3 * width * std::uint64_t{c.feed_forward};
}

/// Weights without meaning, of the size of real ones: what a product costs does not depend on them. Rows repeat.
/// Equal seeds, equal weights.
class synthetic_weights {
 public:
    synthetic_weights(llama::config c, backend::host::storage format, std::uint32_t seed = 1)
        : config_(std::move(c)), format_(format), random_(seed) {}

    /// A model of which as many layers are different as `distinct` says, and the others are these again: a pass runs
    /// through all, in the memory of some. There must be more of them than near caches hold.
    llama::weights model(std::size_t distinct) {
        llama::weights out = beside(matrix(config_.vocabulary, config_.width));
        std::vector<std::shared_ptr<const llama::layer_weights>> different;
        for (std::size_t i = 0; i < std::clamp<std::size_t>(distinct, 1, config_.layers); ++i) {
            different.push_back(std::make_shared<const llama::layer_weights>(layer()));
        }
        for (std::size_t i = 0; i < config_.layers; ++i) out.layers.push_back(different[i % different.size()]);
        return out;
    }

    /// A model of so many layers of its own with the target's embedding and a head of so many tokens.
    llama::weights draft(const llama::weights& target, std::size_t layers, std::size_t head_tokens) {
        llama::weights out = beside(target.embedding);
        out.embedding_is_lent = true;
        out.head_tokens.resize(std::min(head_tokens, config_.vocabulary));
        std::iota(out.head_tokens.begin(), out.head_tokens.end(), 0);
        out.head = matrix(out.head_tokens.size(), config_.width);
        for (std::size_t i = 0; i < layers; ++i)
            out.layers.push_back(std::make_shared<const llama::layer_weights>(layer()));
        return out;
    }

    /// The same of one layer that reads hidden states, too.
    llama::weights eagle(const llama::weights& target, std::size_t head_tokens) {
        llama::weights out = draft(target, 1, head_tokens);
        out.fusion = {matrix(config_.width, 2 * config_.width), ones(), ones()};
        return out;
    }

    /// Heads that read the hidden state, and if they see tokens those before their own.
    std::vector<llama::head_weights> heads(std::size_t count, bool see_tokens) {
        std::vector<llama::head_weights> out(count);
        for (std::size_t i = 0; i < count; ++i) {
            out[i].blocks.push_back(
                {matrix(config_.width, (see_tokens ? i + 2 : 1) * config_.width), std::vector<float>(config_.width)});
        }
        return out;
    }

    backend::host::packed_matrix matrix(std::size_t rows, std::size_t depth) {
        llama::check_weights("a synthetic matrix", llama::stored_bytes(format_, std::uint64_t{rows} * depth));
        backend::host::packed_matrix out(format_, rows, depth);
        std::vector<std::vector<std::byte>> different;
        for (int i = 0; i < 4; ++i) different.push_back(row(depth));
        for (std::size_t i = 0; i < rows; ++i) out.set_row(i, different[i % different.size()]);
        return out;
    }

 private:
    llama::weights beside(backend::host::packed_matrix embedding) {
        return beside(std::make_shared<const backend::host::packed_matrix>(std::move(embedding)));
    }
    llama::weights beside(std::shared_ptr<const backend::host::packed_matrix> embedding) const {
        llama::weights out;
        out.embedding = std::move(embedding);
        out.final_norm = ones();
        return out;
    }
    std::vector<float> ones() const { return std::vector<float>(config_.width, 1.0f); }

    llama::layer_weights layer() {
        const std::size_t queries = config_.heads * config_.head_size,
                          keys = config_.key_value_heads * config_.head_size;
        llama::layer_weights out;
        out.attention_norm = out.feed_forward_norm = ones();
        out.query = matrix(queries, config_.width);
        out.key = matrix(keys, config_.width);
        out.value = matrix(keys, config_.width);
        out.attention_output = matrix(config_.width, queries);
        out.gate = matrix(config_.feed_forward, config_.width);
        out.up = matrix(config_.feed_forward, config_.width);
        out.down = matrix(config_.width, config_.feed_forward);
        return out;
    }

    /// Numbers with mean 0 and variance 1 / depth, as a file holds them.
    std::vector<std::byte> row(std::size_t depth) {
        using backend::host::storage;
        const auto layout = backend::host::layout_of(format_);
        if (depth % layout.file_depth != 0) {
            detail::fail(layout.name, " packs blocks of ", layout.file_depth, ", which a row of ", depth,
                         " is no multiple of");
        }
        std::vector<std::byte> bytes(depth / layout.file_depth * layout.file_bytes);
        for (const auto type : {io::tensor_type::f32, io::tensor_type::f16, io::tensor_type::bf16,
                                io::tensor_type::q8_0, io::tensor_type::q4_0, io::tensor_type::q4_1}) {
            if (io::name_of(type) != layout.name) continue;
            std::uniform_real_distribution<float> number(-1, 1);
            std::vector<float> values(depth);
            for (float& value : values) value = number(random_) * std::sqrt(3.0f / static_cast<float>(depth));
            io::quantize(type, values, bytes);
            return bytes;
        }
        fill_blocks(bytes, layout, 1 / std::sqrt(static_cast<float>(depth)));
        return bytes;
    }

    /// Integers and scales of scales at random, under scales that make them numbers of about this size.
    void fill_blocks(std::span<std::byte> bytes, const backend::host::storage_layout& layout, float size) {
        for (std::byte& each : bytes) each = static_cast<std::byte>(random_() & 0xffu);
        for (std::size_t at = 0; at < bytes.size(); at += layout.file_bytes) {
            set_scales(bytes.subspan(at, layout.file_bytes), size);
        }
    }
    void set_scales(std::span<std::byte> block, float size) const {
        using backend::host::storage;
        const auto put = [&](std::size_t at, float value) {
            io::store_u16(reinterpret_cast<std::uint8_t*>(&block[at]), detail::float_to_half(value));
        };
        switch (format_) {
            case storage::q5_1:
                return put(0, size / 9), put(2, -1.72f * size);
            case storage::q2_k:
                return put(80, size / 12), put(82, size / 8);
            case storage::q4_k:
                return put(0, size / 150), put(2, size / 20);
            case storage::q5_k:
                return put(0, size / 310), put(2, size / 20);
            case storage::q6_k:
                return put(208, size / 1400);
            case storage::iq4_nl:
                return put(0, size / 70);
            case storage::iq4_xs:
                return put(0, size / 1300);
            case storage::mxfp4:
                block[0] = static_cast<std::byte>(128 + std::lround(std::log2(size / 5.5f)));
                return;
            default:
                detail::fail("no blocks of ", name_of(format_), " are made at random");
        }
    }

    llama::config config_;
    backend::host::storage format_;
    std::mt19937 random_;
};

}  // namespace augur::program
