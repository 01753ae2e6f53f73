#pragma once
// Low-rank updates (LoRA) of matrices: the product of two narrow ones.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "augur/backend/host/packed_matrix.hpp"
#include "augur/io/files/quantize.hpp"
#include "augur/io/files/tensor.hpp"
#include "augur/llama/memory.hpp"
#include "augur/llama/weight_format.hpp"
#include "augur/llama/weights.hpp"

namespace augur::llama {

/// up (outputs x rank) times down (rank x inputs).
struct low_rank {
    std::size_t rank = 0;
    std::vector<float> up, down;

    /// values += coefficients (as many as the rank) times down.
    void add_to(std::span<float> values, std::span<const float> coefficients) const {
        for (std::size_t j = 0; j < rank; ++j) {
            const float* row = down.data() + j * values.size();
            for (std::size_t i = 0; i < values.size(); ++i) values[i] += coefficients[j] * row[i];
        }
    }
};

/// The tensors `name`_up.weight and `name`_down.weight of a file; the rank is what the file says.
template <class File>
low_rank read_low_rank(const File& file, const weight_reader<File>& reader, const std::string& up,
                       const std::string& down, std::size_t outputs, std::size_t inputs) {
    low_rank change;
    change.rank = static_cast<std::size_t>(file.tensor(down).shape.at(0));
    change.up = reader.floats(up, {outputs, change.rank});
    change.down = reader.floats(down, {change.rank, inputs});
    return change;
}

/// How a matrix that was changed is held: as asked; under `keep` and `halved` as the original is, but for its coarse
/// formats, in whose steps small changes would be lost: then q8_0.
inline io::tensor_type type_of_changed(const backend::host::packed_matrix& original, weight_format format) {
    using backend::host::storage;
    const storage kept = original.format();
    if (!keeps(format)) return type_for(io::tensor_type::f32, format);
    if (kept == storage::f32) return io::tensor_type::f32;
    if (kept == storage::f16) return io::tensor_type::f16;
    return kept == storage::bf16 ? io::tensor_type::bf16 : io::tensor_type::q8_0;
}

/// A matrix whose rows are `original`'s after `change(row, values)`, held in this type.
template <class Change>
backend::host::packed_matrix changed(const backend::host::packed_matrix& original, io::tensor_type type,
                                     Change&& change) {
    check_weights("a changed matrix",
                  stored_bytes(storage_of(type), std::uint64_t{original.rows()} * original.depth()));
    backend::host::packed_matrix out(storage_of(type), original.rows(), original.depth());
    std::vector<float> values(original.depth());
    std::vector<std::byte> stored(values.size() / io::block_size(type) * io::block_bytes(type));
    for (std::size_t row = 0; row < out.rows(); ++row) {
        original.unpack_row(row, values);
        change(row, std::span<float>(values));
        io::quantize(type, values, stored);
        out.set_row(row, stored);
    }
    return out;
}

}  // namespace augur::llama
