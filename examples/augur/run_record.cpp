#include "run_record.hpp"

#include <augur/io/text/utf8.hpp>
#include <cmath>
#include <cstdio>

namespace augur::program {
namespace {

using json = nlohmann::ordered_json;

/// To so many digits after the point, so that records are small; what is no number is null.
json rounded(double value, double digits) {
    const double scale = std::pow(10.0, digits);
    return std::isfinite(value) ? json(std::round(value * scale) / scale) : json(nullptr);
}

json seconds_json(double value) {
    return rounded(value, 9);
}

/// Bytes as text: what is no UTF-8 is \xNN.
std::string legible(std::string_view bytes) {
    std::string out;
    while (!bytes.empty()) {
        const io::utf8_start start = io::first_code_point(bytes);
        const std::string_view letter = bytes.substr(0, start.length);
        if (start.state == io::utf8_state::complete) {
            out += letter;
        } else {
            for (const char byte : letter) {
                char escape[8];
                std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(byte));
                out += escape;
            }
        }
        bytes.remove_prefix(start.length);
    }
    return out;
}

/// What a member, or a file of --draft, is in words.
std::string words_for(const std::string& role) {
    if (role == "eagle") return "EAGLE layer";
    return role == "draft" ? "draft model" : role + " heads";
}

/// The stages inside a cascade; none elsewhere.
json inside_json(const std::vector<stage_round>& inside) {
    json all = json::array();
    for (const stage_round& each : inside) {
        all.push_back({{"rounds", each.rounds}, {"drafted", each.drafted}, {"accepted", each.accepted}});
    }
    return all;
}

/// The token that a round committed as number i.
json token_json(const round_summary& round, std::size_t i, std::size_t round_number) {
    const commit::committed_token& token = round.committed[i];
    json out = {{"id", token.id}, {"text", token.text}, {"origin", name_of(token.from)}, {"round", round_number}};
    if (token.from == origin::accepted) {
        out["drafter"] = round.decided_on.source;
        out["place"] = i;
    }
    if (round.writer) out["model"] = *round.writer;
    const row_reading& read = round.readings.at(i);
    out["entropy_nats"] = rounded(read.entropy_nats, 4);
    out["probability"] = rounded(read.probability, 6);
    out["top"] = read.top;
    return out;
}

}  // namespace

std::vector<std::string> drafters_of(const scheme_options& resolved, const std::vector<recorded_model>& models) {
    const std::string& scheme = resolved.scheme;
    if (scheme == "plain") return {};
    if (scheme == "lookup") return {"prompt lookup"};
    if (scheme == "forced") return {"the grammar", "prompt lookup"};
    if (scheme == "suffix") return {"suffix lookup"};
    if (scheme == "hybrid") {
        std::vector<std::string> all = {"prompt lookup", "n-grams"};
        for (const recorded_model& each : models) {
            if (each.role == "eagle") all.push_back("EAGLE layer");
        }
        return all;
    }
    if (scheme.starts_with("psd")) return {"draft and qualifier"};
    if (scheme == "cascade" && models.size() > 2) return {"draft models"};
    if (scheme == "merged") return {"prompt lookup and " + words_for(models.front().role)};
    if (scheme == "eagle") return {"EAGLE layer"};
    if (scheme == "mtp") return {"the model's prediction layers"};
    if (scheme == "medusa" || scheme == "hydra" || scheme == "entmtp") return {words_for(models.front().role)};
    if (scheme == "kangaroo" || scheme == "dvi") return {"the model's first layers"};
    return {"draft model"};
}

json round_as_json(const round_summary& round, double start) {
    json committed = json::array();
    for (const auto& t : round.committed) committed.push_back(t.id);
    json out = {{"position", round.position},
                {"start", seconds_json(start)},
                {"drafted", round.drafted},
                {"accepted", round.decided.accepted},
                {"next", round.decided.next},
                {"origin", name_of(round.decided.next_origin())},
                {"committed", std::move(committed)},
                {"seconds",
                 {{"draft", seconds_json(round.seconds.draft)},
                  {"verify", seconds_json(round.seconds.verify)},
                  {"accept", seconds_json(round.seconds.accept)},
                  {"other", seconds_json(round.seconds.other)}}}};
    if (round.tree) out["tree"] = *round.tree;
    if (!round.parents.empty()) {
        out["parents"] = round.parents;
        out["path"] = round.decided.path;
    }
    if (round.writer) out["model"] = *round.writer;
    if (!round.drafted.empty()) out["drafter"] = round.decided_on.source;
    if (round.decided_on.match_length > 0) out["match_length"] = round.decided_on.match_length;
    if (std::isfinite(round.decided_on.first_draft_entropy_nats)) {
        out["first_draft_entropy_nats"] = rounded(round.decided_on.first_draft_entropy_nats, 4);
    }
    if (!round.inside.empty()) out["inside"] = inside_json(round.inside);
    return out;
}

void run_recorder::add(const round_summary& round) {
    const double start = seconds_;
    seconds_ += round.seconds.decoding();
    for (std::size_t i = 0; i < round.committed.size(); ++i) {
        tokens_.push_back(token_json(round, i, rounds_.size()));
        tokens_.back()["seconds"] = seconds_json(seconds_);
        shown_ += round.committed[i].text.size();
        seen_.insert(round.committed[i].id);
    }
    seen_.insert(round.drafted.begin(), round.drafted.end());
    if (round.decided.next != no_token) seen_.insert(round.decided.next);
    rounds_.push_back(round_as_json(round, start));
}

void run_recorder::add_plain(const round_summary& round) {
    plain_seconds_ += round.seconds.decoding();
    for (std::size_t i = 0; i < round.committed.size(); ++i) plain_times_.push_back(seconds_json(plain_seconds_));
}

json run_recorder::record(const recorded_run& run, const std::vector<std::string>& drafters,
                          const std::function<std::string(token)>& bytes_of) const {
    json models = json::array(), pieces = json::object(), tokens = tokens_;
    for (const recorded_model& each : run.models) models.push_back({{"role", each.role}, {"file", each.file}});
    for (const token id : seen_) {
        const std::string bytes = bytes_of(id);
        if (!bytes.empty()) pieces[std::to_string(id)] = legible(bytes);
    }
    if (!tokens.empty() && run.text.size() > shown_) {  // held back until the end, for a stop string
        tokens.back()["text"] = tokens.back()["text"].get<std::string>() + run.text.substr(shown_);
    }
    json out = {{"format", "augur run"},       {"version", 1},
                {"command", run.command},      {"result", run.result},
                {"models", std::move(models)}, {"drafters", drafters},
                {"prompt", run.prompt},        {"prefill_seconds", seconds_json(run.prefill)},
                {"tokens", std::move(tokens)}, {"rounds", rounds_},
                {"pieces", std::move(pieces)}};
    if (run.result.contains("plain")) out["plain_seconds"] = plain_times_;
    return out;
}

}  // namespace augur::program
