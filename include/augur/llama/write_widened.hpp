#pragma once
// A widened Llama as a GGUF file. See docs/llama/widened.md.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/io/fingerprint.hpp"
#include "augur/io/gguf.hpp"
#include "augur/io/gguf_output.hpp"
#include "augur/llama/gguf_config.hpp"
#include "augur/llama/shape.hpp"
#include "augur/llama/weights.hpp"
#include "augur/llama/widened_file.hpp"
#include "augur/llama/widening.hpp"
#include "augur/types/error.hpp"

namespace augur::llama {

/// Takes the next bytes of a file.
using byte_sink = std::function<void(std::span<const std::byte>)>;

namespace detail {

/// Keys that say the shape, and what goes with it; all others are the original's.
inline void add_widened_keys(io::gguf_output& out, const io::gguf_view& file, const widening& by) {
    const config& c = by.wide();
    const std::pair<std::string_view, std::size_t> sizes[] = {
        {"llama.embedding_length", c.width},
        {"llama.block_count", c.layers},
        {"llama.feed_forward_length", c.feed_forward},
        {"llama.attention.head_count", c.heads},
        {"llama.attention.head_count_kv", c.key_value_heads},
        {"llama.attention.key_length", c.head_size},
        {"llama.attention.value_length", c.head_size},
        {"llama.rope.dimension_count", c.rotary_size},
    };
    const std::string_view epsilon = "llama.attention.layer_norm_rms_epsilon";
    file.metadata().each([&](std::string_view key, const io::gguf_value& value) {
        const bool is_size = std::any_of(std::begin(sizes), std::end(sizes), [&](auto& s) { return s.first == key; });
        if (is_size || key == epsilon || key.starts_with("llama.rope.scaling.") || key == "general.alignment") return;
        out.add(key, value);
    });
    for (const auto& [key, size] : sizes) out.add(key, static_cast<std::uint32_t>(size));
    out.add(epsilon, c.norm_epsilon);
    out.add("augur.widened.fingerprint", io::fingerprint(file));
    const shape from = shape_of(by.narrow());
    std::vector<std::uint32_t> numbers;
    for (const std::size_t n :
         {from.width, from.feed_forward, from.heads, from.key_value_heads, from.head_size, from.layers}) {
        numbers.push_back(static_cast<std::uint32_t>(n));
    }
    out.add("augur.widened.from", numbers);
}

/// The tensors of the file, and those of added layers.
inline std::vector<std::string> widened_tensors(const io::gguf_view& file, const widening& by) {
    std::vector<std::string> out;
    const std::string prefix = gguf_names().layer_prefix, first = prefix + "0.";
    for (const auto& tensor : file.tensors()) {
        if (tensor.name != "rope_freqs.weight") out.push_back(tensor.name);
    }
    for (std::size_t layer = by.narrow().layers; layer < by.wide().layers; ++layer) {
        for (const auto& tensor : file.tensors()) {
            if (!tensor.name.starts_with(first)) continue;
            out.push_back(prefix + std::to_string(layer) + "." + tensor.name.substr(first.size()));
        }
    }
    return out;
}

}  // namespace detail

/// Writes the file's Llama in this shape, matrices in this format, in pieces. The file that comes of it carries the
/// fingerprint of the original and its shape, so that the family's members fit. Errors: those of read_config, widening
/// and `sink`. Memory: that of the largest wide matrix. Cost: O(numbers of the wide model).
inline void write_widened(const io::gguf_view& file, const shape& to, weight_format format, const byte_sink& sink) {
    check_widened_once(shape_before(file), file.path().string(), to);
    const widening by(read_config(file), to, gguf_names().halves);
    const widened_file tensors(file, &by, gguf_names(), format);
    io::gguf_output out;
    detail::add_widened_keys(out, file, by);
    const auto names = detail::widened_tensors(file, by);
    const std::vector<float>& factors = by.wide().rotary_factors;
    const std::vector<std::uint64_t> factor_shape{factors.size()};
    if (!factors.empty()) out.add_tensor("rope_freqs.weight", io::tensor_type::f32, factor_shape);
    for (const std::string& name : names) {
        const auto extent = tensors.extent(name);
        out.add_tensor(name, extent.type, extent.shape);
    }
    const auto put = [&](std::span<const std::byte> bytes) {
        sink(bytes);
        const std::byte zeros[32] = {};
        sink(std::span(zeros).first(io::gguf_output::padding(bytes.size())));
    };
    put(out.head());
    if (!factors.empty()) put(std::as_bytes(std::span(factors)));
    for (const std::string& name : names) {
        const io::tensor_view& tensor = tensors.tensor(name);
        if (tensor.file != nullptr) {
            put(tensor.read());
        } else {
            put(tensor.bytes);
        }
    }
}

}  // namespace augur::llama
