#pragma once
// A draft model of the target's own lower layers. See docs/llama/draft_checkpoints.md.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/backend/host/packed_matrix.hpp"
#include "augur/llama/draft_checkpoint.hpp"
#include "augur/llama/host_model.hpp"
#include "augur/llama/low_rank.hpp"
#include "augur/types/error.hpp"

namespace augur::llama {

/// After how many layers the draft checkpoint `exit` of a draft bundle leaves, ascending.
inline std::vector<std::size_t> exit_depths(const draft_checkpoint& file, const host_model& target) {
    const auto stored = file.metadata().array<std::int32_t>("augur.exits");
    std::vector<std::size_t> depths;
    for (const std::int32_t depth : stored) {
        if (depth <= 0 || static_cast<std::size_t>(depth) > target.layer_count() ||
            (!depths.empty() && static_cast<std::size_t>(depth) <= depths.back())) {
            augur::detail::fail(file.metadata().path().string(), ": augur.exits holds ", depth,
                                "; they must ascend, between 1 and the target's ", target.layer_count(), " layers");
        }
        depths.push_back(static_cast<std::size_t>(depth));
    }
    if (depths.empty()) augur::detail::fail(file.metadata().path().string(), ": augur.exits is empty");
    return depths;
}

/// The same of one exit; 0 means the last. Throws where there is no such exit.
inline std::size_t exit_depth(const draft_checkpoint& file, const host_model& target, std::size_t wanted) {
    const auto depths = exit_depths(file, target);
    if (wanted == 0) return depths.back();
    if (std::find(depths.begin(), depths.end(), wanted) != depths.end()) return wanted;
    std::string valid;
    for (const std::size_t each : depths) valid += (valid.empty() ? "" : ", ") + std::to_string(each);
    augur::detail::fail(file.metadata().path().string(), ": there is no exit after ", wanted,
                        " layers; there are those after ", valid);
}

/// Throws where the draft checkpoint holds tensors of other kinds than of its exits.
inline void check_all_read(const draft_checkpoint& file, const host_model& target) {
    for (const std::size_t depth : exit_depths(file, target)) {
        for (const char* of : {".norm.weight", ".up.weight", ".down.weight", ".scale"}) {
            file.tensors().pass_over("augur.exit." + std::to_string(depth) + of);
        }
    }
    file.tensors().check_all_read();
}

/// The target's head behind an exit: scale * (x + up down x) stands for x, the normalised state. One matrix does both.
inline backend::host::packed_matrix exit_matrix(const draft_checkpoint& file, const host_model& target,
                                                std::size_t depth, weight_format format) {
    const config& c = target.configuration();
    const weight_reader reader(file.tensors(), c, gguf_names(), format);
    const std::string name = "augur.exit." + std::to_string(depth) + ".";
    const low_rank adapter =
        read_low_rank(file.tensors(), reader, name + "up.weight", name + "down.weight", c.width, c.width);
    const float scale = reader.vector(name + "scale", 1).front();
    const auto head = file.target_head();
    std::vector<float> through(adapter.rank);
    return changed(head, type_of_changed(head, format), [&](std::size_t, std::span<float> row) {
        std::fill(through.begin(), through.end(), 0.0f);
        for (std::size_t i = 0; i < row.size(); ++i) {
            for (std::size_t j = 0; j < adapter.rank; ++j) through[j] += row[i] * adapter.up[i * adapter.rank + j];
        }
        adapter.add_to(row, through);
        for (float& value : row) value *= scale;
    });
}

/// A draft model of the target's first layers, shared with it, and one exit of the draft checkpoint `exit`: the one
/// after `depth` layers, 0 for the last. It has a cache of its own: a cheaper model for cascades and turns. To draft in
/// the target's cache take llama::host_exit. Throws augur::error, naming the file and the values, where it was made for
/// another target or has no such exit. Of the options, head_tokens and layers are the file's to say.
inline host_model load_exit(const std::filesystem::path& path, const host_model& target, std::size_t depth = 0,
                            const load_options& options = {}) {
    const draft_checkpoint file(path, "exit", target);
    depth = exit_depth(file, target, depth);
    config c = target.configuration();
    c.layers = depth;
    c.positions.resize(std::min(depth, c.positions.size()));
    const weights& lent = target.parameters();
    const weight_reader reader(file.tensors(), c, gguf_names(), options.weights);
    weights w;
    w.embedding = lent.embedding;
    w.layers.assign(lent.layers.begin(), lent.layers.begin() + static_cast<std::ptrdiff_t>(depth));
    w.embedding_is_lent = w.layers_are_lent = true;
    w.final_norm = reader.vector("augur.exit." + std::to_string(depth) + ".norm.weight", c.width);
    w.head = exit_matrix(file, target, depth, options.weights);
    check_all_read(file, target);
    w.head_tokens = file.head_tokens();
    return host_model(std::move(c), std::move(w), with_pool_of(target, options), io::fingerprint(file.metadata()));
}

}  // namespace augur::llama
