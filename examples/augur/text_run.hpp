#pragma once
// The part of a decoding that is the same for every scheme: its rounds as a request sees them, time, what it leaves.

#include <augur/commit/stop_conditions.hpp>
#include <augur/types/statistics.hpp>
#include <augur/types/token.hpp>
#include <augur/types/verdict.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "scheme.hpp"

namespace augur::program {

/// One text, from its first round to its result. run_scheme instantiates what a scheme's type decides, and calls this
/// for the rest, which is compiled once.
class text_run {
 public:
    /// `sink_part`: where a step counts the time that the sink takes.
    text_run(const run_request& request, double time_spent::*sink_part) : request_(&request), sink_part_(sink_part) {}

    /// The request's sink, timed. It refers to this.
    commit::token_sink sink();

    /// Notes where tokens come from. Whether the request is shown rounds: then `summary` is filled but for what a
    /// scheme adds, less the time in the sink.
    bool note(std::size_t length_before, std::span<const token> drafted, std::span<const std::int32_t> parents,
              const verdict& decided, std::span<const commit::committed_token> committed, const observation& decided_on,
              const time_spent& seconds, std::span<const stage_statistics> stages);
    round_summary& summary() { return summary_; }
    bool reads_rows() const { return request_->reads_rows; }
    /// Of a committed token, from the row that it was drawn from.
    void read(logit_row row, token committed);
    void show() const { request_->on_round(summary_); }

    /// What every scheme leaves behind. Throws `fault` where the model's logits were invalid. `in_watchers`: seconds
    /// that are counted as `other`.
    run_result& conclude(commit::stop_watcher& stops, std::span<const token> generated, finish_reason finished,
                         const std::string& fault, statistics& counts, double in_watchers);

 private:
    const run_request* request_;
    double time_spent::*sink_part_;
    double in_sink_ = 0, in_sink_before_ = 0;
    std::vector<stage_statistics> inside_before_{};
    round_summary summary_{};
    run_result result_{};
};

/// Where Ctrl-C came while a prompt was read.
run_result cancelled_at_prompt(const statistics& so_far);

}  // namespace augur::program
