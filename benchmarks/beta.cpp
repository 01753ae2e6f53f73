// PyramidSD's beta(tau) of pairs of models: the share of a text's positions at which their rows are within tau.
//
//   bench_beta --target FILE --by FILE [--by FILE] --prompts FILE.jsonl [--thresholds 0.1,0.2] [--json OUT]
//
// The texts are the target's, one for each prompt, at a temperature; rows are compared at the same. --by names smaller
// models from cheapest to best, draft checkpoints of the target's draft bundle or models of its vocabulary; each is
// compared with all that come after it.

#include <CLI/CLI.hpp>
#include <augur/augur.hpp>
#include <augur/io/files/gguf.hpp>
#include <augur/io/text/read_vocabulary.hpp>
#include <augur/io/text/token_texts.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <augur/llama/draft_checkpoint.hpp>
#include <augur/llama/qualifier.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "formats.hpp"
#include "prompts.hpp"

namespace {

using namespace augur;
using llama::host_model;
using nlohmann::json;

struct settings {
    std::string target, prompts, json_file, divergence = "total_variation", weights = "keep";
    std::vector<std::string> by;
    std::vector<double> thresholds = {0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8};
    std::size_t limit = 0, max_tokens = 64, threads = 2;
    float temperature = 1;
};

struct named_model {
    std::string name;
    const host_model* model;
};

struct text {
    std::vector<token> tokens;
    std::size_t given;
};

host_model load_smaller(const std::string& path, const host_model& target, const settings& chosen,
                        const llama::load_options& load) {
    const std::string kind = llama::checkpoint_kind(io::gguf_file(path));
    if (kind.empty()) {
        io::check_same_tokens(path, chosen.target);
        return host_model::load(path, load);
    }
    return kind == "qualifier" ? llama::load_qualifier(path, target, load) : llama::load_draft(path, target, load);
}

std::vector<text> texts_of(const host_model& target, const settings& chosen) {
    const auto vocabulary = io::read_vocabulary(io::gguf_file(chosen.target));
    const io::tokenizer words(vocabulary);
    decode::options options;
    options.sampling.temperature.value = chosen.temperature;
    options.stop.max_tokens = chosen.max_tokens;
    options.stop.stop_tokens.assign(words.end_tokens().begin(), words.end_tokens().end());
    std::vector<text> texts;
    for (prompt& asked : read_prompts(chosen.prompts, chosen.limit, true, words, vocabulary)) {
        const auto tokens = decode::generate(plain(target), asked.tokens, options).tokens;
        texts.push_back({std::move(asked.tokens), 0});
        texts.back().given = texts.back().tokens.size();
        texts.back().tokens.insert(texts.back().tokens.end(), tokens.begin(), tokens.end());
    }
    return texts;
}

template <measure::Divergence D>
std::vector<double> along(const std::vector<text>& texts, const host_model& target, const host_model& draft,
                          const transform::settings& sampling) {
    std::vector<double> all;
    for (const text& each : texts) {
        const auto more = tune::divergences_along<D>(target, draft, each.tokens, each.given, sampling);
        all.insert(all.end(), more.begin(), more.end());
    }
    return all;
}

std::vector<double> along(const std::string& name, const auto&... arguments) {
    if (name == measure::kl::name) return along<measure::kl>(arguments...);
    if (name == measure::reverse_kl::name) return along<measure::reverse_kl>(arguments...);
    if (name == measure::jensen_shannon::name) return along<measure::jensen_shannon>(arguments...);
    if (name == measure::total_variation::name) return along<measure::total_variation>(arguments...);
    if (name == measure::hellinger::name) return along<measure::hellinger>(arguments...);
    detail::fail("--divergence '", name,
                 "' is unknown; valid are kl, reverse_kl, jensen_shannon, total_variation, hellinger");
}

json compare(const std::vector<named_model>& models, const std::vector<text>& texts, const settings& chosen) {
    transform::settings sampling;
    sampling.temperature.value = chosen.temperature;
    std::printf("|target, draft|positions|mean %s|", chosen.divergence.c_str());
    for (const double threshold : chosen.thresholds) std::printf("%g|", threshold);
    std::printf("\n|-|-|-|");
    for (std::size_t i = 0; i < chosen.thresholds.size(); ++i) std::printf("-|");
    json pairs = json::array();
    for (std::size_t i = 0; i + 1 < models.size(); ++i) {
        for (std::size_t j = i + 1; j < models.size(); ++j) {
            const auto found = along(chosen.divergence, texts, *models[j].model, *models[i].model, sampling);
            const auto shares = tune::shares_within(found, chosen.thresholds);
            double sum = 0;
            for (const double each : found) sum += each;
            std::printf("\n|%s, %s|%zu|%.4f|", models[j].name.c_str(), models[i].name.c_str(), found.size(),
                        sum / static_cast<double>(found.size()));
            for (const double share : shares) std::printf("%.3f|", share);
            pairs.push_back(
                {{"target", models[j].name}, {"draft", models[i].name}, {"shares", shares}, {"divergences", found}});
        }
    }
    std::printf("\n");
    return {{"divergence", chosen.divergence},
            {"temperature", chosen.temperature},
            {"thresholds", chosen.thresholds},
            {"pairs", std::move(pairs)}};
}

void measure_all(const settings& chosen) {
    const llama::load_options load{.weights = format_named(chosen.weights), .threads = chosen.threads};
    const host_model target = host_model::load(chosen.target, load);
    std::vector<host_model> smaller;
    for (const std::string& path : chosen.by) smaller.push_back(load_smaller(path, target, chosen, load));
    std::vector<named_model> models;
    for (std::size_t i = 0; i < smaller.size(); ++i) {
        models.push_back({std::filesystem::path(chosen.by[i]).stem(), &smaller[i]});
    }
    models.push_back({"target", &target});
    const json found = compare(models, texts_of(target, chosen), chosen);
    if (chosen.json_file.empty()) return;
    std::ofstream file(chosen.json_file);
    file << found.dump() << '\n';
    if (!file.flush()) detail::fail("cannot write ", chosen.json_file);
}

}  // namespace

int main(int argc, char** argv) {
    settings chosen;
    CLI::App app("How often the rows of two models are within a threshold, along the target's texts");
    app.add_option("--target", chosen.target, "a GGUF file")->required();
    app.add_option("--by", chosen.by, "smaller models, cheapest first (repeatable)")->required();
    app.add_option("--prompts", chosen.prompts, "JSON lines with task and prompt")->required();
    app.add_option("--json", chosen.json_file, "where the figures go, with the divergence at each position");
    app.add_option("--thresholds", chosen.thresholds)->delimiter(',')->capture_default_str();
    app.add_option("--divergence", chosen.divergence)->capture_default_str();
    app.add_option("--limit", chosen.limit, "prompts, 0 for all")->capture_default_str();
    app.add_option("--max-tokens", chosen.max_tokens)->capture_default_str()->check(CLI::PositiveNumber);
    app.add_option("--temperature", chosen.temperature)->capture_default_str();
    app.add_option("--weights", chosen.weights, "of all models")->capture_default_str();
    app.add_option("--threads", chosen.threads)->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    try {
        measure_all(chosen);
        return 0;
    } catch (const std::exception& caught) {
        std::cerr << "bench_beta: " << caught.what() << '\n';
        return 1;
    }
}
