#include "serve_decoder.hpp"

#include <atomic>
#include <augur/accept/coupled.hpp>
#include <augur/decode/scheduler.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/scheme/speculator.hpp>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "message.hpp"

namespace augur::program {

class request_decoder::impl {
 public:
    impl(const model::any_model& target, const decoder_settings& settings)
        : scheme_(speculate(draft::prompt_lookup(), target, policy::fixed_length{settings.most_drafted},
                            accept::coupled{})),
          scheduler_(scheme_, settings.limits),
          thread_([this] { serve(); }) {}
    impl(const impl&) = delete;
    impl& operator=(const impl&) = delete;
    ~impl() {
        ends_ = true;
        scheduler_.drain();  // wakes the thread
        thread_.join();
    }

    decode::submission submit(decode::request asked) { return scheduler_.submit(std::move(asked)); }
    bool cancel(decode::request_id id) { return scheduler_.cancel(id); }
    void drain() { scheduler_.drain(); }
    decode::scheduler_counters counters() const { return scheduler_.counters(); }
    std::vector<pass_time> pass_times() const {
        const std::lock_guard lock(mutex_);
        return times_;
    }

 private:
    using scheme_type = decltype(speculate(draft::prompt_lookup(), std::declval<const model::any_model&>(),
                                           policy::fixed_length{}, accept::coupled{}));

    void serve() {
        while (!ends_) {
            try {
                if (scheduler_.step()) {
                    note_times();
                } else {
                    scheduler_.wait_for(std::chrono::milliseconds(50));
                }
            } catch (const std::exception& problem) {  // of on_end: whoever waits has ended
                tell("warning", "a request ended with: ", problem.what());
            }
        }
    }

    void note_times() {
        if (scheduler_.counters().steps % 16 != 0) return;
        std::vector<pass_time> now;
        for (std::size_t rows = 1; rows <= 64; rows *= 2) {
            if (const double seconds = scheduler_.pass_seconds(rows); seconds > 0) now.push_back({rows, seconds});
        }
        const std::lock_guard lock(mutex_);
        times_ = std::move(now);
    }

    scheme_type scheme_;
    decode::scheduler<scheme_type, lossless_within_numerics> scheduler_;  ///< as any engine's rows are
    mutable std::mutex mutex_;
    std::vector<pass_time> times_;
    std::atomic<bool> ends_ = false;
    std::thread thread_;
};

request_decoder::request_decoder(const model::any_model& target, const decoder_settings& settings)
    : impl_(std::make_unique<impl>(target, settings)) {}
request_decoder::~request_decoder() = default;

decode::submission request_decoder::submit(decode::request asked) {
    return impl_->submit(std::move(asked));
}
bool request_decoder::cancel(decode::request_id id) {
    return impl_->cancel(id);
}
void request_decoder::drain() {
    impl_->drain();
}
decode::scheduler_counters request_decoder::counters() const {
    return impl_->counters();
}
std::vector<request_decoder::pass_time> request_decoder::pass_times() const {
    return impl_->pass_times();
}

}  // namespace augur::program
