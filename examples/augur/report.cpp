#include "report.hpp"

#include <algorithm>
#include <augur/io/files/quote.hpp>
#include <augur/switching/scheme.hpp>
#include <augur/tree/paths.hpp>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <string_view>
#include <utility>

#include "message.hpp"
#include "option_schemes.hpp"
#include "options.hpp"
#include "tree_choice.hpp"
#include "tree_rules.hpp"

namespace augur::program {
namespace {

std::string fixed(double value, int digits) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}

std::string percent(double share) {
    return fixed(100 * share, 1) + " %";
}

std::string padded(std::string text, std::size_t width) {
    if (text.size() < width) text.insert(0, width - text.size(), ' ');
    return text;
}

/// Of the tokens, how many this model wrote.
double share_of(const model_statistics& model, const run_result& run) {
    return run.ids.empty() ? 0 : static_cast<double>(model.written) / static_cast<double>(run.ids.size());
}

nlohmann::ordered_json models_as_json(const generation_report& report) {
    auto all = nlohmann::ordered_json::array();
    for (const model_statistics& each : report.composed.counts.models) {
        all.push_back({{"written", each.written},
                       {"share", share_of(each, report.composed)},
                       {"drafted", each.drafted},
                       {"passes", each.passes},
                       {"caught_up", each.caught_up},
                       {"seconds", each.seconds},
                       {"parameters", report.parameters.at(all.size())}});
        if (report.bridge == nullptr) continue;
        const bridged_side& side = report.bridge->at(all.size() - 1);
        all.back()["vocabulary"] = side.of.vocabulary;
        all.back()["prompt_ids"] = side.prompt;
        all.back()["stop_ids"] = side.end_tokens;
    }
    return all;
}

nlohmann::ordered_json turns_as_json(const generation_report& report) {
    const turn_statistics& turns = report.composed.counts.turns;
    return {{"bridged", report.bridge != nullptr},
            {"switches", turns.switches},
            {"waited", turns.waited},
            {"lost", turns.lost},
            {"full", turns.full}};
}

nlohmann::ordered_json bins_as_json(const bins_summary& summary) {
    auto all = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < summary.bins.size(); ++i) {
        const policy::bin_statistics& bin = summary.bins[i];
        all.push_back({{"length", summary.lengths[i]},
                       {"rounds", bin.rounds},
                       {"drafted", bin.drafted},
                       {"accepted", bin.accepted},
                       {"rate", bin.rate()},
                       {"average", bin.average}});
        all.back()["below_nats"] =
            i < summary.edges_nats.size() ? nlohmann::ordered_json(summary.edges_nats[i]) : nullptr;
    }
    return all;
}

/// What flags of a list of numbers take: JSON has no infinity.
nlohmann::ordered_json numbers_as_json(const std::vector<double>& values) {
    auto all = nlohmann::ordered_json::array();
    for (const double each : values) {
        all.push_back(std::isfinite(each) ? nlohmann::ordered_json(each) : nlohmann::ordered_json("inf"));
    }
    return all;
}

nlohmann::ordered_json tree_as_json(const scheme_options& chosen) {
    if (chosen.dynamic) return shown(*chosen.dynamic);
    if (chosen.automatic_tree) return "auto";
    return tree::paths_of(*chosen.tree);
}

/// Every setting that this scheme has, by the name of its flag, as it was resolved.
void add_scheme_settings(nlohmann::ordered_json& into, const scheme_options& chosen) {
    const auto add = [&](const char* flag, nlohmann::ordered_json value) {
        std::string key = flag;
        std::replace(key.begin(), key.end(), '-', '_');
        if (is_option_of(flag, chosen.scheme)) into[key] = std::move(value);
    };
    into["accept"] = chosen.accept;
    const bool is_chain = !chosen.tree && !chosen.dynamic && !chosen.automatic_tree;
    if (chosen.length && is_chain) add("length", *chosen.length);
    if (chosen.max_k) add("max-k", *chosen.max_k);
    add("bins", chosen.bin_edges_nats);
    add("bin-lengths", chosen.bin_lengths);
    add("learn-bins", chosen.learn_bins);
    add("signal", chosen.signal.empty() ? "draft_entropy" : chosen.signal);
    add("lookup-min", chosen.lookup_min);
    add("lookup-max", chosen.lookup_max);
    if (chosen.scheme != "entmtp" && !chosen.thresholds.empty()) add("thresholds", numbers_as_json(chosen.thresholds));
    add("lengths", chosen.lengths);
    add("divergence", chosen.divergence);
    add("window", chosen.window);
    add("dwell", chosen.dwell);
    if (chosen.divergence_temperature) into["divergence_temperature"] = as_written(*chosen.divergence_temperature);
    if (chosen.accept == "typical") {
        const accept::typical_options own;
        into["epsilon"] = chosen.epsilon.value_or(own.epsilon);
        into["delta"] = chosen.delta.value_or(own.delta);
    }
    if (!chosen.adapter.empty()) into["adapter"] = chosen.adapter;
    if (chosen.scheme == "kangaroo") into["untrained"] = chosen.untrained;
    if (chosen.tree || chosen.dynamic || chosen.automatic_tree) into["tree"] = tree_as_json(chosen);
    if (const std::string trees = trees_of(chosen); !trees.empty()) into["trees"] = trees;
    if (!chosen.bank_path.empty()) into["bank"] = chosen.bank_path;
    if (chosen.scheme != "entmtp") return;
    into["tree_policy"] = by_ladder(chosen) ? "ladder" : "hysteresis";
    into["tree_feature"] = feature_of(chosen).name;
    if (one_tree_is_best(chosen)) return;  // no threshold is in use
    const bool is_of_bank = chosen.thresholds.empty();
    into["thresholds"] = numbers_as_json(is_of_bank ? std::vector{chosen.bank->threshold} : chosen.thresholds);
}

/// Trees of a bank, in its order, and in how many rounds each was drafted.
nlohmann::ordered_json trees_as_json(const bank_summary& summary, const tree::bank& bank) {
    auto all = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < bank.size(); ++i) {
        const topology& shape = bank.shape(i);
        all.push_back({{"nodes", shape.size()}, {"depth", shape.depth()}, {"rounds", summary.rounds.at(i)}});
    }
    return all;
}

nlohmann::ordered_json learner_as_json(const learner_summary& learner) {
    std::ostringstream text;
    train::write_json(text, learner.last);
    auto all = nlohmann::ordered_json::parse(text.str());
    all["rounds_a_part"] = learner.rounds_a_part;
    all["parts"] = nlohmann::ordered_json::array();
    for (const auto& part : learner.parts) {
        const double share =
            part.drafted == 0 ? 0 : static_cast<double>(part.accepted) / static_cast<double>(part.drafted);
        all["parts"].push_back({{"drafted", part.drafted}, {"accepted", part.accepted}, {"acceptance", share}});
    }
    return all;
}

/// One line of the table: a name, the plain figure, the composed one, a remark. Composed comes last but for the remark.
struct line {
    std::string name, plain, composed, remark;
};

std::vector<line> lines_of(const generation_report& report) {
    const run_result& run = report.composed;
    const stage_statistics& stage = run.counts.stages.back();
    const run_result none;
    const run_result& plain = report.plain ? *report.plain : none;
    const auto seconds = [&](const char* name, double time_spent::*part) {
        return line{name, fixed(plain.counts.seconds.*part, 3) + " s", fixed(run.counts.seconds.*part, 3) + " s", ""};
    };
    const std::string drafted = std::to_string(stage.accepted) + " of " + std::to_string(stage.drafted) + " drafted";
    return {{"", "plain", report.scheme.scheme, ""},
            {"tokens per second", fixed(report.plain_rate(), 1), fixed(report.rate(), 1),
             report.plain ? fixed(report.speeds.ratio(), 2) + " x" : ""},
            {"accepted length", fixed(plain.counts.accepted_length(), 2), fixed(run.counts.accepted_length(), 2),
             "tokens per pass of the model"},
            {"acceptance", "", stage.drafted == 0 ? "" : percent(stage.acceptance()), drafted},
            seconds("prefill", &time_spent::prefill),
            seconds("draft", &time_spent::draft),
            seconds("verify", &time_spent::verify),
            seconds("accept", &time_spent::accept),
            seconds("other", &time_spent::other)};
}

std::string bins_as_table(const bins_summary& summary) {
    std::string out = "\n  entropy, nats     length    rounds  acceptance   average\n";
    for (std::size_t i = 0; i < summary.bins.size(); ++i) {
        const policy::bin_statistics& bin = summary.bins[i];
        const bool last = i == summary.edges_nats.size();
        const std::string edge = last ? "above" : "below " + fixed(summary.edges_nats[i], 2);
        out += "  " + edge + std::string(14 - std::min<std::size_t>(edge.size(), 14), ' ');
        out += padded(std::to_string(summary.lengths[i]), 10) + padded(std::to_string(bin.rounds), 10);
        out += padded(bin.drafted == 0 ? "" : percent(bin.rate()), 12) + padded(percent(bin.average), 10) + "\n";
    }
    return out;
}

std::string models_as_table(const generation_report& report) {
    const auto& models = report.composed.counts.models;
    std::string out = "\n  model        wrote     share    passes      read   seconds  parameters\n";
    for (std::size_t i = 0; i < models.size(); ++i) {
        const model_statistics& each = models[i];
        out += i + 1 == models.size() ? "  the model"
               : models.size() == 2   ? "  the draft"
                                      : detail::message("  draft ", i + 1, "  ");
        out += padded(std::to_string(each.written), 9) + padded(percent(share_of(each, report.composed)), 10);
        out += padded(std::to_string(each.passes), 10) + padded(std::to_string(each.caught_up), 10);
        out += padded(fixed(each.seconds, 3), 10) + padded(fixed(report.parameters.at(i) / 1e6, 1) + " M", 12) + "\n";
    }
    out += "\n  parameter ratio     " + padded(percent(report.parameter_ratio()), 10) +
           "   of the model's parameters wrote a token, on average\n";
    if (report.bridge == nullptr) return out;
    const turn_statistics& turns = report.composed.counts.turns;
    return out + "  turns by text       " + padded(std::to_string(turns.switches), 10) +
           detail::message("   ", turns.lost, " lost, ", turns.full, " without room; ", turns.waited,
                           " tokens written inside code points\n");
}

std::string length_of(const generation_report& report) {
    const auto& length = report.scheme.length;
    if (report.scheme.scheme == "plain") return "";
    if (const std::string trees = trees_of(report.scheme); !trees.empty()) return ", trees " + trees;
    if (length) return ", length " + std::to_string(*length);
    return drafts_what_pays(report.scheme) ? ", length as it pays" : "";
}

std::string verdict_on_text(const generation_report& report) {
    const std::string count = std::to_string(report.composed.ids.size()) + " tokens";
    const auto difference = report.first_difference();
    if (!difference) return "identical to plain decoding, " + count;
    return "differs from plain decoding from token " + std::to_string(*difference) + " on, " + count;
}

}  // namespace

nlohmann::ordered_json seconds_as_json(const time_spent& spent) {
    return {{"prefill", spent.prefill},
            {"draft", spent.draft},
            {"verify", spent.verify},
            {"accept", spent.accept},
            {"other", spent.other}};
}

nlohmann::ordered_json stages_as_json(const statistics& counts) {
    auto stages = nlohmann::ordered_json::array();
    for (const stage_statistics& stage : counts.stages) {
        auto positions = nlohmann::ordered_json::array();
        for (const auto& at : stage.positions)
            positions.push_back({{"drafted", at.drafted}, {"accepted", at.accepted}});
        const std::string number = counts.stages.size() > 2 ? detail::message(" ", stages.size() + 1) : "";
        const std::string name = &stage == &counts.stages.back() ? "target" : "qualifier" + number;
        stages.push_back({{"name", name},
                          {"rounds", stage.rounds},
                          {"drafted", stage.drafted},
                          {"accepted", stage.accepted},
                          {"acceptance", stage.acceptance()},
                          {"positions", positions}});
    }
    return stages;
}

std::optional<std::size_t> generation_report::first_difference() const {
    const auto& other = plain->ids;
    const auto [at, _] = std::mismatch(composed.ids.begin(), composed.ids.end(), other.begin(), other.end());
    if (composed.ids == other) return std::nullopt;
    return static_cast<std::size_t>(at - composed.ids.begin());
}

double generation_report::parameter_ratio() const {
    return switching::parameter_ratio(composed.counts.models, parameters);
}

nlohmann::ordered_json as_json(const generation_report& report) {
    const run_result& run = report.composed;
    nlohmann::ordered_json seconds = seconds_as_json(run.counts.seconds);
    seconds["load"] = report.load_seconds;
    auto origins = nlohmann::ordered_json::array();
    for (const origin from : run.origins) origins.push_back(name_of(from));
    nlohmann::ordered_json out = {{"text", run.text},
                                  {"ids", run.ids},
                                  {"prompt_ids", report.prompt},
                                  {"finish_reason", name_of(run.finish)},
                                  {"stop_ids", report.stop_ids},
                                  {"seed", report.seed},
                                  {"scheme", report.scheme.scheme},
                                  {"guarantee", run.guarantee},
                                  {"tokens_per_second", report.rate()},
                                  {"accepted_length", run.counts.accepted_length()},
                                  {"acceptance", run.counts.acceptance()},
                                  {"rounds", run.counts.rounds()},
                                  {"stages", stages_as_json(run.counts)},
                                  {"seconds", std::move(seconds)},
                                  {"memory_bytes", report.weight_bytes + run.cache_bytes},
                                  {"origins", std::move(origins)},
                                  {"settings", report.settings}};
    add_scheme_settings(out["settings"], report.scheme);
    out["settings"]["policy"] = run.policy;
    if (run.finish == finish_reason::stop_string) out["stop_string"] = run.detail;
    if (!run.counts.models.empty()) {
        out["models"] = models_as_json(report);
        out["writers"] = run.writers;
        out["turns"] = turns_as_json(report);
        out["parameter_ratio"] = report.parameter_ratio();
    }
    if (run.bins) out["bins"] = bins_as_json(*run.bins);
    if (run.switches) {
        out["switches"] = {{"long_rounds", run.switches->long_rounds},
                           {"short_rounds", run.switches->short_rounds},
                           {"to_long", run.switches->to_long},
                           {"to_short", run.switches->to_short}};
    }
    if (run.trees) {
        out["trees"] = trees_as_json(*run.trees, report.scheme.bank.value().trees);
        out["tree_switches"] = run.trees->switches;
    }
    if (run.learner) out["learner"] = learner_as_json(*run.learner);
    if (!report.plain) return out;
    out["plain"] = {{"ids", report.plain->ids},
                    {"tokens_per_second", report.plain_rate()},
                    {"seconds", seconds_as_json(report.plain->counts.seconds)}};
    const auto difference = report.first_difference();
    out["identical"] = !difference.has_value();
    out["first_difference"] = difference ? nlohmann::ordered_json(*difference) : nullptr;
    out["speedup"] = report.speeds.ratio();
    out["compared"] = report.speeds.as_json();
    if (report.compared_state_texts) out["compared"]["state_texts"] = *report.compared_state_texts;
    return out;
}

std::string as_table(const generation_report& report, bool colour) {
    const auto dimmed = [&](const std::string& text) { return colour ? "\033[2m" + text + "\033[0m" : text; };
    const auto bold = [&](const std::string& text) { return colour ? "\033[1m" + text + "\033[0m" : text; };
    const std::string by = report.requested_scheme == "auto" ? " (chosen by auto)" : "";
    std::string out = "\n" + dimmed("scheme   ") + report.scheme.scheme + by + length_of(report) + ", accept " +
                      report.scheme.accept + "\n" + dimmed("promise  ") + report.composed.guarantee + "\n";
    for (const std::string& path : report.settings.at("drafters").get<std::vector<std::string>>()) {
        out += dimmed("drafter  ") + one_line(path) + "\n";
    }
    if (report.plain) out += dimmed("text     ") + bold(verdict_on_text(report)) + "\n";
    if (report.speeds.pairs() > 0) out += dimmed("speed    ") + report.speeds.text() + "\n";
    out += dimmed("ended    ") + one_line(report.ended) + "\n";
    out += "\n";
    const std::size_t width = std::max<std::size_t>(10, report.scheme.scheme.size() + 2);
    for (const line& each : lines_of(report)) {
        std::string figures = each.name + std::string(20 - each.name.size(), ' ');
        if (report.plain) figures += padded(each.plain, 10);
        figures += padded(each.composed, width);
        out += "  " + figures + (each.remark.empty() ? "" : "   " + dimmed(each.remark)) + "\n";
    }
    if (report.composed.bins) out += bins_as_table(*report.composed.bins);
    if (!report.composed.counts.models.empty()) out += models_as_table(report);
    return out + "\n  " + dimmed("Rates leave out loading, prefill and printing.") + "\n";
}

}  // namespace augur::program
