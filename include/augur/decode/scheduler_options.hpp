#pragma once
// Limits, budgets and counters of a scheduler.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "augur/decode/request.hpp"
#include "augur/decode/row_market.hpp"
#include "augur/model/pass.hpp"
#include "augur/types/error.hpp"

namespace augur::decode {

struct scheduler_options {
    std::size_t most_running = 32;   ///< requests that are prefilled or decoded at once
    std::size_t most_waiting = 256;  ///< requests; more are refused
    /// Of prompts, that are computed between two rounds. A token of a running request is delayed by no more than the
    /// passes over so many, however long a prompt is.
    std::size_t prefill_tokens = 256;
    /// What the caches of all admitted requests may hold: each reserves its prompt and max_tokens before it is
    /// admitted. Bytes are counted by the models (CountsCacheBytes), or by cache_bytes_of(tokens).
    std::size_t cached_tokens = no_limit, cache_bytes = no_limit;
    std::function<std::size_t(std::size_t)> cache_bytes_of{};
    /// Earlier submissions that a step of priority goes ahead of.
    std::size_t head_start = 16;
    row_market_options rows{};  ///< which drafted tokens are verified
    /// False: each part of a round counts as a millisecond, so that policies that learn from time can be repeated.
    bool timed = true;
    /// The time, for deadlines and durations; by default the clock's.
    std::function<deadline_clock::time_point()> now{};

    /// Throws, with the value, where one is out of range.
    void check() const {
        const auto positive = [](std::string_view name, std::size_t value) {
            if (value == 0) augur::detail::fail("scheduler: ", name, " is 0; it must be at least 1");
        };
        positive("most_running", most_running);
        positive("prefill_tokens", prefill_tokens);
        positive("cached_tokens", cached_tokens);
        positive("cache_bytes", cache_bytes);
        rows.check();
    }
};

/// What a scheduler has done and holds, for metrics. Counts only grow, but for those of the second and third line.
struct scheduler_counters {
    std::uint64_t submitted = 0, refused = 0, admitted = 0, finished = 0, cancelled = 0, expired = 0, failed = 0;
    std::size_t waiting = 0, prefilling = 0, running = 0;      ///< requests, now
    std::size_t reserved_tokens = 0, reserved_bytes = 0;       ///< of caches, now
    std::uint64_t steps = 0, rounds = 0;                       ///< rounds of single requests
    std::uint64_t prefilled_tokens = 0, generated_tokens = 0;  ///< tokens
    std::uint64_t drafted_tokens = 0, accepted_tokens = 0;     ///< by the target: verified, and of these committed
};

}  // namespace augur::decode
