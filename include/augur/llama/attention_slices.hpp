#pragma once
// Splits attention into steps for more threads than there are key-value heads.

#include <algorithm>
#include <cstddef>

#include "augur/backend/host/kernels.hpp"
#include "augur/backend/host/packed_matrix.hpp"
#include "augur/backend/host/thread_pool.hpp"
#include "augur/llama/score_rule.hpp"

namespace augur::llama {

/// One task of kernels::attention, cut into slices: by positions for scores, by components for values. Slices of one
/// step may run at once; a step waits for the one before it. Every number is the sum it is in kernels::attention, in
/// the same order, so the bits are the same. Slices of values write apart: see take().
class attention_slices {
 public:
    using task = backend::host::attention_task;

    attention_slices(const backend::host::kernels& kernels, const task& whole, const score_rule& rule = {})
        : kernels_(kernels), whole_(whole), rule_(rule) {}

    /// More slices of values would have nothing to do.
    std::size_t value_slices() const { return units(); }

    void scores(std::size_t slice, std::size_t slices) const {
        const auto mine = backend::host::part_of(blocks(), slice, slices);
        task part = whole_;
        part.blocks += mine.first;
        part.weights += mine.first * whole_.block_positions;
        const std::size_t last = std::min(mine.last * whole_.block_positions, seen());
        kernels_.attention_scores(part, last - mine.first * whole_.block_positions);
    }

    /// A column is a head of a row; there is nothing to do for those beyond.
    void softmax(std::size_t column) const {
        if (column >= columns()) return;
        rule_.weigh(kernels_, whole_.weights + column * whole_.stride, whole_.positions + column / whole_.heads,
                    column % whole_.heads);
    }

    void values(std::size_t slice, std::size_t slices) const {
        const task part = part_of_values(slice, slices);
        kernels_.attention_values(part, 0, whole_.positions, 0, columns());
        for (std::size_t row = 1; row < whole_.rows; ++row) {
            kernels_.attention_values(part, whole_.positions, whole_.positions + row, row * whole_.heads, whole_.heads);
        }
    }

    /// Copies what a slice came to, for one row, to where the row's components of these heads lie.
    void take(std::size_t slice, std::size_t slices, std::size_t row, float* out) const {
        const task part = part_of_values(slice, slices);
        const std::size_t first = first_component(slice, slices);
        for (std::size_t head = 0; head < whole_.heads; ++head) {
            const float* from = part.out + (row * whole_.heads + head) * part.head_size;
            std::copy_n(from, part.head_size, out + head * whole_.head_size + first);
        }
    }

 private:
    /// Components that are not parted: a panel, or what one scale is for.
    std::size_t unit() const { return is_plain() ? backend::host::panel_rows : backend::host::scaled_together; }
    bool is_plain() const { return whole_.format == backend::host::cache_format::f32; }
    std::size_t number_bytes() const { return is_plain() ? sizeof(float) : 1; }

    std::size_t columns() const { return whole_.rows * whole_.heads; }
    std::size_t seen() const { return whole_.positions + whole_.rows - 1; }
    std::size_t blocks() const { return (seen() + whole_.block_positions - 1) / whole_.block_positions; }
    std::size_t units() const { return (whole_.head_size + unit() - 1) / unit(); }
    std::size_t first_component(std::size_t slice, std::size_t slices) const {
        return std::min(backend::host::part_of(units(), slice, slices).first * unit(), whole_.head_size);
    }

    /// Fewer components, which lie by themselves: all columns of a slice before the next slice.
    task part_of_values(std::size_t slice, std::size_t slices) const {
        const std::size_t first = first_component(slice, slices);
        task part = whole_;
        part.head_size = first_component(slice + 1, slices) - first;
        part.value_offset += first * whole_.block_positions * number_bytes();
        part.value_scales += first / backend::host::scaled_together * whole_.block_positions * 2;
        part.out += columns() * first;
        return part;
    }

    const backend::host::kernels& kernels_;
    task whole_;
    score_rule rule_;
};

}  // namespace augur::llama
