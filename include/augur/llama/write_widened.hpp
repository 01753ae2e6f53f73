#pragma once
// Writes a widened Llama as a GGUF file. See docs/llama/widened.md.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/io/files/fingerprint.hpp"
#include "augur/io/files/gguf.hpp"
#include "augur/io/files/gguf_output.hpp"
#include "augur/io/files/taken_tensors.hpp"
#include "augur/io/files/tensor.hpp"
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

/// A tensor to write.
struct named_extent {
    std::string name;
    io::tensor_type type{};
    std::vector<std::uint64_t> shape;
};

/// The name, and the number that llama.cpp has for files of the type that most numbers are held in.
inline void add_descriptions(io::gguf_output& out, const io::gguf_view& file, const widening& by,
                             const std::vector<named_extent>& tensors) {
    constexpr std::pair<io::tensor_type, std::uint32_t> numbers[] = {
        {io::tensor_type::f32, 0},  {io::tensor_type::f16, 1},  {io::tensor_type::q4_0, 2},
        {io::tensor_type::q4_1, 3}, {io::tensor_type::q8_0, 7}, {io::tensor_type::bf16, 32},
    };
    std::uint64_t most = 0;
    std::uint32_t file_type = 0;
    for (const auto& [type, number] : numbers) {
        std::uint64_t held = 0;
        for (const named_extent& each : tensors) {
            if (each.type != type) continue;
            held += std::accumulate(each.shape.begin(), each.shape.end(), std::uint64_t{1}, std::multiplies<>());
        }
        if (held <= most) continue;
        most = held;
        file_type = number;
    }
    out.add("general.file_type", file_type);
    const auto name = file.get_or<std::string>("general.name", "a Llama");
    out.add("general.name", name + ", widened to " + shape_of(by.wide()).text());
}

/// Keys that say the shape, and what goes with it; all others are the original's, but for its size in words.
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
    const std::string_view others[] = {epsilon,        "general.alignment",  "general.file_type",
                                       "general.name", "general.size_label", "llama.rope.scale_linear"};
    file.metadata().each([&](std::string_view key, const io::gguf_value& value) {
        const bool is_size = std::any_of(std::begin(sizes), std::end(sizes), [&](auto& s) { return s.first == key; });
        const bool is_other = std::find(std::begin(others), std::end(others), key) != std::end(others);
        const bool is_of_parts = key.starts_with("split.");
        if (!is_size && !is_other && !is_of_parts && !key.starts_with("llama.rope.scaling.")) out.add(key, value);
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

/// Throws where the file holds tensors that host_model::load would refuse.
inline void check_all_known(const io::gguf_view& file, const config& of) {
    const tensor_names names = gguf_names();
    io::taken_tensors known;
    for (const std::string& name : {names.embedding, names.head, names.final_norm}) known.take(name);
    for (const std::string& name : tensors_of_config(file)) known.take(name);
    for (std::size_t layer = 0; layer < of.layers; ++layer) {
        for (const std::string& name : names.of_layer(layer)) known.take(name);
    }
    known.check_none_left(file);
}

/// The names of the model's tensors, and those of added layers.
inline std::vector<std::string> widened_names(const io::gguf_view& file, const widening& by) {
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

/// The tensors as they will be written. Throws where blocks of a format that was asked for do not fit; with `keep`
/// these are F32 (storable).
inline std::vector<named_extent> widened_tensors(const io::gguf_view& file, const widening& by,
                                                 const widened_file<io::gguf_view>& tensors, weight_format format) {
    std::vector<named_extent> out;
    const std::vector<float>& factors = by.wide().rotary_factors;
    if (!factors.empty()) out.push_back({"rope_freqs.weight", io::tensor_type::f32, {factors.size()}});
    for (const std::string& name : widened_names(file, by)) {
        auto extent = tensors.extent(name);
        const bool is_weight = role_of(name, gguf_names()).columns != axis::fixed && extent.shape.size() == 2;
        if (format != weight_format::keep && is_weight) {
            check_blocks(file.path().string(), name, extent.shape[1], type_for(io::tensor_type::f32, format));
        }
        out.push_back({name, extent.type, std::move(extent.shape)});
    }
    return out;
}

}  // namespace detail

/// Writes the file's Llama in this shape, matrices in this format, in pieces. The file that comes of it carries the
/// fingerprint of the original and its shape, so that the draft bundle's draft checkpoints fit. Errors: those of
/// read_config, widening and `sink`; rows that blocks of the format do not fit into, before anything is written.
/// Memory: that of the largest wide matrix. Cost: O(numbers of the wide model).
inline void write_widened(const io::gguf_view& file, const shape& to, weight_format format, const byte_sink& sink) {
    check_widened_once(shape_before(file), file.path().string(), to);
    const widening by(read_config(file), to, gguf_names().halves);
    detail::check_all_known(file, by.narrow());
    const widened_file<io::gguf_view> wide(file, &by, gguf_names(), format);
    const auto tensors = detail::widened_tensors(file, by, wide, format);
    io::gguf_output out;
    detail::add_widened_keys(out, file, by);
    detail::add_descriptions(out, file, by, tensors);
    for (const auto& each : tensors) out.add_tensor(each.name, each.type, each.shape);
    const auto put = [&](std::span<const std::byte> bytes) {
        sink(bytes);
        const std::byte zeros[32] = {};
        sink(std::span(zeros).first(io::gguf_output::padding(bytes.size())));
    };
    put(out.head());
    for (const auto& each : tensors) {
        if (each.name == "rope_freqs.weight") {
            put(std::as_bytes(std::span(by.wide().rotary_factors)));
            continue;
        }
        const io::tensor_view& tensor = wide.tensor(each.name);
        if (tensor.file != nullptr) {
            put(tensor.read());
        } else {
            put(tensor.bytes);
        }
    }
}

}  // namespace augur::llama
