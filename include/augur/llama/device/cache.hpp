#pragma once
// The key-value cache of one sequence in device memory.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "augur/backend/device/element.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/types/error.hpp"

namespace augur::llama::device {

namespace kernels = augur::backend::device;

/// Blocks of 256 slots. In a block every layer and key-value head has its keys, one slot after the other, and then its
/// values. Sizes and offsets are in Elements.
struct cache_layout {
    static constexpr std::size_t block_positions = 256;

    std::size_t layers = 0, heads = 0, head_size = 0;

    /// From a slot's key to its value.
    AUGUR_HOST_DEVICE std::size_t keys_size() const { return block_positions * head_size; }
    AUGUR_HOST_DEVICE std::size_t block_size() const { return layers * heads * 2 * keys_size(); }
    /// In the slot's block.
    AUGUR_HOST_DEVICE std::size_t key_offset(std::size_t layer, std::size_t head, std::size_t slot) const {
        return (layer * heads + head) * 2 * keys_size() + slot % block_positions * head_size;
    }
    AUGUR_HOST_DEVICE std::size_t value_offset(std::size_t layer, std::size_t head, std::size_t slot) const {
        return key_offset(layer, head, slot) + keys_size();
    }

    /// The slot's key, of head_size Elements.
    template <class Element>
    AUGUR_KERNEL Element* key(const std::byte* const* blocks, std::size_t layer, std::size_t head,
                              std::size_t slot) const {
        std::byte* const block = const_cast<std::byte*>(blocks[slot / block_positions]);
        return reinterpret_cast<Element*>(block) + key_offset(layer, head, slot);
    }

    bool operator==(const cache_layout&) const = default;
};

/// Moves keys and values of slots[i] to slot first + i. Slots ascend, none below where it goes: so nothing is written
/// over before it has moved. A block for the keys, and one for the values, of every layer and head.
template <class Element>
struct move_slots {
    static constexpr unsigned threads = 64;

    const std::byte* const* blocks;
    cache_layout layout;
    const std::int32_t* slots;
    std::size_t count;
    std::size_t first;

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const std::size_t layer = team.block() / 2 / layout.heads, head = team.block() / 2 % layout.heads;
        const std::size_t half = team.block() % 2 * layout.keys_size();
        team.each([&](unsigned thread) {
            for (std::size_t i = 0; i < count; ++i) {  // a thread's components are moved by no other
                const auto slot = static_cast<std::size_t>(slots[i]);
                const Element* const from = layout.key<Element>(blocks, layer, head, slot) + half;
                Element* const to = layout.key<Element>(blocks, layer, head, first + i) + half;
                for (std::size_t k = thread; k < layout.head_size; k += threads) to[k] = from[k];
            }
        });
    }
};

/// A sequence's keys and values as Elements, grown a block at a time.
template <class Element, kernels::System S>
class kv_cache {
 public:
    kv_cache(const S& on, const cache_layout& layout) : on_(on), layout_(layout) {
        if (layout.layers == 0 || layout.heads == 0 || layout.head_size == 0) {
            augur::detail::fail("a cache of ", layout.layers, " layers with ", layout.heads, " heads of size ",
                                layout.head_size, " holds nothing");
        }
    }

    const cache_layout& layout() const { return layout_; }
    /// Of the blocks and of their table.
    std::size_t memory_bytes() const {
        return blocks_.size() * layout_.block_size() * sizeof(Element) + table_.memory_bytes();
    }
    /// Addresses of the blocks, in the system's memory; valid until more is reserved.
    const std::byte* const* blocks() const { return table_.data(); }

    /// Room for `positions` slots. New blocks are zero; keys and values stay where they are.
    void reserve(std::size_t positions) {
        const std::size_t wanted = (positions + cache_layout::block_positions - 1) / cache_layout::block_positions;
        if (wanted <= listed_) return;
        while (blocks_.size() < wanted) {
            kernels::buffer<Element, S> block(on_, layout_.block_size());
            on_.clear(block.data(), block.memory_bytes());
            blocks_.push_back(std::move(block));
        }
        std::vector<const std::byte*> addresses;
        for (const auto& block : blocks_) addresses.push_back(reinterpret_cast<const std::byte*>(block.data()));
        if (wanted > table_.size()) {
            table_ = kernels::buffer<const std::byte*, S>(on_, std::max(wanted, 2 * table_.size()));
        }
        on_.upload(table_.data(), addresses.data(), addresses.size() * sizeof(addresses[0]));
        listed_ = wanted;
    }

    /// See move_slots; `slots` lies in the system's memory.
    void keep(std::size_t first, const std::int32_t* slots, std::size_t count) const {
        if (count == 0) return;
        on_.launch(2 * layout_.layers * layout_.heads, move_slots<Element>{blocks(), layout_, slots, count, first});
    }

 private:
    S on_;
    cache_layout layout_;
    std::vector<kernels::buffer<Element, S>> blocks_;
    kernels::buffer<const std::byte*, S> table_;
    std::size_t listed_ = 0;  // blocks that the table has
};

}  // namespace augur::llama::device
