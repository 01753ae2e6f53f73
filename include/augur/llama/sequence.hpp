#pragma once
// What a Llama remembers of one sequence: keys and values of every layer, and the rows of its last run.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "augur/backend/host/aligned_buffer.hpp"
#include "augur/backend/host/storage.hpp"
#include "augur/llama/config.hpp"

namespace augur::llama {

/// How a key-value cache is laid out, in floats. It is a list of blocks of 256 positions. In a block every layer and
/// key-value head has its keys in panels of 16 positions by head_size, then its values in panels of 16 components by
/// 256 positions: both are then weight matrices to the skinny product.
struct cache_layout {
    static constexpr std::size_t block_positions = 256;

    std::size_t layers = 0, heads = 0, head_size = 0;

    std::size_t value_offset() const { return block_positions * head_size; }
    std::size_t head_floats() const {
        const std::size_t components = (head_size + backend::host::panel_rows - 1) / backend::host::panel_rows;
        return value_offset() + components * backend::host::panel_rows * block_positions;
    }
    std::size_t offset(std::size_t layer, std::size_t head) const { return (layer * heads + head) * head_floats(); }
    std::size_t block_floats() const { return layers * heads * head_floats(); }
    /// That so many positions take.
    std::size_t bytes(std::size_t positions) const {
        return (positions + block_positions - 1) / block_positions * block_floats() * sizeof(float);
    }

    bool operator==(const cache_layout&) const = default;
};

/// Keys and values in float32, grown a block at a time.
class key_value_cache {
 public:
    explicit key_value_cache(cache_layout layout) : layout_(layout) {}

    const cache_layout& layout() const { return layout_; }
    std::size_t memory_bytes() const { return storage_.size() * layout_.block_floats() * sizeof(float); }
    const float* const* blocks() const { return blocks_.data(); }

    /// Room for `positions` positions. New memory is zeroed, so that a step does not meet its page faults.
    void reserve(std::size_t positions) {
        while (storage_.size() * cache_layout::block_positions < positions) {
            blocks_.reserve(storage_.size() + 1);
            backend::host::aligned_buffer memory(layout_.block_floats() * sizeof(float));
            std::memset(memory.data(), 0, memory.size());
            storage_.push_back(std::move(memory));
            blocks_.push_back(reinterpret_cast<float*>(storage_.back().data()));
        }
    }

    /// Stores what one position is attended by; it must have been reserved.
    void write(std::size_t layer, std::size_t head, std::size_t position, const float* key, const float* value) {
        using backend::host::panel_rows;
        const std::size_t row = position % cache_layout::block_positions;
        float* keys = blocks_[position / cache_layout::block_positions] + layout_.offset(layer, head);
        float* values = keys + layout_.value_offset() + row * panel_rows;
        keys += row / panel_rows * panel_rows * layout_.head_size + row % panel_rows;
        for (std::size_t i = 0; i < layout_.head_size; ++i) {
            keys[i * panel_rows] = key[i];
            values[i / panel_rows * cache_layout::block_positions * panel_rows + i % panel_rows] = value[i];
        }
    }

 private:
    cache_layout layout_;
    std::vector<backend::host::aligned_buffer> storage_;
    std::vector<float*> blocks_;
};

/// A sequence of one host_model: owned by the caller, moved but not copied, changed only by the model.
class sequence {
 public:
    explicit sequence(cache_layout layout) : cache_(layout) {}

    std::size_t length() const { return length_; }
    /// Of the cache, and of what the last runs left.
    std::size_t memory_bytes() const {
        const std::size_t floats =
            logits_.capacity() + hidden_.capacity() + waiting_.capacity() + tap_.capacity() + kept_.capacity();
        return cache_.memory_bytes() + floats * sizeof(float);
    }

 private:
    friend class host_model;
    friend class host_passes;

    key_value_cache cache_;
    std::size_t length_ = 0;
    std::size_t rows_ = 0, shown_ = 0;  ///< of the last run: rows of logits, and of hidden states
    backend::host::float_buffer logits_, hidden_;
    std::vector<float> waiting_;        ///< states of the last positions, which lack layers
    std::size_t split_ = 0;             ///< layers that these have been through
    backend::host::float_buffer tap_;   ///< of the last of them, and the last of these layers
    std::vector<std::int32_t> tree_;    ///< parents in the tree of the last run
    std::size_t tree_at_ = 0;           ///< the length then
    backend::host::float_buffer kept_;  ///< keys and values of its nodes: nodes x layers x (keys, then values)
    std::vector<const float*> places_;  ///< where the rows of a run lie that began with this sequence
};

}  // namespace augur::llama
