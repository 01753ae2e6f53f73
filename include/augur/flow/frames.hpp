#pragma once
// An arena for coroutine frames: grows to what a round needs and is then reused.

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

namespace augur::flow {

/// A stack of frames. What was taken last is given back first, as coroutines that await each other do. Must not be
/// moved while a frame is in it, for frames hold its address; moving leaves it empty.
class frames {
 public:
    frames() = default;
    frames(frames&& other) noexcept { swap(other); }
    frames& operator=(frames&& other) noexcept {
        frames(std::move(other)).swap(*this);
        return *this;
    }
    ~frames() {
        while (first_ != nullptr) ::operator delete(std::exchange(first_, first_->above));
    }

    void* take(std::size_t size) {
        size = rounded(size);
        while (top_ == nullptr || top_->size - top_->used < size) {
            block*& above = top_ == nullptr ? first_ : top_->above;
            if (above == nullptr) above = new_block(size);
            top_ = above;
        }
        void* const taken = reinterpret_cast<std::byte*>(top_) + header + top_->used;
        top_->used += size;
        return taken;
    }

    /// The size that was asked for.
    void give_back(std::size_t size) noexcept {
        top_->used -= rounded(size);
        while (top_->below != nullptr && top_->used == 0) top_ = top_->below;
    }

    /// Bytes of frames that live.
    std::size_t used() const {
        std::size_t sum = 0;
        for (const block* each = first_; each != nullptr; each = each->above) sum += each->used;
        return sum;
    }
    /// Bytes that it has taken from the heap for frames.
    std::size_t memory_bytes() const {
        std::size_t sum = 0;
        for (const block* each = first_; each != nullptr; each = each->above) sum += each->size;
        return sum;
    }

 private:
    /// Its memory lies behind it.
    struct block {
        std::size_t size = 0;
        std::size_t used = 0;
        block* below = nullptr;
        block* above = nullptr;
    };
    static constexpr std::size_t alignment = alignof(std::max_align_t);
    static constexpr std::size_t smallest_block = 4096;

    static constexpr std::size_t rounded(std::size_t size) { return (size + alignment - 1) / alignment * alignment; }
    static constexpr std::size_t header = (sizeof(block) + alignment - 1) / alignment * alignment;

    /// Above the top.
    block* new_block(std::size_t size) {
        const std::size_t wanted = std::max({smallest_block, size, top_ == nullptr ? 0 : 2 * top_->size});
        return new (::operator new(header + wanted)) block{.size = wanted, .below = top_};
    }

    void swap(frames& other) noexcept {
        std::swap(first_, other.first_);
        std::swap(top_, other.top_);
    }

    block* first_ = nullptr;
    block* top_ = nullptr;  // the one that is filled now
};

}  // namespace augur::flow
