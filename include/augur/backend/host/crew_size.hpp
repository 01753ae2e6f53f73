#pragma once
// How many of a pool's threads make its loops fastest, by what loops took.

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace augur::backend::host {

/// On a machine that others use, a thread that the system has descheduled holds its chunk of a loop until it runs
/// again, and the loop waits. Loops are added up until they took `window`: what the calling thread needed for a chunk,
/// without waiting, says how long one thread alone would have taken, and so how many threads the loops had in effect.
/// Where that is at most three quarters of those that worked, in two windows in a row, so many work for a while
/// (`first_rest`, doubled each time that all of them turn out not to pay again, up to `last_rest`); then all do.
/// Threads that are delayed by less than the loops gain stay. Which threads work changes no result. Cost: some hundred
/// nanoseconds a loop.
class crew_size {
 public:
    using clock = std::chrono::steady_clock;
    using time = clock::time_point;

    static constexpr clock::duration window = std::chrono::milliseconds(10);
    static constexpr clock::duration first_rest = std::chrono::milliseconds(20);
    static constexpr clock::duration last_rest = std::chrono::milliseconds(640);

    explicit crew_size(std::size_t threads) : threads_(threads), chosen_(threads) {}

    /// Threads of a loop that begins now: at least one, at most all.
    std::size_t at(time now) {
        if (chosen_ < threads_ && now >= until_) chosen_ = threads_;
        return chosen_;
    }

    /// A loop of `chunks` that began with at(began) threads; the calling thread ran `own` of them until it found no
    /// more, and all had ended at `ended`. Nothing is learnt where it ran none, or fewer threads than all worked.
    void add(time began, time worked, time ended, std::size_t own, std::size_t chunks) {
        if (own == 0 || chosen_ < threads_) return;
        alone_ += (worked - began) * static_cast<clock::rep>(chunks) / static_cast<clock::rep>(own);
        took_ += ended - began;
        if (took_ < window) return;
        judge(ended);
        alone_ = took_ = {};
    }

 private:
    void judge(time now) {
        const double in_effect = static_cast<double>(alone_.count()) / static_cast<double>(took_.count());
        const auto fewer = std::max<std::size_t>(1, static_cast<std::size_t>(in_effect + 0.99));
        if (4 * fewer > 3 * threads_) {
            lost_ = 0;
            rest_ = first_rest;
        } else if (++lost_ > 1) {
            lost_ = 1;  // after the rest one window is enough
            chosen_ = fewer;
            until_ = now + rest_;
            rest_ = std::min(2 * rest_, last_rest);
        }
    }

    std::size_t threads_, chosen_;
    clock::duration alone_{}, took_{}, rest_ = first_rest;
    time until_{};
    int lost_ = 0;
};

}  // namespace augur::backend::host
