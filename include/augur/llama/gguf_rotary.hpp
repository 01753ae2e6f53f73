#pragma once
// Reads how rotary positions are scaled from GGUF metadata and tensors.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "augur/io/files/dequantize.hpp"
#include "augur/io/files/gguf.hpp"
#include "augur/io/files/quote.hpp"
#include "augur/llama/architectures.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/rotary.hpp"
#include "augur/types/error.hpp"

namespace augur::llama::detail {

using augur::detail::fail;

/// A factor for each pair; nothing where the file has no such tensor.
inline std::vector<float> gguf_rotary_tensor(const io::gguf_view& file, const char* name, const config& c) {
    const auto* const factors = file.find(name);
    if (factors == nullptr) return {};
    if (factors->type != io::tensor_type::f32 || factors->element_count() != c.rotary_size / 2) {
        fail(file.path().string(), ": ", name, " holds ", factors->element_count(), " numbers of ",
             io::name_of(factors->type), ", but ", c.rotary_size / 2, " rotary pairs need as many of f32");
    }
    std::vector<float> values(c.rotary_size / 2);
    io::dequantize(factors->type, factors->read(), values);
    return values;
}

/// LongRoPE's two lists, which need no type beside them.
inline bool read_gguf_longrope(config& c, const io::gguf_view& file, const std::string& prefix) {
    auto brief = gguf_rotary_tensor(file, "rope_factors_short.weight", c);
    c.long_rotary_factors = gguf_rotary_tensor(file, "rope_factors_long.weight", c);
    if (brief.empty() != c.long_rotary_factors.empty()) {
        fail(file.path().string(), ": of rope_factors_short.weight and rope_factors_long.weight there is one only");
    }
    if (brief.empty()) return false;
    c.rotary_factors = std::move(brief);
    c.short_context =
        static_cast<std::size_t>(file.get<std::uint64_t>(prefix + "rope.scaling.original_context_length"));
    if (c.short_context == 0) fail(file.path().string(), ": ", prefix, "rope.scaling.original_context_length is 0");
    return true;
}

/// A factor without a type is linear, and is read under the key of older files, too, as in llama.cpp.
inline void read_gguf_rotary_type(config& c, const io::gguf_view& file, const architecture& of,
                                  const std::string& prefix) {
    const std::string type_key = prefix + "rope.scaling.type";
    const auto type = file.get_or<std::string>(type_key, "none");
    const std::string present = prefix + "rope.scaling.factor", former = prefix + "rope.scale_linear";
    const std::string& key = file.contains(former) && !file.contains(present) ? former : present;
    const bool is_implied = !file.contains(type_key) && file.contains(key);
    if (type == "linear" && !file.contains(key)) {
        c.notes.push_back(type_key + " is linear without a factor, which is taken as 1");
    } else if (type == "linear" || is_implied) {
        const auto factor = file.get<double>(key);
        c.rotary_factors.assign(c.rotary_size / 2, static_cast<float>(factor));
    } else if (type == "yarn") {
        const yarn_scaling scaling{file.get<double>(present),
                                   file.get<double>(prefix + "rope.scaling.original_context_length"),
                                   file.get_or<double>(prefix + "rope.scaling.yarn_beta_fast", 32.0),
                                   file.get_or<double>(prefix + "rope.scaling.yarn_beta_slow", 1.0), of.whole_yarn};
        check_yarn(scaling, c, file.path().string());
        c.rotary_factors = rotary_factors(c, scaling);
        const double weight = file.get_or<double>(prefix + "rope.scaling.yarn_log_multiplier", 0.0);
        c.rotary_scale *= static_cast<float>(yarn_magnitude(scaling.factor) / yarn_magnitude(scaling.factor, weight));
    } else if (type != "none") {
        fail(file.path().string(), ": ", type_key, " is ", io::quote(type),
             "; none, linear, yarn, and longrope with its two tensors are supported");
    }
}

/// All of it: the type's, and what rope_freqs.weight divides beside that.
inline void read_gguf_rotary_scaling(config& c, const io::gguf_view& file, const architecture& of,
                                     const std::string& prefix) {
    const double magnitude = file.get_or<double>(prefix + "rope.scaling.attn_factor", 1.0);
    if (magnitude != 0) c.rotary_scale = static_cast<float>(magnitude);
    if (!read_gguf_longrope(c, file, prefix)) read_gguf_rotary_type(c, file, of, prefix);
    auto values = gguf_rotary_tensor(file, "rope_freqs.weight", c);
    if (values.empty()) return;
    if (!c.long_rotary_factors.empty()) {
        fail(file.path().string(),
             ": rope_freqs.weight stands beside rope_factors_long.weight; which of them turns "
             "positions is not sure");
    }
    for (std::size_t i = 0; !c.rotary_factors.empty() && i < values.size(); ++i) values[i] *= c.rotary_factors[i];
    c.rotary_factors = std::move(values);
}

}  // namespace augur::llama::detail
