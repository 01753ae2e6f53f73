#pragma once
// One answer of the API while it is decoded: its texts, whole or as a stream of events.

#include <augur/decode/request.hpp>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "serve_decoder.hpp"
#include "serve_metrics.hpp"
#include "serve_request.hpp"

namespace augur::program {

/// Submits the texts of a request and collects what they come to. The decoding thread writes to it, the thread of the
/// connection reads; what is not ended when it is destroyed is cancelled.
class completion_answer {
 public:
    /// Throws api_error where a text is not taken; then none is.
    completion_answer(completion_request asked, const served_model& model, request_decoder& decoder,
                      serve_metrics& metrics, double seconds);
    completion_answer(const completion_answer&) = delete;
    completion_answer& operator=(const completion_answer&) = delete;
    ~completion_answer();

    /// The whole answer, once all texts have ended; nothing where `is_gone()`, which is asked now and then, says that
    /// nobody waits for it. Throws api_error where a text failed.
    std::optional<nlohmann::ordered_json> whole(const std::function<bool()>& is_gone);
    /// The next events of the stream, as they go over the line; empty where none came for a while. An error is one.
    std::string next_events();
    bool is_over() const { return over_; }

 private:
    struct piece {
        std::size_t choice;
        std::string text;
        origin from;
        bool ends;
    };
    struct mailbox;

    void submit(std::size_t choice, serve_metrics& metrics, decode::deadline_clock::time_point deadline);
    void cancel();
    nlohmann::ordered_json head(bool chunk) const;
    nlohmann::ordered_json choice_of(std::size_t choice) const;
    nlohmann::ordered_json chunk_of(const piece& one) const;
    nlohmann::ordered_json usage() const;
    void check(std::size_t choice) const;
    std::string first_events() const;

    completion_request asked_;
    const served_model& model_;
    request_decoder& decoder_;
    std::string id_;
    long created_;
    std::shared_ptr<mailbox> box_;
    std::vector<decode::request_id> ids_{};
    std::size_t ended_ = 0;  ///< texts whose last piece was passed on
    bool begun_ = false, over_ = false;
};

}  // namespace augur::program
