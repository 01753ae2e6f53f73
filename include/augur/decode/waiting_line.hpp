#pragma once
// The line of requests that wait to be admitted, and the ledger of what admitted ones have reserved.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "augur/decode/request.hpp"
#include "augur/model/pass.hpp"
#include "augur/types/error.hpp"

namespace augur::decode {

/// Requests in the order in which they are admitted. A step of priority goes ahead of `head_start` earlier submissions,
/// and of no more: so a request is overtaken by at most head_start * (difference in priority) later ones, and nobody
/// waits for ever. Cost: logarithmic.
class waiting_line {
 public:
    explicit waiting_line(std::size_t head_start) : head_start_(static_cast<std::int64_t>(head_start)) {
        if (head_start > most_head_start) {
            augur::detail::fail("scheduler: head_start is ", head_start, "; it must be at most ", most_head_start);
        }
    }

    std::size_t size() const { return places_.size(); }
    bool empty() const { return places_.empty(); }
    request_id first() const { return places_.begin()->second; }
    void add(request_id id, int priority) { places_.insert(place_of(id, priority)); }
    void remove(request_id id, int priority) { places_.erase(place_of(id, priority)); }

 private:
    static constexpr std::size_t most_head_start = 1 << 20;
    using place = std::pair<std::int64_t, request_id>;

    place place_of(request_id id, int priority) const {
        return {static_cast<std::int64_t>(id) - priority * head_start_, id};
    }

    std::int64_t head_start_;
    std::set<place> places_;
};

/// What caches may take in all, and what is reserved of it, counted in tokens and bytes before a cache is made.
class cache_ledger {
 public:
    /// Of one request.
    struct amount {
        std::size_t tokens = 0, bytes = 0;
    };

    explicit cache_ledger(amount most) : most_(most) {}

    const amount& most() const { return most_; }
    const amount& reserved() const { return reserved_; }
    /// Whether it could ever be admitted.
    bool admits(const amount& one) const { return one.tokens <= most_.tokens && one.bytes <= most_.bytes; }
    bool has_room(const amount& one) const {
        return one.tokens <= most_.tokens - reserved_.tokens && one.bytes <= most_.bytes - reserved_.bytes;
    }
    void reserve(const amount& one) {
        reserved_.tokens += one.tokens;
        reserved_.bytes += one.bytes;
    }
    void release(const amount& one) {
        reserved_.tokens -= one.tokens;
        reserved_.bytes -= one.bytes;
    }

 private:
    amount most_;
    amount reserved_{};
};

}  // namespace augur::decode
