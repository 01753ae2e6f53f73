#pragma once
// A run as one JSON object, from which its report, its trace and pictures are made. docs/report.md has its keys.

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "scheme.hpp"

namespace augur::program {

/// A model or a file of the run, by what it was used as.
struct recorded_model {
    std::string role, file;
};

/// What a record says beside tokens and rounds.
struct recorded_run {
    std::string command;
    nlohmann::ordered_json result;         ///< what --json prints
    std::vector<recorded_model> models{};  ///< cheapest first, the target last
    std::string prompt{};                  ///< valid UTF-8
    std::string text{};                    ///< generated
    double prefill = 0;                    ///< seconds
};

/// Of a scheme, who drafts: by place in observation::source.
std::vector<std::string> drafters_of(const scheme_options& resolved, const std::vector<recorded_model>& models);

/// One round: a line of a trace, and an element of a record. `start`: seconds of decoding before it.
nlohmann::ordered_json round_as_json(const round_summary& round, double start);

/// Collects a run, round by round. Rounds need readings.
class run_recorder {
 public:
    void add(const round_summary& round);
    /// A round of plain decoding, to compare with.
    void add_plain(const round_summary& round);

    /// bytes_of: what a token stands for; nothing where no tokenizer knows.
    nlohmann::ordered_json record(const recorded_run& run, const std::vector<std::string>& drafters,
                                  const std::function<std::string(token)>& bytes_of) const;

 private:
    using json = nlohmann::ordered_json;

    json tokens_ = json::array(), rounds_ = json::array(), plain_times_ = json::array();
    std::size_t shown_ = 0;  ///< bytes of text that tokens have
    std::set<token> seen_{};
    double seconds_ = 0, plain_seconds_ = 0;
};

}  // namespace augur::program
