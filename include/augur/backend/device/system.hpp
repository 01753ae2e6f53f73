#pragma once
// Where kernels run and what they work on lies: a system has memory, moves it to and from the host, and plays kernels in the
// order in which they were launched. played_system is the one that needs no GPU; cuda_system.hpp has the other.

#include <concepts>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/backend/device/team.hpp"
#include "augur/types/error.hpp"

namespace augur::backend::device {

/// A kernel is a function object of plain values: `threads` that a block has (whole warps), bytes of memory that they share, and
/// the call `kernel(team)`, which is what a block does (team.hpp).
template <class K>
concept Kernel = std::is_trivially_copyable_v<K> && requires(const K& kernel) {
    { K::threads } -> std::convertible_to<unsigned>;
    { kernel.shared_bytes() } -> std::convertible_to<std::size_t>;
};

/// `launch(blocks, kernel)`; `allocate(bytes)` and `release(pointer)`; `upload(to, from, bytes)`, `download`, `copy` within
/// the system and `clear`; `wait()` until all is done. Launches, copies and clearing are done in their order.
/// A download is done when it returns; what is uploaded may be changed as soon as upload returns.
template <class S>
concept System = std::copyable<S> && requires(const S& system, void* to, const void* from, std::size_t bytes) {
    { system.allocate(bytes) } -> std::same_as<void*>;
    system.release(to);
    system.upload(to, from, bytes);
    system.download(to, from, bytes);
    system.copy(to, from, bytes);
    system.clear(to, bytes);
    system.wait();
};

/// `record(body)`: what the body launches, not run but kept, with the values of its parameters; `replay(recording)` then launches
/// all of it at once. The body does nothing but launch. `records()`: whether this one can.
template <class S>
concept RecordingSystem = System<S> && requires(const S& system, void (&body)()) {
    { system.records() } -> std::same_as<bool>;
    system.replay(system.record(body));
};

/// Kernels on the calling thread, block after block: for tests, and for reading a kernel's results where there is no GPU.
/// `backwards` plays blocks and threads from the last to the first.
struct played_system {
    bool backwards = false;

    template <Kernel K>
    void launch(std::size_t blocks, const K& kernel) const {
        if (recorder() != nullptr)
            return recorder()->push_back([on = *this, blocks, kernel] { on.launch(blocks, kernel); });
        static_assert(K::threads % warp_size == 0 && K::threads <= most_threads);
        std::vector<std::max_align_t> shared(kernel.shared_bytes() / sizeof(std::max_align_t) + 1);
        for (std::size_t i = 0; i < blocks; ++i) {
            std::memset(shared.data(), 0xff, shared.size() * sizeof(std::max_align_t));  // NaNs, to be noticed
            const played_team team(backwards ? blocks - 1 - i : i, K::threads,
                                   reinterpret_cast<std::byte*>(shared.data()), backwards);
            kernel(team);
        }
    }

    void* allocate(std::size_t bytes) const {
        void* const made = std::malloc(bytes);
        if (made == nullptr) throw std::bad_alloc();
        std::memset(made, 0xff, bytes);
        return made;
    }
    void release(void* memory) const { std::free(memory); }
    void upload(void* to, const void* from, std::size_t bytes) const { std::memcpy(to, from, bytes); }
    void download(void* to, const void* from, std::size_t bytes) const { std::memcpy(to, from, bytes); }
    void copy(void* to, const void* from, std::size_t bytes) const { std::memmove(to, from, bytes); }
    void clear(void* to, std::size_t bytes) const { std::memset(to, 0, bytes); }
    void wait() const {}

    using recording = std::vector<std::function<void()>>;

    bool records() const { return true; }

    template <class Body>
    recording record(const Body& body) const {
        recording made;
        recorder() = &made;
        body();
        recorder() = nullptr;
        return made;
    }
    void replay(const recording& made) const {
        for (const auto& launch : made) launch();
    }

 private:
    static recording*& recorder() {
        static thread_local recording* current = nullptr;
        return current;
    }
};

static_assert(RecordingSystem<played_system>);

/// Room for so many T in a system's memory; undefined at first.
template <class T, System S>
class buffer {
    static_assert(std::is_trivially_copyable_v<T>);

 public:
    buffer() = default;
    buffer(const S& on, std::size_t size)
        : memory_(size == 0 ? nullptr : static_cast<T*>(on.allocate(size * sizeof(T))), releaser{on}), size_(size) {}
    /// A copy of what lies on the host.
    buffer(const S& on, std::span<const T> from) : buffer(on, from.size()) {
        if (size_ > 0) on.upload(data(), from.data(), size_ * sizeof(T));
    }

    T* data() const { return memory_.get(); }
    std::size_t size() const { return size_; }
    std::size_t memory_bytes() const { return size_ * sizeof(T); }
    std::vector<T> on_host() const {
        std::vector<T> out(size_);
        if (size_ > 0) memory_.get_deleter().on.download(out.data(), data(), memory_bytes());
        return out;
    }

 private:
    struct releaser {
        S on{};

        void operator()(T* memory) const { on.release(memory); }
    };
    std::unique_ptr<T, releaser> memory_;
    std::size_t size_ = 0;
};

}  // namespace augur::backend::device
