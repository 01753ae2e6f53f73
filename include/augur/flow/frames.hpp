#pragma once
// Memory for the frames of coroutines: taken from the heap until it has grown to what a round needs, and never given back before.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace augur::flow {

/// A stack of frames. What was taken last is given back first, as coroutines that await each other do. Must not be moved while a
/// frame is in it, for frames hold its address; moving leaves it empty.
class frames {
 public:
    frames() = default;
    frames(frames&& other) noexcept
        : blocks_(std::exchange(other.blocks_, {})), used_blocks_(std::exchange(other.used_blocks_, 0)) {}
    frames& operator=(frames&& other) noexcept {
        blocks_ = std::exchange(other.blocks_, {});
        used_blocks_ = std::exchange(other.used_blocks_, 0);
        return *this;
    }

    void* take(std::size_t size) {
        size = rounded(size);
        while (used_blocks_ > 0 && top().size - top().used < size && used_blocks_ < blocks_.size()) ++used_blocks_;
        if (used_blocks_ == 0 || top().size - top().used < size) add_block(size);
        block& from = top();
        void* const taken = from.memory.get() + from.used;
        from.used += size;
        return taken;
    }

    /// The size that was asked for.
    void give_back(std::size_t size) noexcept {
        top().used -= rounded(size);
        while (used_blocks_ > 1 && top().used == 0) --used_blocks_;
    }

    /// Bytes of frames that live.
    std::size_t used() const {
        std::size_t sum = 0;
        for (const block& each : blocks_) sum += each.used;
        return sum;
    }
    /// Bytes that it has taken from the heap.
    std::size_t memory_bytes() const {
        std::size_t sum = 0;
        for (const block& each : blocks_) sum += each.size;
        return sum;
    }

 private:
    struct block {
        std::unique_ptr<std::byte[]> memory;
        std::size_t size = 0;
        std::size_t used = 0;
    };
    static constexpr std::size_t alignment = alignof(std::max_align_t);
    static constexpr std::size_t smallest_block = 4096;

    static std::size_t rounded(std::size_t size) { return (size + alignment - 1) / alignment * alignment; }
    block& top() { return blocks_[used_blocks_ - 1]; }

    void add_block(std::size_t size) {
        const std::size_t wanted = std::max({smallest_block, size, blocks_.empty() ? 0 : 2 * blocks_.back().size});
        blocks_.push_back({std::make_unique<std::byte[]>(wanted), wanted});
        used_blocks_ = blocks_.size();
    }

    std::vector<block> blocks_;
    std::size_t used_blocks_ = 0;  // those up to the one that is filled now
};

}  // namespace augur::flow
