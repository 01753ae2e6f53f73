#pragma once
// A lock that stays usable in a child of fork(), with consistent data behind it.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <new>
#include <thread>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

#include "augur/types/error.hpp"

namespace augur::backend::host {

/// A recursive lock. A child process has the one thread that forked, and a copy of memory as it was then. So fork()
/// waits until it holds all of these locks, as it does for the allocator's: no other thread is then in the middle of
/// anything that one of them guards. In the child they are free, but for those that the forking thread holds, and say
/// that they were forked. Threads that hold none of these locks give way to a fork that waits, so that it waits for no
/// more than what is being done. Elsewhere than on POSIX systems it is a recursive mutex.
class fork_lock {
 public:
    fork_lock() {
        list& all = list::of_process();
        const std::lock_guard guard(all.mutex);
        next_ = all.first;
        if (next_ != nullptr) next_->previous_ = this;
        all.first = this;
    }
    fork_lock(const fork_lock&) = delete;
    fork_lock& operator=(const fork_lock&) = delete;
    ~fork_lock() {
        list& all = list::of_process();
        const std::lock_guard guard(all.mutex);
        (previous_ != nullptr ? previous_->next_ : all.first) = next_;
        if (next_ != nullptr) next_->previous_ = previous_;
    }

    void lock() {
        while (held_by_thread == 0 && forks_that_wait.load(std::memory_order_acquire) != 0) give_way();
        mutex_.lock();
        ++depth_;
        ++held_by_thread;
    }
    bool try_lock() {
        if (!mutex_.try_lock()) return false;
        ++depth_;
        ++held_by_thread;
        return true;
    }
    void unlock() {
        --held_by_thread;
        --depth_;
        mutex_.unlock();
    }

    /// Whether this process is a child of the one where the lock was made.
    bool was_forked() const { return was_forked_; }

 private:
    struct list {
        std::mutex mutex;
        fork_lock* first = nullptr;

        /// Never destroyed: locks may be, after it.
        static list& of_process() {
            static list& only = *new list;
            static const int problem = watch_forks();
            if (problem != 0) detail::fail("pthread_atfork failed with ", problem);
            return only;
        }
        static int watch_forks() {
#if defined(__unix__) || defined(__APPLE__)
            return ::pthread_atfork(before, in_parent, in_child);
#else
            return 0;
#endif
        }

        /// Waits with no lock in hand, so that nobody can wait for it.
        static void before() {
            list& all = of_process();
            forks_that_wait.fetch_add(1, std::memory_order_acq_rel);
            all.mutex.lock();
            while (!all.take_all()) {
                all.mutex.unlock();
                give_way();
                all.mutex.lock();
            }
        }
        bool take_all() {
            for (fork_lock* each = first; each != nullptr; each = each->next_) {
                if (each->try_lock()) continue;
                for (fork_lock* taken = first; taken != each; taken = taken->next_) taken->unlock();
                return false;
            }
            return true;
        }
        static void in_parent() {
            list& all = of_process();
            for (fork_lock* each = all.first; each != nullptr; each = each->next_) each->unlock();
            forks_that_wait.fetch_sub(1, std::memory_order_acq_rel);
            all.mutex.unlock();
        }
        /// A mutex knows its owner by what is another's in the child, so each is made anew.
        static void in_child() {
            list& all = of_process();
            for (fork_lock* each = all.first; each != nullptr; each = each->next_) {
                --held_by_thread;
                --each->depth_;
                ::new (&each->mutex_) std::recursive_mutex;
                for (std::size_t i = 0; i < each->depth_; ++i) each->mutex_.lock();
                each->was_forked_ = true;
            }
            forks_that_wait.store(0, std::memory_order_release);
            ::new (&all.mutex) std::mutex;
        }
    };

    static void give_way() {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }

    static inline std::atomic<int> forks_that_wait{0};
    static inline thread_local std::size_t held_by_thread = 0;

    std::recursive_mutex mutex_;
    std::size_t depth_ = 0;  // under the mutex
    bool was_forked_ = false;
    fork_lock* next_ = nullptr;
    fork_lock* previous_ = nullptr;
};

}  // namespace augur::backend::host
