#include "hierarchy.hpp"

#include <algorithm>
#include <augur/detail/stopwatch.hpp>
#include <augur/tune/advice.hpp>
#include <augur/tune/beta.hpp>
#include <augur/tune/hierarchy.hpp>
#include <augur/tune/verify_curve.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "known_words.hpp"
#include "loaded_scheme.hpp"
#include "message.hpp"
#include "output_file.hpp"
#include "target.hpp"
#include "terminal.hpp"

namespace augur::program {
namespace {

using json = nlohmann::ordered_json;

/// Tokens, of which the first are given.
struct written_text {
    std::vector<token> tokens;
    std::size_t given;
};

class hierarchy_advice {
 public:
    explicit hierarchy_advice(const hierarchy_options& chosen)
        : chosen_(chosen),
          runs_on_(choose_engine(chosen.engine, of_models())),
          words_(runs_on_.is_llama_cpp, chosen.model.path),
          cascade_({.scheme = "cascade"}, chosen.sampling, chosen.drafts, {}) {
        const auto prompts = read_prompts();
        {
            const passing_note note("loading the models ...");
            target_.emplace(runs_on_, of_models(), chosen.engine, "cpu", cascade_);
        }
        models_ = cascade_.draft_models();
        target_->visit([&](const auto& model) { add_target(model); });
        names_ = cascade_.paths();
        names_.push_back(chosen.model.path);
        check_room(prompts);
        write(prompts);
        measure();
    }

    json as_json() const {
        json out = {{"model", chosen_.model.path},   {"engine", runs_on_.name()},
                    {"threads", target_->threads()}, {"temperature", as_written(chosen_.sampling.temperature.value)},
                    {"seed", chosen_.seed},          {"context", chosen_.model.context},
                    {"turns", chosen_.turns},        {"longest", chosen_.longest},
                    {"prompts", texts_.size()},      {"positions", positions()},
                    {"models", json::array()},       {"pairs", json::array()},
                    {"hierarchies", json::array()}};
        for (std::size_t i = 0; i < models_.size(); ++i) {
            out["models"].push_back(
                {{"file", names_[i]}, {"pass_seconds", figures_.pass_seconds[i]}, {"row_seconds", row_seconds_[i]}});
        }
        for (std::size_t drafter = 0; drafter + 1 < models_.size(); ++drafter) {
            for (std::size_t verifier = 0; verifier < models_.size(); ++verifier) {
                if (verifier == drafter) continue;
                const auto& accepted = figures_.accepted[drafter][verifier];
                out["pairs"].push_back({{"drafter", drafter}, {"verifier", verifier}, {"accepted", accepted}});
            }
        }
        for (const tune::hierarchy& each : found_) out["hierarchies"].push_back(one(each));
        out["best"] = found_.size() - 1;
        out["arguments"] = arguments();
        return out;
    }

    std::string as_table() const {
        std::string out = table_of_models();
        char line[256];
        std::snprintf(line, sizeof line, "\n  %-40s %-16s %9s %9s\n", "hierarchy, cheapest first", "lengths",
                      "tokens/s", "x plain");
        out += line;
        for (const tune::hierarchy& each : found_) {
            std::string models, lengths;
            for (const std::size_t model : each.models) models += (models.empty() ? "" : ", ") + shown(model);
            for (const std::size_t length : each.lengths)
                lengths += (lengths.empty() ? "" : ",") + std::to_string(length);
            std::snprintf(line, sizeof line, "  %-40s %-16s %9.1f %9.2f\n", models.c_str(),
                          each.lengths.empty() ? "plain" : lengths.c_str(), 1 / each.seconds_per_token, speedup(each));
            out += line;
        }
        out += "\nExpected, over " + std::to_string(positions()) + " positions of " + std::to_string(texts_.size()) +
               " texts: the best of no draft model, and of one more where that is faster.\n  augur generate";
        for (const std::string& word : arguments()) out += ' ' + one_line(word);
        return out + '\n';
    }

 private:
    model_options of_models() const {
        model_options of = chosen_.model;
        of.context = 0;
        return of;
    }

    std::vector<std::vector<token>> read_prompts() const {
        std::vector<std::vector<token>> all;
        if (!chosen_.prompts) {
            all.push_back(words_.encode(chosen_.prompt));
        } else {
            for (auto& each : words_.read_prompts(*chosen_.prompts, chosen_.prompt.chat, "advise --hierarchy"))
                all.push_back(std::move(each.ids));
        }
        return all;
    }

    template <class M>
    void add_target(const M& model) {
        if constexpr (std::is_same_v<M, model::any_model>) {
            models_.push_back(model.lent());
        } else {
            models_.emplace_back(model);
        }
    }

    void check_room(const std::vector<std::vector<token>>& prompts) const {
        for (std::size_t i = 0; i < models_.size(); ++i) {
            const std::size_t room = models_[i].context_length();
            for (const auto& ids : prompts) {
                static_cast<void>(checked_prompt(ids, models_[i].vocabulary_size(), ids.size() + 1));
                if (ids.size() <= room && chosen_.max_tokens <= room - ids.size()) continue;
                detail::fail("a prompt has ", ids.size(), " tokens, and --max-tokens is ", chosen_.max_tokens,
                             ", but the context of ", names_[i], " is ", room);
            }
        }
    }

    /// The target's own texts, plainly.
    void write(const std::vector<std::vector<token>>& prompts) {
        std::size_t most = 0;
        for (const auto& prompt : prompts) {
            const passing_note note(detail::message("text ", texts_.size() + 1, " of ", prompts.size(), " ..."));
            decode::options options{.seed = chosen_.seed, .sampling = chosen_.sampling};
            options.stop.max_tokens = chosen_.max_tokens;
            options.stop.stop_tokens = words_.end_tokens(target_->vocabulary_size());
            const run_result written = target_->run_plainly({prompt, options, {}, {}});
            interruption::check();
            written_text text{prompt, prompt.size()};
            text.tokens.insert(text.tokens.end(), written.ids.begin(), written.ids.end());
            most = std::max(most, written.ids.size());
            texts_.push_back(std::move(text));
        }
        if (most >= chosen_.longest) return;
        detail::fail("the longest text has ", most, " tokens, but drafts of ", chosen_.longest,
                     " are to be judged on one: take other prompts, more --max-tokens, or a smaller --longest");
    }

    std::size_t positions() const {
        std::size_t all = 0;
        for (const auto& text : texts_) all += text.tokens.size() - text.given;
        return all;
    }

    void measure() {
        const std::size_t models = models_.size();
        for (std::size_t i = 0; i < models; ++i) {
            const passing_note note("timing " + one_line(names_[i]) + " ...");
            interruption::check();
            row_seconds_.push_back(row_seconds(models_[i]));
            auto seconds = tune::verify_curve(models_[i], chosen_.longest + 1, {.repetitions = chosen_.turns},
                                              chosen_.model.context);
            for (std::size_t n = 0; n < seconds.size(); ++n) {
                seconds[n] += static_cast<double>(n + 1) * row_seconds_[i];
            }
            figures_.pass_seconds.push_back(std::move(seconds));
        }
        figures_.accepted.assign(models - 1, std::vector<std::vector<double>>(models));
        for (std::size_t drafter = 0; drafter + 1 < models; ++drafter) {
            for (std::size_t verifier = drafter + 1; verifier < models; ++verifier) {
                const passing_note note(
                    detail::message("comparing models ", drafter + 1, " and ", verifier + 1, " ..."));
                auto accepted = acceptance(models_[verifier], models_[drafter]);
                if (verifier + 1 < models) figures_.accepted[verifier][drafter] = accepted;  // as far from each other
                figures_.accepted[drafter][verifier] = std::move(accepted);
            }
        }
        found_ = {tune::best_hierarchy(figures_, 0)};
        for (std::size_t drafts = 1; drafts < models; ++drafts) {
            auto best = tune::best_hierarchy(figures_, drafts);
            if (best.seconds_per_token < found_.back().seconds_per_token) found_.push_back(std::move(best));
        }
    }

    /// What it takes beside a pass to draw from a row, or to judge by it.
    double row_seconds(const model::any_model& model) const {
        auto sequence = model.make_sequence();
        const auto rows = model.extend(sequence, std::span(texts_.front().tokens).first(1));
        const transform::pipeline transform(chosen_.sampling, model.vocabulary_size());
        const prefix before(std::span<const token>(texts_.front().tokens).first(1));
        distribution drawn_from;
        return tune::fastest_after_the_first([&] {
            const detail::stopwatch watch;
            transform.apply(rows[0], before, drawn_from);
            return watch.seconds();
        });
    }

    std::vector<double> acceptance(const model::any_model& verifier, const model::any_model& drafter) const {
        std::vector<std::vector<double>> rates;
        for (const written_text& text : texts_) {
            interruption::check();
            if (text.tokens.size() == text.given) continue;
            rates.push_back(tune::divergences_along(verifier, drafter, text.tokens, text.given, chosen_.sampling));
            for (double& each : rates.back()) each = std::clamp(1 - each, 0.0, 1.0);
        }
        return tune::measured_acceptance(rates, chosen_.longest);
    }

    double speedup(const tune::hierarchy& of) const { return found_.front().seconds_per_token / of.seconds_per_token; }

    json one(const tune::hierarchy& of) const {
        return {{"models", of.models},
                {"lengths", of.lengths},
                {"tokens_per_second", 1 / of.seconds_per_token},
                {"speedup", speedup(of)}};
    }

    /// Of `augur generate`.
    std::vector<std::string> arguments() const {
        const tune::hierarchy& best = found_.back();
        std::vector<std::string> words{"--model", chosen_.model.path};
        const auto add = [&](const char* flag, const std::string& value) { words.insert(words.end(), {flag, value}); };
        if (best.lengths.empty()) {
            add("--scheme", "plain");
        } else {
            add("--scheme", "cascade");
            std::string lengths;
            for (std::size_t i = 0; i < best.lengths.size(); ++i) {
                add("--draft", names_[best.models[i]]);
                lengths += (i == 0 ? "" : ",") + std::to_string(best.lengths[i]);
            }
            add("--lengths", lengths);
        }
        if (chosen_.sampling.temperature.value != 0) {
            add("--temperature", json(as_written(chosen_.sampling.temperature.value)).dump());
        }
        if (chosen_.model.weights != "keep") add("--weights", chosen_.model.weights);
        if (chosen_.model.threads != 0) add("--threads", std::to_string(chosen_.model.threads));
        if (chosen_.engine.name != "auto") add("--engine", chosen_.engine.name);
        return words;
    }

    std::string shown(std::size_t model) const {
        const std::string& path = names_[model];
        const std::size_t slash = path.rfind('/');
        return one_line(slash == std::string::npos || slash + 1 == path.size() ? path : path.substr(slash + 1), 38);
    }

    std::string table_of_models() const {
        char line[256];
        std::snprintf(line, sizeof line, "  %-40s %9s %9s   accepted by each model\n", "model", "ms/pass",
                      detail::message("of ", chosen_.longest + 1).c_str());
        std::string out = line;
        for (std::size_t i = 0; i < models_.size(); ++i) {
            const auto& seconds = figures_.pass_seconds[i];
            std::snprintf(line, sizeof line, "  %-40s %9.2f %9.2f  ", shown(i).c_str(), 1000 * seconds.front(),
                          1000 * seconds.back());
            out += line;
            for (std::size_t verifier = 0; i + 1 < models_.size() && verifier < models_.size(); ++verifier) {
                if (verifier == i) {
                    out += "    -";
                    continue;
                }
                std::snprintf(line, sizeof line, " %4.2f", figures_.accepted[i][verifier].front());
                out += line;
            }
            out += '\n';
        }
        return out;
    }

    const hierarchy_options& chosen_;
    engine_choice runs_on_;
    known_words words_;
    loaded_scheme cascade_;
    std::optional<target_model> target_;
    std::vector<model::any_model> models_;  ///< as they were named, the target last
    std::vector<std::string> names_;
    std::vector<written_text> texts_;
    std::vector<double> row_seconds_;
    tune::hierarchy_figures figures_;
    std::vector<tune::hierarchy> found_;  ///< ever faster, of ever more models
};

}  // namespace

std::vector<std::string> add_hierarchy_options(CLI::App& command, hierarchy_options& into) {
    command.add_option("-m,--model", into.model.path, "--hierarchy: the target")->type_name("FILE");
    command.add_option("--draft", into.drafts, "--hierarchy: a smaller model of the same vocabulary (repeatable)")
        ->type_name("FILE")
        ->allow_extra_args(false);
    command.add_option("--cache", into.model.cache, "--hierarchy: f32 or q8_0")
        ->type_name("FORMAT")
        ->default_str(into.model.cache);
    add_engine_options(command, into.engine);
    add_prompt_options(command, into.prompt);
    const auto prompts = [&into](const std::string& text) { into.prompts = text; };
    add_text(command, "--prompts", prompts, "JSON lines with \"prompt\": the texts on which drafts are judged", "FILE");
    command.add_flag("--chat", into.prompt.chat, "Wrap the prompts in the model's chat template");
    add_max_tokens(command, into.max_tokens, "Of each text", most::tokens);
    add_number(command, "--longest", into.longest, "Longest draft", "N", "8", std::size_t{64});
    add_number(command, "--temperature", into.sampling.temperature.value, "0 is greedy", "T", "0");
    add_number(command, "--seed", into.seed, "Of all texts", "S", "0");
    return {"--model", "--draft",      "--cache",       "--engine",      "--gpu-layers",
            "--rpc",   "--prompt",     "--prompt-file", "--prompt-ids",  "--prompts",
            "--chat",  "--max-tokens", "--longest",     "--temperature", "--seed"};
}

void advise_hierarchy(const hierarchy_options& chosen) {
    if (chosen.longest == 0) detail::fail("--longest is 0; a model drafts at least 1 token");
    if (chosen.model.path.empty()) detail::fail("--hierarchy is of models at hand: name one by --model");
    if (chosen.prompts && (chosen.prompt.text || chosen.prompt.file || chosen.prompt.ids)) {
        detail::fail("--prompts is ", io::quote(*chosen.prompts), ", but a prompt is given, too; give one of them");
    }
    check_temperature(chosen.sampling.temperature.value);
    const interruption stop;
    const hierarchy_advice advice(chosen);
    print(chosen.json ? json_line(advice.as_json()) : advice.as_table());
}

}  // namespace augur::program
