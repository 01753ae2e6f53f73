#pragma once
// Memory that kernels and the host both read and write, without a copy.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "augur/backend/device/system.hpp"
#include "augur/detail/host_device.hpp"

namespace augur::backend::device {

/// Memory for so many T that kernels and the host see at one address; undefined at first. On CUDA it is memory of the
/// host, and a kernel's access crosses the bus: for a handful of words. The host writes before a launch and reads after
/// wait(); single words can also be handed over while kernels run, by publish() and published(). It must outlive what
/// was launched on it.
template <class T, System S>
class shared_buffer {
    static_assert(std::is_trivially_copyable_v<T>);

 public:
    shared_buffer() = default;
    shared_buffer(const S& on, std::size_t size)
        : memory_(size == 0 ? nullptr : static_cast<T*>(on.allocate_shared(size * sizeof(T))), releaser{on}),
          size_(size) {}

    T* data() const { return memory_.get(); }
    std::size_t size() const { return size_; }
    std::size_t memory_bytes() const { return size_ * sizeof(T); }
    std::span<T> values() const { return {data(), size_}; }

 private:
    struct releaser {
        S on{};

        void operator()(T* memory) const { on.release_shared(memory); }
    };
    std::unique_ptr<T, releaser> memory_;
    std::size_t size_ = 0;
};

/// Stores a word of shared memory, by a thread of a kernel or of the host. Who finds it by published() sees all that
/// the storing thread wrote or saw before, on either side of the bus. (What other threads of a block wrote, it sees
/// after the next phase.)
AUGUR_HOST_DEVICE inline void publish(std::uint32_t* word, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
    __threadfence_system();
    *static_cast<volatile std::uint32_t*>(word) = value;
#else
    std::atomic_ref(*word).store(value, std::memory_order_release);
#endif
}

/// The word as it was published last, for the host or for a thread of a kernel, while the other side may be writing it.
AUGUR_HOST_DEVICE inline std::uint32_t published(std::uint32_t* word) {
#if defined(__CUDA_ARCH__)
    const std::uint32_t found = *static_cast<volatile std::uint32_t*>(word);
    __threadfence_system();
    return found;
#else
    return std::atomic_ref(*word).load(std::memory_order_acquire);
#endif
}

}  // namespace augur::backend::device
