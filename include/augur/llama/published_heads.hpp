#pragma once
// Reads Medusa and Hydra heads in the formats that others publish.

#include <cstddef>
#include <filesystem>
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

/// `medusa` or `hydra`: whose published layout it is. Throws augur::error, naming a tensor, for any other.
inline std::string published_kind(const io::safetensors_folder& file) {
    const std::string origin = file.path().string();
    for (const io::tensor_view& each : file.tensors()) {
        if (each.name.find("prefix_embeding_layer.") == std::string::npos) continue;
        augur::detail::fail(origin, ": the tensor ", io::quote(each.name),
                            " is of Hydra++ (prefix-mlp), whose heads read a transformer layer over all states of the "
                            "text, which is not run here; Hydra's own (mlp) are taken, and Medusa's");
    }
    for (const char* first : {"medusa_head.0.0.linear.weight", "0.0.linear.weight"}) {
        if (file.find(first) != nullptr) return "medusa";
    }
    if (file.find("hydra_mlp.0.0.linear.weight") != nullptr) return "hydra";
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

/// The blocks `name.0`, `name.1`, ... of a head, the first of so many inputs.
inline std::vector<head_block> published_blocks(const auto& file, const auto& reader, const std::string& name,
                                                std::size_t width, std::size_t inputs) {
    std::vector<head_block> blocks;
    for (std::string block = name + ".0"; file.find(block + ".linear.weight");
         block = name + "." + std::to_string(blocks.size())) {
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

}  // namespace detail

/// Medusa's layout: of head n, block k is the tensors `n.k.linear.weight` and `.bias`, and after the last of its K
/// blocks `n.K.weight` is the output matrix, vocabulary times width; all names begin with `medusa_head.`, or none does.
/// Hydra's, with heads that are residual blocks (mlp): `hydra_mlp.n.k.linear.weight` and `.bias`; where the heads are
/// grounded the first block reads the state and the embeddings of n + 1 tokens, and has `.res_connection.weight` and
/// `.bias`; `hydra_lm_head.n.weight` is the output matrix. Either output may have a bias. Throws augur::error, naming
/// what it found, for anything else.
inline std::vector<head_weights> read_published_heads(const io::safetensors_folder& file, const config& c,
                                                      const std::string& kind, weight_format format) {
    if (const std::string found = published_kind(file); found != kind) {
        augur::detail::fail(file.path().string(), ": these are published heads of ", io::quote(found), ", but ",
                            io::quote(kind), " was wanted");
    }
    const io::tracked_file tensors(file);
    const weight_reader reader(tensors, c, hugging_face_names(), format);
    const bool sees_tokens = file.find("hydra_mlp.0.0.res_connection.weight") != nullptr;
    const std::string prefix = kind == "hydra" ? "hydra_mlp." : file.find("0.0.linear.weight") ? "" : "medusa_head.";
    std::vector<head_weights> heads;
    while (file.find(prefix + std::to_string(heads.size()) + ".0.linear.weight")) {
        const std::string number = std::to_string(heads.size()), name = prefix + number;
        const std::size_t inputs = sees_tokens ? heads.size() + 2 : 1;
        head_weights head{detail::published_blocks(tensors, reader, name, c.width, inputs * c.width)};
        const std::string output =
            kind == "hydra" ? "hydra_lm_head." + number : name + "." + std::to_string(head.blocks.size());
        head.output = reader.token_rows(output + ".weight");
        if (file.find(output + ".bias")) head.output_bias = reader.token_vector(output + ".bias");
        heads.push_back(std::move(head));
    }
    tensors.check_all_read();
    return heads;
}

}  // namespace augur::llama
