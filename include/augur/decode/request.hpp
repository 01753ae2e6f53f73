#pragma once
// A request to a scheduler: a prompt with settings of its own, what became of it, and why one is refused.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "augur/commit/apply.hpp"
#include "augur/commit/stop_conditions.hpp"
#include "augur/decode/generate.hpp"
#include "augur/model/pass.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/token.hpp"

namespace augur::decode {

using request_id = std::uint64_t;  ///< from 1 on, in the order of submission
using deadline_clock = std::chrono::steady_clock;

/// How a request ended.
enum class request_end {
    finished,   ///< by itself: served::finish says how
    cancelled,  ///< by cancel(), or because on_token returned false
    expired,    ///< its deadline passed
    failed      ///< something was thrown in its prefill or in one of its rounds: served::failure
};

constexpr std::string_view name_of(request_end how) {
    switch (how) {
        case request_end::finished:
            return "finished";
        case request_end::cancelled:
            return "cancelled";
        case request_end::expired:
            return "expired";
        case request_end::failed:
            return "failed";
    }
    return "unknown";
}

/// What a request has come to: the tokens and the text that were generated until it ended, and when.
struct served : generation<std::monostate> {
    request_id id = 0;
    request_end how = request_end::finished;
    std::exception_ptr failure{};   ///< of `failed`
    std::size_t prompt_tokens = 0;  ///< that it was submitted with
    std::size_t shared_tokens = 0;  ///< of the prompt, whose keys and values another request had left
    /// Since it was submitted: until it was admitted, until its first token, until its end. Infinity where that was
    /// never.
    double admitted_seconds = 0, first_token_seconds = 0, seconds = 0;
};

/// What a scheduler is asked for. Functions are called by the thread that steps, between and within rounds, never with
/// a lock held: they may submit and cancel, not step.
struct request {
    std::vector<token> prompt{};
    std::uint64_t seed = 0;
    transform::settings sampling{};  ///< the default is plain sampling at temperature 1
    commit::stop_conditions stop{};
    bool log_probabilities = false;
    std::size_t most_drafted = no_limit;  ///< tokens a round; 0: it is decoded plainly
    /// Larger ones are admitted first, but nobody is overtaken for ever (scheduler_options::head_start). Within
    /// most_priority of 0.
    int priority = 0;
    std::optional<deadline_clock::time_point> deadline{};  ///< after which it ends, waiting or not
    commit::token_sink on_token{};  ///< sees every token as it is committed; false cancels it after that token
    std::function<void(const served&)> on_end{};  ///< once, the last that is called of it

    static constexpr int most_priority = 1000;
};

/// Why a scheduler does not take a request.
enum class refusal {
    none,
    queue_full,  ///< as many wait as may
    too_large,   ///< its cache alone would exceed the budget of all
    draining     ///< nothing is taken any more
};

constexpr std::string_view name_of(refusal why) {
    switch (why) {
        case refusal::none:
            return "none";
        case refusal::queue_full:
            return "queue_full";
        case refusal::too_large:
            return "too_large";
        case refusal::draining:
            return "draining";
    }
    return "unknown";
}

/// A request that was taken, or why it was not, with the values.
struct submission {
    request_id id = 0;
    refusal why = refusal::none;
    std::string detail{};

    explicit operator bool() const { return why == refusal::none; }
};

}  // namespace augur::decode
