#include "event_trace.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

namespace augur::program {
namespace {

using json = nlohmann::ordered_json;

constexpr int run_process = 1, plain_process = 2;
constexpr int rounds_track = 1, choices_track = 6;
constexpr std::array<std::pair<const char*, const char*>, 4> round_parts = {
    {{"draft", "draft"}, {"verify", "verify"}, {"accept", "accept"}, {"commit", "other"}}};

/// Whole nanoseconds, so that what lies side by side does not overlap by rounding.
std::int64_t nanoseconds(const json& seconds) {
    return std::llround(seconds.get<double>() * 1e9);
}

double microseconds(std::int64_t nanoseconds) {
    return static_cast<double>(nanoseconds) / 1000;
}

class event_list {
 public:
    void name(const char* kind, int process, int track, const std::string& name) {
        events_.push_back({{"name", kind}, {"ph", "M"}, {"pid", process}, {"tid", track}, {"args", {{"name", name}}}});
    }
    void span(const std::string& name, int process, int track, std::int64_t from, std::int64_t to, json about) {
        events_.push_back({{"name", name},
                           {"ph", "X"},
                           {"pid", process},
                           {"tid", track},
                           {"ts", microseconds(from)},
                           {"dur", microseconds(to - from)},
                           {"args", std::move(about)}});
    }
    void counter(const char* name, std::int64_t at, json values) {
        events_.push_back({{"name", name},
                           {"ph", "C"},
                           {"pid", run_process},
                           {"tid", 0},
                           {"ts", microseconds(at)},
                           {"args", std::move(values)}});
    }
    json take() { return std::move(events_); }

 private:
    json events_ = json::array();
};

/// What a round chose to write with, where there is a choice.
std::string choice_of(const json& round, const json& models) {
    if (round.contains("model")) return models.at(round["model"].get<std::size_t>())["role"].get<std::string>();
    return round.contains("tree") ? "tree " + std::to_string(round["tree"].get<std::size_t>()) : "";
}

void add_counters(event_list& events, const json& round, std::int64_t at) {
    const std::size_t drafted = round["drafted"].size(), committed = round["committed"].size();
    const auto accepted = round["accepted"].get<double>();
    events.counter("length", at, {{"drafted", drafted}, {"accepted", accepted}});
    events.counter("tokens per pass", at, {{"committed", committed}});
    if (drafted > 0) events.counter("acceptance", at, {{"share", accepted / static_cast<double>(drafted)}});
}

json about_round(const json& round) {
    json about = {{"position", round["position"]},
                  {"drafted", round["drafted"].size()},
                  {"accepted", round["accepted"]},
                  {"committed", round["committed"]},
                  {"origin of the last", round["origin"]}};
    if (round.contains("drafter")) about["drafter"] = round["drafter"];
    return about;
}

void name_tracks(event_list& events, const json& record) {
    events.name("process_name", run_process, 0, record["result"]["scheme"].get<std::string>());
    events.name("thread_name", run_process, rounds_track, "rounds");
    for (std::size_t i = 0; i < round_parts.size(); ++i) {
        events.name("thread_name", run_process, rounds_track + 1 + static_cast<int>(i), round_parts[i].first);
    }
    if (!record["rounds"].empty() && !choice_of(record["rounds"][0], record["models"]).empty()) {
        events.name("thread_name", run_process, choices_track, "model or tree");
    }
}

/// Spans of the rounds that follow each other with one choice.
class choice_spans {
 public:
    void next(event_list& events, const std::string& choice, std::int64_t at) {
        if (choice == current_) return;
        end(events, at);
        current_ = choice;
        since_ = at;
    }
    void end(event_list& events, std::int64_t at) {
        if (!current_.empty()) events.span(current_, run_process, choices_track, since_, at, json::object());
    }

 private:
    std::string current_{};
    std::int64_t since_ = 0;
};

void add_rounds(event_list& events, const json& record, std::int64_t at) {
    choice_spans choices;
    std::size_t number = 0;
    for (const json& round : record["rounds"]) {
        choices.next(events, choice_of(round, record["models"]), at);
        add_counters(events, round, at);
        std::int64_t now = at;
        for (std::size_t i = 0; i < round_parts.size(); ++i) {
            const std::int64_t end = now + nanoseconds(round["seconds"][round_parts[i].second]);
            events.span(round_parts[i].first, run_process, rounds_track + 1 + static_cast<int>(i), now, end,
                        json::object());
            now = end;
        }
        events.span("round " + std::to_string(number++), run_process, rounds_track, at, now, about_round(round));
        at = now;
    }
    choices.end(events, at);
}

void add_plain(event_list& events, const json& record) {
    if (!record.contains("plain_seconds")) return;
    events.name("process_name", plain_process, 0, "plain decoding");
    events.name("thread_name", plain_process, rounds_track, "tokens");
    std::int64_t at = nanoseconds(record["result"]["plain"]["seconds"]["prefill"]);
    events.span("prefill", plain_process, rounds_track, 0, at, json::object());
    const std::int64_t begin = at;
    std::size_t number = 0;
    for (const json& seconds : record["plain_seconds"]) {
        const std::int64_t end = begin + nanoseconds(seconds);
        events.span("token " + std::to_string(number++), plain_process, rounds_track, at, end, json::object());
        at = end;
    }
}

}  // namespace

json events_of(const json& record) {
    event_list events;
    name_tracks(events, record);
    const std::int64_t prefilled = nanoseconds(record["prefill_seconds"]);
    events.span("prefill", run_process, rounds_track, 0, prefilled, json::object());
    add_rounds(events, record, prefilled);
    add_plain(events, record);
    return {{"traceEvents", events.take()},
            {"displayTimeUnit", "ms"},
            {"otherData",
             {{"scheme", record["result"]["scheme"]},
              {"guarantee", record["result"]["guarantee"]},
              {"finish_reason", record["result"]["finish_reason"]}}}};
}

}  // namespace augur::program
