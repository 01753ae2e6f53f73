#pragma once
// The key-value cache of a sequence, as attention reads it.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "augur/backend/host/aligned_buffer.hpp"
#include "augur/backend/host/kernel_tasks.hpp"
#include "augur/backend/host/storage.hpp"
#include "augur/io/files/quantize.hpp"
#include "augur/types/error.hpp"

namespace augur::llama {

using backend::host::cache_format;

/// How a key-value cache is laid out, in bytes. It is a list of blocks of 256 positions. In a block every layer and
/// key-value head has its keys in panels of 16 positions by head_size, then its values in panels of 16 components by
/// 256 positions: both are then weight matrices to the skinny product. Scales, where there are any, follow each.
struct cache_layout {
    static constexpr std::size_t block_positions = 256;

    std::size_t layers = 0, heads = 0, head_size = 0;
    cache_format format = cache_format::f32;

    std::size_t number_bytes() const { return format == cache_format::f32 ? sizeof(float) : 1; }
    std::size_t scale_bytes() const {
        return format == cache_format::f32 ? 0 : head_size / backend::host::scaled_together * 2 * block_positions;
    }
    std::size_t key_scales() const { return block_positions * head_size * number_bytes(); }
    std::size_t value_offset() const { return key_scales() + scale_bytes(); }
    std::size_t value_scales() const {
        const std::size_t components = (head_size + backend::host::panel_rows - 1) / backend::host::panel_rows;
        return value_offset() + components * backend::host::panel_rows * block_positions * number_bytes();
    }
    std::size_t head_bytes() const { return value_scales() + scale_bytes(); }
    std::size_t offset(std::size_t layer, std::size_t head) const { return (layer * heads + head) * head_bytes(); }
    std::size_t block_bytes() const { return layers * heads * head_bytes(); }
    /// That so many positions take.
    std::size_t bytes(std::size_t positions) const {
        return (positions + block_positions - 1) / block_positions * block_bytes();
    }

    bool operator==(const cache_layout&) const = default;
};

/// Throws where heads of this size cannot be kept so. `origin`: the model's file, if it has one.
inline void check_cache_format(cache_format format, std::size_t head_size, const std::string& origin = {}) {
    if (format == cache_format::q8_0 && head_size % backend::host::scaled_together != 0) {
        augur::detail::fail(origin, origin.empty() ? "" : ": ", "keys and values in Q8_0 need heads of a multiple of ",
                            backend::host::scaled_together, " components, and the model's have ", head_size);
    }
}

/// Grown a block at a time. What a position reads as depends on what was written there alone.
class key_value_cache {
 public:
    explicit key_value_cache(cache_layout layout) : layout_(layout) {}

    const cache_layout& layout() const { return layout_; }
    std::size_t memory_bytes() const { return storage_.size() * layout_.block_bytes(); }

    /// Tells a task where those of a layer's head lie.
    void show(backend::host::attention_task& task, std::size_t layer, std::size_t head) const {
        const std::size_t at = layout_.offset(layer, head);
        task.format = layout_.format;
        task.blocks = blocks_.data();
        task.block_positions = cache_layout::block_positions;
        task.head_size = layout_.head_size;
        task.key_offset = at;
        task.value_offset = at + layout_.value_offset();
        task.key_scales = at + layout_.key_scales();
        task.value_scales = at + layout_.value_scales();
    }

    /// Room for `positions` positions. New memory is zeroed, so that a step does not meet its page faults.
    void reserve(std::size_t positions) {
        while (storage_.size() * cache_layout::block_positions < positions) {
            blocks_.reserve(storage_.size() + 1);
            backend::host::aligned_buffer memory(layout_.block_bytes());
            std::memset(memory.data(), 0, memory.size());
            storage_.push_back(std::move(memory));
            blocks_.push_back(storage_.back().data());
        }
    }

    /// Stores what one position is attended by; it must have been reserved.
    void write(std::size_t layer, std::size_t head, std::size_t position, const float* key, const float* value) {
        const std::size_t row = position % cache_layout::block_positions;
        std::byte* to = blocks_[position / cache_layout::block_positions] + layout_.offset(layer, head);
        if (layout_.format == cache_format::f32) {
            auto* keys = reinterpret_cast<float*>(to);
            auto* values = reinterpret_cast<float*>(to + layout_.value_offset());
            return place(row, key, value, keys, values, 0, layout_.head_size);
        }
        for (std::size_t first = 0; first < layout_.head_size; first += backend::host::scaled_together) {
            const scaled keys(key + first), values(value + first);
            place(row, keys.numbers(), values.numbers(), reinterpret_cast<std::int8_t*>(to),
                  reinterpret_cast<std::int8_t*>(to + layout_.value_offset()), first, backend::host::scaled_together);
            const std::size_t scale = first / backend::host::scaled_together * cache_layout::block_positions + row;
            std::memcpy(to + layout_.key_scales() + 2 * scale, keys.block, 2);
            std::memcpy(to + layout_.value_scales() + 2 * scale, values.block, 2);
        }
    }

 private:
    /// 32 numbers as a block of Q8_0. Numbers that are not finite make all of them NaN.
    struct scaled {
        std::uint8_t block[2 + backend::host::scaled_together] = {};

        explicit scaled(const float* from) {
            float largest = 0;
            bool finite = true;
            for (std::size_t i = 0; i < backend::host::scaled_together; ++i) {
                finite &= std::isfinite(from[i]);
                largest = std::max(largest, std::abs(from[i]));
            }
            if (!finite) {
                io::store_u16(block, augur::detail::float_to_half(std::numeric_limits<float>::quiet_NaN()));
            } else if (largest > 1e-6f) {  // the scale of smaller ones is 0
                io::quantize_block<io::tensor_type::q8_0>(from, block);
            }
        }
        const std::int8_t* numbers() const { return reinterpret_cast<const std::int8_t*>(block + 2); }
    };

    /// Puts the components [first, first + count) of a position where its block's keys and values have them.
    template <class Number>
    void place(std::size_t row, const Number* key, const Number* value, Number* keys, Number* values, std::size_t first,
               std::size_t count) const {
        using backend::host::panel_rows;
        keys += row / panel_rows * panel_rows * layout_.head_size + row % panel_rows;
        values += row * panel_rows;
        for (std::size_t i = first; i < first + count; ++i) {
            keys[i * panel_rows] = *key++;
            values[i / panel_rows * cache_layout::block_positions * panel_rows + i % panel_rows] = *value++;
        }
    }

    cache_layout layout_;
    std::vector<backend::host::aligned_buffer> storage_;
    std::vector<std::byte*> blocks_;
};

}  // namespace augur::llama
