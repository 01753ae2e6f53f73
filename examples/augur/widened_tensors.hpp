#pragma once
// The tensors of a GGUF file as a larger model has them. See docs/llama/widened.md.

#include <algorithm>
#include <augur/io/files/dequantize.hpp>
#include <augur/io/files/gguf.hpp>
#include <augur/io/files/quantize.hpp>
#include <augur/io/files/tensor.hpp>
#include <augur/io/files/tensor_rows.hpp>
#include <augur/llama/weight_format.hpp>
#include <augur/llama/weights.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "widening.hpp"

namespace augur::program {

/// What the tensor of this name is in a Llama's file, or in that of a draft bundle's draft checkpoint; of others, which
/// stay as they are, all fixed.
inline tensor_role role_of(std::string_view name, const llama::tensor_names& names) {
    const std::pair<std::string_view, tensor_role> whole[] = {
        {names.embedding, {axis::fixed, axis::width, false, true}},
        {names.head, {axis::fixed, axis::width}},
        {names.final_norm, {axis::width, axis::fixed, true}},
        {"augur.fusion.weight", {axis::width, axis::width, false, true}},
        {"augur.fusion.embedding_norm.weight", {axis::width, axis::fixed, true}},
        {"augur.fusion.hidden_norm.weight", {axis::width, axis::fixed, true}},
    };
    for (const auto& [known, role] : whole) {
        if (name == known) return role;
    }
    const std::pair<std::string_view, tensor_role> of_layers[] = {
        {names.attention_norm, {axis::width, axis::fixed, true}},
        {names.feed_forward_norm, {axis::width, axis::fixed, true}},
        {names.query, {axis::queries, axis::width}},
        {names.key, {axis::keys, axis::width}},
        {names.value, {axis::values, axis::width}},
        {names.attention_output, {axis::width, axis::attended, false, true}},
        {names.gate, {axis::feed_forward, axis::width}},
        {names.up, {axis::feed_forward, axis::width}},
        {names.down, {axis::width, axis::feed_forward, false, true}},
    };
    /// After a prefix and a number.
    const auto rest_after = [&](std::string_view prefix) -> std::string_view {
        if (!name.starts_with(prefix)) return {};
        const auto dot = name.find('.', prefix.size());
        return dot == name.npos ? std::string_view() : name.substr(dot + 1);
    };
    if (const auto rest = rest_after(names.layer_prefix); !rest.empty()) {
        for (const auto& [known, role] : of_layers) {
            const auto stem = known.substr(0, known.rfind('.'));
            if (rest == known) return role;
            if (rest == std::string(stem) + ".delta_up.weight") return {role.rows, axis::fixed, false, true};
            if (rest == std::string(stem) + ".delta_down.weight") return {axis::fixed, role.columns, false, true};
        }
    }
    if (const auto rest = rest_after("augur.head."); !rest.empty()) {
        return {axis::width, rest == "bias" ? axis::fixed : axis::width, false, true};
    }
    if (const auto rest = rest_after("augur.exit."); !rest.empty() && rest != "scale") {
        if (rest == "norm.weight") return {axis::width, axis::fixed, true};
        return rest == "up.weight" ? tensor_role{axis::width, axis::fixed, false, true}
                                   : tensor_role{axis::fixed, axis::width, false, true};
    }
    return {};
}

/// Puts rows of a tensor among what fills a wide row. Blocks that hold the same numbers in both are copied: rounded
/// again, they may be others (a block's largest number need not be what its scale was made for).
class row_widener {
 public:
    row_widener(const io::tensor_view& narrow, io::tensor_type type, std::span<const std::size_t> columns, float scale)
        : rows_(narrow), from_(narrow.type), to_(type), columns_(columns), scale_(scale), numbers_(narrow.columns()) {
        const std::size_t size = io::block_size(type);
        if (scale != 1 || from_ != to_ || size == 1) return;
        for (std::size_t first = 0; first < columns.size(); first += size) {
            const auto in = columns.subspan(first, size);
            bool is_same = in[0] < widening::zero && in[0] % size == 0;
            for (std::size_t i = 1; i < size; ++i) is_same &= in[i] == in[0] + i;
            if (is_same) blocks_.emplace_back(in[0] / size, first / size);
        }
    }

    /// `wide` holds what fills the row.
    void put(std::size_t row, std::span<float> wide, std::span<std::byte> out) {
        const auto bytes = rows_.row(row);
        io::dequantize(from_, bytes, numbers_);
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            if (columns_[i] < widening::zero) wide[i] = numbers_[columns_[i]] * scale_;
        }
        io::quantize(to_, wide, out);
        const auto size = static_cast<std::size_t>(io::block_bytes(to_));
        for (const auto& [source, block] : blocks_) {
            const auto copied = bytes.subspan(source * size, size);
            std::copy(copied.begin(), copied.end(), out.begin() + static_cast<std::ptrdiff_t>(block * size));
        }
    }

 private:
    io::tensor_rows rows_;
    io::tensor_type from_, to_;
    std::span<const std::size_t> columns_;
    float scale_;
    std::vector<float> numbers_;
    std::vector<std::pair<std::size_t, std::size_t>> blocks_;  ///< that are copied: narrow, wide
};

/// Each tensor is made when it is asked for, in the type that `format` gives the original's, and is valid until the
/// next is. Both must outlive it. Cost: O(numbers of the wide tensor), and their memory.
class widened_tensors {
 public:
    widened_tensors(const io::gguf_view& original, const widening& by, llama::weight_format format)
        : original_(original), by_(by), format_(format) {}

    /// Type and shape of a tensor, which is not made.
    struct tensor_extent {
        io::tensor_type type{};
        std::vector<std::uint64_t> shape;
    };
    tensor_extent extent(std::string_view name) const {
        const io::tensor_view& from = original_.tensor(template_of(name));
        const tensor_role role = role_of(name, names_);
        if (is_fixed(role)) return {from.type, from.shape};
        const std::size_t columns = by_.size(from.shape.size() == 1 ? role.rows : role.columns, from.columns());
        if (from.shape.size() == 1) return {io::tensor_type::f32, {columns}};
        return {storable(llama::type_for(from.type, format_), columns), {by_.size(role.rows, from.rows()), columns}};
    }

    const io::tensor_view& tensor(std::string_view name) {
        const std::string source = template_of(name);
        const io::tensor_view& narrow = original_.tensor(source);
        const tensor_role role = role_of(name, names_);
        if (is_fixed(role)) return narrow;
        make(narrow, role, extent(name), source != name);
        wide_tensor_.name = name;
        return wide_tensor_;
    }

 private:
    static bool is_fixed(const tensor_role& role) { return role.rows == axis::fixed && role.columns == axis::fixed; }

    /// Added layers are made after the first.
    std::string template_of(std::string_view name) const {
        const std::string& prefix = names_.layer_prefix;
        if (name.starts_with(prefix)) {
            const auto dot = name.find('.', prefix.size());
            const std::string number(name.substr(prefix.size(), dot - prefix.size()));
            const bool is_number = !number.empty() && number.size() < 6 &&
                                   number.find_first_not_of("0123456789") == number.npos && dot != name.npos;
            if (is_number && std::stoul(number) >= by_.narrow().layers && std::stoul(number) < by_.wide().layers) {
                return prefix + "0" + std::string(name.substr(dot));
            }
        }
        return std::string(name);
    }

    /// A row of the noise that fills matrices: numbers of the size of weights, the same in every run.
    void fill_with_noise(std::span<float> out, std::size_t row) const {
        std::uint32_t state = static_cast<std::uint32_t>(row % noise_rows) * 2654435769u + 1;
        for (float& value : out) {
            state = state * 1664525u + 1013904223u;
            value = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31f * 0.03f;
        }
    }

    void make(const io::tensor_view& narrow, const tensor_role& role, const tensor_extent& of, bool is_added) {
        const bool is_vector = narrow.shape.size() == 1;
        const std::size_t narrow_rows = is_vector ? 1 : static_cast<std::size_t>(narrow.rows());
        const auto rows = is_vector ? std::vector<std::size_t>{0} : by_.sources(role.rows, narrow_rows);
        const auto columns = by_.sources(is_vector ? role.rows : role.columns, narrow.columns());
        wide_tensor_.type = of.type;
        wide_tensor_.shape = of.shape;
        const std::size_t row_bytes = columns.size() / io::block_size(wide_tensor_.type) *
                                      static_cast<std::size_t>(io::block_bytes(wide_tensor_.type));
        bytes_.resize(rows.size() * row_bytes);
        wide_tensor_.bytes = bytes_;
        const bool zeros = role.writes_residual || is_vector;
        std::map<std::size_t, std::size_t> fillers;  // rows made already, by what fills them
        std::vector<float> wide(columns.size());
        row_widener widener(narrow, wide_tensor_.type, columns, by_.scale(role));
        for (std::size_t row = 0; row < rows.size(); ++row) {
            const auto out = std::span(bytes_).subspan(row * row_bytes, row_bytes);
            const bool is_filler = rows[row] >= widening::zero || (is_added && !is_vector);
            const bool is_zero = zeros || rows[row] == widening::zero;
            if (is_filler) {
                const auto [found, is_new] = fillers.try_emplace(is_zero ? noise_rows : row % noise_rows, row);
                if (!is_new) {
                    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(found->second * row_bytes), row_bytes,
                                out.begin());
                    continue;
                }
            }
            if (is_zero) {
                std::fill(wide.begin(), wide.end(), 0.0f);
            } else {
                fill_with_noise(wide, row);
            }
            if (is_filler) {
                io::quantize(wide_tensor_.type, wide, out);
            } else {
                widener.put(rows[row], wide, out);
            }
        }
    }

    /// A type that kernels multiply, or what stands for one that no numbers are converted to here, or whose blocks do
    /// not fit.
    static io::tensor_type storable(io::tensor_type type, std::size_t columns) {
        using enum io::tensor_type;
        if (type == q4_k) type = q4_1;
        for (const auto other : {q5_1, q2_k, q5_k, q6_k, iq4_nl, iq4_xs, mxfp4}) type = type == other ? q8_0 : type;
        return columns % io::block_size(type) == 0 ? type : f32;
    }

    static constexpr std::size_t noise_rows = 61;

    const io::gguf_view& original_;
    const widening& by_;
    llama::tensor_names names_ = llama::gguf_names();
    llama::weight_format format_;
    io::tensor_view wide_tensor_;
    std::vector<std::byte> bytes_;
};

}  // namespace augur::program
