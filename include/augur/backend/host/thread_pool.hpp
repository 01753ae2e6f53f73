#pragma once
// A few threads that run one function together and meet at barriers inside it.

#include <atomic>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

#include "augur/types/error.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace augur::backend::host {

/// The half-open part [first, last) of [0, size) that falls to worker `index` of `count`.
struct part {
    std::size_t first, last;
};
inline part part_of(std::size_t size, std::size_t index, std::size_t count) {
    return {size * index / count, size * (index + 1) / count};
}

/// `threads` workers, the calling thread being worker 0. Workers spin for some tens of microseconds between parts, so
/// that a step's parts follow each other without system calls, and then sleep: an idle pool costs nothing, and a machine
/// with more runnable threads than cores keeps moving. Only one thread may call run() at a time.
class thread_pool {
 public:
    static constexpr std::size_t most_threads = 64;

    explicit thread_pool(std::size_t threads) : count_(threads) {
        if (threads < 1 || threads > most_threads)
            detail::fail("threads must be 1 to ", most_threads, ", not ", threads);
        const std::size_t cores = std::thread::hardware_concurrency();
        if (cores != 0 && threads > cores) spins_ = 16;
        try {
            for (std::size_t i = 1; i < threads; ++i) workers_.emplace_back([this, i] { serve(i); });
        } catch (...) {
            stop();
            throw;
        }
    }
    thread_pool(const thread_pool&) = delete;
    thread_pool& operator=(const thread_pool&) = delete;
    ~thread_pool() { stop(); }

    std::size_t size() const { return count_; }

    /// Calls body(index) once on every worker, index 0..size()-1, and returns when all have returned. The body must not
    /// throw; it may call meet().
    template <class Body>
    void run(Body& body) {
        call_ = [](void* context, std::size_t index) noexcept { (*static_cast<Body*>(context))(index); };
        context_ = &body;
        if (count_ > 1) signal(job_);
        call_(context_, 0);
        meet();
    }

    /// Waits, inside a body, until every worker has come here; what they wrote before is then visible to all.
    void meet() {
        if (count_ == 1) return;
        const int round = round_.load(std::memory_order_relaxed);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<int>(count_)) {
            arrived_.store(0, std::memory_order_relaxed);
            signal(round_);
        } else {
            wait_while(round_, round);
        }
    }

 private:
    static void signal(std::atomic<int>& value) {
        value.fetch_add(1, std::memory_order_release);
        value.notify_all();
    }
    void wait_while(const std::atomic<int>& value, int old) const {
        for (int spin = 0; spin < spins_; ++spin) {
            if (value.load(std::memory_order_acquire) != old) return;
#if defined(__x86_64__)
            _mm_pause();
#endif
        }
        value.wait(old, std::memory_order_acquire);
    }

    void serve(std::size_t index) {
        for (int job = 0;; ++job) {
            wait_while(job_, job);
            if (stopping_) return;
            call_(context_, index);
            meet();
        }
    }
    void stop() {
        stopping_ = true;
        signal(job_);
        for (auto& worker : workers_) worker.join();
    }

    std::size_t count_;
    int spins_ = 4000;
    bool stopping_ = false;  // written before job_ is signalled, read after
    void (*call_)(void*, std::size_t) noexcept = nullptr;
    void* context_ = nullptr;
    alignas(64) std::atomic<int> job_{0};
    alignas(64) std::atomic<int> arrived_{0};
    alignas(64) std::atomic<int> round_{0};
    std::vector<std::thread> workers_;
};

}  // namespace augur::backend::host
