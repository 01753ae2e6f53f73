#include "run_files.hpp"

#include <augur/io/files/quote.hpp>
#include <initializer_list>
#include <string_view>

#include "event_trace.hpp"
#include "html_report.hpp"
#include "message.hpp"
#include "options.hpp"

namespace augur::program {
namespace {

namespace fs = std::filesystem;

/// A pipe or a device, whose name says nothing.
bool says_nothing(const std::string& path) {
    std::error_code unknown;
    return fs::exists(path, unknown) && !fs::is_regular_file(path, unknown);
}

bool ends_in(const std::string& path, std::string_view ending) {
    return fs::path(path).extension() == ending;
}

void check_ending(const std::string& flag, const std::string& path, std::initializer_list<const char*> endings,
                  const std::string& what) {
    if (says_nothing(path)) return;
    for (const char* ending : endings) {
        if (ends_in(path, ending)) return;
    }
    detail::fail(flag, " is ", io::quote(path), "; it must end in ", what);
}

void write_whole(const std::string& path, const std::string& text) {
    output_file file(path);
    file.write(text);
    file.commit();
}

}  // namespace

bool run_file_options::traces_lines() const {
    return trace && !ends_in(*trace, ".json");
}

bool run_file_options::records() const {
    return report || record || (trace && !traces_lines());
}

void add_report_files(CLI::App& command, run_file_options& into, const std::string& shows) {
    add_text(
        command, "--report", [&into](const std::string& path) { into.report = path; },
        "Write an HTML page to FILE.html that shows " + shows, "FILE");
    add_text(
        command, "--record", [&into](const std::string& path) { into.record = path; },
        "Write what the page shows to FILE.json", "FILE");
}

void add_run_files(CLI::App& command, run_file_options& into) {
    add_report_files(command, into, "the run: text, rounds, acceptance, speed");
    add_text(
        command, "--trace", [&into](const std::string& path) { into.trace = path; },
        "FILE.json: write trace events, for ui.perfetto.dev; FILE.jsonl: one JSON object per round, as it ends",
        "FILE");
}

void check_run_files(const run_file_options& chosen, const std::vector<fs::path>& inputs) {
    std::vector<fs::path> taken;
    const auto check = [&](const char* flag, const std::optional<std::string>& path,
                           std::initializer_list<const char*> endings, const char* what) {
        if (!path) return;
        check_output(flag, *path, inputs);
        check_ending(flag, *path, endings, what);
        for (const fs::path& other : taken) {
            if (!is_same_file(other, *path) || says_nothing(*path)) continue;
            detail::fail(flag, " ", *path, " is written to twice; --report, --record and --trace are different files");
        }
        taken.emplace_back(*path);
    };
    check("--report", chosen.report, {".html"}, ".html");
    check("--record", chosen.record, {".json"}, ".json");
    check("--trace", chosen.trace, {".json", ".jsonl"}, ".json, for trace events, or .jsonl, for a line per round");
}

void write_report_files(const run_file_options& chosen, const nlohmann::ordered_json& record) {
    if (chosen.record) write_whole(*chosen.record, json_line(record));
    if (chosen.report) write_whole(*chosen.report, page_of(record));
}

run_files::run_files(const run_file_options& chosen) : chosen_(chosen) {
    if (chosen.traces_lines()) lines_.emplace(*chosen.trace);
}

std::function<void(const round_summary&)> run_files::watcher() {
    if (!lines_ && !chosen_.records()) return {};
    return [this](const round_summary& round) {
        if (lines_) lines_->write(json_line(round_as_json(round, seconds_)));
        seconds_ += round.seconds.decoding();
        if (chosen_.records()) recorder_.add(round);
    };
}

std::function<void(const round_summary&)> run_files::plain_watcher() {
    if (!chosen_.records()) return {};
    return [this](const round_summary& round) { recorder_.add_plain(round); };
}

void run_files::end_lines() {
    if (lines_) lines_->commit();
}

void run_files::write(const nlohmann::ordered_json& record) const {
    write_report_files(chosen_, record);
    if (chosen_.trace && !chosen_.traces_lines()) write_whole(*chosen_.trace, json_line(events_of(record)));
}

}  // namespace augur::program
