#pragma once
// A small thread pool for parallel loops of some microseconds.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <thread>
#include <type_traits>
#include <vector>

#include "augur/backend/host/crew_size.hpp"
#include "augur/backend/host/fork_lock.hpp"
#include "augur/types/error.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace augur::backend::host {

/// The half-open range [first, last).
struct part {
    std::size_t first, last;
};
/// Part `index` of `count` almost equal ones of [0, size).
inline part part_of(std::size_t size, std::size_t index, std::size_t count) {
    return {size * index / count, size * (index + 1) / count};
}

/// The calling thread and `threads - 1` helpers. Each worker has a part of a loop's chunks, in a row, and one that has
/// run out takes others', so a helper that the system has descheduled delays a loop by one chunk at most; where that
/// costs more than helpers gain, they rest for a while (crew_size). Threads that wait spin for some tens of
/// microseconds, so that loops follow each other without system calls, and then sleep: an idle pool costs nothing. No
/// memory is allocated after construction. Whoever shares a pool locks it (it is Lockable) around a run of loops and
/// what scratch memory these use, never in a loop's body. A thread may lock it again between two loops, so that whoever
/// it calls there may run loops of his own.
/// A child of fork() has no helpers: loops run on the calling thread there, with the same results. fork() waits for who
/// holds the pool (fork_lock); a loop's body must not fork.
class thread_pool {
 public:
    static constexpr std::size_t most_threads = 64, most_chunks = 32768;

    explicit thread_pool(std::size_t threads)
        : count_(threads), orders_(std::min(threads, most_threads)), crew_(threads) {
        if (threads < 1 || threads > most_threads) {
            detail::fail("threads must be 1 to ", most_threads, ", not ", threads);
        }
        const std::size_t cores = std::thread::hardware_concurrency();
        if (cores != 0 && threads > cores) spins_ = 16;
        try {
            for (std::size_t i = 1; i < threads; ++i) helpers_.emplace_back([this, i] { serve(i); });
        } catch (...) {
            stop();
            throw;
        }
    }
    thread_pool(const thread_pool&) = delete;
    thread_pool& operator=(const thread_pool&) = delete;
    ~thread_pool() { stop(); }

    std::size_t size() const { return count_; }

    void lock() { turn_.lock(); }
    bool try_lock() { return turn_.try_lock(); }
    void unlock() { turn_.unlock(); }

    /// Calls body(chunk, worker) for every chunk in [0, chunks), each once, in any order, and returns when all have
    /// returned; what they wrote is then visible. Worker is 0..size()-1, and no two calls run at once for one worker.
    /// The body must not throw. One loop at a time; chunks <= most_chunks.
    template <class Body>
    void for_each(std::size_t chunks, const Body& body) {
        if (count_ == 1 || chunks <= 1 || turn_.was_forked()) {
            for (std::size_t chunk = 0; chunk < chunks; ++chunk) body(chunk, std::size_t{0});
            return;
        }
        const auto began = crew_size::clock::now();
        const std::size_t workers = crew_.at(began);
        chunks_ = static_cast<std::uint32_t>(chunks);
        done_.store(0, std::memory_order_relaxed);
        publish([](const void* context, std::size_t chunk,
                   std::size_t worker) noexcept { (*static_cast<const Body*>(context))(chunk, worker); },
                std::addressof(body), chunks, workers);
        const std::uint32_t own = work(0);
        const auto worked = crew_size::clock::now();
        for (std::uint32_t done; (done = done_.load(std::memory_order_acquire)) < chunks;) wait(done_, done);
        crew_.add(began, worked, crew_size::clock::now(), own, chunks);
    }

 private:
    using call = void (*)(const void*, std::size_t, std::size_t) noexcept;

    // What a worker is to do, in a cache line of its own, as caches may be far apart. The ticket is [loop : 32 |
    // end : 16 | next : 16]: of its chunks the next one. Taking one is one increment, which others do as the worker
    // does. Who comes late increments a finished loop's ticket, or takes a chunk of the present one: never a chunk that
    // was taken.
    struct alignas(64) orders {
        std::atomic<std::uint64_t> ticket{0};
        call body = nullptr;
        const void* context = nullptr;
    };
    static std::uint64_t end_of(std::uint64_t ticket) { return ticket >> 16 & 0xffff; }
    static std::uint64_t next_of(std::uint64_t ticket) { return ticket & 0xffff; }

    /// To the first `workers`; the others sleep on.
    void publish(call body, const void* context, std::size_t chunks, std::size_t workers) {
        ++loop_;
        for (std::size_t worker = workers; worker-- > 0;) {
            orders& of = orders_[worker];
            const part own = part_of(chunks, worker, workers);
            of.body = body;
            of.context = context;
            of.ticket.store(loop_ << 32 | own.last << 16 | own.first, std::memory_order_release);
            if (worker != 0) of.ticket.notify_all();
        }
    }

    /// Runs chunks, one's own first, and says how many. Until then their loop does not end.
    std::uint32_t work(std::size_t worker) {
        std::uint32_t ran = 0;
        for (std::size_t i = 0; i < count_; ++i) {
            while (take((worker + i) % count_, worker)) ++ran;
        }
        if (ran == 0) return 0;
        const std::uint32_t chunks = chunks_;
        if (done_.fetch_add(ran, std::memory_order_acq_rel) + ran == chunks) done_.notify_all();
        return ran;
    }

    /// Runs one of `owner`'s chunks.
    bool take(std::size_t owner, std::size_t worker) {
        orders& of = orders_[owner];
        const std::uint64_t seen = of.ticket.load(std::memory_order_relaxed);
        if (next_of(seen) >= end_of(seen)) return false;
        const std::uint64_t ticket = of.ticket.fetch_add(1, std::memory_order_acq_rel);
        if (next_of(ticket) >= end_of(ticket)) return false;
        of.body(of.context, static_cast<std::size_t>(next_of(ticket)), worker);
        return true;
    }

    /// Returns when the value has changed, and sometimes before.
    template <class T>
    void wait(const std::atomic<T>& value, std::type_identity_t<T> old) const {
        for (int spin = 0; spin < spins_; ++spin) {
            if (value.load(std::memory_order_acquire) != old) return;
#if defined(__x86_64__)
            _mm_pause();
#endif
        }
        value.wait(old, std::memory_order_acquire);
    }

    void serve(std::size_t worker) {
        while (true) {
            const std::uint64_t ticket = orders_[worker].ticket.load(std::memory_order_acquire);
            if (stopping_.load(std::memory_order_acquire)) return;  // after the ticket: the last one says so
            if (work(worker) == 0) wait(orders_[worker].ticket, ticket);
        }
    }
    void stop() {
        if (turn_.was_forked()) {  // threads that are not there cannot be joined
            for (auto& helper : helpers_) ::new (&helper) std::thread;
            return;
        }
        stopping_.store(true, std::memory_order_release);
        publish(nullptr, nullptr, 0, count_);
        for (auto& helper : helpers_) helper.join();
    }

    std::size_t count_;
    int spins_ = 2000;
    std::vector<orders> orders_;
    std::atomic<bool> stopping_{false};
    crew_size crew_;
    fork_lock turn_;
    std::vector<std::thread> helpers_;
    alignas(64) std::atomic<std::uint32_t> done_{0};
    std::uint32_t chunks_ = 0;
    alignas(64) std::uint64_t loop_ = 0;
};

}  // namespace augur::backend::host
