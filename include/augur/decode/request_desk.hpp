#pragma once
// The desk of a scheduler: takes and cancels requests from any thread, and hands them to the one that steps.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "augur/decode/request.hpp"
#include "augur/decode/scheduler_options.hpp"
#include "augur/decode/waiting_line.hpp"
#include "augur/types/error.hpp"

namespace augur::decode {

/// Owns the records of all requests until they end, in line or admitted. Every function may be called by any thread,
/// those of the second part by the one that steps, which alone touches the records of admitted requests. Nothing of a
/// caller's is called with the lock held.
template <class Record>
class request_desk {
 public:
    using time_point = deadline_clock::time_point;

    explicit request_desk(const scheduler_options& options)
        : most_waiting_(options.most_waiting),
          line_(options.head_start),
          ledger_({options.cached_tokens, options.cache_bytes}) {}

    submission take(request asked, const cache_ledger::amount& needs, time_point at) {
        const std::lock_guard lock(mutex_);
        const auto refused = [&](refusal why, auto... detail) {
            ++counters_.refused;
            return submission{0, why, augur::detail::message(detail...)};
        };
        if (draining_) return refused(refusal::draining, "no further requests are taken");
        if (!ledger_.admits(needs)) {
            const cache_ledger::amount& most = ledger_.most();
            return refused(refusal::too_large, "its cache of ", needs.tokens, " tokens and ", needs.bytes,
                           " bytes exceeds the budget of ", most.tokens, " tokens and ", most.bytes, " bytes");
        }
        if (line_.size() >= most_waiting_) {
            return refused(refusal::queue_full, line_.size(), " requests wait, and no more may");
        }
        const request_id id = counters_.submitted + 1;
        const int priority = asked.priority;
        auto taken = std::make_unique<Record>(id, std::move(asked), needs, at);
        line_.add(id, priority);
        try {
            records_.emplace(id, std::move(taken));
        } catch (...) {
            line_.remove(id, priority);
            throw;
        }
        counters_.submitted = id;
        wake_.notify_all();
        return {.id = id};
    }
    bool cancel(request_id id) {
        const std::lock_guard lock(mutex_);
        const auto found = records_.find(id);
        if (found == records_.end()) return false;
        found->second->is_cancelled = true;
        wake_.notify_all();
        return true;
    }
    void drain() {
        const std::lock_guard lock(mutex_);
        draining_ = true;
        wake_.notify_all();
    }
    template <class Duration>
    bool wait_for(const Duration& most) {
        std::unique_lock lock(mutex_);
        return wake_.wait_for(lock, most, [&] { return !records_.empty(); });
    }
    scheduler_counters counters() const {
        const std::lock_guard lock(mutex_);
        scheduler_counters all = counters_;
        all.waiting = line_.size();
        all.reserved_tokens = ledger_.reserved().tokens;
        all.reserved_bytes = ledger_.reserved().bytes;
        return all;
    }

    /// The first in line, whose caches are now reserved; null where there is none, or no room for it.
    Record* admit() {
        const std::lock_guard lock(mutex_);
        if (line_.empty()) return nullptr;
        Record& first = *records_.at(line_.first());
        if (!ledger_.has_room(first.needs)) return nullptr;
        ledger_.reserve(first.needs);
        line_.remove(first.id, first.asked.priority);
        first.is_admitted = true;
        ++counters_.admitted;
        return &first;
    }
    /// Marks those that are to end, because they are cancelled or late, unless they have ended by themselves. Returns
    /// those of them that were in line, which are no longer here.
    std::vector<std::unique_ptr<Record>> take_marked(time_point at) {
        std::vector<std::unique_ptr<Record>> gone;
        const std::lock_guard lock(mutex_);
        for (auto each = records_.begin(); each != records_.end();) {
            Record& of = *each->second;
            const bool late = of.asked.deadline && at >= *of.asked.deadline;
            if ((of.is_cancelled || late) && of.is_running()) {
                of.mark(of.is_cancelled ? request_end::cancelled : request_end::expired);
            }
            if (of.is_admitted || !of.marked) {
                ++each;
                continue;
            }
            gone.push_back(std::move(each->second));
            line_.remove(of.id, of.asked.priority);
            each = records_.erase(each);
        }
        return gone;
    }
    /// An admitted one that has ended; its reservation ends.
    std::unique_ptr<Record> release(request_id id) {
        const std::lock_guard lock(mutex_);
        const auto found = records_.find(id);
        auto held = std::move(found->second);
        records_.erase(found);
        ledger_.release(held->needs);
        return held;
    }
    /// update(counters). Returns how many requests are here.
    template <class Update>
    std::size_t count(const Update& update) {
        const std::lock_guard lock(mutex_);
        update(counters_);
        return records_.size();
    }

 private:
    std::size_t most_waiting_;
    mutable std::mutex mutex_;
    std::condition_variable wake_;
    waiting_line line_;
    cache_ledger ledger_;
    std::map<request_id, std::unique_ptr<Record>> records_;
    scheduler_counters counters_;
    bool draining_ = false;
};

}  // namespace augur::decode
