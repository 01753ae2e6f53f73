// Entropy adaptive decoding by pairs of models: how often the large one writes, and what the text is worth.
//
//   bench_switching --large FILE --small FILE [--small FILE ...] (--problems FILE.jsonl | --prompts FILE.jsonl)
//                   [--temperatures 0,0.7] [--seeds 1] [--thresholds 99,1,0.5,...] [--window 5] [--dwell 10]
//                   [--json FILE]
//
// A small model is a Llama of the same tokens, or the draft checkpoint draft, exit or qualifier of the large one's
// draft bundle. Problems are JSON lines {"prompt", "answer"} (examples/train/arithmetic_problems.py makes some), whose
// answer is the last word of what is written; prompts {"task", "prompt"}. Whatever is asked is decoded at every setting
// before the next one, so that a machine's other work slows all alike. Perplexity is the large model's, of what was
// written, without temperature. Threshold 0 begins with the large model, and so is the large model; 99 bits are never
// reached. At temperature 0 there is one seed.

#include <CLI/CLI.hpp>
#include <augur/augur.hpp>
#include <augur/io/files/gguf.hpp>
#include <augur/io/text/read_vocabulary.hpp>
#include <augur/io/text/token_texts.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <augur/llama/draft_checkpoint.hpp>
#include <augur/llama/early_exit.hpp>
#include <augur/llama/host_model.hpp>
#include <augur/llama/qualifier.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "prompts.hpp"

namespace {

using namespace augur;
using llama::host_model;
using nlohmann::json;

struct settings {
    std::string large, problems, prompts, json_file;
    std::vector<std::string> small;
    std::vector<double> thresholds{99, 1, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0};
    std::vector<float> temperatures{0};
    std::size_t window = 5, dwell = 10, max_tokens = 96, threads = 1, seeds = 1, limit = 0;
    bool keep_warm = false;
};

/// A column of the table: a small model, a temperature, a threshold, and what decodings came to.
struct setting {
    const host_model* small;
    std::string name;
    float temperature;
    double threshold;
    std::size_t right = 0, asked = 0, written = 0, by_large = 0, caught_up = 0;
    double seconds = 0, parameters = 0, surprise = 0;
};

host_model load_small(const std::string& path, const host_model& large, const settings& chosen,
                      const llama::load_options& load) {
    const std::string kind = llama::checkpoint_kind(io::gguf_file(path));
    if (kind == "exit") return llama::load_exit(path, large, 0, load);
    if (kind == "qualifier") return llama::load_qualifier(path, large, load);
    if (kind == "draft") return llama::load_draft(path, large, load);
    io::check_same_tokens(path, chosen.large);
    return host_model::load(path, load);
}

/// Of a text after a prompt, in nats.
double surprise_of(const host_model& model, std::vector<token> prompt, const std::vector<token>& text) {
    prompt.insert(prompt.end(), text.begin(), text.end());
    auto sequence = model.make_sequence();
    const auto rows = model.extend(sequence, std::span<const token>(prompt).first(prompt.size() - 1), text.size());
    double sum = 0;
    for (std::size_t i = 0; i < text.size(); ++i) sum -= measure::log_probability(rows[i], text[i]);
    return sum;
}

void decode_once(setting& into, const host_model& large, const prompt& asked, const io::tokenizer& words,
                 const settings& chosen, std::uint64_t seed) {
    decode::options options{.seed = seed};
    options.sampling.temperature.value = into.temperature;
    options.stop.max_tokens = chosen.max_tokens;
    options.stop.stop_tokens.assign(words.end_tokens().begin(), words.end_tokens().end());
    const switching::rolling_entropy policy(
        {.thresholds_bits = {into.threshold}, .window = chosen.window, .dwell = chosen.dwell});
    const auto scheme = switched(*into.small, large, policy)
                            .with({.first = into.threshold == 0 ? 1u : 0u, .keep_warm = chosen.keep_warm});
    const auto decoded = decode::generate<any_guarantee>(scheme, asked.tokens, options);
    const auto& models = decoded.counts.models;
    const std::vector<double> parameters{static_cast<double>(into.small->parameter_count()),
                                         static_cast<double>(large.parameter_count())};
    into.right += is_right(words.decode(decoded.tokens), asked.answer) ? 1 : 0;
    ++into.asked;
    into.written += decoded.tokens.size();
    into.by_large += models[1].written;
    into.caught_up += models[0].caught_up + models[1].caught_up;
    into.seconds += decoded.counts.seconds.decoding() + decoded.counts.seconds.prefill;
    into.parameters += switching::parameter_ratio(models, parameters) * static_cast<double>(decoded.tokens.size());
    into.surprise += surprise_of(large, asked.tokens, decoded.tokens);
}

json row_of(const setting& of, bool scored) {
    const auto written = static_cast<double>(of.written);
    json row = {{"small", of.name},
                {"temperature", of.temperature},
                {"threshold_bits", of.threshold},
                {"large_usage", static_cast<double>(of.by_large) / written},
                {"parameter_ratio", of.parameters / written},
                {"perplexity", std::exp(of.surprise / written)},
                {"caught_up_per_token", static_cast<double>(of.caught_up) / written},
                {"tokens_per_second", written / of.seconds},
                {"tokens", of.written}};
    if (scored) row["score"] = static_cast<double>(of.right) / static_cast<double>(of.asked);
    return row;
}

json report(const std::vector<setting>& all, bool scored) {
    std::printf(
        "|small model|temperature|threshold, bits|large model, %% of tokens|right, %%|perplexity|parameter ratio, "
        "%%|tokens read late, per token|tokens/s|\n|-|-|-|-|-|-|-|-|-|\n");
    json rows = json::array();
    for (const setting& each : all) {
        const json row = row_of(each, scored);
        const auto of = [&row](const char* key) { return row.at(key).get<double>(); };
        char score[16] = "";
        if (scored) std::snprintf(score, sizeof score, "%.1f", 100 * of("score"));
        std::printf("|%s|%g|%g|%.1f|%s|%.3f|%.1f|%.2f|%.0f|\n", each.name.c_str(), of("temperature"),
                    of("threshold_bits"), 100 * of("large_usage"), score, of("perplexity"), 100 * of("parameter_ratio"),
                    of("caught_up_per_token"), of("tokens_per_second"));
        rows.push_back(row);
    }
    return rows;
}

void run(const settings& chosen) {
    const llama::load_options load{.threads = chosen.threads};
    const auto large = host_model::load(chosen.large, load);
    const auto vocabulary = io::read_vocabulary(io::gguf_file(chosen.large));
    const io::tokenizer words(vocabulary);
    const auto questions = chosen.problems.empty() ? read_prompts(chosen.prompts, chosen.limit, true, words, vocabulary)
                                                   : read_problems(chosen.problems, chosen.limit, words);
    std::vector<host_model> small;
    for (const std::string& path : chosen.small) small.push_back(load_small(path, large, chosen, load));
    std::vector<setting> all;
    for (std::size_t i = 0; i < small.size(); ++i) {
        const std::string name = std::filesystem::path(chosen.small[i]).stem().string();
        for (const float temperature : chosen.temperatures) {
            for (const double threshold : chosen.thresholds) all.push_back({&small[i], name, temperature, threshold});
        }
    }
    for (const prompt& asked : questions) {
        for (setting& each : all) {
            const std::size_t seeds = each.temperature == 0 ? 1 : chosen.seeds;
            for (std::uint64_t seed = 0; seed < seeds; ++seed) decode_once(each, large, asked, words, chosen, seed);
        }
    }
    const json rows = report(all, !chosen.problems.empty());
    if (chosen.json_file.empty()) return;
    std::ofstream out(chosen.json_file);
    out << rows.dump(1) << '\n';
    if (!out.flush()) detail::fail("cannot write ", chosen.json_file);
}

}  // namespace

int main(int argc, char** argv) {
    settings chosen;
    CLI::App app("Two models that take turns by entropy, on problems with answers or on prompts");
    app.add_option("--large", chosen.large, "a GGUF file")->required();
    app.add_option("--small", chosen.small,
                   "a GGUF file of the same tokens, or of the large one's draft bundle (repeatable)")
        ->required();
    const auto problems = app.add_option("--problems", chosen.problems, "JSON lines with prompt and answer");
    const auto prompts = app.add_option("--prompts", chosen.prompts, "JSON lines with task and prompt");
    problems->excludes(prompts);
    app.add_option("--limit", chosen.limit, "how many of them; 0 for all")->capture_default_str();
    app.add_option("--temperatures", chosen.temperatures, "0 is greedy")->delimiter(',')->capture_default_str();
    app.add_option("--seeds", chosen.seeds, "texts of each, above temperature 0")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    app.add_option("--thresholds", chosen.thresholds, "bits")->delimiter(',')->capture_default_str();
    app.add_option("--window", chosen.window, "tokens")->capture_default_str();
    app.add_option("--dwell", chosen.dwell, "tokens")->capture_default_str();
    app.add_option("--max-tokens", chosen.max_tokens)->capture_default_str();
    app.add_option("--threads", chosen.threads)->capture_default_str();
    app.add_flag("--keep-warm", chosen.keep_warm, "both models read every token at once");
    app.add_option("--json", chosen.json_file, "writes the table there, too");
    CLI11_PARSE(app, argc, argv);
    try {
        if (chosen.problems.empty() && chosen.prompts.empty()) detail::fail("give --problems or --prompts");
        run(chosen);
        return 0;
    } catch (const std::exception& caught) {
        std::cerr << "bench_switching: " << caught.what() << '\n';
        return 1;
    }
}
