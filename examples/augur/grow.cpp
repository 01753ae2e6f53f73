// augur grow: which draft trees are worth having for a model, whoever drafts for it and a kind of prompts.

#include <algorithm>
#include <augur/io/files/bank_file.hpp>
#include <augur/io/files/fingerprint.hpp>
#include <augur/tree/frontier.hpp>
#include <augur/tree/growth.hpp>
#include <bit>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "commands.hpp"
#include "draft_checkpoints.hpp"
#include "growth_rollouts.hpp"
#include "growth_shards.hpp"
#include "growth_state.hpp"
#include "limits.hpp"
#include "llama_shape.hpp"
#include "message.hpp"
#include "models.hpp"
#include "output_file.hpp"
#include "run_files.hpp"
#include "shard.hpp"
#include "terminal.hpp"

namespace augur::program {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

struct grow_options {
    model_options model;
    std::vector<std::string> heads, drafts, merge;
    std::string prompts, output, state, task = "all", shard = "1/1", accept;
    std::size_t max_tokens = 64, nodes = 32, parts = 4, thresholds = 7;
    std::vector<std::size_t> depths;
    float temperature = 0;
    std::optional<double> epsilon, delta;
    std::uint64_t seed = 0;
    double wait = 3600;
    run_file_options files;
    bool chat = false;
};

/// How many of a grown tree's nodes are measured: 1, 2, 3, 4, 6, 8, 12, ..., and all.
std::vector<std::size_t> sizes_up_to(std::size_t all) {
    std::vector<std::size_t> sizes;
    for (std::size_t size = 1; size < all; size += std::max<std::size_t>(1, std::bit_floor(size) / 2)) {
        sizes.push_back(size);
    }
    if (all > 0) sizes.push_back(all);
    return sizes;
}

/// Of trees of a layer or a draft model, which could be of any depth.
constexpr std::size_t usual_depth = 5;

/// The criterion of the rollouts, where it was named.
std::optional<accept::typical> typical_of(const grow_options& chosen) {
    if (chosen.accept.empty()) return std::nullopt;
    return accept::typical({.epsilon = *chosen.epsilon, .delta = *chosen.delta});
}

/// Which criterion, with all of its settings.
grow_options with_rule(grow_options chosen) {
    const bool is_typical = chosen.accept == "typical";
    if (!is_typical && !chosen.accept.empty()) {
        detail::fail("--accept is ", io::quote(chosen.accept),
                     ", but rollouts accept by typical, or, where it is not given, by exact match and as coupled");
    }
    for (auto [name, given] : {std::pair{"--epsilon", &chosen.epsilon}, std::pair{"--delta", &chosen.delta}}) {
        if (!is_typical && *given) detail::fail(name, " is ", **given, ", but only --accept typical has one");
        const accept::typical_options own;
        if (!*given) *given = name == std::string_view("--delta") ? own.delta : own.epsilon;
        if (!(**given >= 0 && **given <= 1)) detail::fail(name, " is ", **given, "; it must be from 0 to 1");
    }
    return chosen;
}

class grower {
 public:
    explicit grower(const grow_options& chosen)
        : chosen_(chosen),
          words_(load_tokenizer(chosen.model.path)),
          target_(load_model(chosen.model.path, chosen.model,
                             taps_for(named_checkpoints(chosen.drafts, chosen.heads, "entmtp"), chosen.model.path))) {
        read_prompts();
        if (chosen.drafts.size() > 1) {
            detail::fail("trees are grown for one draft model, but --draft was given ", chosen.drafts.size(), " times");
        }
        const auto named = named_checkpoints(chosen.drafts, chosen.heads, "entmtp");
        model_options of_heads = chosen.model;
        of_heads.context = 0;
        const auto files = load_checkpoints(checkpoints_, "entmtp", true, named, target_, chosen.model.path,
                                            load_options_of(of_heads));
        for (const auto& [role, file] : files) models_.push_back({role, file});
        models_.push_back({"target", chosen.model.path});
        identity_ = bank_identity_of(target_, checkpoints_, files);
        choose_depths();
        options_.seed = chosen.seed;
        options_.sampling.temperature.value = chosen.temperature;
        static_cast<void>(transform::pipeline(options_.sampling, target_.vocabulary_size()));
        options_.stop.max_tokens = chosen.max_tokens;
        options_.stop.stop_tokens = end_tokens_of(words_, target_.vocabulary_size(), chosen_.model.path);
    }

    /// Scores its part of the prompts, at each step with the others.
    void run_shard(const shard_of& own) {
        if (own.count > prompts_.size()) {
            detail::fail("--shard is ", chosen_.shard, ", but there are ", prompts_.size(), " prompts to share out");
        }
        const std::size_t from = own.index * prompts_.size() / own.count;
        const texts of = texts(prompts_).subspan(from, (own.index + 1) * prompts_.size() / own.count - from);
        const std::size_t parts = std::min(parts_, of.size());
        growing_shard shard(chosen_.state, own, asked(), parts, chosen_.wait);
        shard.run([&](const auto& trees, std::size_t part) { return scored(trees, of, part, parts); },
                  [&](const tree::growth& state) { tell_growth(state); });
    }

    io::bank_file run() {
        resume();
        for (tree::growth& each : found_.growths) {
            tree::grow(
                each, chosen_.nodes, parts_,
                [&](const auto& trees, std::size_t part) { return scored(trees, prompts_, part, parts_); },
                [&](const tree::growth& state) {
                    save();
                    tell_growth(state);
                });
        }
        measure_all();
        const tree::bank frontier = tree::throughput_frontier(found_.measured);
        io::bank_file file{identity_, chosen_.task, frontier};
        file.conservative = file.aggressive = frontier.fastest();
        file.depth = std::max<std::size_t>(1, frontier.shape(file.aggressive).depth());
        if (frontier.size() > 1) {
            const tree::tree_pair pair = tree::pair_of(frontier);
            file.conservative = pair.conservative;
            file.aggressive = pair.aggressive;
            file.threshold = swept(file);
        }
        if (file.threshold == 0) tell_one_is_best(file);
        return file;
    }

    /// Of what run() found.
    json record(const io::bank_file& file) const {
        json models = json::array();
        for (const recorded_model& each : models_) models.push_back({{"role", each.role}, {"file", each.file}});
        json out = {{"format", "augur run"},  {"version", 1},
                    {"command", "grow"},      {"result", json::parse(file.text())},
                    {"settings", settings()}, {"models", std::move(models)}};
        out.update(growth_as_json(found_));
        return out;
    }

 private:
    using texts = growth_rollouts::texts;

    json settings() const {
        return {{"model", chosen_.model.path},
                {"prompts", chosen_.prompts},
                {"prompts_used", prompts_.size()},
                {"task", chosen_.task},
                {"max_tokens", chosen_.max_tokens},
                {"temperature", chosen_.temperature},
                {"accept", rule()},
                {"seed", chosen_.seed},
                {"nodes", chosen_.nodes},
                {"depths", depths_},
                {"parts", parts_},
                {"thresholds", chosen_.thresholds}};
    }

    /// The criterion of the rollouts, with its settings.
    std::string rule() const {
        if (chosen_.accept != "typical") return chosen_.temperature == 0 ? "exact" : "coupled";
        return detail::message("typical, epsilon ", *chosen_.epsilon, ", delta ", *chosen_.delta);
    }

    void choose_depths() {
        const std::size_t most = identity_.head_count;
        depths_ = chosen_.depths;
        if (depths_.empty()) depths_ = {checkpoints_.heads ? most : usual_depth};
        for (const std::size_t depth : depths_) {
            if (depth >= 1 && depth <= most) continue;
            detail::fail(
                "--depths: ", depth, " is no depth of a tree of ",
                checkpoints_.heads ? detail::message(most, " heads") : detail::message("at most ", most, " nodes"));
        }
    }

    /// Nothing to switch between, or no threshold at which switching is faster than the fastest tree alone.
    void tell_one_is_best(const io::bank_file& file) const {
        const topology& best = file.trees.shape(file.aggressive);
        const std::size_t tried = found_.swept.empty() ? 0 : found_.swept.size() - 1;
        tell("note", "one tree is best for this task and machine: that of ", best.size(), " nodes and depth ",
             best.depth(), ", always; of ", tried, " thresholds at which trees switch none was faster");
    }

    void tell_growth(const tree::growth& state) const {
        tell("note", "depth ", state.depth, ": ", state.order.size(), " of ", chosen_.nodes, " nodes");
    }

    void read_prompts() {
        for (prompt_entry& each :
             program::read_prompts(chosen_.prompts, words_, chosen_.model.path, chosen_.chat, "grow")) {
            if (chosen_.task != "all" && each.task != chosen_.task) continue;
            try {
                checked_prompt(each.ids, target_.vocabulary_size(), target_.context_length());
            } catch (const error& problem) {
                detail::fail(chosen_.prompts, ", line ", each.line, ": ", problem.what());
            }
            prompts_.push_back(std::move(each.ids));
        }
        if (prompts_.empty()) detail::fail(chosen_.prompts, " holds no prompts of task ", io::quote(chosen_.task));
        parts_ = std::min(chosen_.parts, prompts_.size());
    }

    tree::tally scored(const tree::augmentations& trees, texts prompts, std::size_t part, std::size_t parts) const {
        interruption::check();
        const std::size_t from = part * prompts.size() / parts, to = (part + 1) * prompts.size() / parts;
        return rollouts_.joint(trees, prompts.subspan(from, to - from));
    }

    /// Timed by a process that has decoded before.
    tune::rollout_result timed(const auto& rollout) {
        interruption::check();
        if (!std::exchange(is_warm_, true)) static_cast<void>(rollout());
        return rollout();
    }

    void measure_all() {
        std::size_t next = 0;
        const auto measure = [&](const topology& shape, double scored_length) {
            if (next++ < found_.measured.size()) return;  // before the program was ended
            const auto measured = timed([&] { return rollouts_.alone(shape, prompts_); });
            found_.measured.push_back({shape, measured.accepted_length(), scored_length, measured.tokens_per_second()});
            save();
            tell("note", "measured ", shape.size(), " nodes: ", measured.tokens_per_second(), " tokens/s");
        };
        measure(topology(), 1);
        for (const tree::growth& each : found_.growths) {
            for (const std::size_t size : sizes_up_to(each.order.size()))
                measure(each.shape(size), each.lengths[size - 1]);
        }
    }

    /// The fastest of 0, at which the aggressive tree is always taken, and some quantiles of the feature.
    double swept(const io::bank_file& bank) {
        if (found_.candidates.empty()) {
            interruption::check();
            std::vector<double> seen;
            rollouts_.switched(bank, 0.5, prompts_, &seen);
            found_.candidates = tree::thresholds_from(seen, chosen_.thresholds);
            save();
        }
        while (found_.swept.size() < found_.candidates.size()) {
            const double threshold = found_.candidates[found_.swept.size()];
            const auto measured = timed([&] { return rollouts_.switched(bank, threshold, prompts_); });
            found_.swept.push_back({threshold, measured.tokens_per_second()});
            save();
            tell("note", "threshold ", threshold, ": ", found_.swept.back().tokens_per_second, " tokens/s");
        }
        return tree::best_of(found_.swept).threshold;
    }

    /// What the state is made with.
    growth_request asked() const {
        io::fnv_hash digest;
        for (const auto& prompt : prompts_) {
            digest.add(prompt.size(), 8);
            for (const token id : prompt) digest.add(static_cast<std::uint64_t>(id), 4);
        }
        const json about = {{"target", identity_.target},
                            {"heads", identity_.heads},
                            {"prompts", digest.text()},
                            {"task", chosen_.task},
                            {"depths", depths_},
                            {"nodes", chosen_.nodes},
                            {"parts", parts_},
                            {"max_tokens", chosen_.max_tokens},
                            {"temperature", chosen_.temperature},
                            {"accept", rule()},
                            {"feature", io::bank_file{identity_, "", tree::bank{topology()}}.feature},
                            {"seed", chosen_.seed},
                            {"thresholds", chosen_.thresholds},
                            {"weights", chosen_.model.weights},
                            {"cache", chosen_.model.cache},
                            {"context", target_.context_length()},
                            {"shape", shape_of(target_.configuration()).text()}};
        return {about, depths_, chosen_.nodes, parts_};
    }

    void save() const { write_growth_state(chosen_.state, found_, asked()); }

    void resume() {
        const bool is_begun = fs::exists(chosen_.state);
        if (is_begun) {
            found_ = read_growth_state(chosen_.state, asked());
        } else {
            for (const std::size_t depth : depths_) {
                found_.growths.push_back({.depth = depth, .order = {}, .lengths = {}});
            }
        }
        if (!chosen_.merge.empty()) take(merged_growths(chosen_.merge, asked()));
        if (!is_begun || !chosen_.merge.empty()) save();
    }

    /// Of shards, in the place of what was grown here.
    void take(std::vector<tree::growth> grown) {
        if (!found_.measured.empty() && grown != found_.growths) {
            detail::fail("--merge: these shards grew other trees than those that were measured in ", chosen_.state);
        }
        found_.growths = std::move(grown);
    }

    const grow_options& chosen_;
    std::optional<io::tokenizer> words_;
    llama::host_model target_;
    draft_checkpoints checkpoints_;
    std::vector<recorded_model> models_;  ///< the target last
    io::bank_identity identity_;
    std::vector<std::vector<token>> prompts_;
    std::vector<std::size_t> depths_;
    std::size_t parts_ = 1;
    decode::options options_{};
    growth_rollouts rollouts_{target_, checkpoints_, options_, typical_of(chosen_)};
    growth_state found_;
    bool is_warm_ = false;  ///< this process has decoded
};

void check_files(const grow_options& chosen, const shard_of& own) {
    std::vector<fs::path> inputs{chosen.model.path, chosen.prompts};
    for (const auto* const read : {&chosen.heads, &chosen.drafts, &chosen.merge}) {
        inputs.insert(inputs.end(), read->begin(), read->end());
    }
    inputs = with_checkpoints(std::move(inputs));
    if (!own.is_all()) {
        const bool merges = !chosen.merge.empty();
        if (merges || chosen.files.records()) {
            detail::fail(merges ? "--merge makes one of all shards" : "--report and --record show what was found",
                         ", but --shard ", chosen.shard, " scores a part; give it to the command without --shard");
        }
        return check_output("--state", shard_path(chosen.state, own), inputs);
    }
    check_output("--state", chosen.state, inputs);
    inputs.emplace_back(chosen.state);
    check_output("--output", chosen.output, inputs);
    inputs.emplace_back(chosen.output);
    check_run_files(chosen.files, inputs);
}

void grow(const grow_options& chosen) {
    if (chosen.max_tokens == 0 || chosen.nodes == 0 || chosen.parts == 0 || chosen.thresholds == 0) {
        detail::fail("--max-tokens, --nodes, --parts and --thresholds are ", chosen.max_tokens, ", ", chosen.nodes,
                     ", ", chosen.parts, " and ", chosen.thresholds, "; each must be at least 1");
    }
    check_temperature(chosen.temperature);
    const shard_of own = parse_shard(chosen.shard);
    check_files(chosen, own);
    const interruption stop;
    try {
        const grow_options resolved = with_rule(chosen);
        grower work(resolved);
        if (!own.is_all()) {
            work.run_shard(own);
            tell("note", "shard ", chosen.shard,
                 " is done; with --merge and the files of all of them the same command ",
                 "without --shard writes the bank");
            return;
        }
        const io::bank_file grown = work.run();
        output_file out(chosen.output);
        out.write(grown.text());
        out.commit();
        if (chosen.files.records()) write_report_files(chosen.files, work.record(grown));
        tell("note", chosen.output, ": ", grown.trees.size(), " trees");
    } catch (const interrupted&) {
        detail::fail("interrupted; what was found is in ", own.is_all() ? chosen.state : shard_path(chosen.state, own),
                     ", and the same command goes on");
    }
}

}  // namespace

void add_grow(CLI::App& program) {
    auto* command = program.add_subcommand("grow", "Grow a bank of draft trees for a task (kind of prompts)");
    const auto chosen = std::make_shared<grow_options>();
    add_model_options(*command, chosen->model);
    command
        ->add_option("--heads", chosen->heads,
                     "The drafter: heads (hydra, medusa) or a layer (eagle); else the first of these, or the draft, "
                     "that the model's draft bundle has")
        ->type_name("FILE")
        ->allow_extra_args(false);
    command->add_option("--draft", chosen->drafts, "Or a smaller model of the same vocabulary")
        ->type_name("FILE")
        ->allow_extra_args(false);
    command->add_option("--prompts", chosen->prompts, "JSON lines with \"prompt\" and optionally \"task\"")
        ->type_name("FILE")
        ->required();
    command->add_option("--task", chosen->task, "Only prompts of this task")->type_name("NAME")->default_str("all");
    command->add_option("--output", chosen->output, "The bank")->type_name("FILE")->required();
    command
        ->add_option("--state", chosen->state,
                     "Checkpoint of the search, written after each step; the same command resumes from it")
        ->type_name("FILE")
        ->default_str("OUTPUT.state");
    add_max_tokens(*command, chosen->max_tokens, "Tokens of each rollout");
    add_number(*command, "--temperature", chosen->temperature, "0 is greedy; above, accepted as by coupled", "T", "0");
    add_text(
        *command, "--accept", [chosen](const std::string& name) { chosen->accept = name; },
        "typical: the rollouts accept as published by Medusa and Hydra, which is not lossless", "NAME",
        "exact at temperature 0, else coupled");
    for (auto [name, into, usual] :
         {std::tuple{"--epsilon", &chosen->epsilon, "0.09"}, std::tuple{"--delta", &chosen->delta, "0.3"}}) {
        const std::string flag = name;
        add_text(
            *command, name, [flag, into](const std::string& text) { *into = parse_number<double>(flag, text); },
            "With --accept typical: as for generate", "P", usual);
    }
    add_number(*command, "--seed", chosen->seed, "Random seed of every rollout", "S", "0");
    add_text(
        *command, "--shard", [chosen](const std::string& text) { chosen->shard = text; },
        "Score one shard of the prompts, together with the others at each step: 2/8 is the second of eight processes",
        "I/N", "1/1");
    add_seconds(*command, "--wait", chosen->wait, "With --shard: seconds to wait for the others at each step", "3600");
    command->add_option("--merge", chosen->merge, "The files of all shards: their trees are measured, none is grown")
        ->type_name("FILE");
    add_number(*command, "--nodes", chosen->nodes, "Nodes of the largest tree, at most 127", "N", "32",
               std::size_t{127});
    const auto depths = [chosen](const std::string& text) {
        chosen->depths = parse_list("--depths", text, most::length);
    };
    add_text(*command, "--depths", depths, "Maximum depths; a tree is grown for each", "LIST", "all heads; 5");
    add_number(*command, "--parts", chosen->parts, "Parts of the prompts, after each of which the state is written",
               "N", "4");
    add_number(*command, "--thresholds", chosen->thresholds, "Thresholds of the sum of path values that are tried", "N",
               "7", most::length);
    add_report_files(*command, chosen->files, "the frontier of measured trees, and the trees that were kept");
    command->add_flag("--chat", chosen->chat, "Wrap prompts in the model's chat template");
    command->callback([chosen] {
        if (chosen->state.empty()) chosen->state = chosen->output + ".state";
        grow(*chosen);
    });
}

}  // namespace augur::program
