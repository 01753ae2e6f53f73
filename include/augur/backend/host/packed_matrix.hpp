#pragma once
// A weight matrix packed in the layout of the host kernels.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "augur/backend/host/aligned_buffer.hpp"
#include "augur/backend/host/kernel_tasks.hpp"
#include "augur/backend/host/packing.hpp"
#include "augur/backend/host/storage.hpp"
#include "augur/detail/half.hpp"
#include "augur/types/error.hpp"

namespace augur::backend::host {

/// `rows` outputs by `depth` inputs in panels of 16 rows (see storage.hpp). Rows are written once, one at a time, then
/// only read. Rows that fill up the last panel, and k that fill up the last block, are zero.
class packed_matrix {
 public:
    packed_matrix() = default;

    packed_matrix(storage format, std::size_t rows, std::size_t depth)
        : format_(format), layout_(layout_of(format)), rows_(rows), depth_(depth) {
        if (rows == 0 || depth == 0) detail::fail("a packed matrix of ", rows, " rows by ", depth, " has no weights");
        if (depth % layout_.file_depth != 0) {
            detail::fail(layout_.name, " packs blocks of ", layout_.file_depth, ", which ", depth,
                         " is no multiple of");
        }
        const std::size_t blocks = (depth + layout_.depth - 1) / layout_.depth;
        word_offset_ = (blocks * layout_.header_bytes + 63) / 64 * 64;
        panel_bytes_ = word_offset_ + (blocks * layout_.word_bytes + 63) / 64 * 64;
        memory_ = aligned_buffer(panels() * panel_bytes_);
        const bool padded = depth % layout_.depth != 0 || word_offset_ != blocks * layout_.header_bytes;
        const std::size_t unwritten = padded ? 0 : (panels() - 1) * panel_bytes_;
        std::memset(memory_.data() + unwritten, 0, memory_.size() - unwritten);
    }

    storage format() const { return format_; }
    std::size_t rows() const { return rows_; }
    std::size_t depth() const { return depth_; }
    std::size_t panels() const { return (rows_ + panel_rows - 1) / panel_rows; }
    std::size_t panel_bytes() const { return panel_bytes_; }
    std::size_t word_offset() const { return word_offset_; }
    const std::byte* data() const { return memory_.data(); }
    std::size_t memory_bytes() const { return memory_.size(); }

    /// Writes one row from its bytes in this format as model files hold them (GGUF's blocks, or plain numbers),
    /// unchanged.
    void set_row(std::size_t row, std::span<const std::byte> bytes) {
        check_row(row, bytes.size(), depth_ / layout_.file_depth * layout_.file_bytes, " bytes");
        for (std::size_t k = 0, at = 0; k < depth_; k += layout_.file_depth, at += layout_.file_bytes) {
            pack_block(format_, place(row, k), bytes.data() + at);
        }
    }

    /// These rows, in this order, as they are.
    packed_matrix selected(std::span<const std::size_t> rows) const {
        packed_matrix out(format_, rows.size(), depth_);
        for (std::size_t row = 0; row < rows.size(); ++row) {
            if (rows[row] >= rows_) detail::fail("row ", rows[row], " of a matrix of ", rows_, " rows");
            for (std::size_t k = 0; k < depth_; k += layout_.depth) {
                copy_block(format_, place(rows[row], k), out.place(row, k));
            }
        }
        return out;
    }

    /// The row as floats, exactly as dequantisation gives them.
    void unpack_row(std::size_t row, std::span<float> out) const {
        check_row(row, out.size(), depth_, " numbers");
        for (std::size_t k = 0; k < depth_; ++k) out[k] = weight_at(format_, place(row, k));
    }

    /// The row's bytes as set_row took them; of q8_0 and q4_0 only.
    void row_blocks(std::size_t row, std::span<std::byte> out) const {
        if (format_ != storage::q8_0 && format_ != storage::q4_0) {
            detail::fail("blocks are given back of q8_0 and q4_0, not of ", layout_.name);
        }
        check_row(row, out.size(), depth_ / layout_.file_depth * layout_.file_bytes, " bytes");
        for (std::size_t k = 0, at = 0; k < depth_; k += layout_.file_depth, at += layout_.file_bytes) {
            unpack_block(format_, place(row, k), out.data() + at);
        }
    }

 private:
    packed_place place(std::size_t row, std::size_t k) const {
        const std::size_t block = k / layout_.depth;
        std::byte* panel = const_cast<std::byte*>(memory_.data()) + row / panel_rows * panel_bytes_;
        return {panel + block * layout_.header_bytes, panel + word_offset_ + block * layout_.word_bytes,
                row % panel_rows, k % layout_.depth};
    }

    void check_row(std::size_t row, std::size_t found, std::size_t wanted, const char* unit) const {
        if (row >= rows_) detail::fail("row ", row, " of a matrix of ", rows_, " rows");
        if (found != wanted) detail::fail("a row of this matrix has ", wanted, unit, ", not ", found);
    }

    storage format_ = storage::f32;
    storage_layout layout_{};
    std::size_t rows_ = 0, depth_ = 0, word_offset_ = 0, panel_bytes_ = 0;
    aligned_buffer memory_;
};

/// The task of multiplying `columns` prepared columns by the whole matrix; narrow `first_panel` and `last_panel` to
/// share it. For f32 and f16 the columns may be plain floats, `depth` apart (the stride is then 4 * depth bytes).
inline product_task product_of(const packed_matrix& matrix, const std::byte* x, std::size_t columns, float* y) {
    product_task task;
    task.format = matrix.format();
    task.panels = matrix.data();
    task.panel_bytes = matrix.panel_bytes();
    task.word_offset = matrix.word_offset();
    task.last_panel = matrix.panels();
    task.rows = matrix.rows();
    task.depth = matrix.depth();
    task.x = x;
    const input_format inputs = input_of(matrix.format());
    task.x_stride = inputs == input_format::f32 ? matrix.depth() * sizeof(float) : input_bytes(inputs, matrix.depth());
    task.columns = columns;
    task.y = y;
    task.y_stride = matrix.rows();
    return task;
}

}  // namespace augur::backend::host
