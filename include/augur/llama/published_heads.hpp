#pragma once
// Reads Medusa and Hydra heads in the formats that others publish.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "augur/backend/host/packed_matrix.hpp"
#include "augur/io/files/quote.hpp"
#include "augur/io/files/safetensors.hpp"
#include "augur/io/files/taken_tensors.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/weights.hpp"
#include "augur/types/error.hpp"

namespace augur::llama {

/// out = in + silu(weight * in + bias), where of more inputs than the state the state is added to: in Hydra's heads the
/// embeddings of the tokens since follow it. Or, with a `skip`, out = skip * in + skip_bias + silu(weight * in + bias).
struct head_block {
    backend::host::packed_matrix weight;
    std::vector<float> bias;
    backend::host::packed_matrix skip{};
    std::vector<float> skip_bias{};

    std::size_t memory_bytes() const {
        return weight.memory_bytes() + skip.memory_bytes() + (bias.size() + skip_bias.size()) * sizeof(float);
    }
};

/// A draft head: blocks, one at least, and an output matrix of its own, perhaps with a bias, or none where it is the
/// target's.
struct head_weights {
    std::vector<head_block> blocks;
    backend::host::packed_matrix output{};
    std::vector<float> output_bias{};

    std::size_t memory_bytes() const {
        std::size_t total = output.memory_bytes() + output_bias.size() * sizeof(float);
        for (const head_block& each : blocks) total += each.memory_bytes();
        return total;
    }
};

/// All that a file holds.
struct published_heads {
    std::vector<head_weights> heads;
    std::optional<weights>
        text_layer{};  ///< of Hydra++: a decoder's layer and the norm after it; no embedding, no head
};

/// `medusa` or `hydra`: whose published layout it is. Throws augur::error, naming a tensor, for any other.
inline std::string published_kind(const io::safetensors_folder& file) {
    const std::string origin = file.path().string();
    for (const char* first : {"medusa_head.0.0.linear.weight", "0.0.linear.weight"}) {
        if (file.find(first) != nullptr) return "medusa";
    }
    for (const char* first : {"hydra_mlp.0.0.linear.weight", "hydra_mlp.0.1.linear.weight"}) {
        if (file.find(first) != nullptr) return "hydra";
    }
    augur::detail::fail(origin,
                        ": there is neither a tensor medusa_head.0.0.linear.weight nor 0.0.linear.weight, as Medusa's "
                        "published heads have, nor hydra_mlp.0.0.linear.weight, as Hydra's",
                        file.tensors().empty() ? "" : ", but " + io::quote(file.tensors().front().name));
}

/// The published heads of a path: the file itself, or of a folder its medusa_lm_head.safetensors or
/// hydra_lm_head.safetensors.
inline std::filesystem::path published_heads_file(const std::filesystem::path& path, const std::string& kind) {
    return std::filesystem::is_directory(path) ? path / (kind + "_lm_head.safetensors") : path;
}

namespace detail {

/// Every `step`-th of the blocks `name.0`, `name.1`, ... of a head from `at` on, the first of so many inputs.
inline std::vector<head_block> published_blocks(const auto& file, const auto& reader, const std::string& name,
                                                std::size_t width, std::size_t inputs, std::size_t at,
                                                std::size_t step) {
    std::vector<head_block> blocks;
    for (std::string block = name + "." + std::to_string(at); file.find(block + ".linear.weight");
         block = name + "." + std::to_string(at + step * blocks.size())) {
        head_block next{reader.matrix(block + ".linear.weight", width, inputs),
                        reader.vector(block + ".linear.bias", width)};
        if (inputs != width || file.find(block + ".res_connection.weight")) {
            next.skip = reader.matrix(block + ".res_connection.weight", width, inputs);
            next.skip_bias = reader.vector(block + ".res_connection.bias", width);
        }
        blocks.push_back(std::move(next));
        inputs = width;
    }
    return blocks;
}

/// Hydra++'s layer over the states, if the file has one: prefix_embeding_layer, as its authors spell it, a LlamaModel
/// of one layer. Its embedding, which reads nothing, is passed over.
std::optional<weights> published_text_layer(const auto& tensors, config c, weight_format format) {
    const std::string name = "prefix_embeding_layer.";
    if (tensors.find(name + "layers.0.self_attn.q_proj.weight") == nullptr) return std::nullopt;
    if (const auto beyond = beyond_llama(c); !beyond.empty()) {
        augur::detail::fail(tensors.path().string(), ": the layer of Hydra++'s heads is a Llama's, but the target has ",
                            beyond);
    }
    c.layers = 1;
    c.stored = {};
    c.stored.halves = true;
    tensor_names names = hugging_face_names(c);
    names.layer_prefix = name + "layers.";
    names.final_norm = name + "norm.weight";
    weights layer = weight_reader(tensors, c, names, format).read_layers({0});
    layer.fusion.only_state = true;
    tensors.pass_over(name + "embed_tokens.weight");
    return layer;
}

}  // namespace detail

/// Medusa's layout: of head n, block k is the tensors `n.k.linear.weight` and `.bias`, and after the last of its K
/// blocks `n.K.weight` is the output matrix, vocabulary times width; all names begin with `medusa_head.`, or none does.
/// Hydra's, with heads that are residual blocks (mlp): `hydra_mlp.n.k.linear.weight` and `.bias`; where the heads are
/// grounded the first block reads the state and the embeddings of n + 1 tokens, and has `.res_connection.weight` and
/// `.bias`; `hydra_lm_head.n.weight` is the output matrix. Either output may have a bias. Where a dropout stands before
/// each, they are `hydra_mlp.n.1`, `.3`, ... and `hydra_lm_head.n.1`. Hydra++'s (prefix-mlp) has a text layer beside.
/// Throws augur::error, naming what it found, for anything else.
inline published_heads read_published_heads(const io::safetensors_folder& file, const config& c,
                                            const std::string& kind, weight_format format) {
    if (const std::string found = published_kind(file); found != kind) {
        augur::detail::fail(file.path().string(), ": these are published heads of ", io::quote(found), ", but ",
                            io::quote(kind), " was wanted");
    }
    const io::tracked_file tensors(file);
    const weight_reader reader(tensors, c, hugging_face_names(), format);
    const bool drops_out = kind == "hydra" && !file.find("hydra_mlp.0.0.linear.weight");
    const std::string first_block = drops_out ? ".1" : ".0";
    const bool sees_tokens = file.find("hydra_mlp.0" + first_block + ".res_connection.weight") != nullptr;
    const std::string prefix = kind == "hydra" ? "hydra_mlp." : file.find("0.0.linear.weight") ? "" : "medusa_head.";
    published_heads read;
    std::vector<head_weights>& heads = read.heads;
    while (file.find(prefix + std::to_string(heads.size()) + first_block + ".linear.weight")) {
        const std::string number = std::to_string(heads.size()), name = prefix + number;
        const std::size_t inputs = sees_tokens ? heads.size() + 2 : 1;
        head_weights head{detail::published_blocks(tensors, reader, name, c.width, inputs * c.width, drops_out ? 1 : 0,
                                                   drops_out ? 2 : 1)};
        const std::string output = kind == "hydra" ? "hydra_lm_head." + number + (drops_out ? ".1" : "")
                                                   : name + "." + std::to_string(head.blocks.size());
        head.output = reader.token_rows(output + ".weight");
        if (file.find(output + ".bias")) head.output_bias = reader.token_vector(output + ".bias");
        heads.push_back(std::move(head));
    }
    if (kind == "hydra") read.text_layer = detail::published_text_layer(tensors, c, format);
    tensors.check_all_read();
    return read;
}

}  // namespace augur::llama
