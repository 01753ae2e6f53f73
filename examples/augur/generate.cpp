// augur generate: decode, show, report.

#include <unistd.h>

#include <algorithm>
#include <augur/detail/stopwatch.hpp>
#include <augur/io/text/utf8.hpp>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>

#include "bridge.hpp"
#include "calibration.hpp"
#include "chat.hpp"
#include "commands.hpp"
#include "compare.hpp"
#include "engine.hpp"
#include "grammar_options.hpp"
#include "kept_state.hpp"
#include "known_words.hpp"
#include "loaded_scheme.hpp"
#include "lossy.hpp"
#include "message.hpp"
#include "models.hpp"
#include "option_schemes.hpp"
#include "report.hpp"
#include "run_files.hpp"
#include "sampling_defaults.hpp"
#include "target.hpp"
#include "terminal.hpp"
#include "tree_choice.hpp"
#include "tree_rules.hpp"
#include "trees.hpp"

namespace augur::program {
namespace {

struct generate_options {
    model_options model;
    engine_options engine;
    prompt_options prompt;
    scheme_options scheme;
    std::vector<std::string> drafts;
    std::vector<std::string> heads;
    transform::settings sampling{.temperature = {0}};
    std::uint64_t seed = 0;
    std::size_t max_tokens = 128;
    std::vector<std::string> stop_strings;
    std::vector<std::string> biases;
    grammar_options grammar;
    std::string device = "cpu";
    std::optional<std::string> state;
    std::string tree_file;  ///< of --tree, where that is one
    run_file_options files;
    std::optional<std::string> calibration;
    std::string task = "all";     ///< of the calibration
    std::set<std::string> given;  ///< settings that the user named, and options that need another
    bool ignore_eos = false;
    bool compare = false;
    comparison_limits compared{};
    bool json = false;
};

void add_sampling_options(CLI::App& command, generate_options& into) {
    transform::settings& s = into.sampling;
    add_max_tokens(command, into.max_tokens, "Generate at most N tokens");
    add_number(command, "--temperature", s.temperature.value, "0 is greedy", "T", "0");
    add_number(command, "--top-k", s.top_k.k, "Keep the K most probable tokens, 0 for all", "K");
    add_number(command, "--top-p", s.top_p.p,
               "Nucleus sampling: keep the most probable tokens that together have probability P", "P");
    add_number(command, "--min-p", s.min_p.p, "Keep tokens at least P times as probable as the most probable one", "P");
    add_number(command, "--seed", into.seed, "Random seed; equal seeds give equal texts", "S", "0");
    add_number(command, "--repetition-penalty", s.penalties.repetition, "Divides logits of tokens seen before", "X",
               "1");
    add_number(command, "--presence-penalty", s.penalties.presence, "Subtracted from logits of tokens in the output",
               "X", "0");
    add_number(command, "--frequency-penalty", s.penalties.frequency, "The same, once per occurrence", "X", "0");
    command.add_option("--logit-bias", into.biases, "Adds to a token's logit; -inf bans it (repeatable)")
        ->type_name("ID=VALUE")
        ->allow_extra_args(false);
    command.add_option("--stop", into.stop_strings, "Stop before this text (repeatable)")
        ->type_name("TEXT")
        ->allow_extra_args(false);
    add_grammar_options(command, into.grammar);
    command.add_flag("--ignore-eos", into.ignore_eos, "Continue after end-of-text tokens");
}

void add_scheme_options(CLI::App& command, generate_options& into) {
    scheme_options& s = into.scheme;
    command
        .add_option("--draft", into.drafts,
                    "A smaller model of the same vocabulary, with ead of any, that drafts (repeatable)")
        ->type_name("FILE")
        ->allow_extra_args(false);
    command
        .add_option(
            "--heads", into.heads,
            "A draft checkpoint of the model's draft bundle that drafts: eagle, medusa, hydra, draft, "
            "qualifier, exit or ngram; "
            "or published heads of Medusa or Hydra, or a folder with a published EAGLE, EAGLE-2 or EAGLE-3 layer "
            "(repeatable)")
        ->type_name("FILE")
        ->allow_extra_args(false);
    command
        .add_option(
            "--scheme", s.scheme,
            "auto, plain, lookup, forced (with --grammar or --json-schema), suffix, hybrid, merged, sd, eaad, "
            "eaad_as_published, hysteresis, medusa, hydra, "
            "entmtp, "
            "eagle, mtp (the model's own layer for multi-token prediction), "
            "kangaroo, dvi, fsd, fsd_as_published, psd_a, psd_a_as_published, psd_f, psd_f_as_published, cascade or "
            "ead")
        ->type_name("NAME")
        ->default_str("auto");
    command
        .add_option("--accept", s.accept,
                    "exact, rejection_sampling, block or coupled; of trees exact, rejection_sampling, coupled, "
                    "traversal, multipath_block (sd) or typical, which is not lossless; with fsd, psd_a and psd_f "
                    "rejection_then_fuzzy, with *_as_published fuzzy, with any of them at temperature 0 "
                    "fuzzy_greedy, which compares rows at --divergence-temperature; with cascade one of "
                    "rejection_sampling, rejection_then_fuzzy, fuzzy for all links, or one for each, a,b")
        ->type_name("NAME")
        ->default_str("exact at temperature 0, else coupled; fsd, psd_* and cascade have their own");
    const auto compared_at = [&s](const std::string& text) {
        s.divergence_temperature = parse_number<float>("--divergence-temperature", text);
    };
    add_text(command, "--divergence-temperature", compared_at, "fuzzy_greedy: temperature at which rows are compared",
             "T", "1");
    add_text(
        command, "--divergence", [&s](const std::string& name) { s.divergence = name; },
        "fsd, psd_*, cascade: what thresholds of rows are of: total_variation, kl, reverse_kl, jensen_shannon or "
        "hellinger",
        "NAME", "total_variation");
    const auto number = [](const std::string& name, std::optional<double>& set) {
        return [name, &set](const std::string& text) { set = parse_number<double>(name, text); };
    };
    add_text(command, "--epsilon", number("--epsilon", s.epsilon),
             "typical: upper bound of the probability threshold, 0 to 1", "P", "0.09");
    add_text(command, "--delta", number("--delta", s.delta),
             "typical: factor of exp(-entropy in nats) in the probability threshold, 0 to 1", "P", "0.3");
    const auto length = [&s](const std::string& text) { s.length = parse_number("--length", text, most::length); };
    add_text(command, "--length", length,
             "Tokens drafted per round: 4 with sd, 2 with fsd, 15 with fsd_as_published, none with ead, else what "
             "pays; with eaad the most, with "
             "kangaroo, too, 6, with hysteresis the long length, 4",
             "K");
    const auto most_tokens = [&s](const std::string& text) { s.max_k = parse_number("--max-k", text, most::length); };
    add_text(
        command, "--tree",
        [&into](const std::string& text) {
            choose_tree(into.scheme, text);
            into.tree_file = into.scheme.tree ? text : "";
        },
        "lookup, suffix, sd, medusa, hydra, eagle, mtp, merged: the tree that is drafted every round, a JSON array of "
        "paths of child ranks; auto: what pays, by measured cost and acceptance, or with --bank (hydra, medusa, eagle, "
        "sd) its "
        "fastest; dynamic, or dynamic,depth=5,width=4,nodes=12 (eagle, mtp, sd, merged): the nodes that the draft "
        "finds "
        "likeliest, anew every round",
        "FILE|auto|dynamic");
    add_text(
        command, "--bank", [&s](const std::string& path) { s.bank_path = path; },
        "entmtp: the trees to switch between, from `augur grow`", "FILE");
    command
        .add_option("--tree-policy", s.tree_policy,
                    "entmtp: hysteresis, between two trees of the bank; or ladder, through all of them")
        ->type_name("NAME")
        ->default_str("hysteresis");
    command
        .add_option(
            "--tree-feature", s.tree_feature,
            "entmtp: what trees are switched by: path_value, path_value_sum, target_confidence, entropy (of the "
            "target's rows, smoothed) or accepted_length (averaged)")
        ->type_name("NAME")
        ->default_str("the bank's: path_value_sum");
    add_text(command, "--max-k", most_tokens, "eaad: maximum draft length; 4 with eaad_as_published", "K");
    const auto edges = [&s](const std::string& text) {
        s.bin_edges_nats = parse_list("--bins", text, most::threshold);
    };
    add_text(
        command, "--signal", [&s](const std::string& name) { s.signal = name; },
        "eaad: whose entropy chooses the bin, draft_entropy or target_entropy; hysteresis: what switches, these, "
        "path_value or acceptance",
        "NAME", "draft_entropy");
    add_text(command, "--bins", edges, "eaad: upper edges of the entropy bins, nats", "LIST", "0.5,1.5,2.5");
    const auto lengths = [&s](const std::string& text) {
        s.bin_lengths = parse_list("--bin-lengths", text, most::length);
    };
    add_text(command, "--bin-lengths", lengths, "eaad: length in each bin, one more than edges", "LIST", "4,3,2,1");
    command.add_flag("--learn-bins", s.learn_bins, "eaad: learn the edges from acceptance and measured cost");
    add_number(command, "--lookup-min", s.lookup_min, "lookup, hybrid, merged: shortest n-gram to match", "N", "1",
               most::ngram);
    const auto thresholds = [&s](const std::string& text) {
        s.thresholds = parse_list("--thresholds", text, most::threshold);
    };
    add_text(
        command, "--thresholds", thresholds,
        "fsd, psd_*, cascade: divergence within which a token is accepted, the qualifier's first; ead: bits of "
        "entropy; hysteresis: nats of the draft's entropy at which the long length comes, and above which it "
        "goes; entmtp: of the feature, at which the aggressive tree comes, and off which it goes, or a ladder's; "
        "kangaroo, dvi: probability of the draft's best token below which it is the last",
        "LIST",
        "0.5; 0.4,0.5 with psd_f*; 0.25 with ead; 1.5,2.5 with hysteresis; 0.6 with kangaroo; the bank's with entmtp; "
        "none with dvi, whose drafts are as long as pays");
    const auto exit_layer = [&s](const std::string& text) {
        s.exit_layer = parse_number("--exit-layer", text, most::length);
    };
    add_text(command, "--exit-layer", exit_layer, "kangaroo, dvi: the model's first K layers draft", "K",
             "the adapter's; the draft bundle's exit near three quarters of them; else three quarters");
    add_text(
        command, "--adapter", [&s](const std::string& path) { s.adapter = path; },
        "kangaroo, dvi, medusa, hydra, eagle: what `augur learn` wrote; dvi continues to train while it serves, and "
        "writes nothing",
        "FILE");
    command.add_flag("--untrained", s.untrained,
                     "kangaroo: use the model's own norm and output matrix instead of a trained exit head");
    const auto handed_up = [&s](const std::string& text) { s.lengths = parse_list("--lengths", text, most::length); };
    add_text(command, "--lengths", handed_up, "psd_*, cascade: tokens that each model but the last proposes at a time",
             "LIST", "1,2; 15,25 with psd_*_as_published; 4 for each with cascade");
    add_number(command, "--window", s.window, "ead: window of the mean entropy, in tokens", "N", "5", most::window);
    add_number(command, "--dwell", s.dwell, "ead: minimum tokens between two switches", "N", "10", most::dwell);
    add_number(command, "--lookup-max", s.lookup_max, "lookup, hybrid, merged: longest n-gram to match, at most 64",
               "N", "8", most::ngram);
}

/// "ID=VALUE", each of another token: of two values for one token it would not be clear which holds.
transform::bias parse_biases(const std::vector<std::string>& texts) {
    transform::bias bias;
    for (const std::string& text : texts) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos) detail::fail("--logit-bias is ", io::quote(text), "; it must be ID=VALUE");
        const auto id = parse_number<token>("--logit-bias", std::string_view(text).substr(0, equals));
        const auto by = parse_number<float>("--logit-bias", std::string_view(text).substr(equals + 1));
        for (std::size_t i = 0; i < bias.added.size(); ++i) {
            if (bias.added[i].first != id) continue;
            detail::fail("--logit-bias is given for token ", id, " twice, as ", io::quote(texts[i]), " and as ",
                         io::quote(text), "; give one of them");
        }
        bias.added.emplace_back(id, by);
    }
    return bias;
}

/// Values that no text is sampled by are refused by the option's name.
void check_sampling(const transform::settings& s) {
    const auto check = [](const char* option, transform::settings only) {
        of_option(option, [&] { static_cast<void>(transform::pipeline(std::move(only), 1)); });
    };
    check_temperature(s.temperature.value);
    check("--top-k", {.top_k = s.top_k});
    check("--top-p", {.top_p = s.top_p});
    check("--min-p", {.min_p = s.min_p});
    check("--repetition-penalty", {.penalties = {.repetition = s.penalties.repetition}});
    check("--presence-penalty", {.penalties = {.presence = s.penalties.presence}});
    check("--frequency-penalty", {.penalties = {.frequency = s.penalties.frequency}});
}

/// Options that say nothing without another.
void check_companions(const generate_options& chosen) {
    if (chosen.given.contains("task") && !chosen.calibration) {
        detail::fail("--task is ", io::quote(chosen.task), ", but --calibration was not given");
    }
    if (chosen.given.contains("compare-seconds") && !chosen.compare) {
        detail::fail("--compare-seconds is ", chosen.compared.seconds, ", but --compare was not given");
    }
    const auto& stops = chosen.stop_strings;
    if (std::find(stops.begin(), stops.end(), "") != stops.end()) {
        detail::fail("--stop is ''; a stop string has at least 1 byte, or it is empty");
    }
}

/// Files that are read; the last one is --state's, if there is one.
std::vector<std::filesystem::path> inputs_of(const generate_options& chosen) {
    std::vector<std::filesystem::path> inputs{chosen.model.path};
    inputs.insert(inputs.end(), chosen.drafts.begin(), chosen.drafts.end());
    inputs.insert(inputs.end(), chosen.heads.begin(), chosen.heads.end());
    if (!chosen.scheme.bank_path.empty()) inputs.emplace_back(chosen.scheme.bank_path);
    if (!chosen.scheme.adapter.empty()) inputs.emplace_back(chosen.scheme.adapter);
    if (!chosen.tree_file.empty()) inputs.emplace_back(chosen.tree_file);
    const auto grammars = chosen.grammar.files();
    inputs.insert(inputs.end(), grammars.begin(), grammars.end());
    for (const auto& file : {chosen.prompt.file, chosen.calibration}) {
        if (file) inputs.emplace_back(*file);
    }
    inputs = with_checkpoints(std::move(inputs));
    if (chosen.state) inputs.emplace_back(*chosen.state);
    return inputs;
}

/// What can be refused before a model is loaded, is.
void check_early(const generate_options& chosen) {
    check_device(chosen.device, chosen.model.weights);
    if (parse_cache(chosen.model.cache) != llama::cache_format::f32 && chosen.device != "cpu") {
        detail::fail("--cache ", io::quote(chosen.model.cache), " is not available with --device ", chosen.device);
    }
    check_companions(chosen);
    check_sampling(chosen.sampling);
    check_grammar(chosen.grammar, chosen.ignore_eos);
    check_standard_output();
    const auto inputs = inputs_of(chosen);
    if (chosen.state) check_output("--state", *chosen.state, {inputs.begin(), inputs.end() - 1});
    check_run_files(chosen.files, inputs);
}

nlohmann::ordered_json settings_as_json(const generate_options& chosen, const target_model& target) {
    const transform::settings& s = chosen.sampling;
    nlohmann::ordered_json settings{{"model", chosen.model.path},
                                    {"draft", chosen.drafts},
                                    {"heads", chosen.heads},
                                    {"requested_scheme", chosen.scheme.scheme},
                                    {"weights", chosen.model.weights},
                                    {"cache", target.bundled() || chosen.engine.cache ? chosen.model.cache : "f16"},
                                    {"shape", target.shape()},
                                    {"engine", target.runs_on().name()},
                                    {"device", chosen.device},
                                    {"threads", target.threads()},
                                    {"context", target.context_length()},
                                    {"max_tokens", chosen.max_tokens},
                                    {"stop", chosen.stop_strings},
                                    {"logit_bias", chosen.biases},
                                    {"ignore_eos", chosen.ignore_eos},
                                    {"temperature", as_written(s.temperature.value)},
                                    {"top_k", s.top_k.k},
                                    {"top_p", as_written(s.top_p.p)},
                                    {"min_p", as_written(s.min_p.p)},
                                    {"repetition_penalty", as_written(s.penalties.repetition)},
                                    {"presence_penalty", as_written(s.penalties.presence)},
                                    {"frequency_penalty", as_written(s.penalties.frequency)}};
    if (chosen.grammar.grammar) settings["grammar"] = *chosen.grammar.grammar;
    if (chosen.grammar.schema) settings["json_schema"] = *chosen.grammar.schema;
    return settings;
}

/// The options with this scheme. With a calibration `auto` is the fastest lossless scheme in it, if that was faster
/// than plain decoding; without one but with a grammar `forced`, where neither a drafter nor a tree is named.
scheme_options asked_scheme(const generate_options& chosen, const std::string& scheme) {
    scheme_options asked = chosen.scheme;
    asked.scheme = scheme;
    asked.has_grammar = chosen.grammar.any();
    if (asked.scheme != "auto") return asked;
    if (!chosen.calibration) {
        const bool names_drafters = !chosen.drafts.empty() || !chosen.heads.empty() || drafts_trees(asked);
        if (asked.has_grammar && !names_drafters) asked.scheme = "forced";
        return asked;
    }
    const calibration read = read_calibration(*chosen.calibration);
    const calibration_entry* best = read.fastest_lossless(chosen.task, *chosen.calibration);
    if (best != nullptr) {
        asked.scheme = best->scheme;
    } else {
        tell("note", "calibration ", *chosen.calibration,
             " holds no lossless scheme that was faster than plain decoding", " for task ", io::quote(chosen.task),
             ", so auto chooses as without it");
    }
    return asked;
}

/// The models and what decoding with them is asked for.
class generator {
 public:
    /// `prompt`: tokens from the tokenizer, before a model is loaded. `bridged_by`: what they were made of, with which
    /// ead begins in other vocabularies, too; without it models must have the same tokens.
    generator(const generate_options& chosen, const std::function<std::vector<token>(const known_words&)>& prompt,
              const prompt_options* bridged_by = nullptr)
        : chosen_(chosen),
          requested_(chosen.scheme.scheme),
          asked_(asked_scheme(chosen, chosen.scheme.scheme)),
          loaded_(std::make_unique<loaded_scheme>(asked_, chosen.sampling, chosen.drafts, chosen.heads,
                                                  bridged_by != nullptr)),
          runs_on_(choose_engine(chosen.engine, chosen.model, chosen.device)),
          words_(runs_on_.is_llama_cpp, chosen.model.path),
          prompt_(prompt(words_)),
          grammar_(chosen.grammar.any() ? load_grammar(chosen.grammar, chosen.model.path) : scoring_grammar()),
          stop_marks_(words_.stop_marks(chosen.stop_strings)) {  // before the model
        const passing_note note("loading " + std::filesystem::path(chosen.model.path).filename().string());
        const detail::stopwatch watch;
        target_.emplace(runs_on_, chosen.model, chosen.engine, chosen.device, *loaded_);
        if (chosen.grammar.any() && grammar_.vocabulary != target_->vocabulary_size()) {
            detail::fail("the grammar's vocabulary has ", grammar_.vocabulary, " tokens, but the model ",
                         target_->vocabulary_size(), " rows");
        }
        if (chosen.calibration && asked_.scheme != "auto") calibrate();
        if (chosen.state) read_state(*chosen.state, *loaded_, state_about(*loaded_, *target_, chosen.device));
        if (bridged_by != nullptr && asked_.scheme == "ead") bridge(*bridged_by);
        target_->prepare(*loaded_);
        load_seconds_ = watch.seconds();
    }

    const loaded_scheme& loaded() const { return *loaded_; }
    const target_model& target() const { return *target_; }
    /// Without a vocabulary there is none.
    bool has_text() const { return words_.any(); }
    const known_words& words() const { return words_; }
    /// Written as text and not as a conversation, though the model's name says that it was trained for these.
    bool lacks_chat() const {
        const io::tokenizer* const words = words_.ours();
        const bool is_plain =
            !chosen_.prompt.chat && !chosen_.prompt.ids && words && !words->words().chat_template.empty();
        const std::ptrdiff_t adds_bos = is_plain && words->encode("", {.add_special = true}).empty() ? 0 : 1;
        const auto is_control = [&](token t) { return words->is_control(t); };
        return is_plain && std::none_of(prompt_.begin() + adds_bos, prompt_.end(), is_control) &&
               is_named_for_chat(chosen_.model.path);
    }

    /// Answers in turn, from these tokens on. What an answer trained is kept at once, and its report written.
    void converse(std::span<const token> first, dialogue& with) {
        run_request request{first, options(), {}, {}};
        request.options.seed += with.again();
        request.options.on_token = [&](const commit::committed_token& t) { return with.show(t); };
        std::optional<run_recorder> recorder;
        if (with.report()) {
            recorder.emplace();
            request.reads_rows = true;
            request.on_round = [&](const round_summary& round) { recorder->add(round); };
        }
        std::vector<token> said(first.begin(), first.end());
        statistics before;
        request.next_turn = [&](const run_result& result) {
            const statistics counts = since(before, result.counts);
            before = result.counts;
            loaded_->learn(result);
            if (chosen_.state) write_state(*chosen_.state, *loaded_);  // whoever reads may end the program
            if (recorder) report_answer(*with.report(), request, said, result, counts, *recorder);
            if (recorder) recorder.emplace();
            auto more = with.answered(result, counts);
            said.insert(said.end(), result.ids.begin(), result.ids.end());
            said.insert(said.end(), more.begin(), more.end());
            return more;
        };
        target_->run(*loaded_, request);
    }

    /// From now on by another scheme, with the same options; throws, with nothing changed, where it cannot be.
    void choose(const std::string& scheme) {
        if (chosen_.state || chosen_.calibration) {
            detail::fail("/scheme: with --state and --calibration the scheme is that of the start, ",
                         io::quote(loaded_->scheme().scheme));
        }
        scheme_options asked = asked_scheme(chosen_, scheme);
        auto other = std::make_unique<loaded_scheme>(asked, chosen_.sampling, chosen_.drafts, chosen_.heads);
        target_->add(*other);
        target_->prepare(*other);
        requested_ = scheme;
        asked_ = std::move(asked);
        loaded_ = std::move(other);
    }

    generation_report decode(const commit::token_sink& sink, std::function<void(const round_summary&)> on_round) {
        const interruption stop;
        run_request request{prompt_, options(), std::move(on_round), {}};
        if (chosen_.compare) warm_up(request);
        request.reads_rows = chosen_.files.records();
        if (!sides_.empty()) request.bridge = &sides_;
        request.options.on_token = sink;
        generation_report report = report_of(request, prompt_, target_->run(*loaded_, request));
        known_before_ = loaded_->learned();
        loaded_->learn(report.composed);
        return report;
    }

    /// Compares with plain decoding of the same request, in turns until the ratio is known; what there is when Ctrl-C
    /// comes. The first plain decoding's rounds are shown to `on_round`.
    void compare(generation_report& report, const std::function<void(const round_summary&)>& on_round) {
        loaded_->recall(known_before_);  // every run begins with what the first did, not with this very text
        if (chosen_.state) report.compared_state_texts = loaded_->learned().texts;
        const passing_note note("decoding plainly and by the scheme in turns, to compare ...");
        report.speeds = paired_speeds(chosen_.compared);
        double rate = report.composed.tokens_per_second();
        while (true) {
            const detail::stopwatch watch;
            if (report.plain) {
                const auto again = decode_again();
                if (!again) return;
                rate = again->tokens_per_second();
            }
            const auto plain = decode_plainly(report.plain ? std::function<void(const round_summary&)>() : on_round);
            if (!plain) return;
            if (!report.plain) report.plain = plain;
            if (rate == 0 || plain->ids.empty()) return;
            report.speeds.add(rate, plain->tokens_per_second(), watch.seconds());
            const bool learns = loaded_->scheme().scheme == "dvi";  // it would know the text the next time
            if (learns || !report.speeds.wants_more()) return;
        }
    }

    nlohmann::ordered_json record(const generation_report& report, const run_recorder& recorder) const {
        const auto bytes = [this](token id) { return words_.bytes_of(id, true); };
        std::string prompt;
        for (const token id : report.prompt) prompt += bytes(id);
        const recorded_run run{.command = "generate",
                               .result = as_json(report),
                               .models = models(),
                               .prompt = io::repair_utf8(prompt),
                               .text = report.composed.text,
                               .prefill = report.composed.counts.seconds.prefill};
        return recorder.record(run, drafters_of(loaded_->scheme(), run.models), bytes);
    }

 private:
    /// What there is to say about a text that followed `prompt`.
    generation_report report_of(const run_request& request, std::vector<token> prompt, run_result result) const {
        generation_report report;
        report.prompt = std::move(prompt);
        report.stop_ids = sides_.empty() ? request.options.stop.stop_tokens : sides_.back().end_tokens;
        report.bridge = request.bridge;
        report.scheme = loaded_->scheme();
        report.requested_scheme = requested_;
        report.seed = request.options.seed;
        report.load_seconds = load_seconds_;
        report.weight_bytes = target_->memory_bytes() + loaded_->drafter_bytes();
        report.settings = settings_as_json(chosen_, *target_);
        report.settings["requested_scheme"] = requested_;
        report.settings["drafters"] = loaded_->paths();
        if (const auto layer = exit_layer()) report.settings["exit_layer"] = *layer;
        if (!loaded_->verify_seconds().empty()) report.settings["verify_seconds"] = loaded_->verify_seconds();
        if (chosen_.state) report.settings["state_texts"] = loaded_->learned().texts;
        report.composed = std::move(result);
        report.ended = ended_because(report.composed, last_token(report.composed), chosen_.max_tokens,
                                     last_context(report.composed));
        if (!report.composed.counts.models.empty()) {
            report.parameters = loaded_->draft_parameters();
            report.parameters.push_back(static_cast<double>(target_->parameter_count()));
        }
        return report;
    }

    /// The layer that drafts, where the model's first ones do.
    std::optional<std::size_t> exit_layer() const {
        const draft_checkpoints& by = loaded_->drafters();
        if (by.learned_attention) return by.learned_attention->identity().layer;
        if (by.learned_layer) return by.learned_layer->head().layer();
        if (by.learned) return by.learned->head().layer();
        if (by.exit) return by.exit->layer();
        return std::nullopt;
    }

    /// Of an answer of a conversation, which these tokens are before.
    void report_answer(const std::string& path, const run_request& request, const std::vector<token>& before,
                       run_result result, const statistics& counts, const run_recorder& recorder) const {
        result.counts = counts;
        run_file_options into;
        into.report = path;
        write_report_files(into, record(report_of(request, before, std::move(result)), recorder));
    }

    /// The same request by the same scheme; nothing if Ctrl-C ended it, for it is then no measure.
    std::optional<run_result> decode_again() const {
        return unless_cancelled({}, [&](const run_request& request) { return target_->run(*loaded_, request); });
    }
    std::optional<run_result> decode_plainly(std::function<void(const round_summary&)> on_round) const {
        return unless_cancelled(std::move(on_round),
                                [&](const run_request& request) { return target_->run_plainly(request); });
    }
    std::optional<run_result> unless_cancelled(std::function<void(const round_summary&)> on_round,
                                               const auto& decode) const {
        const interruption stop;
        run_request request{prompt_, options(), std::move(on_round), {}};
        request.options.on_token = [](const auto&) { return !interruption::pressed(); };
        run_result result = decode(request);
        if (result.finish == finish_reason::cancelled) return std::nullopt;
        return result;
    }

    /// As it is written, or its id where there is no vocabulary.
    std::string last_token(const run_result& of) const {
        if (of.ids.empty()) return "";
        if (!sides_.empty()) return bytes_of(sides_.at(of.writers.back()).words, of.ids.back(), true);
        return words_.any() ? words_.bytes_of(of.ids.back(), true) : std::to_string(of.ids.back());
    }

    /// Of the model that wrote last, where each has its own.
    std::size_t last_context(const run_result& of) const {
        const bool is_shared = sides_.empty() || of.writers.empty();
        return is_shared ? target_->context_length() : sides_.at(of.writers.back()).of.context;
    }

    /// Cheapest first.
    std::vector<recorded_model> models() const {
        std::vector<recorded_model> all;
        for (const std::string& kind : members_used_by(loaded_->scheme().scheme)) {
            if (loaded_->files().contains(kind)) all.push_back({kind, loaded_->files().at(kind)});
        }
        for (const std::string& kind : numbered_drafts(loaded_->files()))
            all.push_back({kind, loaded_->files().at(kind)});
        if (!chosen_.scheme.adapter.empty()) all.push_back({"adapter", chosen_.scheme.adapter});
        all.push_back({"target", chosen_.model.path});
        return all;
    }

    /// Settings from the calibration, but for those that were given. What does not fit is said.
    void calibrate() {
        const std::string& path = *chosen_.calibration;
        const calibration read = read_calibration(path);
        const auto here = target_->identity(loaded_->files(), chosen_.sampling);
        for (const std::string& line : compare_identity(read, here, path)) {
            tell("note", "calibration ", path, ": ", line);
        }
        const calibration_entry* entry = read.find(loaded_->scheme().scheme, chosen_.task);
        if (entry == nullptr) {
            detail::fail("calibration ", path, " holds nothing about scheme '", loaded_->scheme().scheme, "' and task ",
                         io::quote(chosen_.task));
        }
        loaded_->settle(with_settings(asked_, entry->settings, path, chosen_.given));
    }

    std::vector<turn_model> turn_models() const {
        std::vector<turn_model> all;
        const auto add = [&](const std::string& path, const auto& model) {
            all.push_back({path, model.vocabulary_size(), model.context_length(), model.vocabulary_fingerprint()});
        };
        std::vector<std::string> files{loaded_->files().at("draft")};
        for (const std::string& kind : numbered_drafts(loaded_->files())) files.push_back(loaded_->files().at(kind));
        const std::vector<model::any_model> drafts = loaded_->draft_models();
        for (std::size_t i = 0; i < drafts.size(); ++i) add(files.at(i), drafts[i]);
        target_->visit([&](const auto& model) { add(chosen_.model.path, model); });
        return all;
    }

    /// What is of one vocabulary, where there are several.
    void refuse_ids() const {
        const auto& length = loaded_->scheme().length;
        const char* const why = ", but the models have different vocabularies";
        if (length && *length > 0) detail::fail("--length is ", *length, why, " and cannot draft for each other");
        if (!chosen_.biases.empty()) {
            detail::fail("--logit-bias is ", io::quote(chosen_.biases.front()), ", whose id is of one vocabulary", why);
        }
        if (const grammar_options& asked = chosen_.grammar; asked.any()) {
            detail::fail(asked.option(), " is ", asked.files().front().string(),
                         ", a grammar of one vocabulary's tokens", why);
        }
        if (chosen_.compare) detail::fail("--compare compares tokens with plain decoding's", why);
        if (chosen_.files.records()) {
            detail::fail("--report, --record and --trace FILE.json show tokens of one vocabulary", why,
                         "; --trace FILE.jsonl has each round's model");
        }
    }

    /// Models of ead that have different vocabularies will hand each other text.
    void bridge(const prompt_options& asked) {
        const std::vector<turn_model> models = turn_models();
        if (!vocabularies_differ(models)) return;
        refuse_ids();
        sides_ = bridge_of(models, words_, {asked, prompt_, chosen_.stop_strings, chosen_.ignore_eos});
        std::string all;
        for (const turn_model& each : models) {
            const std::string of_texts = each.fingerprint.empty() ? "" : ", fingerprint " + each.fingerprint;
            all += detail::message(all.empty() ? "" : ", ", each.path, " (", each.vocabulary, " tokens", of_texts, ")");
        }
        tell("note", "the models have different vocabularies and hand each other text: ", all);
    }

    decode::options options() const {
        decode::options options{.seed = chosen_.seed, .sampling = chosen_.sampling};
        options.sampling.bias = parse_biases(chosen_.biases);
        options.stop = {.max_tokens = chosen_.max_tokens, .stop_strings = chosen_.stop_strings};
        if (!sides_.empty()) return options;
        if (!chosen_.ignore_eos) options.stop.stop_tokens = words_.end_tokens(target_->vocabulary_size());
        options.sampling.mask = grammar_.mask;
        for (const token end : grammar_.ends) {
            auto& stops = options.stop.stop_tokens;
            if (std::find(stops.begin(), stops.end(), end) == stops.end()) stops.push_back(end);
        }
        if (!words_.any()) return options;
        options.stop.text_of = [this](token id) { return words_.bytes_of(id); };
        options.stop.stop_marks = stop_marks_;
        return options;
    }

    /// Whoever is timed first would pay for cold caches and waking threads.
    void warm_up(run_request request) const {
        request.options.stop.max_tokens = std::min<std::size_t>(chosen_.max_tokens, 8);
        request.on_round = {};
        target_->run(*loaded_, request);
    }

    const generate_options& chosen_;
    std::string requested_;  ///< scheme
    scheme_options asked_;   ///< with a calibration, `auto` is the scheme that it has for it
    std::unique_ptr<loaded_scheme> loaded_;
    engine_choice runs_on_;
    known_words words_;
    std::vector<token> prompt_;
    scoring_grammar grammar_;
    std::vector<commit::stop_mark> stop_marks_;
    std::optional<target_model> target_;
    std::vector<bridged_side> sides_{};  ///< of ead, where vocabularies differ
    io::policy_state known_before_;      ///< when the text was begun
    double load_seconds_ = 0;
};

void refuse_unless_auto(const generate_options& chosen, const char* option, const std::string& path) {
    if (chosen.scheme.scheme == "auto") return;
    detail::fail(option, " is ", path, ", but the scheme is ", io::quote(chosen.scheme.scheme),
                 ", which does not use it");
}

/// Files that `auto` has no use for. A scheme that was asked for refuses them.
void tell_of_options(const generate_options& chosen, const generator& writer) {
    if (!chosen.drafts.empty() && !writer.loaded().uses(chosen.drafts.front())) {
        refuse_unless_auto(chosen, "--draft", chosen.drafts.front());
        tell("note", "this scheme uses no draft model, so --draft is not loaded");
    }
    for (const std::string& path : chosen.heads) {
        if (writer.loaded().uses(path)) continue;
        refuse_unless_auto(chosen, "--heads", path);
        tell("note", "this scheme does not use ", path, ", so --heads is not loaded");
    }
}

/// Sampled as the model's files ask for, where the user does not say; a rule that is for temperature 0 alone, at that.
/// What to say of it.
std::string take_chat_defaults(generate_options& chosen) {
    const std::string& accept = chosen.scheme.accept;
    if (accept == "exact" || accept == "fuzzy_greedy" || chosen.scheme.scheme == "eaad_as_published") return "";
    return take_sampling_defaults(chosen.sampling, chosen.given, chosen.model.path);
}

/// Another scheme than the one at hand, if the user wants it.
void change_scheme(generator& writer, dialogue& with) {
    const auto name = with.wanted_scheme();
    if (!name) return;
    try {
        writer.choose(*name);
        tell("note", "the scheme is ", writer.loaded().scheme().scheme);
    } catch (const error& problem) {
        with.refuse(problem.what());
    }
}

/// The first message may be an option; the others are read.
void chat(generate_options chosen, bool colour_origin) {
    check_early(chosen);
    const std::string taken = take_chat_defaults(chosen);
    std::optional<conversation> talk;
    generator writer(chosen, [&](const known_words& words) {
        talk.emplace(words, chosen.prompt.system);
        return std::vector<token>();
    });
    tell_of_options(chosen, writer);
    if (!taken.empty()) tell("note", "sampling: ", taken);
    const auto check_report = [&](const std::string& path) {
        run_file_options into;
        into.report = path;
        check_run_files(into, inputs_of(chosen));
    };
    dialogue with(writer.words(), std::move(*talk),
                  {.first = chosen.prompt.text,
                   .context = writer.target().context_length(),
                   .max_tokens = chosen.max_tokens,
                   .colour_origin = colour_origin,
                   .is_greedy = chosen.sampling.temperature.value == 0,
                   .check_report = check_report});
    while (!with.over()) {
        change_scheme(writer, with);
        const std::vector<token> first = with.begin();
        if (!first.empty()) writer.converse(first, with);
    }
}

void generate(const generate_options& chosen) {
    check_early(chosen);
    prompt_options prompt;
    const auto encode = [&](const known_words& words) {
        prompt = read_once(chosen.prompt);
        return words.encode(prompt);
    };
    generator writer(chosen, encode, &prompt);
    run_files files(chosen.files);
    tell_of_options(chosen, writer);
    if (const scheme_options& by = writer.loaded().scheme(); by.scheme == "entmtp" && one_tree_is_best(by)) {
        tell("note", "one tree is best for this task and machine, says ", by.bank_path, ": ", trees_of(by),
             "; --thresholds switches all the same");
    }
    if (writer.lacks_chat()) {
        tell("note", "this model was trained for conversations; without --chat it continues the prompt as it stands");
    }
    std::optional<text_output> output;
    if (!chosen.json) output.emplace(look_of(STDOUT_FILENO));
    std::size_t shown = 0;
    const auto sink = [&](const commit::committed_token& t) {
        shown += t.text.size();
        if (output) output->show(t.from, writer.has_text() ? t.text : std::to_string(t.id) + " ");
        return !interruption::pressed();
    };
    generation_report report = writer.decode(sink, files.watcher());
    if (output) output->finish(std::string_view(report.composed.text).substr(shown));
    if (chosen.state) write_state(*chosen.state, writer.loaded());
    files.end_lines();
    if (chosen.sampling.temperature.value == 0 && is_exact_at_temperature_0(writer.loaded().scheme())) {
        tell("note", "at temperature 0 rows are points, so that '", writer.loaded().scheme().scheme,
             "' keeps plain greedy decoding's text whatever its thresholds; --accept fuzzy_greedy compares the rows "
             "before");
    }
    if (chosen.compare && report.composed.finish != finish_reason::cancelled) {
        writer.compare(report, files.plain_watcher());
    }
    if (chosen.files.records()) files.write(writer.record(report, files.recorder()));
    if (chosen.json) {
        print(json_line(as_json(report)));
    } else {
        std::fputs(as_table(report, look_of(STDERR_FILENO).colour).c_str(), stderr);
    }
}

}  // namespace

namespace {

void add_calibration_options(CLI::App& command, const std::shared_ptr<generate_options>& chosen) {
    add_text(
        command, "--calibration", [chosen](const std::string& path) { chosen->calibration = path; },
        "Settings from a file of `augur tune`; options given here override it. With auto: the fastest lossless scheme "
        "in it",
        "FILE");
    command
        .add_option("--task", chosen->task, "With --calibration: the task (kind of prompts) whose settings are used")
        ->type_name("NAME")
        ->default_str("all");
}

void add_state_option(CLI::App& command, const std::shared_ptr<generate_options>& chosen) {
    add_text(
        command, "--state", [chosen](const std::string& path) { chosen->state = path; },
        "Load what an adaptive policy learned in earlier texts from FILE, and save it there", "FILE");
}

/// Notes which settings a calibration must leave alone, and which the scheme has to have a use for.
void note_given(const CLI::App& command, generate_options& chosen) {
    for (const auto& [name, _] : all_option_schemes()) {
        const std::string option(name);
        const CLI::Option& named = *command.get_option("--" + option);
        if (named.count() == 0) continue;
        chosen.given.insert(option);
        const bool is_flag = named.get_expected_max() == 0;
        chosen.scheme.given[option] = is_flag ? "" : named.results().back();
    }
    note_cache(command, chosen.engine, chosen.model);
    for (const char* name :
         {"task", "compare-seconds", "temperature", "top-k", "top-p", "min-p", "repetition-penalty"}) {
        const CLI::Option* const named = command.get_option_no_throw(std::string("--") + name);
        if (named != nullptr && named->count() > 0) chosen.given.insert(name);
    }
}

void add_comparison_options(CLI::App& command, generate_options& into) {
    command.add_flag("--compare", into.compare,
                     "Also run plain decoding, in turns until the ratio of the speeds is known to 5 %");
    add_seconds(command, "--compare-seconds", into.compared.seconds,
                "With --compare: time limit in seconds for starting further turns; 0 for one turn", "30");
}

}  // namespace

void add_generate(CLI::App& program) {
    auto* command = program.add_subcommand("generate", "Continue a prompt");
    const auto chosen = std::make_shared<generate_options>();
    add_model_options(*command, chosen->model);
    add_engine_options(*command, chosen->engine);
    add_prompt_options(*command, chosen->prompt);
    command->add_flag("--chat", chosen->prompt.chat, "Wrap the prompt in the model's chat template");
    add_text(
        *command, "--system", [chosen](const std::string& text) { chosen->prompt.system = text; },
        "With --chat: the system message");
    add_scheme_options(*command, *chosen);
    add_sampling_options(*command, *chosen);
    command->add_option("--device", chosen->device, "cpu")->type_name("NAME")->default_str("cpu");
    add_comparison_options(*command, *chosen);
    command->add_flag("--json", chosen->json, "Print one JSON object and nothing else");
    add_run_files(*command, chosen->files);
    add_state_option(*command, chosen);
    add_calibration_options(*command, chosen);
    command->callback([command, chosen] {
        note_given(*command, *chosen);
        generate(*chosen);
    });
}

void add_chat(CLI::App& program) {
    auto* command = program.add_subcommand("chat", "Chat with an instruction-tuned model");
    const auto chosen = std::make_shared<generate_options>();
    chosen->max_tokens = 1024;
    add_model_options(*command, chosen->model);
    add_engine_options(*command, chosen->engine);
    add_text(
        *command, "-p,--prompt", [chosen](const std::string& text) { chosen->prompt.text = text; },
        "The first message; without it messages are read from standard input, one per line");
    add_text(
        *command, "--system", [chosen](const std::string& text) { chosen->prompt.system = text; },
        "The system message");
    add_scheme_options(*command, *chosen);
    add_sampling_options(*command, *chosen);
    command->add_option("--device", chosen->device, "cpu")->type_name("NAME")->default_str("cpu");
    add_state_option(*command, chosen);
    add_calibration_options(*command, chosen);
    command->get_option("--temperature")->default_str("the model's own, or 0.7");
    command->get_option("--top-p")->default_str("the model's own, or 0.9");
    const auto colour_origin = std::make_shared<bool>(false);
    command->add_flag("--colour-origin", *colour_origin, "On a terminal, colour tokens by who proposed them");
    command->callback([command, chosen, colour_origin] {
        note_given(*command, *chosen);
        chat(*chosen, *colour_origin);
    });
}

}  // namespace augur::program
