#include "learning_record.hpp"

#include <utility>

#include "report.hpp"

namespace augur::program {
namespace {

using json = nlohmann::ordered_json;

/// The tokens and rounds of a text, after those that are there: places and seconds go on.
void append(json& into, json text) {
    json &tokens = into["tokens"], &rounds = into["rounds"];
    const std::size_t rounds_before = rounds.size();
    const double elapsed = tokens.empty() ? 0.0 : tokens.back()["seconds"].get<double>();
    for (json& each : text["tokens"]) {
        each["round"] = each["round"].get<std::size_t>() + rounds_before;
        each["seconds"] = each["seconds"].get<double>() + elapsed;
        tokens.push_back(std::move(each));
    }
    for (json& each : text["rounds"]) {
        each["start"] = each["start"].get<double>() + elapsed;
        rounds.push_back(std::move(each));
    }
    into["pieces"].update(text["pieces"]);
}

double ratio(std::size_t part, std::size_t all) {
    return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

}  // namespace

void learning_recorder::begin() {
    current_.emplace();
}

std::function<void(const round_summary&)> learning_recorder::watcher() {
    return [this](const round_summary& round) { current_->add(round); };
}

void learning_recorder::end(json figures, const run_result& result, const std::string& prompt) {
    const statistics& counts = result.counts;
    figures["rounds"] = counts.rounds();
    figures["finish_reason"] = name_of(result.finish);
    figures["seconds"] = seconds_as_json(counts.seconds);
    texts_.push_back(std::move(figures));
    tokens_ += result.ids.size();
    rounds_ += counts.rounds();
    drafted_ += counts.stages.back().drafted;
    accepted_ += counts.stages.back().accepted;
    seconds_ += counts.seconds;
    const recorded_run of_text{.command = "learn", .result = json::object(), .prompt = prompt, .text = result.text};
    held_.push_back({texts_.size() - 1, current_->record(of_text, {}, bytes_of_)});
    held_tokens_ += result.ids.size();
    drop_the_middle();
}

/// The first text shows where learning began.
void learning_recorder::drop_the_middle() {
    while (held_tokens_ > most_tokens && held_.size() > 2) {
        held_tokens_ -= held_[1].record["tokens"].size();
        held_.erase(held_.begin() + 1);
    }
}

void learning_recorder::add_totals(json& result) const {
    result["texts"] = texts_.size();
    result["tokens"] = tokens_;
    result["rounds"] = rounds_;
    result["drafted"] = drafted_;
    result["accepted"] = accepted_;
    result["acceptance"] = ratio(accepted_, drafted_);
    result["accepted_length"] = ratio(tokens_, rounds_);
    result["tokens_per_second"] = tokens_ == 0 ? 0 : static_cast<double>(tokens_) / seconds_.decoding();
    result["seconds"] = seconds_as_json(seconds_);
}

json learning_recorder::record(recorded_run about, const std::string& guarantee) const {
    about.result["guarantee"] = guarantee;
    add_totals(about.result);
    json out = run_recorder().record(about, {"the model's first layers"}, bytes_of_);
    json texts = texts_;
    std::string text;
    for (const held_text& each : held_) {
        texts[each.number]["prompt"] = each.record["prompt"];
        texts[each.number]["first_token"] = out["tokens"].size();
        append(out, each.record);
    }
    out["texts"] = std::move(texts);
    return out;
}

}  // namespace augur::program
