#pragma once
// Draft heads as others publish them.

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "augur/backend/host/packed_matrix.hpp"
#include "augur/io/quote.hpp"
#include "augur/io/safetensors.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/weights.hpp"
#include "augur/types/error.hpp"

namespace augur::llama {

/// out = in + silu(weight * in + bias). Of a head's first block, `in` can be more than the state it adds to: in Hydra's
/// heads the embeddings of the tokens since follow it.
struct head_block {
    backend::host::packed_matrix weight;
    std::vector<float> bias;
};

/// A draft head: blocks, one at least, and an output matrix of its own, or none where it is the target's.
struct head_weights {
    std::vector<head_block> blocks;
    backend::host::packed_matrix output{};

    std::size_t memory_bytes() const {
        std::size_t total = output.memory_bytes();
        for (const head_block& each : blocks) total += each.weight.memory_bytes() + each.bias.size() * sizeof(float);
        return total;
    }
};

/// Where the heads of a path are: of a folder in its medusa_lm_head.safetensors.
inline std::filesystem::path published_heads_file(const std::filesystem::path& path) {
    return std::filesystem::is_directory(path) ? path / "medusa_lm_head.safetensors" : path;
}

/// Medusa's layout: of head n, block k is the tensors `n.k.linear.weight` and `.bias`, and after the last of its K
/// blocks `n.K.weight` is the output matrix, vocabulary times width; all names begin with `medusa_head.`, or none does.
/// Throws augur::error, naming what it found, for anything else: Hydra's layout has a transformer block over the states
/// before its heads, which is not run here.
inline std::vector<head_weights> read_published_heads(const io::safetensors_folder& file, const config& c,
                                                      weight_format format) {
    const std::string first = "0.0.linear.weight", origin = file.path().string();
    const std::string prefix = file.find("medusa_head." + first) != nullptr ? "medusa_head." : "";
    for (const io::tensor_view& each : file.tensors()) {
        if (!each.name.starts_with("hydra_") && each.name.find("prefix_embeding_layer.") == std::string::npos) continue;
        augur::detail::fail(
            origin, ": the tensor ", io::quote(each.name),
            " is of Hydra's published layout, whose heads read a transformer block over the states; only "
            "Medusa's is taken, with the tensors medusa_head.0.",
            first.substr(2), " and so on");
    }
    if (!file.find(prefix + first)) {
        augur::detail::fail(origin, ": there is neither a tensor medusa_head.", first, " nor ", first,
                            ", as Medusa's published heads have",
                            file.tensors().empty() ? "" : ", but " + io::quote(file.tensors().front().name));
    }
    const weight_reader reader(file, c, hugging_face_names(), format);
    std::vector<head_weights> heads;
    while (file.find(prefix + std::to_string(heads.size()) + ".0.linear.weight")) {
        const std::string name = prefix + std::to_string(heads.size()) + ".";
        head_weights head;
        for (std::string block = name + "0"; file.find(block + ".linear.weight");
             block = name + std::to_string(head.blocks.size())) {
            head.blocks.push_back({reader.matrix(block + ".linear.weight", c.width, c.width),
                                   reader.vector(block + ".linear.bias", c.width)});
        }
        const std::string output = name + std::to_string(head.blocks.size());
        if (file.find(output + ".bias")) {
            augur::detail::fail(origin, ": the tensor ", output, ".bias: biases of output matrices are not supported");
        }
        head.output = reader.matrix(output + ".weight", c.vocabulary, c.width);
        heads.push_back(std::move(head));
    }
    return heads;
}

}  // namespace augur::llama
