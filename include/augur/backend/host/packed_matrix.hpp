#pragma once
// A weight matrix in the kernels' layout.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "augur/backend/host/aligned_buffer.hpp"
#include "augur/backend/host/half.hpp"
#include "augur/backend/host/kernel_tasks.hpp"
#include "augur/backend/host/storage.hpp"
#include "augur/types/error.hpp"

namespace augur::backend::host {

/// `rows` outputs by `depth` inputs in panels of 16 rows (see storage.hpp). Rows are written once, one at a time, then
/// only read. Rows that fill up the last panel are zero.
class packed_matrix {
 public:
    packed_matrix() = default;

    packed_matrix(storage format, std::size_t rows, std::size_t depth)
        : format_(format), layout_(layout_of(format)), rows_(rows), depth_(depth) {
        if (rows == 0 || depth == 0) detail::fail("a packed matrix of ", rows, " rows by ", depth, " has no weights");
        if (layout_.depth > 2 && depth % layout_.depth != 0) {
            detail::fail(layout_.name, " packs blocks of ", layout_.depth, ", which ", depth, " is no multiple of");
        }
        panel_bytes_ = ((depth + layout_.depth - 1) / layout_.depth * layout_.bytes + 63) / 64 * 64;
        memory_ = aligned_buffer(panels() * panel_bytes_);
        std::memset(memory_.data() + (panels() - 1) * panel_bytes_, 0, panel_bytes_);
        if (format == storage::bf16 && depth % 2 != 0) std::memset(memory_.data(), 0, memory_.size());
    }

    storage format() const { return format_; }
    std::size_t rows() const { return rows_; }
    std::size_t depth() const { return depth_; }
    std::size_t panels() const { return (rows_ + panel_rows - 1) / panel_rows; }
    std::size_t panel_bytes() const { return panel_bytes_; }
    const std::byte* data() const { return memory_.data(); }
    std::size_t memory_bytes() const { return memory_.size(); }

    /// Writes one row of an f32 or bf16 matrix; bf16 rounds to nearest even.
    void set_row(std::size_t row, std::span<const float> values) {
        if (format_ != storage::f32 && format_ != storage::bf16) detail::fail("rows of ", layout_.name, " are packed");
        check_row(row, values.size(), depth_, " numbers");
        std::byte* to = block_of(row, 0) + 4 * lane(row);
        for (std::size_t k = 0; k < depth_; ++k) {
            if (format_ == storage::f32) {
                put(to + 64 * k, values[k]);
            } else {
                put(to + 64 * (k / 2) + 2 * (k % 2), float_to_bfloat16(values[k]));
            }
        }
    }

    /// Writes one row from its bytes in a model file (GGUF's block formats, or plain 16-bit floats), without rounding.
    void set_packed_row(std::size_t row, std::span<const std::byte> bytes) {
        const std::size_t block = row_block_bytes();
        check_row(row, bytes.size(), depth_ / layout_.depth * block, " bytes");
        for (std::size_t k = 0, at = 0; k < depth_; k += layout_.depth, at += block) {
            pack_block(block_of(row, k), lane(row), bytes.data() + at);
        }
    }

    /// The row as floats, exactly as dequantisation gives them.
    void unpack_row(std::size_t row, std::span<float> out) const {
        check_row(row, out.size(), depth_, " numbers");
        for (std::size_t k = 0; k < depth_; ++k) out[k] = at(row, k);
    }

 private:
    static std::size_t lane(std::size_t row) { return row % panel_rows; }
    template <class T>
    static void put(std::byte* to, T value) {
        std::memcpy(to, &value, sizeof value);
    }
    template <class T>
    static T get(const std::byte* from) {
        T value;
        std::memcpy(&value, from, sizeof value);
        return value;
    }

    std::size_t offset_of(std::size_t row, std::size_t k) const {
        return row / panel_rows * panel_bytes_ + k / layout_.depth * layout_.bytes;
    }
    std::byte* block_of(std::size_t row, std::size_t k) { return memory_.data() + offset_of(row, k); }

    void check_row(std::size_t row, std::size_t found, std::size_t wanted, const char* unit) const {
        if (row >= rows_) detail::fail("row ", row, " of a matrix of ", rows_, " rows");
        if (found != wanted) detail::fail("a row of this matrix has ", wanted, unit, ", not ", found);
    }

    float at(std::size_t row, std::size_t k) const {
        const std::byte* block = memory_.data() + offset_of(row, k);
        const std::size_t i = lane(row), j = k % layout_.depth;
        const float scale = half_to_float(get<std::uint16_t>(block + 2 * i));
        switch (format_) {
            case storage::f32:
                return get<float>(block + 4 * i);
            case storage::f16:
                return scale;
            case storage::bf16:
                return bfloat16_to_float(get<std::uint16_t>(block + 4 * i + 2 * j));
            case storage::q8_0:
                return scale * static_cast<float>(get<std::int8_t>(block + 32 + 16 * j + i));
            case storage::q4_0:
                return scale * static_cast<float>(nibble(block + 32, i, j) - 8);
            case storage::q4_1: {
                const float minimum = half_to_float(get<std::uint16_t>(block + 32 + 2 * i));
                return scale * static_cast<float>(nibble(block + 64, i, j)) + minimum;  // the product is exact
            }
        }
        detail::fail("no storage format has the number ", static_cast<int>(format_));
    }
    static int nibble(const std::byte* words, std::size_t lane, std::size_t j) {
        return static_cast<int>(get<std::uint32_t>(words + 64 * (j / 8) + 4 * lane) >> (4 * (j % 8)) & 15u);
    }

    std::size_t row_block_bytes() const {
        switch (format_) {
            case storage::f16:
                return 2;
            case storage::q8_0:
                return 34;
            case storage::q4_0:
                return 18;
            case storage::q4_1:
                return 20;
            case storage::f32:
            case storage::bf16:
                break;
        }
        detail::fail("rows of ", layout_.name, " are set as floats");
    }

    void pack_block(std::byte* to, std::size_t row_lane, const std::byte* from) {
        std::memcpy(to + 2 * row_lane, from, 2);
        if (format_ == storage::q8_0) {
            for (std::size_t k = 0; k < 32; ++k) to[32 + 16 * k + row_lane] = from[2 + k];
        } else if (format_ == storage::q4_0) {
            pack_nibbles(to + 32, row_lane, from + 2);
        } else if (format_ == storage::q4_1) {
            std::memcpy(to + 32 + 2 * row_lane, from + 2, 2);
            pack_nibbles(to + 64, row_lane, from + 4);
        }
    }
    /// GGUF's byte i holds k = i in its low half and k = i + 16 in its high half.
    static void pack_nibbles(std::byte* words, std::size_t row_lane, const std::byte* from) {
        for (std::size_t word = 0; word < 4; ++word) {
            std::uint32_t bits = 0;
            for (std::size_t j = 0; j < 8; ++j) {
                const auto byte = static_cast<std::uint32_t>(from[(8 * word + j) % 16]);
                bits |= (word < 2 ? byte & 15u : byte >> 4) << (4 * j);
            }
            put(words + 64 * word + 4 * row_lane, bits);
        }
    }

    storage format_ = storage::f32;
    storage_layout layout_{};
    std::size_t rows_ = 0, depth_ = 0, panel_bytes_ = 0;
    aligned_buffer memory_;
};

/// The task of multiplying `columns` columns by the whole matrix; narrow `first_panel` and `last_panel` to share it.
inline product_task product_of(const packed_matrix& matrix, const float* x, std::size_t columns, float* y) {
    product_task task;
    task.format = matrix.format();
    task.panels = matrix.data();
    task.panel_bytes = matrix.panel_bytes();
    task.last_panel = matrix.panels();
    task.rows = matrix.rows();
    task.depth = matrix.depth();
    task.x = x;
    task.x_stride = matrix.depth();
    task.columns = columns;
    task.y = y;
    task.y_stride = matrix.rows();
    return task;
}

}  // namespace augur::backend::host
