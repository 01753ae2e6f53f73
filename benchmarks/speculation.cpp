// Plain and composed decoding side by side, per class of prompts: tokens per second, and whether every id is the same.
//
//   bench_speculation --model FILE --prompts FILE.jsonl [--max-tokens 128] [--length K] [--accept exact|coupled] ...
//
// Prompts are JSON lines {"id", "task", "prompt"}. Each prompt is decoded A B A B (plain, composed; --repeat times), so
// that a machine's other work slows both alike; a figure is the median over its runs, a class's the median over its
// prompts. Prefill is not counted. Exit code 1 if any text differs from plain decoding's. "Bound" is
// tune::speedup_bound of the plain text's rows, as they are sampled from, at the passes' measured times: what no draft
// by certain tokens, as lookup's are, exceeds on average. At temperature 0 those rows are certain and only the passes
// bound.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <augur/augur.hpp>
#include <augur/io/files/gguf.hpp>
#include <augur/io/text/read_vocabulary.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <augur/llama/host_model.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "prompts.hpp"

namespace {

using namespace augur;
using nlohmann::json;

struct settings {
    std::string model, prompts, json_file, accept = "exact", weights = "keep";
    std::size_t limit = 0, max_tokens = 128, length = 0, min_n = 2, max_n = 8, repeat = 1, threads = 0;
    float temperature = 0;
    std::uint64_t seed = 0;
    bool chat = false;
};

struct measured {
    double plain_rate = 0, composed_rate = 0, accepted_length = 0, acceptance = 0;
    std::size_t tokens = 0;
    bool identical = true;
    double bound = 0;
};

/// Entropies of the rows that plain decoding draws from, after the transform.
struct entropies_of_rows {
    const transform::pipeline& transformed;
    std::vector<double> nats{};
    distribution row{};

    void watch(const auto& view) {
        transformed.apply(view.rows[0], view.prefix, row);
        nats.push_back(measure::entropy_nats(row));
    }
};

double median(std::vector<double> of) {
    if (of.empty()) return 0;
    std::sort(of.begin(), of.end());
    return (of[(of.size() - 1) / 2] + of[of.size() / 2]) / 2;
}

template <class Composed>
measured measure_prompt(const llama::host_model& model, const Composed& composed, const prompt& of,
                        const settings& chosen, const std::vector<token>& stops,
                        const std::vector<double>& pass_seconds) {
    decode::options options;
    options.seed = chosen.seed;
    options.sampling.temperature.value = chosen.temperature;
    options.stop.max_tokens = chosen.max_tokens;
    options.stop.stop_tokens = stops;
    measured result;
    const transform::pipeline transformed(options.sampling, model.vocabulary_size());
    entropies_of_rows seen{transformed};
    std::vector<double> plain_rates, composed_rates;
    for (std::size_t i = 0; i < chosen.repeat; ++i) {
        const auto a = decode::generate(plain(model), of.tokens, options, seen);
        const auto b = decode::generate(composed, of.tokens, options);
        plain_rates.push_back(static_cast<double>(a.tokens.size()) / a.counts.seconds.decoding());
        composed_rates.push_back(static_cast<double>(b.tokens.size()) / b.counts.seconds.decoding());
        result.identical = result.identical && a.tokens == b.tokens;
        result.accepted_length = b.counts.accepted_length();
        result.acceptance = b.counts.acceptance();
        result.tokens = b.tokens.size();
    }
    result.plain_rate = median(plain_rates);
    result.composed_rate = median(composed_rates);
    if (!seen.nats.empty()) result.bound = tune::speedup_bound(seen.nats, model.vocabulary_size(), pass_seconds);
    return result;
}

template <class Composed>
std::map<std::string, std::vector<measured>> measure(const llama::host_model& model, const Composed& composed,
                                                     const std::vector<prompt>& prompts, const settings& chosen,
                                                     const std::vector<token>& stops,
                                                     const std::vector<double>& pass_seconds) {
    std::map<std::string, std::vector<measured>> by_task;
    std::size_t done = 0;
    for (const prompt& p : prompts) {
        by_task[p.task].push_back(measure_prompt(model, composed, p, chosen, stops, pass_seconds));
        ++done;
        if (isatty(STDERR_FILENO))
            std::fprintf(stderr, "\r%zu of %zu prompts%s", done, prompts.size(), done == prompts.size() ? "\n" : "");
    }
    return by_task;
}

/// One row of the table; true when all texts were identical.
bool print_row(const std::string& name, const std::vector<measured>& of, json& report) {
    const auto median_of = [&](auto figure) {
        std::vector<double> values;
        for (const measured& m : of) values.push_back(figure(m));
        return median(values);
    };
    const auto identical =
        static_cast<std::size_t>(std::count_if(of.begin(), of.end(), [](const measured& m) { return m.identical; }));
    std::size_t tokens = 0;
    for (const measured& m : of) tokens += m.tokens;
    const double plain_rate = median_of([](const measured& m) { return m.plain_rate; });
    const double composed_rate = median_of([](const measured& m) { return m.composed_rate; });
    const double speedup = median_of([](const measured& m) { return m.composed_rate / m.plain_rate; });
    const double bound = median_of([](const measured& m) { return m.bound; });
    const double length = median_of([](const measured& m) { return m.accepted_length; });
    const double acceptance = median_of([](const measured& m) { return m.acceptance; });
    std::printf("| %-16s | %7zu | %6zu | %5zu/%-5zu | %8.1f | %8.1f | %7.2f | %7.2f | %8.2f | %10.2f |\n", name.c_str(),
                of.size(), tokens, identical, of.size(), plain_rate, composed_rate, speedup, bound, length, acceptance);
    report[name] = {{"prompts", of.size()},     {"tokens", tokens},          {"identical", identical},
                    {"plain_rate", plain_rate}, {"rate", composed_rate},     {"speedup", speedup},
                    {"bound", bound},           {"accepted_length", length}, {"acceptance", acceptance}};
    return identical == of.size();
}

bool print(const std::map<std::string, std::vector<measured>>& by_task, const settings& chosen) {
    std::printf("| %-16s | %7s | %6s | %11s | %8s | %8s | %7s | %7s | %8s | %10s |\n", "task", "prompts", "tokens",
                "identical", "plain/s", "ahead/s", "speedup", "bound", "accepted", "acceptance");
    std::printf("|-|-|-|-|-|-|-|-|-|-|\n");
    bool identical = true;
    json report;
    std::vector<measured> all;
    for (const auto& [task, of] : by_task) {
        identical = print_row(task, of, report) && identical;
        all.insert(all.end(), of.begin(), of.end());
    }
    print_row("all", all, report);
    if (!chosen.json_file.empty()) {
        std::ofstream out(chosen.json_file);
        out << report.dump(2) << '\n';
        if (!out.flush()) detail::fail("cannot write ", chosen.json_file);
    }
    return identical;
}

bool run(const settings& chosen) {
    llama::load_options load;
    load.threads = chosen.threads;
    using llama::weight_format;
    const std::map<std::string, weight_format> formats{
        {"keep", weight_format::keep}, {"f32", weight_format::f32}, {"bf16", weight_format::bf16}};
    if (!formats.contains(chosen.weights)) detail::fail("--weights ", chosen.weights, " is not keep, f32 or bf16");
    load.weights = formats.at(chosen.weights);
    const auto model = llama::host_model::load(chosen.model, load);
    const auto vocabulary = io::read_vocabulary(io::gguf_file(chosen.model));
    const io::tokenizer words(vocabulary);
    const auto prompts = read_prompts(chosen.prompts, chosen.limit, chosen.chat, words, vocabulary);
    const auto stops = words.end_tokens();
    decode::options warm;
    warm.stop.max_tokens = 16;
    decode::generate(plain(model), prompts.front().tokens, warm);

    const std::size_t longest = chosen.length == 0 ? policy::cost_aware_options<>{}.max_length : chosen.length;
    const auto pass_seconds = tune::verify_curve(model, longest + 1);

    const auto with = [&](auto criterion) {
        const auto by = [&](auto policy) {
            const auto composed = speculate(draft::prompt_lookup(chosen.min_n, chosen.max_n), model, policy, criterion);
            const auto found = measure(model, composed, prompts, chosen, {stops.begin(), stops.end()}, pass_seconds);
            return print(found, chosen);
        };
        return chosen.length == 0 ? by(policy::cost_aware{}) : by(policy::fixed_length{chosen.length});
    };
    if (chosen.accept == "exact") return with(accept::exact{});
    if (chosen.accept == "coupled") return with(accept::coupled{});
    detail::fail("--accept ", chosen.accept,
                 " is not exact or coupled: other criteria keep the distribution, not the text");
}

}  // namespace

int main(int argc, char** argv) {
    settings chosen;
    CLI::App app("Plain and composed decoding side by side, per class of prompts");
    app.add_option("--model", chosen.model, "a GGUF file")->required();
    app.add_option("--prompts", chosen.prompts, "JSON lines with task and prompt")->required();
    app.add_option("--json", chosen.json_file, "writes the table there, too");
    app.add_option("--accept", chosen.accept, "exact (greedy) or coupled")->capture_default_str();
    app.add_option("--weights", chosen.weights, "keep, f32 or bf16")->capture_default_str();
    app.add_option("--limit", chosen.limit, "only the first so many prompts; 0 is all")->capture_default_str();
    app.add_option("--max-tokens", chosen.max_tokens)->capture_default_str();
    app.add_option("--length", chosen.length, "speculative length; 0: as it pays (policy::cost_aware)")
        ->capture_default_str();
    app.add_option("--lookup-min", chosen.min_n)->capture_default_str();
    app.add_option("--lookup-max", chosen.max_n)->capture_default_str();
    app.add_option("--repeat", chosen.repeat, "runs of each prompt")->capture_default_str();
    app.add_option("--threads", chosen.threads, "0: one per core")->capture_default_str();
    app.add_option("--temperature", chosen.temperature)->capture_default_str();
    app.add_option("--seed", chosen.seed)->capture_default_str();
    app.add_flag("--chat", chosen.chat, "wraps prompts in the model's chat template");
    CLI11_PARSE(app, argc, argv);
    try {
        return run(chosen) ? 0 : 1;
    } catch (const std::exception& caught) {
        std::cerr << "bench_speculation: " << caught.what() << '\n';
        return 1;
    }
}
