#pragma once
// Reads the experts of a layer from the tensors of a file, however it stores them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/backend/host/packed_matrix.hpp"
#include "augur/io/files/dequantize.hpp"
#include "augur/io/files/tensor.hpp"
#include "augur/io/files/tensor_rows.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/converted_rows.hpp"
#include "augur/llama/layer_weights.hpp"
#include "augur/llama/memory.hpp"
#include "augur/llama/tensor_names.hpp"
#include "augur/llama/weight_format.hpp"

namespace augur::llama {

/// Of one layer, for a weight_reader, whose errors it has. `prefix` opens the layer's names.
template <class Reader>
class expert_reader {
 public:
    expert_reader(const Reader& reader, const config& c, const tensor_names& names, std::string prefix)
        : reader_(reader),
          mixture_(c.experts),
          names_(names.experts),
          stored_(names.stored.experts),
          prefix_(std::move(prefix)),
          width_(c.width) {}

    /// Throws unless every tensor is there, with its shape. Nothing is read.
    void check() const {
        for (const bool is_down : {false, true}) {
            const std::string& name = is_down ? names_.down : names_.gate;
            for (std::size_t expert = 0; expert < (is_separate() ? mixture_.count : 1); ++expert) {
                reader_.tensor(named(name, expert), shape(is_down), is_blocks() ? kind::bytes : kind::weights);
                if (!is_joined() && !is_down) reader_.tensor(named(names_.up, expert), shape(false), kind::weights);
            }
            if (!is_blocks()) continue;
            reader_.tensor(prefix_ + (is_down ? names_.down_scales : names_.gate_scales), scales_shape(is_down),
                           kind::bytes);
        }
    }

    std::vector<expert_weights> read() const {
        std::vector<expert_weights> out;
        const std::size_t wide = mixture_.feed_forward;
        const std::size_t step = is_alternating() || is_blocks() ? 2 : 1;
        const std::size_t up_at = !is_joined() ? 0 : step == 2 ? 1 : wide;
        const std::size_t gate_biases = is_joined() ? 2 * wide : wide;
        const auto gate_bias = read_biases(names_.gate_bias, gate_biases),
                   up_bias = read_biases(names_.up_bias, gate_biases),
                   down_bias = read_biases(names_.down_bias, width_);
        for (std::size_t expert = 0; expert < mixture_.count; ++expert) {
            expert_weights next;
            next.gate = read_rows(false, names_.gate, expert, {0, step, wide});
            next.up = read_rows(false, names_.up, expert, {up_at, step, wide});
            next.down = read_rows(true, names_.down, expert, {0, 1, width_});
            next.gate_bias = bias_of(gate_bias, expert * gate_biases, {0, step, wide});
            next.up_bias = bias_of(up_bias, expert * gate_biases, {up_at, step, wide});
            next.down_bias = bias_of(down_bias, expert * width_, {0, 1, width_});
            out.push_back(std::move(next));
        }
        return out;
    }

 private:
    using kind = typename Reader::tensor_kind;
    using matrix = backend::host::packed_matrix;

    /// Rows first, first + step, ... of an expert's.
    struct chosen_rows {
        std::size_t first, step, count;
    };

    bool is_separate() const {
        return stored_ == expert_tensors::separate || stored_ == expert_tensors::separate_by_number;
    }
    bool is_alternating() const { return stored_ == expert_tensors::alternating; }
    bool is_blocks() const { return stored_ == expert_tensors::blocks; }
    bool is_joined() const { return !is_separate() && stored_ != expert_tensors::stacked; }

    std::string named(const std::string& name, std::size_t expert) const {
        return prefix_ + expert_names::of_expert(name, expert);
    }
    /// Of an expert: outputs and inputs.
    std::size_t rows(bool is_down) const {
        return is_down ? width_ : is_joined() ? 2 * mixture_.feed_forward : mixture_.feed_forward;
    }
    std::size_t columns(bool is_down) const { return is_down ? mixture_.feed_forward : width_; }

    std::vector<std::uint64_t> shape(bool is_down) const {
        if (is_separate()) return {rows(is_down), columns(is_down)};
        if (is_alternating()) return {mixture_.count, columns(is_down), rows(is_down)};
        if (is_blocks()) return {mixture_.count, rows(is_down), columns(is_down) / 32, 16};
        return {mixture_.count, rows(is_down), columns(is_down)};
    }
    std::vector<std::uint64_t> scales_shape(bool is_down) const {
        return {mixture_.count, rows(is_down), columns(is_down) / 32};
    }

    matrix read_rows(bool is_down, const std::string& name, std::size_t expert, chosen_rows of) const {
        if (is_alternating()) return read_columns(is_down, name, expert, of);
        if (is_blocks()) return read_blocks(is_down, name, expert, of);
        const std::size_t start = is_separate() ? 0 : expert * rows(is_down);
        std::vector<std::size_t> sources(of.count);
        for (std::size_t i = 0; i < of.count; ++i) sources[i] = start + of.first + i * of.step;
        return reader_.matrix_of(named(name, expert), shape(is_down), sources);
    }

    /// Of all experts; nothing where they have none.
    std::vector<float> read_biases(const std::string& name, std::size_t size) const {
        return name.empty() ? std::vector<float>() : reader_.floats(prefix_ + name, {mixture_.count, size});
    }
    static std::vector<float> bias_of(const std::vector<float>& all, std::size_t start, chosen_rows of) {
        std::vector<float> out;
        for (std::size_t i = 0; i < of.count && !all.empty(); ++i) out.push_back(all[start + of.first + i * of.step]);
        return out;
    }

    /// Room for rows of one type, and what converts them.
    std::pair<matrix, converted_rows> begin(const std::string& name, io::tensor_type from, std::size_t count,
                                            std::size_t depth) const {
        const auto to = type_for(from, reader_.format());
        check_blocks(reader_.origin(), name, depth, to);
        return {matrix(storage_of(to), count, depth), converted_rows(from, to, keeps(reader_.format()), depth)};
    }

    /// Where inputs are outermost: columns are the rows that are wanted.
    matrix read_columns(bool is_down, const std::string& name, std::size_t expert, chosen_rows of) const {
        const auto& view = reader_.tensor(named(name, expert), shape(is_down), kind::weights);
        const std::size_t across = rows(is_down), depth = columns(is_down);
        auto [out, converted] = begin(view.name, view.type, of.count, depth);
        std::vector<float> line(across), values(of.count * depth);
        io::tensor_rows stored(view);
        for (std::size_t k = 0; k < depth; ++k) {
            io::dequantize(view.type, stored.row(expert * depth + k), line);
            for (std::size_t i = 0; i < of.count; ++i) values[i * depth + k] = line[of.first + i * of.step];
        }
        for (std::size_t i = 0; i < of.count; ++i) {
            out.set_row(i, converted.row(std::span<const float>(values).subspan(i * depth, depth)));
        }
        return std::move(out);
    }

    /// MXFP4 as OpenAI stores it: of 32 numbers a byte for each two neighbours, and apart from them their scales.
    /// GGUF's block begins with the scale, and its byte j has numbers j and j + 16.
    matrix read_blocks(bool is_down, const std::string& name, std::size_t expert, chosen_rows of) const {
        const auto& view = reader_.tensor(named(name, expert), shape(is_down), kind::bytes);
        const auto& scale_view = reader_.tensor(prefix_ + (is_down ? names_.down_scales : names_.gate_scales),
                                                scales_shape(is_down), kind::bytes);
        const std::size_t depth = columns(is_down), blocks = depth / 32, each = io::block_bytes(io::tensor_type::mxfp4);
        auto [out, converted] = begin(view.name, io::tensor_type::mxfp4, of.count, depth);
        std::vector<std::byte> pairs(depth / 2), scales(blocks), row(blocks * each);
        for (std::size_t i = 0; i < of.count; ++i) {
            const std::size_t source = expert * rows(is_down) + of.first + i * of.step;
            view.read(std::uint64_t{source} * pairs.size(), pairs);
            scale_view.read(std::uint64_t{source} * blocks, scales);
            for (std::size_t block = 0; block < blocks; ++block) {
                std::byte* const to = row.data() + block * each;
                to[0] = scales[block];
                for (std::size_t j = 0; j < 16; ++j) {
                    const auto number = [&](std::size_t k) {
                        return pairs[block * 16 + k / 2] >> (k % 2 == 0 ? 0 : 4) & std::byte{15};
                    };
                    to[1 + j] = number(j) | number(j + 16) << 4;
                }
            }
            out.set_row(i, converted.row(std::span<const std::byte>(row)));
        }
        return std::move(out);
    }

    const Reader& reader_;
    const mixture& mixture_;
    const expert_names& names_;
    expert_tensors stored_;
    std::string prefix_;
    std::size_t width_;
};

}  // namespace augur::llama
