#pragma once
// What `augur learn` did, text by text, as a record: docs/report.md has its keys.

#include <cstddef>
#include <deque>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "run_record.hpp"

namespace augur::program {

/// Of every text its figures; of the first and the latest ones the tokens and rounds, too, so that what is held does
/// not grow with what is served.
class learning_recorder {
 public:
    static constexpr std::size_t most_tokens = 10'000;  ///< held, unless one text has more

    /// bytes_of: what a token stands for; nothing where no tokenizer knows.
    explicit learning_recorder(std::function<std::string(token)> bytes_of) : bytes_of_(std::move(bytes_of)) {}

    /// A text begins; its rounds are shown to the watcher, with readings.
    void begin();
    std::function<void(const round_summary&)> watcher();
    /// It has ended: what is said of it, and its prompt.
    void end(nlohmann::ordered_json figures, const run_result& result, const std::string& prompt);

    /// about.result gets the totals of all texts.
    nlohmann::ordered_json record(recorded_run about, const std::string& guarantee) const;

 private:
    using json = nlohmann::ordered_json;

    /// A text whose tokens are held.
    struct held_text {
        std::size_t number;
        json record;  ///< as of a run of its own
    };

    void drop_the_middle();
    void add_totals(json& result) const;

    std::function<std::string(token)> bytes_of_;
    std::optional<run_recorder> current_{};
    std::deque<held_text> held_{};
    std::size_t held_tokens_ = 0, rounds_ = 0, tokens_ = 0, drafted_ = 0, accepted_ = 0;
    time_spent seconds_{};
    json texts_ = json::array();
};

}  // namespace augur::program
