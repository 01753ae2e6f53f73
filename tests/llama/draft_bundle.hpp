#pragma once
// Small draft checkpoints of a draft bundle, for a small Llama.

#include <filesystem>
#include <string>
#include <vector>

#include "llama/small_llama.hpp"

namespace augur::testing {

/// A draft checkpoint of one layer of the target's shape; change it before it is written. It lends its embedding and
/// head.
inline small_llama small_checkpoint(const std::string& kind, const llama::host_model& target,
                                    io::tensor_type type = io::tensor_type::f32) {
    const llama::config& c = target.configuration();
    small_llama file(type, static_cast<std::uint32_t>(c.width), static_cast<std::uint32_t>(c.heads),
                     static_cast<std::uint32_t>(c.key_value_heads), static_cast<std::uint32_t>(c.feed_forward));
    file.sizes["llama.block_count"] = 1;
    std::erase_if(file.shapes, [](const auto& shape) { return shape.first.starts_with("blk.1."); });
    file.shapes.erase("token_embd.weight");
    file.texts["augur.member"] = kind;
    file.texts["augur.target.name"] = "a small one";
    file.texts["augur.target.fingerprint"] = target.fingerprint();
    return file;
}

/// The same with a fusion with or without norms.
inline small_llama small_eagle(const llama::host_model& target, bool norms = true,
                               io::tensor_type type = io::tensor_type::f32) {
    small_llama file = small_checkpoint("eagle", target, type);
    const std::uint64_t width = target.hidden_size();
    file.shapes["augur.fusion.weight"] = {width, 2 * width};
    if (norms) {
        file.shapes["augur.fusion.embedding_norm.weight"] = {width};
        file.shapes["augur.fusion.hidden_norm.weight"] = {width};
    }
    return file;
}

/// Three heads, `medusa` or `hydra`.
inline small_llama small_heads(const std::string& kind, const llama::host_model& target,
                               io::tensor_type type = io::tensor_type::f32) {
    small_llama file(type);
    file.shapes.clear();
    file.sizes.clear();
    const std::uint64_t width = target.hidden_size();
    for (std::uint64_t i = 0; i < 3; ++i) {
        const std::string name = "augur.head." + std::to_string(i);
        file.shapes[name + ".weight"] = {width, width * (kind == "hydra" ? i + 2 : 1)};
        file.shapes[name + ".bias"] = {width};
    }
    file.texts = {{"augur.member", kind}, {"augur.target.fingerprint", target.fingerprint()}};
    return file;
}

inline constexpr std::uint64_t exit_rank = 3;

/// Exits after one and after both layers.
inline small_llama small_exits(const llama::host_model& target, io::tensor_type type = io::tensor_type::f32) {
    small_llama file(type);
    file.shapes.clear();
    file.sizes.clear();
    const std::uint64_t width = target.hidden_size();
    for (const char* depth : {"1", "2"}) {
        const std::string name = "augur.exit." + std::string(depth);
        file.shapes[name + ".norm.weight"] = {width};
        file.shapes[name + ".up.weight"] = {width, exit_rank};
        file.shapes[name + ".down.weight"] = {exit_rank, width};
        file.given[name + ".scale"] = {depth[0] == '1' ? 0.75f : 1.25f};
    }
    file.lists["augur.exits"] = {1, 2};
    file.lists["augur.head.tokens"] = {0, 3, 40, 76};
    file.texts = {{"augur.member", "exit"}, {"augur.target.fingerprint", target.fingerprint()}};
    return file;
}

}  // namespace augur::testing
