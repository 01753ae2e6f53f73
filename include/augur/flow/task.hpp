#pragma once
// A coroutine that suspends wherever it needs a model and resumes with the answer; its frame lies in an arena.

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include "augur/flow/frames.hpp"
#include "augur/flow/work.hpp"
#include "augur/types/error.hpp"

namespace augur::flow {

/// The innermost suspended task of those that await each other.
struct stopped {
    work* wanted = nullptr;           ///< null where nothing is open
    std::coroutine_handle<> inner{};  ///< goes on when it is done
};

/// One of a coroutine's arguments that has frames for it: `argument.frames()`.
template <class A>
concept HasFrames = requires(A& argument) {
    { argument.frames() } -> std::same_as<frames&>;
};

/// Any argument of a coroutine, and its frames if it has some.
struct task_argument {
    frames* own = nullptr;

    task_argument() = default;
    /// nvcc hands a member's own object over as an rvalue.
    template <class A>
    requires(!std::same_as<std::remove_cvref_t<A>, task_argument>) task_argument(A&& of) {
        if constexpr (HasFrames<std::remove_reference_t<A>>) own = &of.frames();
    }
};

/// A coroutine that returns nothing. It co_awaits work (and other tasks) and is run by flow::runner, or by the task
/// that awaits it. One of its arguments has to have frames (draft::context, decode::session): its own frame lies there,
/// so that nothing is allocated once that has grown. Destroying a task destroys what it has begun, innermost first.
class [[nodiscard]] task {
 public:
    class promise_type;
    using handle = std::coroutine_handle<promise_type>;

    task(task&& other) noexcept : frame_(std::exchange(other.frame_, {})) {}
    task& operator=(task&&) = delete;
    ~task() {
        if (frame_) frame_.destroy();
    }

    /// co_await task: from another task, which goes on when this one has ended; throws what it threw.
    bool await_ready() const noexcept { return false; }
    inline std::coroutine_handle<> await_suspend(handle by) noexcept;
    inline void await_resume();

 private:
    friend class runner;

    explicit task(handle frame) : frame_(frame) {}

    handle frame_;
};

class task::promise_type {
 public:
    task get_return_object() { return task(handle::from_promise(*this)); }
    std::suspend_always initial_suspend() const noexcept { return {}; }

    struct to_who_awaits {
        bool await_ready() const noexcept { return false; }
        std::coroutine_handle<> await_suspend(handle ended) const noexcept { return ended.promise().awaited_by_; }
        void await_resume() const noexcept {}
    };
    to_who_awaits final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() noexcept { thrown_ = std::current_exception(); }

    /// Stops all tasks that await each other here.
    void stop(work& for_what, std::coroutine_handle<> here) noexcept { *at_ = {&for_what, here}; }

    static void* operator new (std::size_t size, task_argument a, task_argument b = {}, task_argument c = {},
                               task_argument d = {}, task_argument e = {}, task_argument f = {}, task_argument g = {},
                               task_argument h = {}) {
        for (const task_argument& each : {a, b, c, d, e, f, g, h}) {
            if (each.own != nullptr) return from_frames(size, *each.own);
        }
        augur::detail::fail(
            "flow::task: none of the coroutine's first 8 arguments has frames, as a drafter's context has");
    }
    static void operator delete(void* memory, std::size_t size) noexcept {
        std::byte* const whole = static_cast<std::byte*>(memory) - header;
        frames* const from = *std::launder(reinterpret_cast<frames**>(whole));
        from->give_back(size + header);
    }

 private:
    friend class task;
    friend class runner;
    static constexpr std::size_t header = alignof(std::max_align_t);

    static void* from_frames(std::size_t size, frames& from) {
        auto* const whole = static_cast<std::byte*>(from.take(size + header));
        new (whole) frames*(&from);
        return whole + header;
    }

    stopped* at_ = nullptr;
    std::coroutine_handle<> awaited_by_ = std::noop_coroutine();
    std::exception_ptr thrown_;
};

inline std::coroutine_handle<> task::await_suspend(handle by) noexcept {
    frame_.promise().at_ = by.promise().at_;
    frame_.promise().awaited_by_ = by;
    return frame_;
}
inline void task::await_resume() {
    if (frame_.promise().thrown_) std::rethrow_exception(frame_.promise().thrown_);
}

/// Runs a task from stop to stop. Its address must not change.
class runner {
 public:
    explicit runner(task of) : task_(std::move(of)) {
        task_.frame_.promise().at_ = &at_;
        go(task_.frame_);
    }
    runner(const runner&) = delete;
    runner& operator=(const runner&) = delete;

    /// What it waits for; null when it has ended.
    work* wanted() const { return at_.wanted; }
    /// Once that is done. Throws what the task throws, which has then ended.
    void resume() {
        if (at_.wanted == nullptr) augur::detail::fail("a round was resumed that had ended before");
        if (!at_.wanted->done()) augur::detail::fail("a round was resumed before what it waits for was done");
        go(at_.inner);
    }
    /// Does all that it waits for, one after the other.
    void finish() {
        while (at_.wanted != nullptr) {
            at_.wanted->run_and_go_on();
            resume();
        }
    }

 private:
    void go(std::coroutine_handle<> from) {
        at_ = {};
        from.resume();
        if (task_.frame_.done()) task_.await_resume();
    }

    stopped at_;
    task task_;
};

/// co_await alone{[&] { ... }}: something that cannot be done together with others.
template <class F>
class alone : public work {
 public:
    explicit alone(F what) : work(this, &alone::run_each), what_(std::move(what)) {}

    bool await_ready() const noexcept { return false; }
    void await_suspend(task::handle by) noexcept { by.promise().stop(*this, by); }
    void await_resume() const { check(); }

 private:
    static void run_each(std::span<work* const> all) {
        for (work* each : all) static_cast<alone*>(each)->what_();
    }

    F what_;
};

}  // namespace augur::flow
