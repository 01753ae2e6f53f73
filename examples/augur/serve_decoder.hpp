#pragma once
// The thread that decodes what the server is asked for: a scheduler over one model, behind one type for all engines.

#include <augur/decode/request.hpp>
#include <augur/decode/scheduler_options.hpp>
#include <augur/model/any_model.hpp>
#include <cstddef>
#include <memory>
#include <vector>

namespace augur::program {

/// The length of drafts and the scheduler's limits.
struct decoder_settings {
    std::size_t most_drafted = 8;  ///< tokens a round; 0: plain decoding
    decode::scheduler_options limits{};
};

/// Every function may be called by any thread. Requests' functions are called by the decoding one.
class request_decoder {
 public:
    struct pass_time {
        std::size_t rows;
        double seconds;
    };

    /// The model must outlive it. Throws where the limits do not fit.
    request_decoder(const model::any_model& target, const decoder_settings& settings);
    request_decoder(const request_decoder&) = delete;
    request_decoder& operator=(const request_decoder&) = delete;
    /// Whatever is left is cancelled.
    ~request_decoder();

    /// As decode::scheduler: throws augur::error for what cannot be decoded with.
    decode::submission submit(decode::request asked);
    bool cancel(decode::request_id id);
    void drain();
    decode::scheduler_counters counters() const;
    /// Of the target's passes over 1, 2, 4, ... rows, as estimated from those that were measured; empty before.
    std::vector<pass_time> pass_times() const;

 private:
    class impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace augur::program
