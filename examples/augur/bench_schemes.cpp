// augur bench schemes: several schemes in turns on the same prompts, from one loaded target.

#include <algorithm>
#include <augur/measure/entropy.hpp>
#include <augur/tune/advice.hpp>
#include <augur/tune/split.hpp>
#include <augur/tune/verify_curve.hpp>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "commands.hpp"
#include "known_words.hpp"
#include "loaded_scheme.hpp"
#include "message.hpp"
#include "models.hpp"
#include "output_file.hpp"
#include "report.hpp"
#include "splits.hpp"
#include "target.hpp"
#include "terminal.hpp"
#include "tree_choice.hpp"

namespace augur::program {
namespace {

using json = nlohmann::ordered_json;

struct bench_schemes_options {
    model_options model;
    engine_options engine;
    std::vector<std::string> schemes, drafts, heads;
    std::string prompts;
    transform::settings sampling{.temperature = {0}};
    std::uint64_t seed = 0;
    std::size_t max_tokens = 128, limit = 0, repetitions = 2;
    bool chat = false, nats = false, keep = false, splits = false, json = false;
};

/// Keys and values of "NAME:KEY=VALUE:KEY=VALUE", each key once.
std::vector<std::pair<std::string, std::string>> scheme_settings(const std::string& text) {
    std::vector<std::pair<std::string, std::string>> settings;
    for (std::size_t colon = text.find(':'); colon != std::string::npos;) {
        const std::size_t begin = colon + 1;
        colon = text.find(':', begin);
        const std::string part = text.substr(begin, colon == std::string::npos ? colon : colon - begin);
        if (part.empty())
            detail::fail("--scheme ", io::quote(text), ": its setting ", settings.size() + 1, " is empty");
        const std::size_t equals = part.find('=');
        if (equals == std::string::npos)
            detail::fail("--scheme ", io::quote(text), ": ", io::quote(part), " has no '='");
        const std::string key = part.substr(0, equals), value = part.substr(equals + 1);
        for (const auto& [before, other] : settings) {
            if (before != key) continue;
            detail::fail("--scheme ", io::quote(text), ": ", io::quote(key), " is given twice, as ", io::quote(other),
                         " and as ", io::quote(value));
        }
        settings.emplace_back(key, value);
    }
    return settings;
}

/// "NAME", or "NAME:KEY=VALUE:KEY=VALUE".
scheme_options parse_scheme(const std::string& text) {
    scheme_options chosen;
    chosen.scheme = text.substr(0, text.find(':'));
    for (const auto& [key, value] : scheme_settings(text)) {
        const std::string origin = "--scheme " + chosen.scheme + ": " + key;
        chosen.given[key] = value;
        if (key == "length") {
            chosen.length = parse_number(origin, value, most::length);
        } else if (key == "max-k") {
            chosen.max_k = parse_number(origin, value, most::length);
        } else if (key == "lengths") {
            chosen.lengths = parse_list(origin, value, most::length);
        } else if (key == "thresholds") {
            chosen.thresholds = parse_list(origin, value, most::threshold);
        } else if (key == "accept") {
            chosen.accept = value;
        } else if (key == "epsilon") {
            chosen.epsilon = parse_number<double>(origin, value);
        } else if (key == "delta") {
            chosen.delta = parse_number<double>(origin, value);
        } else if (key == "exit-layer") {
            chosen.exit_layer = parse_number(origin, value, most::length);
        } else if (key == "adapter") {
            chosen.adapter = value;
        } else if (key == "untrained") {
            chosen.untrained = parse_number<std::size_t>(origin, value, 1) == 1;
        } else if (key == "bank") {
            chosen.bank_path = value;
        } else if (key == "tree") {
            choose_tree(chosen, value);
        } else {
            detail::fail(
                "--scheme ", io::quote(text), ": ", io::quote(key),
                " is not one of length, max-k, lengths, thresholds, accept, epsilon, delta, exit-layer, adapter, "
                "untrained, bank, tree");
        }
    }
    return chosen;
}

/// What one scheme did with one prompt, in all its turns.
struct figures {
    std::vector<double> milliseconds{};  ///< of a token, without prefill
    std::vector<double> speedups{};      ///< over the plain decoding of the same turn
    run_result last{};
    std::size_t tokens = 0, rounds = 0, drafted = 0;
    std::vector<std::size_t> passes{};  ///< by drafted tokens
    double draft_seconds = 0, verify_seconds = 0;
    double nats = 0;        ///< -log probability of all tokens under the target, where it was asked for
    bool is_plains = true;  ///< every text was plain decoding's

    void add(run_result result) {
        milliseconds.push_back(1000 / result.tokens_per_second());
        tokens += result.ids.size();
        rounds += result.counts.rounds();
        drafted += result.counts.stages.back().drafted;
        draft_seconds += result.counts.seconds.draft;
        verify_seconds += result.counts.seconds.verify;
        last = std::move(result);
    }
    double of_round(double all) const { return rounds == 0 ? 0 : all / static_cast<double>(rounds); }
    double accepted_length() const { return of_round(static_cast<double>(tokens)); }
    void count_pass(std::size_t rows_drafted) {
        if (passes.size() <= rows_drafted) passes.resize(rows_drafted + 1);
        ++passes[rows_drafted];
    }
    /// `curve`: of passes behind as many tokens as these texts have. Each round counts with its own number of rows:
    /// what rows cost grows with them, so that their mean would cost less. `alone`: seconds of what a drafted token
    /// runs of the model before it is verified with the others.
    double predicted(std::span<const double> curve, double alone) const {
        if (rounds == 0) return 0;
        double seconds = draft_seconds + alone * static_cast<double>(drafted);
        for (std::size_t i = 0; i < passes.size(); ++i) {
            seconds += static_cast<double>(passes[i]) * curve[std::min(i, curve.size() - 1)];
        }
        return static_cast<double>(tokens) * curve[0] / seconds;
    }
};

class bench_of_schemes {
 public:
    explicit bench_of_schemes(const bench_schemes_options& chosen)
        : chosen_(chosen),
          runs_on_(choose_engine(chosen.engine, chosen.model)),
          words_(runs_on_.is_llama_cpp, chosen.model.path) {
        if (chosen.splits && runs_on_.is_llama_cpp) {
            detail::fail("--splits needs the model's first layers alone, which llama.cpp does not show");
        }
        names_ = {"plain"};
        schemes_.emplace_back(scheme_options{.scheme = "plain"}, chosen.sampling, chosen.drafts, chosen.heads);
        for (const std::string& text : chosen.schemes) {
            if (text == "plain") continue;
            if (std::find(names_.begin(), names_.end(), text) != names_.end())
                detail::fail("--scheme ", io::quote(text), " is there twice");
            names_.push_back(text);
            const scheme_options scheme = parse_scheme(text);
            if (chosen.splits) check_is_split(text, scheme);
            schemes_.emplace_back(scheme, chosen.sampling, chosen.drafts, chosen.heads);
        }
        if (chosen.splits && schemes_.size() == 1) {
            detail::fail("--splits compares exits of the model, but there is no --scheme beside plain");
        }
        read();
        load();
    }

    void run() {
        for (const loaded_scheme& each : schemes_) decode(each, prompts_.front().ids, 4, chosen_.seed);  // warm-up
        for (const prompt_entry& prompt : prompts_) {
            results_.emplace_back(schemes_.size());
            const passing_note note(
                detail::message("prompt ", results_.size(), " of ", prompts_.size(), ", ", prompt.task, " ..."));
            for (std::size_t turn = 0; turn < chosen_.repetitions; ++turn) take_turn(prompt, turn, results_.back());
        }
    }

    json as_json() const {
        json out = {{"model", chosen_.model.path},
                    {"engine", runs_on_.name()},
                    {"weights", target_->bundled() ? name_of(target_->bundled()->format()) : "keep"},
                    {"shape", target_->shape()},
                    {"threads", target_->threads()},
                    {"temperature", as_written(chosen_.sampling.temperature.value)},
                    {"max_tokens", chosen_.max_tokens},
                    {"repetitions", chosen_.repetitions},
                    {"keep", chosen_.keep},
                    {"verify_seconds", curve_},
                    {"verify_seconds_behind", {{"tokens", typical_length()}, {"seconds", behind_}}},
                    {"prompts", json::array()},
                    {"tasks", json::array()}};
        for (std::size_t i = 0; i < prompts_.size(); ++i) {
            json of = {{"line", prompts_[i].line}, {"task", prompts_[i].task}, {"schemes", json::array()}};
            for (std::size_t at = 0; at < names_.size(); ++at) of["schemes"].push_back(one(at, results_[i][at]));
            out["prompts"].push_back(std::move(of));
        }
        for (const auto& [task, places] : tasks()) {
            json of = {{"task", task}, {"prompts", places.size()}, {"schemes", json::array()}};
            for (std::size_t at = 0; at < names_.size(); ++at) of["schemes"].push_back(middle(at, places));
            out["tasks"].push_back(std::move(of));
        }
        if (chosen_.splits) out["splits"] = splits_as_json(exits_, curve_.front());
        return out;
    }

    std::string as_table() const {
        std::string out;
        char line[256];
        for (const auto& [task, places] : tasks()) {
            std::snprintf(line, sizeof line, "\n%s (%zu prompts)\n  %-30s %9s %9s %9s %9s  %s\n",
                          one_line(task, 80).c_str(), places.size(), "scheme", "tokens/s", "x plain", "predicted",
                          "tok/pass", "same text");
            out += line;
            for (std::size_t at = 0; at < names_.size(); ++at) {
                const json of = middle(at, places);
                std::snprintf(line, sizeof line, "  %-30s %9.1f %9.2f %9.2f %9.2f  %zu of %zu\n",
                              one_line(names_[at], 96).c_str(), of["tokens_per_second"].get<double>(),
                              of["speedup"].get<double>(), of["predicted"].get<double>(),
                              of["accepted_length"].get<double>(), of["identical"].get<std::size_t>(), places.size());
                out += line;
                if (!chosen_.nats) continue;
                std::snprintf(line, sizeof line, ", %.3f nats a token", of["nats_per_token"].get<double>());
                out.insert(out.size() - 1, line);
            }
        }
        if (chosen_.splits) out += splits_as_table(exits_, curve_.front());
        return out +
               "\nMedians over prompts of medians over turns, without loading and prefill. Predicted: from passes that "
               "were measured behind as many tokens.\n";
    }

 private:
    void read() {
        std::map<std::string, std::size_t> of_task;
        for (prompt_entry& each : words_.read_prompts(chosen_.prompts, chosen_.chat, "bench schemes")) {
            if (chosen_.limit == 0 || of_task[each.task]++ < chosen_.limit) prompts_.push_back(std::move(each));
        }
    }

    void load() {
        const passing_note note("loading " + chosen_.model.path);
        target_.emplace(runs_on_, chosen_.model, chosen_.engine, "cpu", schemes_.front());
        for (const prompt_entry& each : prompts_) {
            try {
                checked_prompt(each.ids, target_->vocabulary_size(), target_->context_length());
            } catch (const error& problem) {
                detail::fail(chosen_.prompts, ", line ", each.line, ": ", problem.what());
            }
        }
        std::size_t rows = 1;
        for (loaded_scheme& each : schemes_) {
            if (&each != &schemes_.front()) target_->add(each);
            rows = std::max({rows, each.rows_to_measure(), each.scheme().length.value_or(0) + 1});
        }
        constexpr tune::patience until{.repetitions = 4, .seconds = 4};
        const auto curve = [&](std::size_t most, std::size_t behind) {
            return target_->visit([&](const auto& model) { return tune::verify_curve(model, most, until, behind); });
        };
        curve_ = curve(std::max<std::size_t>(rows, 17), std::min<std::size_t>(256, target_->context_length() / 2));
        behind_ = curve(curve_.size(), typical_length());
        for (loaded_scheme& each : schemes_) {
            target_->prepare(each, curve_);
            alone_.push_back(first_seconds(each.drafters()));
        }
        if (chosen_.splits) measure_exits();
    }

    /// Tokens behind which a round of a text stands: of the prompt in the middle, and half of an answer.
    std::size_t typical_length() const {
        std::vector<std::size_t> lengths;
        for (const prompt_entry& each : prompts_) lengths.push_back(each.ids.size());
        const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
        std::nth_element(lengths.begin(), middle, lengths.end());
        return std::min(*middle + chosen_.max_tokens / 2, target_->context_length() - 1);
    }

    /// Of all schemes but plain decoding.
    void measure_exits() {
        for (std::size_t at = 1; at < schemes_.size(); ++at) {
            const scheme_options& of = schemes_[at].scheme();
            exits_.push_back(measure_exit(names_[at], *target_->computes(), schemes_[at].drafters(), *of.length));
            for (std::size_t other = 1; other < at; ++other) {
                if (exits_[other - 1].costs.layer != exits_.back().costs.layer) continue;
                detail::fail("--splits: ", io::quote(names_[other]), " and ", io::quote(names_[at]),
                             " both draft after ", exits_.back().costs.layer, " layers");
            }
        }
    }

    /// The layers before that of a head that attends.
    struct layers_alone {
        const learned_attending::head_type& head;

        std::size_t layer() const { return head.layer(); }
        std::size_t vocabulary_size() const { return head.vocabulary_size(); }
        std::size_t hidden_size() const { return head.hidden_size(); }
        void row(std::span<const float>, std::span<float>) const {}
    };

    /// What the layers take whose states are drafted from, where the target's own are.
    double first_seconds(const draft_checkpoints& drafters) const {
        const auto by = [this](const auto& head) {
            return tune::measured_split(*target_->computes(), head, 1).first_seconds;
        };
        if (drafters.exit) return by(*drafters.exit);
        if (drafters.learned) return by(drafters.learned->head());
        if (drafters.learned_attention) return by(layers_alone{drafters.learned_attention->head()});
        return drafters.learned_layer ? by(drafters.learned_layer->head()) : 0;
    }

    run_result decode(const loaded_scheme& scheme, std::span<const token> prompt, std::size_t most, std::uint64_t seed,
                      figures* into = nullptr) const {
        interruption::check();
        decode::options options{.seed = seed, .sampling = chosen_.sampling};
        options.stop.max_tokens = most;
        options.stop.stop_tokens = words_.end_tokens(target_->vocabulary_size());
        run_request request{prompt, options, {}, {}};
        if (into) request.on_round = [into](const round_summary& round) { into->count_pass(round.drafted.size()); };
        return target_->run(scheme, std::move(request));
    }

    void take_turn(const prompt_entry& prompt, std::size_t turn, std::vector<figures>& into) {
        for (std::size_t at = 0; at < schemes_.size(); ++at) {
            figures& of = into[at];
            of.add(decode(schemes_[at], prompt.ids, chosen_.max_tokens, chosen_.seed + turn, &of));
            if (chosen_.splits && at > 0) exits_[at - 1].add(of.last.counts.stages.back());
            if (chosen_.keep) schemes_[at].learn(of.last);
            of.speedups.push_back(into[0].milliseconds.back() / of.milliseconds.back());
            of.is_plains = of.is_plains && of.last.ids == into[0].last.ids;
            if (chosen_.nats) of.nats += nats_of(prompt.ids, of.last.ids);
        }
    }

    /// -log probability of a text under the target's rows at the temperature, or at 1 where that is 0.
    double nats_of(std::span<const token> prompt, std::span<const token> text) const {
        const float temperature = chosen_.sampling.temperature.value;
        std::vector<token> all(prompt.begin(), prompt.end());
        all.insert(all.end(), text.begin(), text.end());
        return target_->visit([&](const auto& model) {
            auto sequence = model.make_sequence();
            const auto rows = model.extend(sequence, std::span(all).first(all.size() - 1), text.size());
            double sum = 0;
            std::vector<float> row;
            for (std::size_t i = 0; i < text.size(); ++i) {
                row.assign(rows[i].begin(), rows[i].end());
                for (float& logit : row) logit /= temperature > 0 ? temperature : 1;
                sum -= measure::log_probability(row, text[i]);
            }
            return sum;
        });
    }

    json one(std::size_t at, const figures& of) const {
        json out = {{"scheme", names_[at]},
                    {"guarantee", of.last.guarantee},
                    {"policy", of.last.policy},
                    {"milliseconds_per_token", of.milliseconds},
                    {"speedup", tune::median_of(of.speedups)},
                    {"predicted", of.predicted(behind_, alone_[at])},
                    {"accepted_length", of.accepted_length()},
                    {"tokens", of.tokens},
                    {"rounds", of.rounds},
                    {"drafted", of.drafted},
                    {"draft_seconds", of.draft_seconds},
                    {"verify_seconds", of.verify_seconds},
                    {"stages", stages_as_json(of.last.counts)},
                    {"identical", of.is_plains}};
        if (chosen_.nats) out["nats_per_token"] = of.nats / static_cast<double>(of.tokens);
        return out;
    }

    json middle(std::size_t at, const std::vector<std::size_t>& places) const {
        std::vector<double> rates, speedups, lengths, predictions;
        std::size_t same = 0, tokens = 0;
        double nats = 0;
        for (const std::size_t i : places) {
            const figures& of = results_[i][at];
            rates.push_back(1000 / tune::median_of(of.milliseconds));
            speedups.push_back(tune::median_of(of.speedups));
            lengths.push_back(of.accepted_length());
            predictions.push_back(of.predicted(behind_, alone_[at]));
            same += of.is_plains ? 1 : 0;
            tokens += of.tokens;
            nats += of.nats;
        }
        json out = {{"scheme", names_[at]},
                    {"tokens_per_second", tune::median_of(rates)},
                    {"speedup", tune::median_of(speedups)},
                    {"predicted", tune::median_of(predictions)},
                    {"accepted_length", tune::median_of(lengths)},
                    {"tokens", tokens},
                    {"identical", same}};
        if (chosen_.nats) out["nats_per_token"] = nats / static_cast<double>(tokens);
        return out;
    }

    /// Places of their prompts; "all" last, where there are several.
    std::vector<std::pair<std::string, std::vector<std::size_t>>> tasks() const {
        std::vector<std::pair<std::string, std::vector<std::size_t>>> found;
        std::vector<std::size_t> all;
        for (std::size_t i = 0; i < prompts_.size(); ++i) {
            const auto is_same = [&](const auto& other) { return other.first == prompts_[i].task; };
            auto at = std::find_if(found.begin(), found.end(), is_same);
            if (at == found.end()) at = found.insert(at, {prompts_[i].task, {}});
            at->second.push_back(i);
            all.push_back(i);
        }
        if (found.size() > 1) found.emplace_back("all", std::move(all));
        return found;
    }

    const bench_schemes_options& chosen_;
    engine_choice runs_on_;
    known_words words_;
    std::vector<std::string> names_;
    std::vector<loaded_scheme> schemes_;
    std::vector<prompt_entry> prompts_;
    std::optional<target_model> target_;
    std::vector<double> curve_, behind_;         ///< by rows: of an empty sequence, and behind typical_length()
    std::vector<double> alone_;                  ///< by schemes
    std::vector<measured_exit> exits_;           ///< with --splits: of the schemes after plain decoding
    std::vector<std::vector<figures>> results_;  ///< of each prompt, those of each scheme
};

void compare(const bench_schemes_options& chosen) {
    if (chosen.repetitions == 0) detail::fail("--repetitions is 0; a median needs at least 1");
    if (chosen.max_tokens == 0) detail::fail("--max-tokens is 0; a rate needs at least 1");
    check_temperature(chosen.sampling.temperature.value);
    check_standard_output();
    const interruption stop;
    bench_of_schemes bench(chosen);
    bench.run();
    print(chosen.json ? json_line(bench.as_json()) : bench.as_table());
}

}  // namespace

void add_bench_schemes(CLI::App& bench) {
    auto* command =
        bench.add_subcommand("schemes", "Benchmark schemes against plain decoding, in turns on the same prompts");
    const auto chosen = std::make_shared<bench_schemes_options>();
    add_model_options(*command, chosen->model);
    add_engine_options(*command, chosen->engine);
    command
        ->add_option(
            "--scheme", chosen->schemes,
            "As `augur generate --scheme`, with settings as sd:length=4, hydra:tree=auto:bank=FILE; of "
            "length, max-k, lengths, thresholds, accept, epsilon, delta, exit-layer, adapter, untrained, bank, tree "
            "(repeatable)")
        ->type_name("NAME")
        ->required()
        ->allow_extra_args(false);
    for (const auto& [name, into] : {std::pair{"--draft", &chosen->drafts}, std::pair{"--heads", &chosen->heads}}) {
        command->add_option(name, *into, "As in `augur generate` (repeatable)")
            ->type_name("FILE")
            ->allow_extra_args(false);
    }
    command->add_option("--prompts", chosen->prompts, "JSON lines with \"prompt\" and optionally \"task\"")
        ->type_name("FILE")
        ->required();
    command->add_flag("--chat", chosen->chat, "Wrap the prompts in the model's chat template");
    add_number(*command, "--limit", chosen->limit, "Prompts of each task, 0 for all", "N", "0");
    add_max_tokens(*command, chosen->max_tokens, "Of each text", most::tokens);
    add_number(*command, "--temperature", chosen->sampling.temperature.value, "0 is greedy", "T", "0");
    add_number(*command, "--seed", chosen->seed, "Of all texts", "S", "0");
    add_number(*command, "--repetitions", chosen->repetitions, "Repetitions of every prompt, each with the next seed",
               "N", "2", most::repetitions);
    command->add_flag("--nats", chosen->nats, "Score every text by the target: nats per token, at the temperature");
    command->add_flag("--keep", chosen->keep,
                      "Keep what adaptive policies learned from text to text, as a server does");
    command->add_flag("--splits", chosen->splits, "Find the fastest exit layer and draft length of self-speculation");
    command->add_flag("--json", chosen->json, "Print one JSON object");
    command->callback([command, chosen] {
        note_cache(*command, chosen->engine, chosen->model);
        compare(*chosen);
    });
}

}  // namespace augur::program
