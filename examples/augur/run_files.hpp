#pragma once
// The files that a run is written to: --report, --record and --trace.

#include <CLI/App.hpp>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "output_file.hpp"
#include "run_record.hpp"

namespace augur::program {

struct run_file_options {
    std::optional<std::string> report, record, trace;

    /// Whether rounds become lines as they come; other traces are made of the record.
    bool traces_lines() const;
    /// Whether a record is wanted, for which rows have to be read.
    bool records() const;
};

/// --report and --record, for a command whose page shows this.
void add_report_files(CLI::App& command, run_file_options& into, const std::string& shows);
/// These and --trace.
void add_run_files(CLI::App& command, run_file_options& into);

/// Throws, naming the flag, where one of the files cannot be written, is one of `inputs` or another of these, or has an
/// ending that does not say what to write.
void check_run_files(const run_file_options& chosen, const std::vector<std::filesystem::path>& inputs);

/// Writes the record and the report of it that are chosen, each whole or not at all.
void write_report_files(const run_file_options& chosen, const nlohmann::ordered_json& record);

/// Writes what is chosen, each file whole or not at all.
class run_files {
 public:
    explicit run_files(const run_file_options& chosen);

    /// Shown the rounds of the run, or of plain decoding; empty where nobody wants them.
    std::function<void(const round_summary&)> watcher();
    std::function<void(const round_summary&)> plain_watcher();
    const run_recorder& recorder() const { return recorder_; }

    /// All rounds have come: the lines are whole.
    void end_lines();
    /// Report, record and trace of this record.
    void write(const nlohmann::ordered_json& record) const;

 private:
    const run_file_options& chosen_;
    run_recorder recorder_{};
    std::optional<output_file> lines_{};
    double seconds_ = 0;  ///< in the lines so far
};

}  // namespace augur::program
