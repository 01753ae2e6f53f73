// augur tune: which settings of a scheme are worth having, on this machine, for this model.

#include <unistd.h>

#include <algorithm>
#include <augur/detail/stopwatch.hpp>
#include <augur/io/files/fingerprint.hpp>
#include <augur/io/files/json_reader.hpp>
#include <filesystem>
#include <memory>
#include <sstream>
#include <system_error>
#include <utility>

#include "calibration.hpp"
#include "commands.hpp"
#include "draft_checkpoints.hpp"
#include "known_words.hpp"
#include "limits.hpp"
#include "message.hpp"
#include "models.hpp"
#include "output_file.hpp"
#include "run_files.hpp"
#include "shard.hpp"
#include "target.hpp"
#include "terminal.hpp"
#include "tune_record.hpp"
#include "tuning.hpp"

namespace augur::program {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

struct tune_options {
    model_options model;
    engine_options engine;
    std::vector<std::string> drafts, heads;
    std::vector<std::string> schemes;
    std::string prompts, work, output;
    std::string shard = "1/1";
    bool chat = false, per_task = false, skip_long = false;
    std::size_t candidates = 48, max_tokens = 64;
    std::uint64_t seed = 0;
    double max_divergence = 0.05;
    transform::settings sampling{.temperature = {0}};
    tune::halving_options halving;
    run_file_options files;
};

void check(const tune_options& chosen) {
    for (const std::string& scheme : chosen.schemes) {
        const auto& known = tunable_schemes();
        if (std::find(known.begin(), known.end(), scheme) == known.end()) {
            detail::fail("--schemes: ", io::quote(scheme),
                         " has nothing to tune; valid are sd, eaad, fsd, psd_a, psd_f, ead");
        }
        if (std::count(chosen.schemes.begin(), chosen.schemes.end(), scheme) > 1) {
            detail::fail("--schemes names ", io::quote(scheme), " twice");
        }
    }
    if (chosen.candidates == 0) detail::fail("--candidates is 0; there must be at least 1");
    if (chosen.max_tokens == 0) detail::fail("--max-tokens is 0; a run writes at least 1");
    if (!(chosen.max_divergence >= 0)) {
        detail::fail("--max-divergence is ", chosen.max_divergence, "; it must be 0 or more");
    }
    check_temperature(chosen.sampling.temperature.value);
    const auto check = [](const char* option, const tune::halving_options& only) {
        of_option(option, [&] { static_cast<void>(tune::rungs_of(1, 1, only)); });
    };
    check("--first", {.first_problems = chosen.halving.first_problems});
    check("--factor", {.factor = chosen.halving.factor});
}

/// Whether the files can be written, for it is late to learn that after an hour.
void check_files(const tune_options& chosen, const shard_of& shard) {
    if (chosen.work.empty()) detail::fail("--work is ''; it must be the name of a folder");
    const fs::path output = chosen.output, own = journal::file(chosen.work, shard.name());
    const auto folder_of = [](const fs::path& file) { return fs::absolute(file).lexically_normal().parent_path(); };
    for (const fs::path& each :
         {output, fs::path(chosen.files.report.value_or("")), fs::path(chosen.files.record.value_or(""))}) {
        if (!each.empty() && folder_of(each) == folder_of(own)) fs::create_directories(chosen.work);
    }
    std::vector<fs::path> inputs{chosen.model.path, chosen.prompts, own};
    inputs.insert(inputs.end(), chosen.drafts.begin(), chosen.drafts.end());
    inputs.insert(inputs.end(), chosen.heads.begin(), chosen.heads.end());
    inputs = with_checkpoints(std::move(inputs));
    check_output("--output", output, inputs);
    std::error_code absent;
    if (output.extension() == ".jsonl" && fs::equivalent(fs::absolute(output).parent_path(), chosen.work, absent)) {
        detail::fail("--output ", output.string(), " would be read as a journal: they are *.jsonl in --work");
    }
    if (fs::equivalent(chosen.prompts, own, absent)) {
        detail::fail("--prompts ", chosen.prompts, " is where the journal of --work is kept; give another --work");
    }
    if (chosen.files.records() && !shard.is_all()) {
        detail::fail("--report and --record show what was chosen, but --shard ", chosen.shard,
                     " measures a part; give them to the command without --shard");
    }
    inputs.push_back(output);
    check_run_files(chosen.files, inputs);
    if (shard.is_all()) check_standard_output();
}

/// How far it is and how long it will take, on one line of a terminal, or as a line every half minute.
class progress {
 public:
    void expect(std::size_t runs) { expected_ += runs; }
    void skip() { --expected_; }
    void done(const std::string& what) {
        ++done_;
        const double left = since_.seconds() / static_cast<double>(done_) * static_cast<double>(expected_ - done_);
        const bool live = look_of(STDERR_FILENO).live;
        if (!live && since_.seconds() < shown_ + 30 && done_ < expected_) return;
        shown_ = since_.seconds();
        const auto seconds = static_cast<std::size_t>(left);
        std::fprintf(stderr, "%stune: %zu of %zu runs, %zu:%02zu left at most, %s%s", live ? "\r\033[K" : "", done_,
                     expected_, seconds / 60, seconds % 60, what.c_str(), live && done_ < expected_ ? "" : "\n");
    }

 private:
    detail::stopwatch since_;
    std::size_t expected_ = 0, done_ = 0;
    double shown_ = 0;
};

/// Nothing has been read or computed until all that is named can be used.
shard_of checked_shard(const tune_options& chosen) {
    check(chosen);
    const shard_of shard = parse_shard(chosen.shard);
    check_files(chosen, shard);
    return shard;
}

class tuner {
 public:
    explicit tuner(const tune_options& chosen)
        : chosen_(chosen),
          shard_(checked_shard(chosen)),
          runs_on_(choose_engine(chosen.engine, chosen.model)),
          words_(runs_on_.is_llama_cpp, chosen.model.path),
          prompts_(words_.read_prompts(chosen_.prompts, chosen_.chat, "tune")),
          drafters_({.scheme = widest(chosen)}, chosen.sampling, chosen.drafts, chosen.heads),
          target_(runs_on_, chosen.model, chosen.engine, "cpu", drafters_) {
        for (const auto& [role, file] : drafters_.files()) models_.push_back({role, file});
        models_.push_back({"target", chosen.model.path});
        identity_ = target_.identity(drafters_.files(), chosen.sampling);
        check_prompts();
        journal_.emplace(chosen.work, shard_.name(), about(), chosen.prompts);
    }

    /// Nothing where this is a shard: the process without --shard that comes after all of them writes the file.
    std::optional<calibration> run() {
        const interruption stop;
        std::vector<std::string> tasks = {"all"};
        if (chosen_.per_task) {
            for (const prompt_entry& each : prompts_) {
                if (std::find(tasks.begin(), tasks.end(), each.task) == tasks.end()) tasks.push_back(each.task);
            }
        }
        for (const std::string& scheme : chosen_.schemes) {
            for (const std::string& task : tasks) progress_.expect(runs_of(scheme, task));
        }
        calibration found{.identity = identity_, .entries = {}};
        for (const std::string& scheme : chosen_.schemes) {
            for (const std::string& task : tasks) found.entries.push_back(search(scheme, task));
        }
        if (!shard_.is_all()) return std::nullopt;
        return found;
    }

    /// Of what run() found.
    json record(const calibration& found) const {
        json models = json::array();
        for (const recorded_model& each : models_) models.push_back({{"role", each.role}, {"file", each.file}});
        return {{"format", "augur run"},  {"version", 1},
                {"command", "tune"},      {"result", json::parse(found.text())},
                {"settings", settings()}, {"models", std::move(models)},
                {"searches", searches_}};
    }

 private:
    /// The scheme that drafts with all that the others do.
    static std::string widest(const tune_options& chosen) {
        const bool by_three = std::any_of(chosen.schemes.begin(), chosen.schemes.end(),
                                          [](const std::string& scheme) { return scheme.starts_with("psd"); });
        return by_three ? "psd_f" : chosen.schemes.front();
    }

    json settings() const {
        return {{"model", chosen_.model.path},
                {"prompts", chosen_.prompts},
                {"prompts_used", prompts_.size()},
                {"candidates", chosen_.candidates},
                {"first", chosen_.halving.first_problems},
                {"factor", chosen_.halving.factor},
                {"max_tokens", chosen_.max_tokens},
                {"temperature", as_written(chosen_.sampling.temperature.value)},
                {"seed", chosen_.seed},
                {"max_divergence", chosen_.max_divergence}};
    }

    /// Every prompt can be continued by every model that writes, or is left out if that was asked for.
    void check_prompts() {
        std::size_t context = target_.context_length();
        const auto& schemes = chosen_.schemes;
        if (std::find(schemes.begin(), schemes.end(), "ead") != schemes.end()) {
            context = std::min(context, drafters_.draft_context());
        }
        const auto is_long = [&](const prompt_entry& each) { return each.ids.size() >= context; };
        for (const prompt_entry& each : prompts_) {
            if (chosen_.skip_long && is_long(each)) continue;
            try {
                checked_prompt(each.ids, target_.vocabulary_size(), context);
            } catch (const error& problem) {
                detail::fail(chosen_.prompts, ", line ", each.line, ": ", problem.what(),
                             is_long(each) ? "; --skip-long leaves such prompts out" : "");
            }
        }
        const std::size_t all = prompts_.size();
        const auto first = std::find_if(prompts_.begin(), prompts_.end(), is_long);
        if (first == prompts_.end()) return;
        const std::size_t line = first->line;
        std::erase_if(prompts_, is_long);
        if (prompts_.empty()) {
            detail::fail(chosen_.prompts, " holds no prompts that leave room in a context of ", context);
        }
        tell("note", chosen_.prompts, ": ", all - prompts_.size(), " of ", all,
             " prompts leave no room in a context of ", context, " and are left out, the first in line ", line);
    }

    /// What every measurement in the journal was made with.
    json about() const {
        io::fnv_hash digest;
        for (const prompt_entry& each : prompts_) {
            digest.add(each.ids.size(), 8);
            for (const token id : each.ids) digest.add(static_cast<std::uint64_t>(id), 4);
        }
        json all = identity_;
        all["prompts"] = prompts_.size();
        all["prompt_digest"] = digest.text();
        all["max_tokens"] = chosen_.max_tokens;
        all["context"] = target_.context_length();
        all["seed"] = chosen_.seed;
        return all;
    }

    std::vector<std::size_t> problems_of(const std::string& task) const {
        std::vector<std::size_t> problems;
        for (std::size_t i = 0; i < prompts_.size(); ++i) {
            if (task == "all" || prompts_[i].task == task) problems.push_back(i);
        }
        // Of every kind some in the first rung, whatever the order of the file.
        return shuffled(std::move(problems), chosen_.seed);
    }

    std::vector<std::size_t> candidates_here(std::size_t count) const {
        std::vector<std::size_t> here;
        for (std::size_t i = 0; i < count; ++i) {
            if (shard_.has(i)) here.push_back(i);
        }
        return here;
    }

    std::size_t runs_of(const std::string& scheme, const std::string& task) const {
        const auto here = candidates_here(candidates_of(scheme, chosen_.candidates, chosen_.seed).size());
        if (here.empty()) return 0;
        return tune::samples_of(tune::rungs_of(here.size(), problems_of(task).size(), chosen_.halving));
    }

    calibration_entry search(const std::string& scheme, const std::string& task) {
        const auto candidates = candidates_of(scheme, chosen_.candidates, chosen_.seed);
        const auto problems = problems_of(task);
        const auto here = candidates_here(candidates.size());
        calibration_entry entry;
        entry.scheme = scheme;
        entry.task = task;
        if (here.empty()) return entry;
        auto standings = tune::halve(here, problems.size(), chosen_.halving, [&](std::size_t candidate, std::size_t i) {
            return measured(scheme, candidates[candidate], problems[i]);
        });
        search_outcome outcome{
            scheme,    task, candidates, tune::rungs_of(here.size(), problems.size(), chosen_.halving),
            standings, {},   0,          chosen_.max_divergence};
        std::erase_if(standings, [&](const tune::standing& each) { return each.problems < problems.size(); });
        const auto front = tune::pareto_front(standings);
        const tune::standing* best = tune::fastest_within(front, chosen_.max_divergence);
        if (best == nullptr) best = &front.front();
        outcome.chosen = best->candidate;
        for (const tune::standing& each : front) {
            outcome.front.push_back(each.candidate);
            entry.front.push_back({{"settings", candidates[each.candidate]},
                                   {"speedup", each.measured.speedup()},
                                   {"divergence", each.measured.divergence_per_token()}});
        }
        entry.settings = candidates[best->candidate];
        entry.speedup = best->measured.speedup();
        entry.divergence = best->measured.divergence_per_token();
        entry.prompts = best->problems;
        entry.tokens = best->measured.tokens;
        searches_.push_back(as_json(outcome));
        return entry;
    }

    tune::sample measured(const std::string& scheme, const json& settings, std::size_t prompt) {
        if (const tune::sample* known = journal_->find(scheme, settings, prompt)) {
            progress_.skip();
            return *known;
        }
        try {
            interruption::check();
            const tune::sample sample = measure(scheme, settings, prompt);
            interruption::check();  // then it was cut short
            journal_->add(scheme, settings, prompt, sample);
            progress_.done(scheme);
            return sample;
        } catch (const interrupted&) {
            detail::fail("interrupted; what was measured is in ", chosen_.work, ", and the same command goes on");
        }
    }

    tune::sample measure(const std::string& scheme, const json& settings, std::size_t prompt) {
        const scheme_options resolved = resolve(
            with_settings({.scheme = scheme, .accept = accept_for(scheme)}, settings, scheme), chosen_.sampling, 0, {});
        const double plain = plain_seconds_per_token(prompt);
        run_request request{prompts_[prompt].ids, options(prompt), {}, {}, true};
        const run_result result = target_.run(resolved, drafters_, request);
        return {.tokens = result.ids.size(),
                .seconds = result.counts.seconds.decoding(),
                .plain_seconds = plain * static_cast<double>(result.ids.size()),
                .divergence = result.divergence};
    }

    /// Measured again after every eighth run: a machine does not stay as fast as it was.
    double plain_seconds_per_token(std::size_t prompt) {
        if (prompt != plain_prompt_ || ++plain_uses_ >= 8) {
            const run_request request{prompts_[prompt].ids, options(prompt), {}, {}, false};
            const run_result plain = target_.run_plainly(request);
            plain_seconds_ =
                plain.counts.seconds.decoding() / static_cast<double>(std::max<std::size_t>(1, plain.ids.size()));
            plain_prompt_ = prompt;
            plain_uses_ = 0;
        }
        return plain_seconds_;
    }

    /// Lossless schemes are compared on the same text.
    static std::string accept_for(const std::string& scheme) { return is_lossy(scheme) ? "" : "coupled"; }

    /// All settings meet a prompt with the same random numbers.
    decode::options options(std::size_t prompt) const {
        decode::options options{.seed = chosen_.seed + prompt, .sampling = chosen_.sampling};
        options.on_token = [](const auto&) { return !interruption::pressed(); };
        options.stop.max_tokens = chosen_.max_tokens;
        options.stop.stop_tokens = words_.end_tokens(target_.vocabulary_size());
        return options;
    }

    const tune_options& chosen_;
    shard_of shard_;
    engine_choice runs_on_;
    known_words words_;
    std::vector<prompt_entry> prompts_;
    loaded_scheme drafters_;
    target_model target_;
    std::vector<recorded_model> models_;  ///< the target last
    json identity_;
    json searches_ = json::array();  ///< for a record
    std::optional<journal> journal_;
    progress progress_;
    std::size_t plain_prompt_ = static_cast<std::size_t>(-1), plain_uses_ = 0;
    double plain_seconds_ = 0;
};

void print_table(const calibration& found) {
    std::string table = "  scheme  task            x plain  divergence  settings\n";
    for (const calibration_entry& entry : found.entries) {
        char line[256];
        std::snprintf(line, sizeof line, "  %-7s %-14s %8.2f  %10.4f  ", entry.scheme.c_str(),
                      one_line(entry.task, 80).c_str(), entry.speedup, entry.divergence);
        table += line + entry.settings.dump() + "\n";
    }
    print(table);
}

void tune_schemes(const tune_options& chosen) {
    tuner tuning(chosen);
    const auto found = tuning.run();
    if (!found) {
        tell("note", "shard ", chosen.shard, " is done; without --shard the same command writes the file");
        return;
    }
    output_file out(chosen.output);
    out.write(found->text());
    out.commit();
    if (chosen.files.records()) write_report_files(chosen.files, tuning.record(*found));
    print_table(*found);
}

void add_search_options(CLI::App& command, tune_options& into) {
    command.add_option("--schemes", into.schemes, "Schemes to tune: sd, eaad, fsd, psd_a, psd_f, ead")
        ->type_name("LIST")
        ->delimiter(',')
        ->required();
    command.add_option("--prompts", into.prompts, "JSON lines with prompt and, if it has one, task")
        ->type_name("FILE")
        ->required();
    command.add_option("--output", into.output, "The calibration, for `augur generate --calibration`")
        ->type_name("FILE")
        ->required();
    command.add_option("--work", into.work, "Folder of the measurements: the same command resumes from them")
        ->type_name("DIR")
        ->required();
    command
        .add_option("--shard", into.shard, "Measure a part of the settings only: 2/8 is the second of eight processes")
        ->type_name("I/N")
        ->default_str("1/1");
    command.add_flag("--chat", into.chat, "Wrap the prompts in the model's chat template");
    command.add_flag("--skip-long", into.skip_long, "Skip prompts that do not fit the context");
    command.add_flag("--per-task", into.per_task, "Also search for each task separately");
    add_number(command, "--candidates", into.candidates, "Settings tried per scheme", "N", "48");
    add_number(command, "--first", into.halving.first_problems, "Prompts that all settings are measured on first", "N",
               "2");
    add_number(command, "--factor", into.halving.factor,
               "Successive halving: one setting in N continues, on N times the prompts", "N", "2", most::factor);
    add_max_tokens(command, into.max_tokens, "Tokens of a run");
    add_number(command, "--temperature", into.sampling.temperature.value, "0 is greedy", "T", "0");
    add_number(command, "--seed", into.seed, "Random seed of the settings and of the runs", "S", "0");
    add_number(command, "--max-divergence", into.max_divergence,
               "Choose the fastest setting within this total variation per token", "D", "0.05");
    add_report_files(command, into.files, "what was measured of every setting, and what was chosen");
}

}  // namespace

void add_tune(CLI::App& program) {
    auto* command =
        program.add_subcommand("tune", "Tune the settings of schemes: the Pareto front of speed and divergence");
    const auto chosen = std::make_shared<tune_options>();
    add_model_options(*command, chosen->model);
    add_engine_options(*command, chosen->engine);
    command->add_option("--draft", chosen->drafts, "As for generate (repeatable)")
        ->type_name("FILE")
        ->allow_extra_args(false);
    command->add_option("--heads", chosen->heads, "As for generate (repeatable)")
        ->type_name("FILE")
        ->allow_extra_args(false);
    add_search_options(*command, *chosen);
    command->callback([command, chosen] {
        note_cache(*command, chosen->engine, chosen->model);
        chosen->halving.within = chosen->max_divergence;
        tune_schemes(*chosen);
    });
}

}  // namespace augur::program
