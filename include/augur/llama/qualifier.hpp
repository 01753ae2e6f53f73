#pragma once
// A qualifier of the target's own layers: most of them left out, the others with low-rank updates. See
// docs/llama/draft_checkpoints.md.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/backend/host/packed_matrix.hpp"
#include "augur/llama/draft_checkpoint.hpp"
#include "augur/llama/host_model.hpp"
#include "augur/llama/low_rank.hpp"
#include "augur/llama/selection.hpp"
#include "augur/types/error.hpp"

namespace augur::llama {

/// Layer `index` of the file: norms of its own, and the matrices of a layer of the target after its changes of low
/// rank.
template <class File>
layer_weights qualified_layer(const File& file, const weight_reader<File>& reader, const layer_weights& original,
                              std::size_t index, weight_format format) {
    const tensor_names names = gguf_names();
    const std::string prefix = names.layer_prefix + std::to_string(index) + ".";
    layer_weights out;
    out.attention_norm = reader.vector(prefix + names.attention_norm, original.attention_norm.size());
    out.feed_forward_norm = reader.vector(prefix + names.feed_forward_norm, original.feed_forward_norm.size());
    const auto change_one = [&](const std::string& name, const backend::host::packed_matrix& from) {
        const std::string stem = prefix + name.substr(0, name.rfind('.')) + ".delta_";
        const low_rank change =
            read_low_rank(file, reader, stem + "up.weight", stem + "down.weight", from.rows(), from.depth());
        return changed(from, type_of_changed(from, format), [&](std::size_t row, std::span<float> values) {
            change.add_to(values, std::span(change.up).subspan(row * change.rank, change.rank));
        });
    };
    out.query = change_one(names.query, original.query);
    out.key = change_one(names.key, original.key);
    out.value = change_one(names.value, original.value);
    out.attention_output = change_one(names.attention_output, original.attention_output);
    out.gate = change_one(names.gate, original.gate);
    out.up = change_one(names.up, original.up);
    out.down = change_one(names.down, original.down);
    return out;
}

/// The draft checkpoint `qualifier` of a draft bundle: a Llama of the layers of the target that the file names, as it
/// changes them, held as the options say. Throws augur::error, naming the file and the values, where it was made for
/// another target or its shapes contradict the target's. Of the options, head_tokens and layers are the file's to say.
/// Cost: rank multiplications a weight.
inline host_model load_qualifier(const std::filesystem::path& path, const host_model& target,
                                 const load_options& options = {}) {
    const draft_checkpoint file(path, "qualifier", target);
    config c = target.configuration();
    check_is_llama(c, path.string() + ": a qualifier");
    const weight_reader reader(file.tensors(), c, gguf_names(), options.weights);
    const auto stored = file.metadata().array<std::int32_t>("augur.layers");
    std::vector<std::size_t> kept;
    for (const std::int32_t layer : stored) {
        if (layer < 0) augur::detail::fail(path.string(), ": augur.layers holds ", layer);
        kept.push_back(static_cast<std::size_t>(layer));
    }
    if (kept.empty()) augur::detail::fail(path.string(), ": augur.layers is empty");
    kept = chosen_layers(kept, c.layers, path.string());
    const weights& lent = target.parameters();
    weights w;
    w.embedding = lent.embedding;
    w.embedding_is_lent = true;
    for (std::size_t i = 0; i < kept.size(); ++i) {
        w.layers.push_back(std::make_shared<const layer_weights>(
            qualified_layer(file.tensors(), reader, *lent.layers[kept[i]], i, options.weights)));
    }
    w.final_norm = reader.vector(gguf_names().final_norm, c.width);
    file.tensors().check_all_read();
    w.head = file.target_head();
    w.head_tokens = file.head_tokens();
    c.layers = kept.size();
    return host_model(std::move(c), std::move(w), with_pool_of(target, options), io::fingerprint(file.metadata()));
}

}  // namespace augur::llama
