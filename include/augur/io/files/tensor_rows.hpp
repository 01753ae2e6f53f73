#pragma once
// Reads the rows of a tensor, some at a time.

#include <algorithm>
#include <augur/io/files/tensor.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace augur::io {

/// Reads rows of a tensor, which must outlive it. Cost: one read for neighbouring rows of 256 KiB together, whatever
/// their order.
class tensor_rows {
 public:
    explicit tensor_rows(const tensor_view& tensor)
        : tensor_(tensor),
          row_bytes_(static_cast<std::size_t>(tensor.bytes.size() / tensor.rows())),
          together_(std::max<std::size_t>((std::size_t{1} << 18) / row_bytes_, 1)) {}

    /// Valid until the next one is asked for. Errors: those of tensor_view::read.
    std::span<const std::byte> row(std::size_t index) {
        if (index < first_ || index - first_ >= read_.size() / row_bytes_) read_around(index);
        return std::span(read_).subspan((index - first_) * row_bytes_, row_bytes_);
    }

 private:
    void read_around(std::size_t index) {
        const std::size_t start = index / together_ * together_;
        const std::size_t count = std::min(together_, static_cast<std::size_t>(tensor_.rows()) - start);
        read_.resize(count * row_bytes_);
        tensor_.read(std::uint64_t{start} * row_bytes_, read_);
        first_ = start;
    }

    const tensor_view& tensor_;
    std::size_t row_bytes_, together_;
    std::size_t first_ = 0;
    std::vector<std::byte> read_;
};

}  // namespace augur::io
