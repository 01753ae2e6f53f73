// augur advise: what each scheme would gain with a model of some shape on this machine, before there is one; or, of
// models that there are, the fastest cascade.

#include <algorithm>
#include <augur/io/files/json_reader.hpp>
#include <augur/io/files/quote.hpp>
#include <augur/tune/advice.hpp>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "family_folder.hpp"
#include "hierarchy.hpp"
#include "limits.hpp"
#include "llama_shape.hpp"
#include "message.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "synthetic_rounds.hpp"
#include "target.hpp"
#include "terminal.hpp"

namespace augur::program {
namespace {

using json = nlohmann::ordered_json;
using reader = io::json_reader<json>;

struct advise_options {
    std::string shape = "8b", weights, acceptance = family_folder() + "/smollm2-135m/acceptance.json";
    std::size_t vocabulary = 49152, context = 128, threads = 0, exit_layer = 0, turns = 9;
    bool json = false, hierarchy = false;
    hierarchy_options at_hand{};
};

constexpr llama_shape shape_135m{576, 1536, 9, 3, 64, 30};
constexpr std::size_t most_drafted = 32;

/// A scheme as its drafts were judged elsewhere.
struct judged_scheme {
    std::string name, drafter;  ///< who drafts; empty where that takes no time
    double share = 1;           ///< of the drafted tokens that are the drafter's
    std::vector<tune::drafted_chains> texts{};
    std::optional<double> measured{};  ///< the speedup there
};

/// Who drafts for a scheme; nothing where costs of such rounds are not known.
const std::string* drafter_of(const std::string& name) {
    static const std::map<std::string, std::string> all = {{"lookup", ""},
                                                           {"suffix", ""},
                                                           {"sd", "draft"},
                                                           {"eaad", "draft"},
                                                           {"eaad_as_published", "draft"},
                                                           {"hysteresis", "draft"},
                                                           {"fsd", "draft"},
                                                           {"eagle", "eagle"},
                                                           {"hybrid", "eagle"},
                                                           {"hydra", "hydra"},
                                                           {"medusa", "medusa"},
                                                           {"kangaroo", "exit"}};
    const bool is_tree = name.find(":tree=") != std::string::npos || name.find(":bank=") != std::string::npos;
    const auto at = all.find(name.substr(0, name.find(':')));
    return at == all.end() || is_tree ? nullptr : &at->second;
}

tune::drafted_chains text_of(const reader& scheme) {
    const json& stages = scheme.required_array("stages");
    if (stages.empty()) detail::fail(scheme.origin(), ": there are no stages");
    const reader stage(stages.back(), scheme.origin() + ", last stage");
    const io::json_range<std::size_t> count{0, most::tokens};
    tune::drafted_chains text{.rounds = stage.required<std::size_t>("rounds", count)};
    for (const json& each : stage.required_array("positions")) {
        const reader position(each, stage.origin() + ", positions");
        text.drafted.push_back(position.required<std::size_t>("drafted", count));
        text.accepted.push_back(position.required<std::size_t>("accepted", count));
    }
    tune::check(text, scheme.origin());
    if (text.longest() > most_drafted) {
        detail::fail(scheme.origin(), ": drafts have up to ", text.longest(), " tokens; at most ", most_drafted,
                     " are measured");
    }
    return text;
}

/// Of the figures of `bench schemes`: who drafts what, and how that was judged.
class judged_file {
 public:
    explicit judged_file(const std::string& path) {
        const auto content = io::read_json<json>(path, most::calibration);
        const reader file(content, path);
        for (const json& each : file.required_array("prompts")) {
            const reader prompt(each, detail::message(path, ", prompt ", prompts_++));
            for (const json& scheme : prompt.required_array("schemes")) add(reader(scheme, prompt.origin()));
        }
        if (schemes_.empty()) detail::fail(path, " holds no scheme whose rounds can be timed here");
        for (auto& each : schemes_) finish(each);
    }

    const std::vector<judged_scheme>& schemes() const { return schemes_; }
    const std::vector<std::string>& left_out() const { return left_out_; }
    std::size_t prompts() const { return prompts_; }

 private:
    void add(const reader& from) {
        const auto name = from.required<std::string>("scheme");
        if (name == "plain") return;
        const std::string* const drafter = drafter_of(name);
        if (drafter == nullptr) {
            if (std::find(left_out_.begin(), left_out_.end(), name) == left_out_.end()) left_out_.push_back(name);
            return;
        }
        auto at = std::find_if(schemes_.begin(), schemes_.end(), [&](const auto& each) { return each.name == name; });
        if (at == schemes_.end()) at = schemes_.insert(at, {.name = name, .drafter = *drafter});
        const reader named(from.value(), from.origin() + ", " + name);
        at->texts.push_back(text_of(named));
        if (const auto speedup = named.optional<double>("speedup", {0, most::speedup})) {
            speedups_[name].push_back(*speedup);
        }
        auto& [seconds, tokens] = drafting_[name];
        seconds += named.required<double>("draft_seconds", {0, most::seconds});
        tokens += static_cast<double>(named.required<std::size_t>("drafted", {0, most::tokens}));
    }

    /// Of a hybrid's tokens the network's are those that take the time that its own take.
    void finish(judged_scheme& of) {
        if (const auto at = speedups_.find(of.name); at != speedups_.end()) of.measured = tune::median_of(at->second);
        if (!of.name.starts_with("hybrid")) return;
        std::pair<double, double> alone{};
        for (const auto& [name, each] : drafting_) {
            if (name.substr(0, name.find(':')) != "eagle") continue;
            alone.first += each.first;
            alone.second += each.second;
        }
        const auto [seconds, tokens] = drafting_.at(of.name);
        if (alone.first > 0 && tokens > 0) of.share = std::min(1.0, seconds / tokens / (alone.first / alone.second));
    }

    std::size_t prompts_ = 0;
    std::vector<judged_scheme> schemes_;
    std::vector<std::string> left_out_;
    std::map<std::string, std::vector<double>> speedups_;
    std::map<std::string, std::pair<double, double>> drafting_;  ///< seconds and tokens
};

/// What rounds cost in plain passes, by who drafts and how many tokens.
struct one_turn {
    std::map<std::string, std::vector<double>> ratios{};
    double plain = 0;   ///< seconds
    double unrest = 0;  ///< how far the plain passes before and after differ
};

/// The same in many turns.
class measured_costs {
 public:
    measured_costs(synthetic_rounds& rounds, const judged_file& judged, std::size_t turns) : rounds_(rounds) {
        std::map<std::string, std::size_t> longest{{"", 1}};
        for (const auto& each : judged.schemes()) {
            for (const auto& text : each.texts) {
                longest[each.drafter] = std::max(longest[each.drafter], text.longest());
                if (each.share < 1) longest[""] = std::max(longest[""], text.longest());
            }
        }
        for (const auto& [drafter, most] : longest) {
            lengths_[drafter] = {0};
            for (std::size_t length = 1; length < most; length += std::max<std::size_t>(1, length / 2)) {
                lengths_[drafter].push_back(length);
            }
            lengths_[drafter].push_back(std::max<std::size_t>(most, 1));
        }
        for (std::size_t turn = 0; turn <= turns; ++turn) take_turn(turn > 0);
        keep_the_quiet();
    }

    double plain_seconds() const {
        std::vector<double> all;
        for (const one_turn& each : turns_) all.push_back(each.plain);
        return tune::median_of(std::move(all));
    }
    /// By turn, then by drafted tokens.
    std::vector<std::vector<double>> costs_of(const judged_scheme& scheme) const {
        std::size_t longest = 1;
        for (const auto& text : scheme.texts) longest = std::max(longest, text.longest());
        std::vector<std::vector<double>> out;
        for (const one_turn& turn : turns_) {
            out.push_back(all_costs(scheme.drafter, turn, longest));
            if (scheme.share == 1) continue;
            const auto free = all_costs("", turn, longest);
            for (std::size_t i = 0; i <= longest; ++i)
                out.back()[i] = free[i] + scheme.share * (out.back()[i] - free[i]);
        }
        return out;
    }

 private:
    /// Seconds of a round of this kind among its own.
    double timed(const synthetic_round& round) {
        return tune::fastest_after_the_first([&] {
            interruption::check();
            return rounds_.run(round);
        });
    }

    void take_turn(bool counts) {
        const double before = timed({});
        one_turn turn;
        for (const auto& [drafter, lengths] : lengths_) {
            for (const std::size_t length : lengths) {
                const double taken = length == 0 ? before : timed({drafter, length, length + 1});
                turn.ratios[drafter].push_back(taken);
            }
        }
        const double after = timed({});
        turn.unrest = std::abs(std::log(before / after));
        turn.plain = std::min(before, after);
        for (auto& [drafter, all] : turn.ratios) {
            tune::calm(all);
            turn.plain = std::min(turn.plain, all.front());
        }
        for (auto& [drafter, all] : turn.ratios) {
            all.front() = turn.plain;
            for (double& each : all) each /= turn.plain;
        }
        if (counts) turns_.push_back(std::move(turn));
    }

    /// Others who use the machine show in plain passes before and after a turn: the half of the turns counts in which
    /// these agree best.
    void keep_the_quiet() {
        std::stable_sort(turns_.begin(), turns_.end(),
                         [](const auto& a, const auto& b) { return a.unrest < b.unrest; });
        turns_.resize((turns_.size() + 1) / 2);
    }

    std::vector<double> all_costs(const std::string& drafter, const one_turn& turn, std::size_t longest) const {
        return tune::interpolated(lengths_.at(drafter), turn.ratios.at(drafter), longest);
    }

    synthetic_rounds& rounds_;
    std::map<std::string, std::vector<std::size_t>> lengths_;
    std::vector<one_turn> turns_;
};

json as_json(const tune::estimate& of) {
    return {{"speedup", of.middle}, {"low", of.low}, {"high", of.high}};
}

json advice_on(const judged_scheme& scheme, const measured_costs& costs) {
    const auto turns = costs.costs_of(scheme);
    std::size_t longest = 0, best = 0;
    std::vector<double> tokens, usual;
    for (const auto& text : scheme.texts) {
        longest = std::max(longest, text.longest());
        tokens.push_back(text.tokens_per_round(text.longest()));
    }
    for (std::size_t i = 0; i < turns[0].size(); ++i) {
        std::vector<double> of_turns;
        for (const auto& turn : turns) of_turns.push_back(turn[i]);
        usual.push_back(tune::median_of(std::move(of_turns)));
    }
    double most = 1;
    for (std::size_t length = 1; length <= longest; ++length) {
        const double speedup = tune::estimated_speedup(scheme.texts, turns, length, 0).middle;
        if (speedup <= most) continue;
        most = speedup;
        best = length;
    }
    json out = {{"scheme", scheme.name}, {"drafter", scheme.drafter}, {"drafted_by_it", scheme.share}};
    out["tokens_per_round"] = tune::median_of(std::move(tokens));
    out["round_costs"] = usual;
    out.update(as_json(tune::estimated_speedup(scheme.texts, turns, longest)));
    out["best"] = {{"length", best}};
    out["best"].update(as_json(tune::estimated_speedup(scheme.texts, turns, best)));
    if (scheme.measured) out["measured_there"] = *scheme.measured;
    return out;
}

std::string as_table(const json& found) {
    char line[200];
    std::snprintf(line, sizeof line, "%s in %s: a plain pass takes %.2f ms (%zu threads)\n",
                  found["shape"].get<std::string>().c_str(), found["weights"].get<std::string>().c_str(),
                  found["plain_milliseconds"].get<double>(), found["threads"].get<std::size_t>());
    std::string out = line;
    std::snprintf(line, sizeof line, "  %-24s %9s  %-13s %9s %6s  %-13s %10s\n", "scheme", "x plain", "90 %", "best",
                  "length", "90 %", "tok/round");
    out += line;
    const auto interval = [](const json& of) {
        char text[32];
        std::snprintf(text, sizeof text, "%.2f to %.2f", of["low"].get<double>(), of["high"].get<double>());
        return std::string(text);
    };
    for (const json& of : found["schemes"]) {
        const json& best = of["best"];
        std::snprintf(line, sizeof line, "  %-24s %9.2f  %-13s %9.2f %6zu  %-13s %10.2f\n",
                      one_line(of["scheme"].get<std::string>(), 64).c_str(), of["speedup"].get<double>(),
                      interval(of).c_str(), best["speedup"].get<double>(), best["length"].get<std::size_t>(),
                      interval(best).c_str(), of["tokens_per_round"].get<double>());
        out += line;
    }
    return out + "\nMedians over " + std::to_string(found["prompts"].get<std::size_t>()) +
           " texts. 90 %: where the figure lies with other texts and other measurements, nine times of ten. Best: with "
           "drafts\nof at most so many tokens; 0 is plain decoding.\n";
}

backend::host::storage storage_named(const std::string& name) {
    std::string valid;
    for (const auto format : backend::host::all_storages) {
        if (name == name_of(format)) return format;
        valid += (valid.empty() ? "" : ", ") + std::string(name_of(format));
    }
    detail::fail("--weights ", io::quote(name), " is not available; valid are ", valid);
}

/// The first of the shape's rows that are no whole blocks of the format; nothing where all are.
std::string rows_that_do_not_pack(const llama_shape& shape, backend::host::storage format) {
    const std::size_t block = backend::host::layout_of(format).file_depth, heads = shape.heads * shape.head_size;
    if (shape.width % block != 0) return detail::message("the width, ", shape.width, ",");
    if (shape.feed_forward % block != 0) return detail::message("the feed-forward width, ", shape.feed_forward, ",");
    return heads % block != 0 ? detail::message("the width of its heads, ", heads, ",") : "";
}

/// Throws where a row of the shape does not pack, and says what does.
void check_packs(const std::string& shape_text, const llama_shape& shape, backend::host::storage format) {
    const std::string rows = rows_that_do_not_pack(shape, format);
    if (rows.empty()) return;
    std::string others;
    for (const auto other : backend::host::all_storages) {
        if (!rows_that_do_not_pack(shape, other).empty()) continue;
        others += (others.empty() ? "" : ", ") + std::string(name_of(other));
    }
    detail::fail("--weights ", name_of(format), " packs blocks of ", backend::host::layout_of(format).file_depth,
                 ", of which ", rows, " of --shape ", shape_text, " is no multiple; use one of ", others);
}

/// What was asked for; else the smallest format that the shape's rows have whole blocks of.
backend::host::storage weights_for(const advise_options& chosen, const llama_shape& shape) {
    if (!chosen.weights.empty()) {
        const auto asked = storage_named(chosen.weights);
        check_packs(chosen.shape, shape, asked);
        return asked;
    }
    for (const char* name : {"q4_k", "q4_0"}) {
        const auto format = storage_named(name);
        if (rows_that_do_not_pack(shape, format).empty()) return format;
    }
    return storage_named("bf16");
}

void advise(const advise_options& chosen) {
    if (chosen.turns == 0) detail::fail("--turns is 0; a median needs at least 1");
    if (chosen.context == 0) detail::fail("--context is 0; a round follows at least 1 token");
    check_standard_output();
    const interruption stop;
    const auto shape =
        of_option("--shape", [&] { return chosen.shape == "135m" ? shape_135m : parse_shape(chosen.shape); });
    synthetic_request asked{.shape = shape,
                            .weights = weights_for(chosen, shape),
                            .vocabulary = chosen.vocabulary,
                            .context = chosen.context,
                            .threads = chosen.threads,
                            .exit_layer = chosen.exit_layer};
    if (chosen.exit_layer > 0 && chosen.exit_layer >= asked.shape.layers) {
        detail::fail("--exit-layer is ", chosen.exit_layer, ", but the shape has ", asked.shape.layers,
                     " layers; it must be less");
    }
    const judged_file judged(chosen.acceptance);
    for (const auto& each : judged.schemes()) asked.drafters.insert(each.drafter);
    asked.drafters.erase("");
    std::optional<passing_note> note(std::in_place, "making weights of " + asked.shape.text() + " ...");
    synthetic_rounds rounds(asked);
    note.emplace("timing rounds ...");
    const measured_costs costs(rounds, judged, chosen.turns);
    note.reset();
    json found = {{"shape", asked.shape.text()},
                  {"weights", name_of(asked.weights)},
                  {"vocabulary", chosen.vocabulary},
                  {"context", chosen.context},
                  {"threads", rounds.threads()},
                  {"different_layers", rounds.different_layers()},
                  {"turns", chosen.turns},
                  {"prompts", judged.prompts()},
                  {"plain_milliseconds", 1000 * costs.plain_seconds()},
                  {"left_out", judged.left_out()},
                  {"schemes", json::array()}};
    for (const auto& scheme : judged.schemes()) found["schemes"].push_back(advice_on(scheme, costs));
    print(chosen.json ? json_line(found) : as_table(found));
    for (const std::string& name : judged.left_out()) {
        tell("note", "rounds of ", io::quote(name), " are not timed on weights that are not here; it is left out");
    }
}

/// Throws where an option is of the other kind of advice.
void check_kind(const CLI::App& command, bool of_hierarchies, const std::vector<std::string>& theirs) {
    const std::vector<std::string> ours{"--shape", "--vocabulary", "--acceptance", "--exit-layer"};
    for (const std::string& name : of_hierarchies ? ours : theirs) {
        const auto* const option = command.get_option(name);
        if (option->count() == 0) continue;
        detail::fail(name, " is ", io::quote(option->results().front()), ", but ",
                     of_hierarchies ? "with --hierarchy models at hand are measured" : "only --hierarchy uses it");
    }
}

hierarchy_options of_models_at_hand(const advise_options& chosen) {
    if (chosen.turns == 0) detail::fail("--turns is 0; a median needs at least 1");
    check_standard_output();
    hierarchy_options of = chosen.at_hand;
    if (!chosen.weights.empty()) of.model.weights = chosen.weights;
    of.model.threads = chosen.threads;
    of.model.context = chosen.context;
    of.turns = chosen.turns;
    of.json = chosen.json;
    return of;
}

}  // namespace

void add_advise(CLI::App& program) {
    auto* command = program.add_subcommand("advise", "Predict each scheme's speedup for a model shape on this machine");
    const auto chosen = std::make_shared<advise_options>();
    command
        ->add_option("--shape", chosen->shape,
                     "135m, 360m, 1b, 3b, 8b or width,feed_forward,heads,key_value_heads,head_size,layers")
        ->type_name("SHAPE")
        ->default_str(chosen->shape);
    command
        ->add_option("--weights", chosen->weights,
                     "A format that is multiplied as it is: f32, f16, bf16, q8_0, q4_0, q4_1, q5_1, q2_k, q4_k to "
                     "q6_k, iq4_nl, iq4_xs, mxfp4")
        ->type_name("FORMAT")
        ->default_str("q4_k; q4_0 where the width is no multiple of 256");
    command
        ->add_option(
            "--acceptance", chosen->acceptance,
            "Measured acceptance: the output of `augur bench schemes --json`, best with drafts of a fixed length")
        ->type_name("FILE")
        ->default_str("that of the draft bundle of SmolLM2-135M");
    add_number(*command, "--vocabulary", chosen->vocabulary, "Vocabulary size", "N", "49152", std::size_t{1} << 20);
    add_number(*command, "--context", chosen->context, "Tokens before each round", "N", "128", std::size_t{1} << 17);
    add_number(*command, "--threads", chosen->threads, "0 for one per core", "N", "0");
    add_number(*command, "--exit-layer", chosen->exit_layer, "kangaroo: layers that draft, 0 for three quarters", "K",
               "0", most::length);
    add_number(*command, "--turns", chosen->turns, "Repetitions of all rounds, after one warm-up", "N", "9",
               most::repetitions);
    command->add_flag("--json", chosen->json, "Print one JSON object");
    command->add_flag("--hierarchy", chosen->hierarchy,
                      "Of models at hand: the fastest cascade, by measured acceptance");
    const auto of_hierarchies = add_hierarchy_options(*command, chosen->at_hand);
    command->callback([command, chosen, of_hierarchies] {
        check_kind(*command, chosen->hierarchy, of_hierarchies);
        if (!chosen->hierarchy) return advise(*chosen);
        note_cache(*command, chosen->at_hand.engine, chosen->at_hand.model);
        advise_hierarchy(of_models_at_hand(*chosen));
    });
}

}  // namespace augur::program
