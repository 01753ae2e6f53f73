#pragma once
// Uses a tensor out of an untrusted file as a model would, so that a sanitizer sees every byte it was promised.

#include <algorithm>
#include <augur/io/files/dequantize.hpp>
#include <augur/io/files/tensor.hpp>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace augur::testing {

/// Ends the process unless the tensor's promises hold; `found` is the table's answer to its name.
inline void touch(const io::tensor_view& tensor, const io::tensor_view* found) {
    const auto size = tensor.element_count() / io::block_size(tensor.type) * io::block_bytes(tensor.type);
    const bool sound =
        found == &tensor && tensor.bytes.size() == size && tensor.rows() * tensor.columns() == tensor.element_count();
    if (!sound) std::abort();
    const auto sum = std::accumulate(tensor.bytes.begin(), tensor.bytes.end(), 0u,
                                     [](unsigned total, std::byte b) { return total + std::to_integer<unsigned>(b); });
    volatile unsigned keep = sum;  // the reads must happen
    static_cast<void>(keep);
    if (tensor.type == io::tensor_type::i32 || tensor.type == io::tensor_type::u8) return;  // no weights
    const auto blocks = std::min<std::uint64_t>(tensor.bytes.size() / io::block_bytes(tensor.type), 64);
    std::vector<float> row(blocks * io::block_size(tensor.type));
    io::dequantize(tensor.type, tensor.bytes.first(blocks * io::block_bytes(tensor.type)), row);
}

}  // namespace augur::testing
