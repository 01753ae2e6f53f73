// augur learn: decodes prompts, and has what drafts learn from what the model says of its drafts.

#include <algorithm>
#include <augur/io/files/quote.hpp>
#include <augur/io/text/utf8.hpp>
#include <augur/policy/confidence_stop.hpp>
#include <augur/train/diagnostics.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <utility>

#include "commands.hpp"
#include "draft_checkpoints.hpp"
#include "engine.hpp"
#include "learned_drafter.hpp"
#include "learning.hpp"
#include "learning_record.hpp"
#include "message.hpp"
#include "models.hpp"
#include "output_file.hpp"
#include "run_files.hpp"
#include "slow_verifier.hpp"
#include "terminal.hpp"

namespace augur::program {
namespace {

using json = nlohmann::ordered_json;

struct learn_options {
    model_options model;
    learning_options learning;
    slow_verifier_options slow{};
    std::string prompts, output, replay;
    std::string accept{};     ///< rejection_sampling; empty: exact or coupled, by the temperature
    std::string head_tokens;  ///< all, a draft checkpoint's file, or where empty the adapter's or the draft bundle's
    std::optional<std::size_t> rank{};  ///< of the head's update
    std::optional<std::size_t> head_count{};
    transform::settings sampling{.temperature = {0}};
    draft_bounds bounds{};
    std::uint64_t seed = 0;
    std::size_t max_tokens = 128, passes = 1;
    run_file_options files;
    bool chat = false, compare = false, json = false;
};

/// Kinds of lambda by their names.
std::vector<std::pair<std::string, train::lambda_kind>> lambda_kinds() {
    using kind = train::lambda_kind;
    return {{"decay", kind::decay},
            {"decay_by_updates", kind::decay_by_updates},
            {"acceptance", kind::acceptance},
            {"ramp", kind::ramp},
            {"constant", kind::constant}};
}

std::string name_of(train::lambda_kind kind) {
    for (const auto& [name, each] : lambda_kinds()) {
        if (each == kind) return name;
    }
    return {};
}

/// An option that takes the name of a choice.
template <class Choice>
void add_choice(CLI::App& command, const std::string& flag, Choice& into,
                std::vector<std::pair<std::string, Choice>> all, const std::string& help) {
    const std::string shown = all.front().first;
    const auto take = [flag, &into, all = std::move(all)](const std::string& text) {
        std::string valid;
        for (const auto& [name, each] : all) {
            if (text == name) {
                into = each;
                return;
            }
            valid += (valid.empty() ? "" : ", ") + name;
        }
        detail::fail(flag, " is ", io::quote(text), "; valid are ", valid);
    };
    add_text(command, flag, take, help, "NAME", shown);
}

constexpr std::size_t updates_between_notes = 200;

/// With what was not chosen of an exit or of new heads: the adapter's, or the best known.
learning_options learning_for(const learn_options& chosen, const llama::host_model& target) {
    learning_options options = chosen.learning;
    if (chosen.rank) options.head.rank = *chosen.rank;
    if (chosen.head_count) options.head_count = *chosen.head_count;
    options.trainer.share *= training_part;
    train::replay_options& replay = options.trainer.replay;
    replay.least_accepted = std::min(replay.least_accepted, replay.most_sampled() / 4);
    const bool has_heads = options.scheme == "medusa" || options.scheme == "hydra";
    if (options.scheme != "dvi" && (!has_heads || !options.heads.empty())) {
        if (chosen.head_tokens.empty()) return options;
        detail::fail("--head-tokens is ", chosen.head_tokens, ", but the scheme is ", io::quote(options.scheme),
                     has_heads ? " and --heads is " + options.heads : "",
                     "; only dvi and new heads have rows of the model's own");
    }
    const bool goes_on = !chosen.output.empty() && std::filesystem::exists(chosen.output);
    learning_options before =
        goes_on ? options_of_adapter(chosen.output, target) : new_options(target, chosen.head_tokens);
    if (goes_on && !chosen.head_tokens.empty()) before.tokens = drafted_tokens(target, chosen.head_tokens);
    if (options.exit_layer == 0 && !has_heads) options.exit_layer = before.exit_layer;
    if (!chosen.rank) options.head.rank = before.head.rank;
    if (!chosen.head_count) options.head_count = before.head_count;
    options.tokens = std::move(before.tokens);
    return options;
}

class pupil {
 public:
    explicit pupil(const learn_options& chosen)
        : chosen_(chosen),
          words_(load_tokenizer(chosen.model.path)),
          prompts_(read_prompts(chosen.prompts, words_, chosen.model.path, chosen.chat, "learn")),
          target_(load_model(chosen.model.path, chosen.model)),
          engine_(engine_of(target_, "cpu", chosen.model.weights)),
          learns_(make_learned(target_, learning_for(chosen, target_), load_options_of(chosen.model))) {
        if (chosen.slow.target) slow_.emplace(target_, chosen.slow);
        if (!chosen.slow.texts.empty()) score_slow_updates();
        if (chosen.files.records()) recorder_.emplace([this](token id) { return bytes_of(id, true); });
        for (const prompt_entry& each : prompts_) {
            try {
                checked_prompt(each.ids, target_.vocabulary_size(), target_.context_length());
            } catch (const error& problem) {
                detail::fail(chosen.prompts, ", line ", each.line, ": ", problem.what());
            }
        }
        namespace fs = std::filesystem;
        if (!chosen.output.empty() && fs::exists(chosen.output)) learns_->restore(chosen.output);
        if (!chosen.replay.empty() && fs::exists(chosen.replay)) learns_->restore_replay(chosen.replay);
        before_ = learns_->report();
    }

    /// Every prompt, `passes` times; ends early, with all saved, after Ctrl-C. Throws where what was learned last could
    /// not be saved.
    void run() {
        if (slow_) {
            tell("note", "the verifier learns: a text is its own as it was during that text, not that of ",
                 chosen_.model.path);
        }
        decode_all();
        if (!unsaved_.empty()) detail::fail(unsaved_);
    }

    /// Of the texts that were shown; where a record is wanted.
    json record() const {
        recorded_run about{
            .command = "learn",
            .result = {{"scheme", chosen_.learning.scheme}, {"seed", chosen_.seed}, {"settings", settings()}},
            .models = {{"target", chosen_.model.path}}};
        if (!chosen_.output.empty()) about.models.insert(about.models.begin(), {"adapter", chosen_.output});
        if (!chosen_.slow.file.empty()) about.models.insert(about.models.begin(), {"verifier", chosen_.slow.file});
        return recorder_->record(about, guarantee_);
    }

 private:
    void score_slow_updates() {
        std::vector<std::vector<token>> texts;
        for (prompt_entry& each : read_prompts(chosen_.slow.texts, words_, chosen_.model.path, chosen_.chat, "learn")) {
            try {
                checked_prompt(each.ids, target_.vocabulary_size(), target_.context_length());
            } catch (const error& problem) {
                detail::fail(chosen_.slow.texts, ", line ", each.line, ": ", problem.what());
            }
            texts.push_back(std::move(each.ids));
        }
        slow_->score_on(std::move(texts));
    }

    void decode_all() {
        if (!chosen_.json) print(heading());
        for (std::size_t pass = 0; pass < chosen_.passes; ++pass) {
            for (const prompt_entry& prompt : prompts_) {
                if (recorder_) recorder_->begin();
                const run_result result = decode(prompt, chosen_.seed + pass);
                learns_->catch_up();
                save();
                if (result.finish == finish_reason::cancelled) return;
                show(prompt, result, pass);
            }
        }
    }

    decode::options options(std::uint64_t seed) const {
        decode::options chosen{.seed = seed, .sampling = chosen_.sampling};
        chosen.stop.max_tokens = chosen_.max_tokens;
        chosen.stop.stop_tokens = end_tokens_of(words_, target_.vocabulary_size(), chosen_.model.path);
        chosen.on_token = [](const auto&) { return !interruption::pressed(); };
        if (recorder_) chosen.stop.text_of = [this](token id) { return bytes_of(id, false); };
        return chosen;
    }

    /// Nothing without a tokenizer.
    std::string bytes_of(token id, bool show_control) const {
        return words_ ? program::bytes_of(*words_, id, show_control) : std::string();
    }

    json settings() const {
        const learning_options& of = chosen_.learning;
        const train::trainer_options& trainer = of.trainer;
        json all = {{"model", chosen_.model.path},
                    {"prompts", chosen_.prompts},
                    {"exit_layer", learns_->exit_layer()},
                    {"threshold", chosen_.bounds.threshold ? json(*chosen_.bounds.threshold) : json("what pays")},
                    {"length", chosen_.bounds.most},
                    {"max_tokens", chosen_.max_tokens},
                    {"passes", chosen_.passes},
                    {"temperature", as_written(chosen_.sampling.temperature.value)},
                    {"rate", trainer.steps.rate},
                    {"batch", trainer.batch},
                    {"every", trainer.every},
                    {"share", std::isfinite(trainer.share) ? json(trainer.share) : json("inf")},
                    {"positions", trainer.replay.capacity},
                    {"top", trainer.replay.top},
                    {"lambda", name_of(trainer.losses.schedule.lambda)},
                    {"tau", trainer.losses.schedule.tau},
                    {"tau_updates", trainer.losses.schedule.tau_updates},
                    {"floor", trainer.losses.schedule.floor},
                    {"background", trainer.background},
                    {"updates", trainer.idle ? "idle" : "rounds"},
                    {"accept", criterion()}};
        if (slow_) all["slow_updates"] = slow_->settings();
        return all;
    }

    std::string criterion() const {
        if (chosen_.bounds.drawn) return chosen_.accept;
        return chosen_.sampling.temperature.value == 0 ? "exact" : "coupled";
    }

    run_result decode(const prompt_entry& prompt, std::uint64_t seed) {
        run_request request{prompt.ids, options(seed), {}, {}};
        if (recorder_) request.on_round = recorder_->watcher();
        request.reads_rows = recorder_.has_value();
        return learns_->decode(verifier(), request, chosen_.bounds, slow_ ? &*slow_ : nullptr);
    }

    /// Whose texts these are.
    const engine& verifier() const { return slow_ ? slow_->target() : engine_; }

    /// After a text, of which nothing is asked any more.
    void update_verifier() {
        const std::string became = slow_ ? slow_->between_texts() : std::string();
        if (became.empty()) return;
        tell("note", became);
        save();
    }

    /// A file that cannot be written stays as it was; decoding and learning go on, and the end is an error.
    void save() {
        const bool could = unsaved_.empty();
        unsaved_.clear();
        const auto attempt = [&](const std::string& path, const auto& write) {
            try {
                if (!path.empty()) write(followed(path).string());
            } catch (const error& problem) {
                unsaved_ += (unsaved_.empty() ? "" : "; ") + std::string(problem.what());
            }
        };
        attempt(chosen_.output, [&](const std::string& path) { learns_->save(path); });
        attempt(chosen_.replay, [&](const std::string& path) { learns_->save_replay(path); });
        attempt(chosen_.slow.file, [&](const std::string& path) { slow_->save(path); });
        if (could && !unsaved_.empty()) {
            tell("warning", unsaved_, "; what was there stays, and it is tried again after each text");
        }
    }

    static std::string heading() {
        return "   tokens  updates  acceptance  tok/pass  tokens/s  agreement    loss  lambda  std_s/std_t\n";
    }

    void show(const prompt_entry& prompt, const run_result& result, std::size_t pass) {
        served_ += result.ids.size();
        const train::diagnostics now = learns_->report();
        std::vector<std::string> notes;
        if (now.updates >= before_.updates + updates_between_notes)
            notes = train::reading(now, std::exchange(before_, now));
        std::optional<run_result> plain;
        if (chosen_.compare) {
            plain = program::run({.scheme = "plain", .accept = "coupled"}, verifier(), {},
                                 {prompt.ids, options(chosen_.seed + pass), {}, {}});
            if (plain->finish == finish_reason::cancelled) plain.reset();  // by Ctrl-C: it is no whole text
        }
        guarantee_ = result.guarantee + (slow_ ? ", of the verifier as slow updates left it" : "");
        update_verifier();
        if (recorder_) add_to_record(prompt, result, pass, as_json(prompt, result, plain, now, notes));
        if (chosen_.json) {
            print(json_line(as_json(prompt, result, plain, now, notes)));
        } else {
            char line[160];
            std::snprintf(line, sizeof line, "%9zu %8zu %10.1f %% %9.2f %9.1f %8.1f %% %7.3f %7.3f %12.2f\n", served_,
                          now.updates, 100 * result.counts.acceptance(), result.counts.accepted_length(),
                          result.tokens_per_second(), 100 * now.agreement, now.losses.total, now.lambda,
                          now.std_t > 0 ? now.std_s / now.std_t : 0.0);
            print(line);
        }
        if (plain && plain->ids != result.ids) {
            detail::fail(chosen_.prompts, ", line ", prompt.line, ": the text is not plain decoding's",
                         slow_ ? " by the verifier of this text" : "");
        }
        for (const std::string& note : notes) {
            if (told_.insert(note).second) tell("note", note);
        }
    }

    void add_to_record(const prompt_entry& prompt, const run_result& result, std::size_t pass, json figures) {
        figures["pass"] = pass;
        figures.erase("ids");  // the record has them with their origins
        std::string text;
        for (const token id : prompt.ids) text += bytes_of(id, true);
        recorder_->end(std::move(figures), result, io::repair_utf8(text));
    }

    json as_json(const prompt_entry& prompt, const run_result& result, const std::optional<run_result>& plain,
                 const train::diagnostics& now, const std::vector<std::string>& notes) const {
        std::ostringstream text;
        train::write_json(text, now);
        json out = {{"line", prompt.line},
                    {"task", prompt.task},
                    {"tokens", result.ids.size()},
                    {"ids", result.ids},
                    {"served", served_},
                    {"acceptance", result.counts.acceptance()},
                    {"drafted", result.counts.stages.back().drafted},
                    {"accepted", result.counts.stages.back().accepted},
                    {"accepted_length", result.counts.accepted_length()},
                    {"tokens_per_second", result.tokens_per_second()},
                    {"learning", json::parse(text.str())},
                    {"notes", notes}};
        if (slow_) out["verifier"] = slow_->report();
        if (plain) {
            out["identical"] = plain->ids == result.ids;
            out["speedup"] = result.tokens_per_second() / plain->tokens_per_second();
        }
        return out;
    }

    const learn_options& chosen_;
    std::optional<io::tokenizer> words_;
    std::vector<prompt_entry> prompts_;
    llama::host_model target_;
    engine engine_;
    std::optional<slow_verifier> slow_{};  ///< where the verifier learns
    std::unique_ptr<learned_drafter> learns_;
    train::diagnostics before_{};
    std::size_t served_ = 0;
    std::optional<learning_recorder> recorder_{};  ///< where a record is wanted
    std::string guarantee_{};
    std::set<std::string> told_{};  ///< notes
    std::string unsaved_;           ///< why the last save failed
};

/// Which criterion can be had, and what goes with it.
void check_criterion(const learn_options& chosen) {
    const double temperature = static_cast<double>(chosen.sampling.temperature.value);
    if (!chosen.accept.empty() && chosen.accept != "rejection_sampling") {
        const std::string own = temperature == 0 ? "exact" : "coupled";
        if (chosen.accept != own) {
            detail::fail("--accept is ", io::quote(chosen.accept), "; at temperature ", temperature, " it is ", own,
                         temperature == 0 ? "" : ", or with the scheme dvi rejection_sampling");
        }
    }
    if (chosen.accept == "rejection_sampling") {
        if (!(temperature > 0)) {
            detail::fail("--accept is rejection_sampling, but --temperature is ", temperature,
                         "; tokens are drawn above 0");
        }
        if (chosen.learning.scheme != "dvi") {
            detail::fail("--accept is rejection_sampling, but the scheme is ", io::quote(chosen.learning.scheme),
                         "; only dvi learns from drafts that are drawn");
        }
        if (chosen.compare) {
            detail::fail(
                "--accept is rejection_sampling, whose texts have plain sampling's distribution and are "
                "others, but --compare asks for the same");
        }
    } else if (chosen.learning.trainer.losses.policy == train::policy_kind::reinforce) {
        detail::fail(
            "--policy is reinforce, which learns from drafts that are drawn and judged as drawn; it needs "
            "--accept rejection_sampling and a --temperature above 0, which is ",
            temperature);
    }
    if (chosen.learning.trainer.idle && only_counts(chosen.learning.scheme)) {
        detail::fail("--updates is idle, but the scheme is ", chosen.learning.scheme, ", which counts as it reads");
    }
}

/// Values that nothing is learned by are refused by their options' names.
void check_training(const learn_options& chosen) {
    const train::trainer_options& of = chosen.learning.trainer;
    const auto at_least_1 = [](const char* option, std::size_t value) {
        if (value == 0) detail::fail(option, " is 0; it must be at least 1");
    };
    at_least_1("--passes", chosen.passes);
    at_least_1("--length", chosen.bounds.most);
    at_least_1("--batch", of.batch);
    at_least_1("--every", of.every);
    at_least_1("--positions", of.replay.capacity);
    if (!(of.share >= 0)) detail::fail("--share is ", of.share, "; it must be 0 or more");
    of_option("--updates and --background",
              [&] { train::check(train::trainer_options{.background = of.background, .idle = of.idle}); });
    of_option("--batch and --positions", [&] { train::check(of); });
    if (of.losses.schedule.accepted_by_acceptance && !of.replay.accepted_only) {
        detail::fail("--accepted-from is acceptance, but --accepted-only is not given");
    }
    of_option("--rate", [&] { of.steps.check(); });
    const auto check = [](const char* option, const train::schedule& only) {
        of_option(option, [&] { only.check(); });
    };
    const train::schedule& all = of.losses.schedule;
    check("--tau", {.tau = all.tau});
    check("--tau-updates", {.tau_updates = all.tau_updates});
    check("--acceptance-band", {.band = all.band});
    check("--floor", {.floor = all.floor});
    check("--anchor", {.anchor = all.anchor});
    check("--teacher-temperature", {.temperature = all.temperature});
    check("--entropy", {.entropy = all.entropy});
    check_temperature(chosen.sampling.temperature.value);
    if (const auto& count = chosen.head_count) {
        of_option("--head-count", [&] { static_cast<void>(train::heads_layout({.heads = *count}, 1)); });
    }
    if (const auto& least = chosen.bounds.threshold) {
        of_option("--threshold", [&] { static_cast<void>(policy::confidence_stop({.threshold = *least})); });
    }
}

/// Files that are written after each text, by their options.
std::vector<std::pair<const char*, std::string>> written_by(const learn_options& chosen) {
    return {{"--output", chosen.output}, {"--replay", chosen.replay}, {"--verifier", chosen.slow.file}};
}

void learn(learn_options chosen) {
    check_training(chosen);
    check(chosen.slow, chosen.learning.scheme);
    const double share = chosen.learning.trainer.share;
    check_criterion(chosen);
    chosen.bounds.drawn = chosen.accept == "rejection_sampling";
    chosen.bounds.on_trial = std::min(tried_part * share, draft_bounds{}.on_trial);
    if (chosen.bounds.drawn) {
        chosen.learning.trainer.losses.drawn_at = static_cast<double>(chosen.sampling.temperature.value);
    }
    for (const auto& [flag, path] : written_by(chosen)) {
        if (!only_counts(chosen.learning.scheme) || path.empty()) continue;
        detail::fail(flag, " is ", path, ", but the scheme is ", chosen.learning.scheme,
                     ", which keeps nothing between runs");
    }
    if (chosen.learning.attention_rank != 0 && !chosen.replay.empty()) {
        detail::fail("--replay is ", chosen.replay, ", but --attention-rank is ", chosen.learning.attention_rank,
                     ": it learns from whole texts, which such a file does not hold");
    }
    check_standard_output();
    std::vector<std::filesystem::path> inputs{chosen.model.path};
    if (chosen.prompts != "-") inputs.emplace_back(chosen.prompts);
    if (!chosen.learning.heads.empty()) inputs.emplace_back(chosen.learning.heads);
    if (!chosen.head_tokens.empty() && chosen.head_tokens != "all") inputs.emplace_back(chosen.head_tokens);
    if (!chosen.slow.texts.empty()) inputs.emplace_back(chosen.slow.texts);
    inputs = with_checkpoints(std::move(inputs));
    for (const auto& [flag, path] : written_by(chosen)) {
        if (path.empty()) continue;
        check_output(flag, path, inputs);
        inputs.emplace_back(path);
    }
    check_run_files(chosen.files, inputs);
    const interruption stop;
    pupil learner(chosen);
    learner.run();
    if (chosen.files.records()) write_report_files(chosen.files, learner.record());
}

void add_head_options(CLI::App& command, learn_options& chosen) {
    train::head_options& into = chosen.learning.head;
    using norm = train::norm_kind;
    using scale = train::scale_kind;
    using update = train::update_kind;
    add_choice<norm>(command, "--norm", into.norm, {{"rms", norm::rms}, {"layer", norm::layer}, {"none", norm::none}},
                     "Before the head: rms, layer or none");
    add_choice<scale>(command, "--scale", into.scale,
                      {{"global", scale::global}, {"per_class", scale::per_class}, {"none", scale::none}},
                      "Of the logits: global, per_class or none");
    add_choice<update>(
        command, "--update", into.update,
        {{"state", update::state}, {"output", update::output}, {"full", update::full}, {"none", update::none}},
        "What of the head is learned: a low rank on the state or on the output matrix, the full matrix, or none");
    const auto rank = [&chosen](const std::string& text) { chosen.rank = parse_number<std::size_t>("--rank", text); };
    add_text(command, "--rank", rank, "Rank of the low-rank update", "N",
             "the adapter's; 128 or the width with dvi, 16 with eagle");
    add_number(command, "--layer-rank", into.layer_rank,
               "dvi: rank of low-rank updates of the last draft layer's projections; 0: none", "N", "0");
    add_number(command, "--attention-rank", chosen.learning.attention_rank,
               "dvi: the same for its queries, keys and values, with a cache of their own; 0: none", "N", "0");
    command.add_flag("--weight-norm", into.weight_norm, "Train a scale for each row of the output matrix");
    command.add_flag("--bias", into.bias, "Train a bias for each token");
    command.add_flag_callback(
        "--fixed-norm", [&into] { into.learn_norm = false; }, "Freeze the norm's weights");
    add_number(command, "--clamp", into.clamp, "Clamp the norm of W to X times its initial value, 0: unbounded", "X",
               "0");
}

/// One number; or the first, the last and in how many updates, or "acceptance", the one becomes the other.
void add_annealed(CLI::App& command, const std::string& flag, train::annealed& into, const std::string& help,
                  const std::string& shown) {
    const auto take = [flag, &into](const std::string& text) {
        const std::string by_acceptance = ",acceptance";
        const bool follows = text.ends_with(by_acceptance);
        const auto given =
            parse_list<double>(flag, follows ? text.substr(0, text.size() - by_acceptance.size()) : text);
        if (follows && given.size() == 2) {
            into = {given[0], given[1], 0, true};
            return;
        }
        if (!follows && given.size() == 1) {
            into = {given[0], given[0], 0};
            return;
        }
        if (follows || given.size() != 3) {
            detail::fail(flag, " has ", given.size(), " numbers", follows ? " before acceptance" : "",
                         "; it takes X, or X,Y,N: from X to Y in N updates, or X,Y,acceptance: by --acceptance-band");
        }
        into = {given[0], given[1], parse_list<std::size_t>(flag, text.substr(text.rfind(',') + 1)).front()};
    };
    add_text(command, flag, take,
             help + "; X,Y,N: from X to Y in N updates; X,Y,acceptance: as acceptance goes through its band", "X[,Y,N]",
             shown);
}

void add_loss_options(CLI::App& command, train::loss_options& into) {
    using policy = train::policy_kind;
    using divergence = train::divergence_kind;
    add_choice<policy>(command, "--policy", into.policy,
                       {{"log_probability", policy::log_probability},
                        {"reinforce", policy::reinforce},
                        {"probability", policy::probability},
                        {"margin", policy::margin},
                        {"reward_masked", policy::reward_masked},
                        {"none", policy::none}},
                       "Its loss: log_probability, reinforce, probability, margin, reward_masked (cross-entropy on "
                       "accepted tokens) or none");
    add_choice<divergence>(command, "--kl", into.divergence,
                           {{"forward", divergence::forward}, {"reverse", divergence::reverse}},
                           "forward, of the model from the draft, or reverse");
    add_choice<train::lambda_kind>(command, "--lambda", into.schedule.lambda, lambda_kinds(),
                                   "How KL's share falls: decay (by tokens), decay_by_updates, acceptance (from 1 to "
                                   "--floor through --acceptance-band), ramp or constant, at --floor");
    add_number(command, "--tau", into.schedule.tau, "Tokens until KL's weight has decayed to 37 %", "N", "3300");
    add_number(command, "--tau-updates", into.schedule.tau_updates, "The same in updates, of decay_by_updates", "N",
               "1000");
    const auto band = [&into](const std::string& text) {
        const auto given = parse_list<double>("--acceptance-band", text);
        if (given.size() != 2) {
            detail::fail("--acceptance-band has ", given.size(), " numbers; it takes LOW,HIGH");
        }
        into.schedule.band = {given[0], given[1]};
    };
    add_text(command, "--acceptance-band", band, "Where what follows acceptance begins and ends", "LOW,HIGH",
             "0.1,0.2");
    add_number(command, "--floor", into.schedule.floor, "Minimum weight of KL", "X", "0.05");
    add_number(command, "--warm-up", into.schedule.warm_up, "Schedule ramp: updates with KL alone", "N", "200");
    add_number(command, "--ramp", into.schedule.ramp, "Schedule ramp: updates over which KL's weight then falls", "N",
               "800");
    add_annealed(command, "--anchor", into.schedule.anchor, "Weight of cross-entropy on the model's first choice",
                 "0.2");
    add_annealed(command, "--teacher-temperature", into.schedule.temperature,
                 "Temperature of the teacher's distribution", "1");
    add_number(command, "--entropy", into.schedule.entropy, "Weight of the entropy bonus of the draft", "X", "0");
}

void add_trainer_options(CLI::App& command, train::trainer_options& into) {
    add_number(command, "--rate", into.steps.rate, "Of AdamW", "X", "0.003");
    add_number(command, "--batch", into.batch, "Positions per update", "N", "32");
    add_number(command, "--every", into.every, "Tokens between two updates", "N", "8");
    const auto share = [&into](const std::string& text) {
        into.share = text == "inf" ? std::numeric_limits<double>::infinity() : parse_number<double>("--share", text);
    };
    add_text(command, "--share", share,
             "Maximum share of decoding time for training, trial drafts included; inf: unbounded", "X", "0.05");
    add_number(command, "--positions", into.replay.capacity, "Capacity of the replay buffer, in positions", "N",
               "4096");
    add_number(command, "--top", into.replay.top, "Logits kept of each row; 0: all", "N", "64");
    command.add_flag("--accepted-only", into.replay.accepted_only,
                     "Train on accepted positions only, once there are many: 256, or a quarter of what is sampled");
    add_choice<bool>(command, "--accepted-from", into.losses.schedule.accepted_by_acceptance,
                     {{"samples", false}, {"acceptance", true}},
                     "--accepted-only: from so many samples on, or (acceptance) once acceptance has passed "
                     "--acceptance-band, too, and until it falls below it");
    add_number(command, "--newest", into.replay.newest, "Sample only the newest N positions; 0: all", "N", "0");
    command.add_flag("--background", into.background, "Train in a background thread");
    add_choice<bool>(command, "--updates", into.idle, {{"rounds", false}, {"idle", true}},
                     "When they are made: between rounds, or idle, after each text, whatever time they take");
}

void add_slow_options(CLI::App& command, slow_verifier_options& into) {
    using target = std::optional<train::slow_target>;
    add_choice<target>(
        command, "--slow-updates", into.target,
        {{"none", {}}, {"committed", train::slow_target::committed}, {"soft", train::slow_target::soft}},
        "dvi: what the verifier's own output head is trained on between texts, which changes the target: "
        "none, committed tokens or soft, its own earlier rows");
    const auto number = [&command, &into](const std::string& flag, auto& value, const std::string& help,
                                          const std::string& type, const std::string& shown) {
        const auto take = [flag, &value, &into](const std::string& text) {
            value = parse_number<std::remove_cvref_t<decltype(value)>>(flag, text);
            into.named = flag;
        };
        add_text(command, flag, take, "Slow updates: " + help, type, shown);
    };
    number("--slow-rank", into.rank, "rank of the low-rank update of the output head", "N", "8");
    number("--slow-beta", into.updates.beta, "weight of KL to the verifier as it was some periods before", "X", "0.1");
    number("--slow-rate", into.updates.steps.rate, "of AdamW", "X", "0.001");
    number("--slow-period", into.updates.period, "tokens between two periods of updates", "N", "4096");
    number("--slow-steps", into.updates.updates, "updates of a period", "N", "16");
    number("--slow-kl", into.updates.most_kl, "nats from the model beyond which a period is undone", "X", "0.05");
    number("--slow-perplexity", into.updates.most_perplexity,
           "multiple of the model's perplexity beyond which a period is undone", "X", "1.05");
    const auto file = [&into](const std::string& path) {
        into.file = path;
        into.named = "--verifier";
    };
    add_text(command, "--verifier", file, "Slow updates: the verifier's head; they resume from it if it exists",
             "FILE");
    const auto texts = [&into](const std::string& path) {
        into.texts = path;
        into.named = "--score";
    };
    add_text(command, "--score", texts,
             "Slow updates: texts (JSON lines as of --prompts) whose perplexity by verifier and model is told", "FILE");
}

}  // namespace

void add_learn(CLI::App& program) {
    auto* command = program.add_subcommand("learn", "Decode prompts and train a drafter on them online");
    const auto chosen = std::make_shared<learn_options>();
    add_model_options(*command, chosen->model);
    command
        ->add_option("--prompts", chosen->prompts,
                     "JSON lines with \"prompt\" and optionally \"task\"; - for standard input")
        ->type_name("FILE")
        ->required();
    command->add_option("--output", chosen->output, "The adapter; training resumes from it if it exists")
        ->type_name("FILE");
    command->add_option("--replay", chosen->replay, "The replay buffer; resumed and saved like the adapter")
        ->type_name("FILE");
    command->add_flag("--chat", chosen->chat, "Wrap the prompts in the model's chat template");
    add_choice<std::string>(*command, "--scheme", chosen->learning.scheme,
                            {{"dvi", "dvi"},
                             {"medusa", "medusa"},
                             {"hydra", "hydra"},
                             {"eagle", "eagle"},
                             {"ngram", "ngram"},
                             {"suffix", "suffix"}},
                            "What drafts and learns: dvi (the model's first layers), medusa, hydra, eagle (its "
                            "output), ngram or suffix");
    command->add_option("--heads", chosen->learning.heads, "medusa, hydra: start from these; eagle: the layer")
        ->type_name("FILE");
    const auto head_count = [chosen](const std::string& text) {
        chosen->head_count = parse_number<std::size_t>("--head-count", text, most::length);
    };
    add_text(*command, "--head-count", head_count, "medusa, hydra without --heads: number of heads", "N",
             "the adapter's; 4");
    add_number(*command, "--exit-layer", chosen->learning.exit_layer, "The model's first K layers draft", "K",
               "three quarters of them", most::length);
    add_text(
        *command, "--head-tokens", [chosen](const std::string& which) { chosen->head_tokens = which; },
        "dvi, new heads: tokens that can be drafted: all, or those of a draft checkpoint in FILE", "all|FILE",
        "the adapter's; the draft bundle's; else all");
    add_text(
        *command, "--threshold",
        [chosen](const std::string& text) { chosen->bounds.threshold = parse_number<double>("--threshold", text); },
        "Probability below which a token ends the draft", "P", "none: drafts are as long as pays");
    add_number(*command, "--length", chosen->bounds.most, "The most tokens of a draft", "K", "6", most::length);
    add_max_tokens(*command, chosen->max_tokens, "Of each text", most::tokens);
    add_number(*command, "--passes", chosen->passes, "Passes over all prompts (epochs), each with the next seed", "N",
               "1", most::repetitions);
    add_number(*command, "--temperature", chosen->sampling.temperature.value, "0 is greedy", "T", "0");
    add_number(*command, "--seed", chosen->seed, "Random seed of the first pass", "S", "0");
    add_text(
        *command, "--accept", [chosen](const std::string& name) { chosen->accept = name; },
        "dvi above temperature 0: rejection_sampling, of drafts that are drawn; no text is plain decoding's then",
        "NAME", "exact at temperature 0, else coupled");
    add_head_options(*command, *chosen);
    add_loss_options(*command, chosen->learning.trainer.losses);
    add_trainer_options(*command, chosen->learning.trainer);
    add_slow_options(*command, chosen->slow);
    command->add_flag("--compare", chosen->compare, "Decode each prompt plainly, too, and end where a text differs");
    command->add_flag("--json", chosen->json, "Print one JSON object for each text");
    add_report_files(*command, chosen->files,
                     "what was learned: acceptance, losses, texts by the origin of their tokens");
    command->callback([chosen] { learn(*chosen); });
}

}  // namespace augur::program
