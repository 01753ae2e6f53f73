#pragma once
// A GGUF file in a larger shape: a Llama's, or that of a draft which was made for it. See docs/llama/widened.md.

#include <algorithm>
#include <augur/io/files/fingerprint.hpp>
#include <augur/io/files/gguf.hpp>
#include <augur/io/files/gguf_output.hpp>
#include <augur/io/files/quote.hpp>
#include <augur/io/files/taken_tensors.hpp>
#include <augur/io/files/tensor.hpp>
#include <augur/llama/draft_checkpoint.hpp>
#include <augur/llama/gguf_config.hpp>
#include <augur/llama/weights.hpp>
#include <augur/types/error.hpp>
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

#include "llama_shape.hpp"
#include "widened_tensors.hpp"
#include "widening.hpp"

namespace augur::program {

/// Takes the next bytes of a file.
using byte_sink = std::function<void(std::span<const std::byte>)>;

/// What a draft's file says of the model that it drafts for.
struct draft_target {
    std::string fingerprint, name;
};

/// What will be written, all of it checked; the file must outlive it. Neither the loader nor other engines can tell the
/// result from any other model or draft. Memory: that of the largest wide matrix. Cost: O(numbers of the wide model).
class widened_gguf {
 public:
    /// Of a Llama, with matrices in this format. Errors: those of read_config and widening; tensors that
    /// host_model::load would refuse; rows that blocks of the format do not fit into.
    static widened_gguf of_model(const io::gguf_view& file, const llama_shape& to, llama::weight_format format) {
        widened_gguf wide(file, {llama::read_config(file), to}, format);
        wide.check_all_known();
        wide.add_tensors(wide.names_with_added_layers());
        return wide;
    }

    /// Of a draft checkpoint of any kind, in its own format, for its target in this shape. Errors: a file that is no
    /// draft checkpoint, one of another target or another width, and those of read_config and widening.
    static widened_gguf of_draft(const io::gguf_view& file, const io::gguf_view& target, const llama_shape& to) {
        check_draft(file, io::fingerprint(target));
        const llama::config of_target = llama::read_config(target);
        const llama::config own = says_shape(file) ? llama::read_config(file, of_target.vocabulary) : of_target;
        if (own.width != of_target.width) {
            detail::fail(file.path().string(), ": the width is ", own.width, ", but the target's is ", of_target.width);
        }
        llama_shape as_target = to;
        as_target.layers = own.layers;
        widened_gguf wide(file, {own, as_target}, llama::weight_format::keep);
        std::vector<std::string> names;
        for (const auto& tensor : file.tensors()) {
            if (tensor.name != rotary_factors) names.push_back(tensor.name);
        }
        wide.add_tensors(names);
        return wide;
    }

    /// `general.name` of what is written.
    std::string name() const {
        const std::string kind = llama::checkpoint_kind(file_);
        const auto original = file_.get_or<std::string>("general.name", kind.empty() ? "a Llama" : kind);
        return original + ", widened to " + shape_of(by_.wide()).text();
    }

    /// In pieces. Of a draft, `whom` it drafts for from now on; of a model nothing.
    void write(const byte_sink& sink, const draft_target& whom = {}) const {
        const auto put = [&](std::span<const std::byte> bytes) {
            sink(bytes);
            const std::byte zeros[32] = {};
            sink(std::span(zeros).first(io::gguf_output::padding(bytes.size())));
        };
        put(head(whom));
        widened_tensors wide(file_, by_, format_);
        for (const auto& each : tensors_) {
            if (each.name == rotary_factors) {
                put(std::as_bytes(std::span(by_.wide().rotary_factors)));
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

 private:
    static constexpr std::string_view rotary_factors = "rope_freqs.weight";

    /// A tensor to write.
    struct named_extent {
        std::string name;
        io::tensor_type type{};
        std::vector<std::uint64_t> shape;
    };

    widened_gguf(const io::gguf_view& file, widening by, llama::weight_format format)
        : file_(file), by_(std::move(by)), format_(format) {}

    static void check_draft(const io::gguf_view& file, const std::string& target) {
        const std::string kind = llama::checkpoint_kind(file), origin = file.path().string();
        const std::string_view known[] = {"draft", "qualifier", "exit", "eagle", "medusa", "hydra", "ngram"};
        if (std::find(std::begin(known), std::end(known), kind) == std::end(known)) {
            detail::fail(origin, ": augur.member is ", io::quote(kind),
                         "; what is widened with a model is a draft, qualifier, exit, eagle, medusa, hydra or ngram, "
                         "and a model that drafts is widened as any other, by --model");
        }
        if (kind == "ngram" && !file.contains("augur.target.fingerprint")) return;
        llama::check_target(file, target);
    }

    /// A draft of the target's own layers, or of heads, says none: it has the target's.
    static bool says_shape(const io::gguf_view& file) { return file.contains("llama.embedding_length"); }

    /// Throws where the file holds tensors that host_model::load would refuse.
    void check_all_known() const {
        const llama::tensor_names names = llama::gguf_names();
        io::taken_tensors known;
        for (const std::string& name : {names.embedding, names.head, names.final_norm}) known.take(name);
        for (const std::string& name : llama::tensors_of_config(file_)) known.take(name);
        for (std::size_t layer = 0; layer < by_.narrow().layers; ++layer) {
            for (const std::string& name : names.of_layer(layer)) known.take(name);
        }
        known.check_none_left(file_);
    }

    std::vector<std::string> names_with_added_layers() const {
        std::vector<std::string> out;
        const std::string prefix = llama::gguf_names().layer_prefix, first = prefix + "0.";
        for (const auto& tensor : file_.tensors()) {
            if (tensor.name != rotary_factors) out.push_back(tensor.name);
        }
        for (std::size_t layer = by_.narrow().layers; layer < by_.wide().layers; ++layer) {
            for (const auto& tensor : file_.tensors()) {
                if (!tensor.name.starts_with(first)) continue;
                out.push_back(prefix + std::to_string(layer) + "." + tensor.name.substr(first.size()));
            }
        }
        return out;
    }

    /// Throws where blocks of a format that was asked for do not fit; with `keep` these are F32
    /// (widened_tensors::storable).
    void add_tensors(const std::vector<std::string>& names) {
        const widened_tensors wide(file_, by_, format_);
        const std::vector<float>& factors = by_.wide().rotary_factors;
        if (says_shape(file_) && !factors.empty()) {
            tensors_.push_back({std::string(rotary_factors), io::tensor_type::f32, {factors.size()}});
        }
        for (const std::string& name : names) {
            auto extent = wide.extent(name);
            const bool is_weight =
                role_of(name, llama::gguf_names()).columns != axis::fixed && extent.shape.size() == 2;
            if (format_ != llama::weight_format::keep && is_weight) {
                llama::check_blocks(file_.path().string(), name, extent.shape[1],
                                    llama::type_for(io::tensor_type::f32, format_));
            }
            tensors_.push_back({name, extent.type, std::move(extent.shape)});
        }
    }

    std::vector<std::byte> head(const draft_target& whom) const {
        io::gguf_output out;
        add_keys(out);
        out.add("general.file_type", file_type());
        out.add("general.name", name());
        if (!whom.fingerprint.empty()) {
            out.add("augur.target.fingerprint", whom.fingerprint);
            out.add("augur.target.name", whom.name);
        }
        for (const auto& each : tensors_) out.add_tensor(each.name, each.type, each.shape);
        return out.head();
    }

    /// Keys that say the shape, and what goes with it; all others are the original's, but for its size in words.
    void add_keys(io::gguf_output& out) const {
        const llama::config& c = by_.wide();
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
        constexpr std::string_view epsilon = "llama.attention.layer_norm_rms_epsilon";
        const std::string_view others[] = {epsilon,
                                           "general.alignment",
                                           "general.file_type",
                                           "general.name",
                                           "general.size_label",
                                           "llama.rope.scale_linear",
                                           "augur.target.fingerprint",
                                           "augur.target.name"};
        file_.metadata().each([&](std::string_view key, const io::gguf_value& value) {
            const bool is_size =
                std::any_of(std::begin(sizes), std::end(sizes), [&](auto& s) { return s.first == key; });
            const bool is_other = std::find(std::begin(others), std::end(others), key) != std::end(others);
            const bool is_of_parts = key.starts_with("split.");
            if (!is_size && !is_other && !is_of_parts && !key.starts_with("llama.rope.scaling.")) out.add(key, value);
        });
        if (!says_shape(file_)) return;
        for (const auto& [key, size] : sizes) out.add(key, static_cast<std::uint32_t>(size));
        out.add(epsilon, c.norm_epsilon);
    }

    /// The number that llama.cpp has for files of the type that most numbers are held in.
    std::uint32_t file_type() const {
        constexpr std::pair<io::tensor_type, std::uint32_t> numbers[] = {
            {io::tensor_type::f32, 0},  {io::tensor_type::f16, 1},  {io::tensor_type::q4_0, 2},
            {io::tensor_type::q4_1, 3}, {io::tensor_type::q8_0, 7}, {io::tensor_type::bf16, 32},
        };
        std::uint64_t most = 0;
        std::uint32_t found = 0;
        for (const auto& [type, number] : numbers) {
            std::uint64_t held = 0;
            for (const named_extent& each : tensors_) {
                if (each.type != type) continue;
                held += std::accumulate(each.shape.begin(), each.shape.end(), std::uint64_t{1}, std::multiplies<>());
            }
            if (held <= most) continue;
            most = held;
            found = number;
        }
        return found;
    }

    const io::gguf_view& file_;
    widening by_;
    llama::weight_format format_;
    std::vector<named_extent> tensors_;
};

}  // namespace augur::program
