#pragma once
// Converts rows of a file's tensor to the format that a matrix holds them in.

#include <cstddef>
#include <span>
#include <vector>

#include "augur/backend/host/packed_matrix.hpp"
#include "augur/io/files/dequantize.hpp"
#include "augur/io/files/quantize.hpp"
#include "augur/io/files/tensor.hpp"
#include "augur/llama/weight_format.hpp"

namespace augur::llama {

/// Rows of `columns` numbers of one type, as another. Bytes that it gives are valid until the next row.
class converted_rows {
 public:
    converted_rows(io::tensor_type from, io::tensor_type to, bool is_kept, std::size_t columns)
        : from_(from),
          to_(to),
          is_kept_(is_kept),
          values_(columns),
          converted_(columns / io::block_size(to) * io::block_bytes(to)) {}

    std::span<const std::byte> row(std::span<const std::byte> stored) {
        if (from_ == to_) return stored;
        if (is_kept_ && io::widen_exactly(from_, to_, stored, converted_)) return converted_;
        io::dequantize(from_, stored, values_);
        return row(std::span<const float>(values_));
    }
    std::span<const std::byte> row(std::span<const float> values) {
        io::quantize(to_, values, converted_);
        return converted_;
    }

 private:
    io::tensor_type from_, to_;
    bool is_kept_;
    std::vector<float> values_;
    std::vector<std::byte> converted_;
};

}  // namespace augur::llama
