#pragma once
// The device abstraction: memory, copies and in-order kernel launches. emulated_system needs no GPU; cuda_system.hpp is
// the GPU's.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/backend/device/team.hpp"
#include "augur/types/error.hpp"

namespace augur::backend::device {

/// A kernel is a function object of plain values: `threads` that a block has (whole warps), bytes of memory that they
/// share, and the call `kernel(team)`, which is what a block does (team.hpp). One that has `starts_early` may run while
/// the launch before it does: until it calls team.wait_for_earlier() it reads only what neither that one nor the host
/// writes meanwhile, and writes nothing but shared memory; every thread calls it.
template <class K>
concept Kernel = std::is_trivially_copyable_v<K> && requires(const K& kernel) {
    { K::threads } -> std::convertible_to<unsigned>;
    { kernel.shared_bytes() } -> std::convertible_to<std::size_t>;
};

/// `launch(blocks, kernel)`; `allocate(bytes)` and `release(pointer)`; `allocate_shared(bytes)` and
/// `release_shared(pointer)`, memory that kernels and the host both read and write (shared_buffer.hpp);
/// `upload(to, from, bytes)`, `download`, `copy` within the system and `clear`; `wait()` until all is done; `idle()`:
/// whether it is. Launches, copies and clearing are done in their order. A download is done when it returns; what is
/// uploaded may be changed as soon as upload returns. Several threads may use a system: each call is done before the
/// next begins, and none while another thread records.
template <class S>
concept System = std::copyable<S> && requires(const S& system, void* to, const void* from, std::size_t bytes) {
    { system.allocate(bytes) } -> std::same_as<void*>;
    system.release(to);
    { system.allocate_shared(bytes) } -> std::same_as<void*>;
    system.release_shared(to);
    system.upload(to, from, bytes);
    system.download(to, from, bytes);
    system.copy(to, from, bytes);
    system.clear(to, bytes);
    system.wait();
    { system.idle() } -> std::same_as<bool>;
};

/// `record(body)`: what the body launches, copies within the system and clears, not run but kept, with the values of
/// its parameters; `replay(recording)` then launches all of it at once. The body does nothing else on the system:
/// nothing is allocated, uploaded, downloaded, waited for or replayed in it. `records()`: whether this one can, now; in
/// a recording it cannot.
template <class S>
concept RecordingSystem = System<S> && requires(const S& system, void (&body)()) {
    { system.records() } -> std::same_as<bool>;
    system.replay(system.record(body));
};

/// Loops and choices by words in the system's memory (of allocate), run at once or, in a body of record, recorded:
///   `repeat_while(flag, body)`          what body() launches, again while *flag is not 0, tested before each turn;
///   `choose(index, count, body)`        what body(i) launches for i = *index; nothing where *index >= count.
/// They nest. Recorded, each body is called once, and the words are read when the recording runs. `controls()`: whether
/// recordings of this one can hold them; where they cannot, both still run outside of recordings.
template <class S>
concept ControllingSystem = RecordingSystem<S> &&
    requires(const S& system, const std::uint32_t* word, void (&body)(), void (&bodies)(std::uint32_t)) {
    { system.controls() } -> std::same_as<bool>;
    system.repeat_while(word, body);
    system.choose(word, std::uint32_t{}, bodies);
};

/// Kernels on the calling thread, block after block: for tests, and for reading a kernel's results where there is no
/// GPU. `backwards` runs blocks and threads from the last to the first. All of them are one stream: what is launched
/// while it records is recorded, whichever thread it comes from.
struct emulated_system {
    bool backwards = false;

    template <Kernel K>
    void launch(std::size_t blocks, const K& kernel) const {
        static_assert(K::threads % warp_size == 0 && K::threads <= most_threads);
        run_or_keep([on = *this, blocks, kernel] { on.emulate(blocks, kernel); });
    }

    void* allocate(std::size_t bytes) const {
        const auto turn = take_turn();
        refuse_in_recording("memory");
        void* const memory = std::malloc(bytes);
        if (memory == nullptr) throw std::bad_alloc();
        std::memset(memory, 0xff, bytes);
        return memory;
    }
    void release(void* memory) const { std::free(memory); }
    void* allocate_shared(std::size_t bytes) const { return allocate(bytes); }
    void release_shared(void* memory) const { release(memory); }
    void upload(void* to, const void* from, std::size_t bytes) const {
        const auto turn = take_turn();
        refuse_in_recording("an upload");
        std::memcpy(to, from, bytes);
    }
    void download(void* to, const void* from, std::size_t bytes) const {
        const auto turn = take_turn();
        refuse_in_recording("a download");
        std::memcpy(to, from, bytes);
    }
    void copy(void* to, const void* from, std::size_t bytes) const {
        run_or_keep([=] { std::memmove(to, from, bytes); });
    }
    void clear(void* to, std::size_t bytes) const {
        run_or_keep([=] { std::memset(to, 0, bytes); });
    }
    void wait() const {
        const auto turn = take_turn();
        refuse_in_recording("a wait");
    }
    bool idle() const { return true; }

    using recording = std::vector<std::function<void()>>;

    bool records() const {
        const auto turn = take_turn();
        return recorder() == nullptr;
    }

    template <class Body>
    recording record(const Body& body) const {
        const auto turn = take_turn();
        refuse_in_recording("another");
        return kept(body);
    }
    void replay(const recording& recorded) const {
        const auto turn = take_turn();
        refuse_in_recording("another");
        for (const auto& launch : recorded) launch();
    }

    bool controls() const { return true; }

    template <class Body>
    void repeat_while(const std::uint32_t* flag, const Body& body) const {
        const auto turn = take_turn();
        if (recorder() == nullptr) {
            while (*flag != 0) body();
            return;
        }
        recorder()->push_back([on = *this, flag, turn = kept(body)] {
            while (*flag != 0) on.replay(turn);
        });
    }

    template <class Bodies>
    void choose(const std::uint32_t* index, std::uint32_t count, const Bodies& body) const {
        const auto turn = take_turn();
        if (recorder() == nullptr) {
            if (*index < count) body(*index);
            return;
        }
        std::vector<recording> branches;
        for (std::uint32_t i = 0; i < count; ++i) branches.push_back(kept([&] { body(i); }));
        recorder()->push_back([on = *this, index, branches = std::move(branches)] {
            if (*index < branches.size()) on.replay(branches[*index]);
        });
    }

 private:
    template <Kernel K>
    void emulate(std::size_t blocks, const K& kernel) const {
        std::vector<std::max_align_t> shared(kernel.shared_bytes() / sizeof(std::max_align_t) + 1);
        for (std::size_t i = 0; i < blocks; ++i) {
            std::memset(shared.data(), 0xff, shared.size() * sizeof(std::max_align_t));  // NaNs, to show in results
            const emulated_team team(backwards ? blocks - 1 - i : i, K::threads,
                                     reinterpret_cast<std::byte*>(shared.data()), backwards);
            kernel(team);
        }
    }

    /// Who holds it uses the stream alone; what a thread's own body launches is let in.
    static std::unique_lock<std::recursive_mutex> take_turn() {
        static std::recursive_mutex busy;
        return std::unique_lock(busy);
    }

    /// What is recorded into; null outside of recordings.
    static recording*& recorder() {
        static recording* current = nullptr;
        return current;
    }

    static void run_or_keep(const auto& work) {
        const auto turn = take_turn();
        if (recorder() == nullptr) return work();
        recorder()->push_back(work);
    }

    /// Of the body, whatever was being recorded around it; an exception leaves that as it was.
    template <class Body>
    static recording kept(const Body& body) {
        recording recorded;
        const struct restorer {
            recording* outer;
            ~restorer() { recorder() = outer; }
        } restored{std::exchange(recorder(), &recorded)};
        body();
        return recorded;
    }

    static void refuse_in_recording(const char* what) {
        if (recorder() != nullptr) augur::detail::fail("a recording cannot hold ", what);
    }
};

static_assert(ControllingSystem<emulated_system>);

/// A buffer of so many T in a system's memory; undefined at first.
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
