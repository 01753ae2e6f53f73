#pragma once
// Reads a decoder's weights: checks them against its configuration and packs them for the kernels.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/backend/host/packed_matrix.hpp"
#include "augur/io/files/dequantize.hpp"
#include "augur/io/files/tensor.hpp"
#include "augur/io/files/tensor_rows.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/converted_rows.hpp"
#include "augur/llama/decoder_weights.hpp"
#include "augur/llama/expert_reader.hpp"
#include "augur/llama/layer_weights.hpp"
#include "augur/llama/memory.hpp"
#include "augur/llama/tensor_names.hpp"
#include "augur/llama/weight_format.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::llama {

/// Builds weights from the tensors of one file (gguf_file or safetensors_folder). Throws augur::error, naming the
/// tensor, where one is missing or its shape is not what the configuration says, and before anything is read where the
/// weights are more than there is memory for. Tensors that it does not read are the caller's to refuse
/// (io::tracked_file::check_all_read). Nothing refers to the file afterwards.
template <class File>
class weight_reader {
 public:
    weight_reader(const File& file, const config& c, tensor_names names, weight_format format)
        : file_(file), config_(c), names_(std::move(names)), format_(format) {}

    /// These layers of the file, and a head of these tokens (none: of all). See selection.hpp.
    weights read(const std::vector<std::size_t>& layers, const std::vector<token>& head_tokens) const {
        const bool has_head = !config_.tied_head || !head_tokens.empty();
        const std::string& head = config_.tied_head ? names_.embedding : names_.head;
        check_weights(origin(), bytes_of_layers(layers) + bytes_of(names_.embedding, config_.vocabulary) +
                                    (has_head ? bytes_of(head, head_rows(head_tokens)) : 0));
        auto embedding = shared_token_rows(names_.embedding);  // what sizes are told by
        weights out = read_layers(layers);
        out.embedding = std::move(embedding);
        if (has_head) out.head = token_rows(head, head_tokens);
        out.head_tokens = head_tokens;
        if (config_.tied_head && file_.find(names_.head)) check_same(names_.embedding, names_.head);
        return out;
    }

    /// Of an embedding or a head the rows of these tokens (none: of all), without those that pad it.
    backend::host::packed_matrix token_rows(const std::string& name, const std::vector<token>& tokens = {}) const {
        std::vector<std::size_t> rows(tokens.begin(), tokens.end());
        const std::size_t stored = stored_rows(name);
        if (rows.empty() && stored != config_.vocabulary) {
            rows.resize(config_.vocabulary);
            std::iota(rows.begin(), rows.end(), std::size_t{0});
        }
        return matrix(name, stored, config_.width, rows);
    }
    std::shared_ptr<const backend::host::packed_matrix> shared_token_rows(const std::string& name) const {
        return std::make_shared<const backend::host::packed_matrix>(token_rows(name));
    }
    /// A number for each token.
    std::vector<float> token_vector(const std::string& name) const {
        auto all = vector(name, stored_rows(name));
        all.resize(config_.vocabulary);
        return all;
    }

    /// These layers and the norm after them, without embedding and head.
    weights read_layers(const std::vector<std::size_t>& layers) const {
        check_weights(origin(), bytes_of_layers(layers));
        for (std::size_t i = 0; i < layers.size(); ++i) {
            if (config_.experts.is_in(i)) experts_of(layers[i]).check();
        }
        weights out;
        if (!names_.final_norm.empty()) {
            out.final_norm = norm(names_.final_norm, config_.width);
            if (config_.layer_norms)
                out.final_norm_bias = vector(tensor_names::bias_of(names_.final_norm), config_.width);
        }
        for (std::size_t i = 0; i < layers.size(); ++i) {
            out.layers.push_back(
                std::make_shared<const layer_weights>(read_layer(layers[i], config_.experts.is_in(i))));
        }
        return out;
    }

    /// A tensor of `size` numbers, as floats.
    std::vector<float> vector(const std::string& name, std::size_t size) const { return floats(name, {size}); }
    /// The same of any shape, row after row.
    std::vector<float> floats(const std::string& name, const std::vector<std::uint64_t>& shape) const {
        const auto& view = tensor(name, shape);
        std::vector<float> out(view.element_count());
        io::dequantize(view.type, view.read(), out);
        return out;
    }

    /// Of the tensor, which is rows x columns, the rows `sources` in their order; none: all.
    backend::host::packed_matrix matrix(const std::string& name, std::size_t rows, std::size_t columns,
                                        const std::vector<std::size_t>& sources = {}) const {
        return matrix_of(name, {rows, columns}, sources);
    }
    /// The same of any shape, whose last dimension is the columns, in this reader's format or another.
    backend::host::packed_matrix matrix_of(const std::string& name, const std::vector<std::uint64_t>& shape,
                                           const std::vector<std::size_t>& sources, weight_format format) const {
        const auto& view = tensor(name, shape);
        const auto type = type_for(view.type, format);
        const auto columns = static_cast<std::size_t>(view.columns());
        check_blocks(origin(), name, columns, type);
        const auto chosen = sources.empty() ? static_cast<std::size_t>(view.rows()) : sources.size();
        check_weights(origin(), stored_bytes(storage_of(type), std::uint64_t{chosen} * columns));
        backend::host::packed_matrix out(storage_of(type), chosen, columns);
        io::tensor_rows stored(view);
        converted_rows converted(view.type, type, keeps(format), columns);
        for (std::size_t row = 0; row < out.rows(); ++row) {
            out.set_row(row, converted.row(stored.row(sources.empty() ? row : sources[row])));
        }
        return out;
    }
    backend::host::packed_matrix matrix_of(const std::string& name, const std::vector<std::uint64_t>& shape,
                                           const std::vector<std::size_t>& sources) const {
        return matrix_of(name, shape, sources, format_);
    }

    /// Weights; or bytes of a quantisation that another tensor completes.
    enum class tensor_kind { weights, bytes };

    /// Throws unless the tensor is there, of this kind and shape.
    const io::tensor_view& tensor(const std::string& name, const std::vector<std::uint64_t>& shape,
                                  tensor_kind kind = tensor_kind::weights) const {
        const io::tensor_view& view = file_.tensor(name);
        const bool is_bytes = view.type == io::tensor_type::u8;
        if (view.type == io::tensor_type::i32 || is_bytes != (kind == tensor_kind::bytes)) {
            augur::detail::fail(origin(), ": the tensor ", name, " is of ", io::name_of(view.type), ", which are no ",
                                kind == tensor_kind::bytes ? "bytes" : "weights");
        }
        if (view.shape != shape) {
            augur::detail::fail(origin(), ": the tensor ", name, " has the shape ", io::shape_text(view.shape),
                                ", but the configuration asks for ", io::shape_text(shape));
        }
        return view;
    }

    std::string origin() const { return file_.path().string(); }
    weight_format format() const { return format_; }

 private:
    /// What the configuration says of a tensor that has a row for each token, and perhaps some more; heads that were
    /// made for a padded model may have as many rows as there are tokens.
    std::size_t stored_rows(const std::string& name) const {
        const auto* const found = file_.find(name);
        const bool is_cut = found != nullptr && found->shape.front() == config_.vocabulary;
        return is_cut ? config_.vocabulary : config_.stored_rows();
    }
    std::size_t head_rows(const std::vector<token>& head_tokens) const {
        return head_tokens.empty() ? config_.vocabulary : head_tokens.size();
    }

    /// Throws unless a tensor that the configuration says is tied to another holds the same numbers: engines differ in
    /// which of them they take.
    void check_same(const std::string& name, const std::string& other) const {
        const io::tensor_view& one = file_.tensor(name);
        const io::tensor_view& two = file_.tensor(other);
        bool is_same = one.type == two.type && one.shape == two.shape;
        io::tensor_rows ours(one), theirs(two);
        for (std::uint64_t row = 0; is_same && row < one.rows(); ++row) {
            const auto a = ours.row(row), b = theirs.row(row);
            is_same = std::equal(a.begin(), a.end(), b.begin(), b.end());
        }
        if (is_same) return;
        augur::detail::fail(origin(), ": tie_word_embeddings is true, but the tensor ", other, " is not ", name,
                            "; whether the head is tied is not sure");
    }

    /// What a tensor takes as a matrix, `rows` of it or, of 0, all. Nothing of one that is refused when it is read.
    std::uint64_t bytes_of(const std::string& name, std::size_t rows = 0) const {
        const auto* const of = file_.find(name);
        if (of == nullptr || of->type == io::tensor_type::i32) return 0;
        const std::uint64_t count = io::element_count_of(name, of->shape);
        if (of->type == io::tensor_type::u8) {  // two numbers of MXFP4
            return stored_bytes(storage_of(type_for(io::tensor_type::mxfp4, format_)), 2 * count);
        }
        return stored_bytes(storage_of(type_for(of->type, format_)),
                            rows == 0 ? count : count / of->shape.front() * rows);
    }

    std::uint64_t bytes_of_layers(const std::vector<std::size_t>& layers) const {
        std::uint64_t total = 0;
        for (std::size_t i = 0; i < layers.size(); ++i) {
            for (const auto& name : names_.stored_matrices(config_.experts.is_in(i))) {
                total += bytes_of(name_in(layers[i], name));
            }
        }
        return total;
    }

    std::string name_in(std::size_t layer, const std::string& name) const { return names_.in_layer(layer, name); }

    expert_reader<weight_reader> experts_of(std::size_t layer) const {
        return {*this, config_, names_, name_in(layer, "")};
    }

    /// The router, in floats whatever its type, for it decides; what it chooses from; and what all rows go through.
    void read_experts(std::size_t index, layer_weights& out) const {
        const std::string router = name_in(index, names_.experts.router);
        out.router = matrix_of(router, {config_.experts.count, config_.width}, {}, weight_format::f32);
        if (config_.experts.biased) {
            out.router_bias = vector(name_in(index, names_.experts.router_bias), config_.experts.count);
        }
        out.experts = experts_of(index).read();
        if (const std::size_t wide = config_.experts.shared_feed_forward; wide != 0) {
            const std::string score = name_in(index, names_.experts.shared_score);
            const bool is_flat = file_.tensor(score).shape.size() == 1;  // as some writers have a single row
            const std::uint64_t width = config_.width;
            out.shared_gate = matrix_of(score, is_flat ? std::vector{width} : std::vector<std::uint64_t>{1, width}, {},
                                        weight_format::f32);
            out.gate = matrix(name_in(index, names_.experts.shared_gate), wide, config_.width);
            out.up = matrix(name_in(index, names_.experts.shared_up), wide, config_.width);
            out.down = matrix(name_in(index, names_.experts.shared_down), config_.width, wide);
        }
    }

    layer_weights read_layer(std::size_t index, bool has_experts) const {
        const std::size_t width = config_.width, queries = config_.heads * config_.head_size,
                          keys = config_.key_value_heads * config_.head_size;
        const bool joined = names_.stored.joined_query_key_value;
        const std::size_t all = queries + 2 * keys;
        const std::size_t in = config_.wide_first_layer && index == 0 ? 2 * width : width;
        const part of_query{names_.query, joined ? all : queries, in, 0, queries, true};
        const part of_key{names_.key, joined ? all : keys, in, joined ? queries : 0, keys, true};
        const part of_value{names_.value, joined ? all : keys, in, joined ? queries + keys : 0, keys, false};
        const part of_output{names_.attention_output, width, queries, 0, width, false};
        layer_weights out;
        out.attention_norm = layer_norm(index, names_.attention_norm, width);
        out.feed_forward_norm = layer_norm(index, names_.feed_forward_norm, width);
        if (config_.layer_norms) {
            out.attention_norm_bias = vector(name_in(index, tensor_names::bias_of(names_.attention_norm)), width);
            out.feed_forward_norm_bias = vector(name_in(index, tensor_names::bias_of(names_.feed_forward_norm)), width);
        }
        out.after_attention_norm = layer_norm(index, names_.after_attention_norm, width);
        out.after_feed_forward_norm = layer_norm(index, names_.after_feed_forward_norm, width);
        const bool whole = config_.query_key_norms == query_key_norm::whole;
        out.query_norm = paired(layer_norm(index, names_.query_norm, whole ? queries : config_.head_size));
        out.key_norm = paired(layer_norm(index, names_.key_norm, whole ? keys : config_.head_size));
        out.query = read_part(index, of_query);
        out.key = read_part(index, of_key);
        out.value = read_part(index, of_value);
        out.attention_output = read_part(index, of_output);
        if (!names_.sinks.empty()) out.sinks = vector(name_in(index, names_.sinks), config_.heads);
        if (config_.query_key_value_bias) {
            out.query_bias = read_bias(index, of_query);
            out.key_bias = read_bias(index, of_key);
            out.value_bias = read_bias(index, of_value);
        }
        if (config_.attention_output_bias) out.attention_output_bias = read_bias(index, of_output);
        has_experts ? read_experts(index, out) : read_feed_forward(index, out);
        return out;
    }

    void read_feed_forward(std::size_t index, layer_weights& out) const {
        const std::size_t width = config_.width, wide = config_.feed_forward;
        const bool joined = names_.stored.joined_gate_up;
        const part of_gate{names_.gate, joined ? 2 * wide : wide, width, 0, wide, false};
        const part of_up{names_.up, joined ? 2 * wide : wide, width, joined ? wide : 0, wide, false};
        const part of_down{names_.down, width, wide, 0, width, false};
        out.gate = read_part(index, of_gate);
        if (config_.gated) out.up = read_part(index, of_up);
        out.down = read_part(index, of_down);
        if (!config_.feed_forward_bias) return;
        out.gate_bias = read_bias(index, of_gate);
        if (config_.gated) out.up_bias = read_bias(index, of_up);
        out.down_bias = read_bias(index, of_down);
    }

    /// Rows [first, first + count) of a tensor of a layer, which has `rows` in all.
    struct part {
        const std::string& name;
        std::size_t rows, columns, first, count;
        bool turns;  ///< its rows are components that turn
    };

    backend::host::packed_matrix read_part(std::size_t layer, const part& of) const {
        return matrix(name_in(layer, of.name), of.rows, of.columns, rows_of(of));
    }
    std::vector<float> read_bias(std::size_t layer, const part& of) const {
        const auto all = vector(name_in(layer, tensor_names::bias_of(of.name)), of.rows);
        const auto rows = rows_of(of);
        if (rows.empty()) return all;
        std::vector<float> out;
        for (const std::size_t row : rows) out.push_back(all[row]);
        return out;
    }

    /// Of a norm, as it is multiplied by.
    std::vector<float> norm(const std::string& name, std::size_t size) const {
        auto out = vector(name, size);
        if (names_.stored.shifted_norms) {
            for (float& each : out) each += 1;
        }
        return out;
    }
    std::vector<float> layer_norm(std::size_t layer, const std::string& name, std::size_t size) const {
        return name.empty() ? std::vector<float>() : norm(name_in(layer, name), size);
    }
    /// Of one head or several.
    std::vector<float> paired(std::vector<float> stored) const {
        if (!names_.stored.halves) return stored;
        std::vector<float> out;
        for (std::size_t i = 0; i < stored.size(); ++i) out.push_back(stored[paired_row(i)]);
        return out;
    }

    /// Where the file has a row of queries or keys, or a component of a head: of what turns, the components of a pair
    /// are put next to each other.
    std::size_t paired_row(std::size_t row) const {
        const std::size_t in_head = row % config_.head_size, turning = config_.rotary_size;
        if (!names_.stored.halves || in_head >= turning) return row;
        return row - in_head + in_head / 2 + (in_head % 2) * (turning / 2);
    }
    /// A part's rows in the order that they are wanted in; empty where that is the file's, and all.
    std::vector<std::size_t> rows_of(const part& of) const {
        std::vector<std::size_t> out;
        if (of.count == of.rows && !(of.turns && names_.stored.halves)) return out;
        for (std::size_t row = 0; row < of.count; ++row) out.push_back(of.first + (of.turns ? paired_row(row) : row));
        return out;
    }

    const File& file_;
    const config& config_;
    tensor_names names_;
    weight_format format_;
};

}  // namespace augur::llama
