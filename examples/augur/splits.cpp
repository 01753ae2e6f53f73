#include "splits.hpp"

#include <algorithm>
#include <augur/io/files/quote.hpp>
#include <cstdio>
#include <utility>

namespace augur::program {
namespace {

using json = nlohmann::ordered_json;

std::vector<tune::split_choice> choices_of(const std::vector<measured_exit>& exits, double plain_seconds) {
    std::vector<tune::split> candidates;
    for (const measured_exit& each : exits) {
        candidates.push_back(each.costs);
        candidates.back().acceptance = acceptance_of(each.counts);
    }
    return tune::best_splits(candidates, plain_seconds);
}

/// Of the exit after this layer; plain decoding where that is 0.
std::string name_of(const std::vector<measured_exit>& exits, std::size_t layer) {
    for (const measured_exit& each : exits) {
        if (each.costs.layer == layer) return each.scheme;
    }
    return "plain";
}

json as_json(const std::vector<measured_exit>& exits, const tune::split_choice& of) {
    return {{"scheme", name_of(exits, of.layer)},
            {"layer", of.layer},
            {"length", of.length},
            {"tokens_per_second", of.tokens_per_second},
            {"speedup", of.speedup}};
}

}  // namespace

void check_is_split(const std::string& name, const scheme_options& scheme) {
    if (scheme.scheme == "plain") return;
    if (scheme.scheme != "kangaroo" && scheme.scheme != "dvi") {
        detail::fail("--splits compares exits of the model, but --scheme ", io::quote(name),
                     " does not draft with its first layers; kangaroo and dvi do");
    }
    const bool is_whole = scheme.thresholds.size() == 1 && scheme.thresholds.front() == 0;
    if (scheme.length && is_whole) return;
    detail::fail("--splits needs drafts of one length, and --scheme ", io::quote(name), " has ",
                 scheme.length ? "a threshold that ends them" : "none", "; give it length=K:thresholds=0");
}

std::vector<double> acceptance_of(const std::vector<stage_statistics::at_position>& counts) {
    std::vector<double> found;
    double before = 1;
    for (const auto& at : counts) {
        if (at.drafted == 0 || before == 0) break;
        const double all = static_cast<double>(at.accepted) / static_cast<double>(at.drafted);
        found.push_back(std::min(1.0, all / before));
        before = all;
    }
    return found;
}

void measured_exit::add(const stage_statistics& of) {
    if (counts.size() < of.positions.size()) counts.resize(of.positions.size());
    for (std::size_t i = 0; i < of.positions.size(); ++i) {
        counts[i].drafted += of.positions[i].drafted;
        counts[i].accepted += of.positions[i].accepted;
    }
}

measured_exit measure_exit(const std::string& name, const engine& target, const draft_checkpoints& drafters,
                           std::size_t length) {
    const auto by = [&](const auto& head) {
        return measured_exit{name, tune::measured_split(target, head, length + 1, 0, {.repetitions = 4})};
    };
    if (drafters.exit) return by(*drafters.exit);
    return drafters.learned ? by(drafters.learned->head()) : by(drafters.learned_layer->head());
}

json splits_as_json(const std::vector<measured_exit>& exits, double plain_seconds) {
    const auto choices = choices_of(exits, plain_seconds);
    json out = {{"plain_seconds", plain_seconds},
                {"exits", json::array()},
                {"best", as_json(exits, choices.front())},
                {"choices", json::array()}};
    for (const measured_exit& each : exits) {
        out["exits"].push_back({{"scheme", each.scheme},
                                {"layer", each.costs.layer},
                                {"first_seconds", each.costs.first_seconds},
                                {"head_seconds", each.costs.head_seconds},
                                {"rest_seconds", each.costs.rest_seconds},
                                {"acceptance", acceptance_of(each.counts)}});
    }
    for (const tune::split_choice& each : choices) out["choices"].push_back(as_json(exits, each));
    return out;
}

std::string splits_as_table(const std::vector<measured_exit>& exits, double plain_seconds) {
    char line[200];
    std::snprintf(line, sizeof line, "\nsplits, fastest first; a plain pass takes %.3f ms\n", 1000 * plain_seconds);
    std::string out = line;
    std::snprintf(line, sizeof line, "  %-30s %5s %9s %9s %9s %9s %6s %9s %7s\n", "scheme", "layer", "first ms",
                  "head ms", "rest ms", "accepted", "length", "tokens/s", "x plain");
    out += line;
    std::vector<std::size_t> shown;
    for (const tune::split_choice& best : choices_of(exits, plain_seconds)) {
        if (std::find(shown.begin(), shown.end(), best.layer) != shown.end()) continue;
        shown.push_back(best.layer);
        const auto at = std::find_if(exits.begin(), exits.end(),
                                     [&](const measured_exit& each) { return each.costs.layer == best.layer; });
        const tune::split costs = at == exits.end() ? tune::split{.rest_seconds = {plain_seconds}} : at->costs;
        const auto accepted = at == exits.end() ? std::vector<double>() : acceptance_of(at->counts);
        std::snprintf(line, sizeof line, "  %-30s %5zu %9.3f %9.3f %9.3f %9.2f %6zu %9.1f %7.2f\n",
                      name_of(exits, best.layer).c_str(), best.layer, 1000 * costs.first_seconds,
                      1000 * costs.head_seconds, 1000 * costs.rest_seconds[best.length],
                      accepted.empty() ? 0 : accepted.front(), best.length, best.tokens_per_second, best.speedup);
        out += line;
    }
    return out +
           "Of each exit the best length: first layers and head over one token, the others over all of a round; "
           "accepted: of first tokens.\n";
}

}  // namespace augur::program
