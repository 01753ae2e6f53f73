// Entropy adaptive decoding on a task with truth: how often the large of two models writes, and how often the answer is right.
//
//   bench_switching --small FILE --large FILE --problems FILE.jsonl [--thresholds 99,1,0.5,...] [--window 5] [--dwell 10]
//
// Problems are JSON lines {"prompt", "answer"} (examples/train/arithmetic_problems.py makes some); the answer is the last word of
// what is written. Greedy. Every problem is solved at every threshold before the next one, so that a machine's other work
// slows all alike. Threshold 0 begins with the large model, and so is the large model; 99 bits are never reached.

#include <CLI/CLI.hpp>
#include <augur/augur.hpp>
#include <augur/io/gguf.hpp>
#include <augur/io/read_vocabulary.hpp>
#include <augur/io/tokenizer.hpp>
#include <augur/llama/host_model.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

using namespace augur;
using nlohmann::json;

struct settings {
    std::string small, large, problems, json_file;
    std::vector<double> thresholds{99, 1, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0};
    std::size_t window = 5, dwell = 10, max_tokens = 96, threads = 1;
    bool keep_warm = false;
};

struct problem {
    std::vector<token> prompt;
    std::string answer;
};

/// What decodings at one threshold came to.
struct outcome {
    std::size_t right = 0, written = 0, by_large = 0, caught_up = 0;
    double seconds = 0, parameters = 0;
};

std::vector<problem> read_problems(const std::string& path, const io::tokenizer& words) {
    std::ifstream file(path);
    if (!file) detail::fail("cannot read ", path);
    std::vector<problem> problems;
    for (std::string line; std::getline(file, line);) {
        const auto entry = json::parse(line);
        problems.push_back({words.encode(entry.at("prompt").get<std::string>()), entry.at("answer")});
    }
    if (problems.empty()) detail::fail(path, " holds no problems");
    return problems;
}

/// How many numbers a file's tensors hold.
double parameters_of(const std::string& path) {
    double count = 0;
    const io::gguf_file file(path);
    for (const auto& tensor : file.tensors()) count += static_cast<double>(tensor.element_count());
    return count;
}

std::string last_word(std::string text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
    return text.substr(text.find_last_of(" \n") + 1);
}

void solve(const problem& asked, const auto& scheme, const io::tokenizer& words, const settings& chosen,
           const std::vector<double>& parameters, outcome& into) {
    decode::options options;
    options.sampling.temperature.value = 0;
    options.stop.max_tokens = chosen.max_tokens;
    options.stop.stop_tokens.assign(words.end_tokens().begin(), words.end_tokens().end());
    const auto made = decode::generate<any_guarantee>(scheme, asked.prompt, options);
    const auto& models = made.counts.models;
    into.right += last_word(words.decode(made.tokens)) == asked.answer ? 1 : 0;
    into.written += models[0].written + models[1].written;
    into.by_large += models[1].written;
    into.caught_up += models[0].caught_up + models[1].caught_up;
    into.seconds += made.counts.seconds.decoding() + made.counts.seconds.prefill;
    into.parameters += cascade::parameter_ratio(models, parameters) * static_cast<double>(made.tokens.size());
}

json row_of(double threshold, const outcome& of, std::size_t problems) {
    const auto written = static_cast<double>(of.written);
    return {{"threshold_bits", threshold},
            {"large_usage", static_cast<double>(of.by_large) / written},
            {"score", static_cast<double>(of.right) / static_cast<double>(problems)},
            {"parameter_ratio", of.parameters / written},
            {"caught_up_per_token", static_cast<double>(of.caught_up) / written},
            {"tokens_per_second", written / of.seconds},
            {"tokens", of.written}};
}

void run(const settings& chosen) {
    const llama::load_options load{.threads = chosen.threads};
    const auto small = llama::host_model::load(chosen.small, load), large = llama::host_model::load(chosen.large, load);
    const io::tokenizer words(io::read_vocabulary(io::gguf_file(chosen.large)));
    const auto problems = read_problems(chosen.problems, words);
    const std::vector<double> parameters{parameters_of(chosen.small), parameters_of(chosen.large)};
    std::vector<outcome> found(chosen.thresholds.size());
    for (const problem& asked : problems) {
        for (std::size_t i = 0; i < found.size(); ++i) {
            const double threshold = chosen.thresholds[i];
            const policy::rolling_entropy policy(
                {.thresholds_bits = {threshold}, .window = chosen.window, .dwell = chosen.dwell});
            const auto scheme = switching(small, large, policy)
                                    .with({.first = threshold == 0 ? 1u : 0u, .keep_warm = chosen.keep_warm});
            solve(asked, scheme, words, chosen, parameters, found[i]);
        }
    }
    json report = json::array();
    std::printf(
        "|threshold, bits|large model, %% of tokens|right, %%|parameter ratio, %%|tokens read late, per "
        "token|tokens/s|\n"
        "|-|-|-|-|-|-|\n");
    for (std::size_t i = 0; i < found.size(); ++i) {
        const json row = row_of(chosen.thresholds[i], found[i], problems.size());
        const auto of = [&row](const char* key) { return row.at(key).get<double>(); };
        std::printf("|%g|%.1f|%.1f|%.1f|%.2f|%.0f|\n", of("threshold_bits"), 100 * of("large_usage"), 100 * of("score"),
                    100 * of("parameter_ratio"), of("caught_up_per_token"), of("tokens_per_second"));
        report.push_back(row);
    }
    if (chosen.json_file.empty()) return;
    std::ofstream out(chosen.json_file);
    out << report.dump(1) << '\n';
    if (!out.flush()) detail::fail("cannot write ", chosen.json_file);
}

}  // namespace

int main(int argc, char** argv) {
    settings chosen;
    CLI::App app("Two models that take turns by entropy, on problems with answers");
    app.add_option("--small", chosen.small, "a GGUF file")->required();
    app.add_option("--large", chosen.large, "a GGUF file of the same vocabulary")->required();
    app.add_option("--problems", chosen.problems, "JSON lines with prompt and answer")->required();
    app.add_option("--thresholds", chosen.thresholds, "bits")->delimiter(',')->capture_default_str();
    app.add_option("--window", chosen.window, "tokens")->capture_default_str();
    app.add_option("--dwell", chosen.dwell, "tokens")->capture_default_str();
    app.add_option("--max-tokens", chosen.max_tokens)->capture_default_str();
    app.add_option("--threads", chosen.threads)->capture_default_str();
    app.add_flag("--keep-warm", chosen.keep_warm, "both models read every token at once");
    app.add_option("--json", chosen.json_file, "writes the table there, too");
    CLI11_PARSE(app, argc, argv);
    try {
        run(chosen);
        return 0;
    } catch (const std::exception& caught) {
        std::cerr << "bench_switching: " << caught.what() << '\n';
        return 1;
    }
}
