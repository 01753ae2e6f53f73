// How much longer are the blocks that accept::block keeps than those of accept::rejection_sampling: tokens per pass of
// the target, for a draft that is another form of the same file, or for mock models.
//
//   bench_accepted_length --model FILE --prompts FILE.jsonl --weights bf16 --draft-weights q4_0
//                         [--draft-layers 0-9,12-29]
//   bench_accepted_length --mocks
//
// Real pairs: both criteria decode every prompt with every seed. A figure is the mean over the prompts, plus or minus
// its standard error; differences are taken prompt by prompt. What both are expected to keep of the same drafts, over
// the coins, is added up where the rounds of `block` start: the same question with less noise. Mocks: exact, by
// enumeration.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <augur/augur.hpp>
#include <augur/io/files/gguf.hpp>
#include <augur/io/text/read_vocabulary.hpp>
#include <augur/io/text/token_texts.hpp>
#include <augur/llama/host_model.hpp>
#include <augur/testing/enumerate.hpp>
#include <augur/testing/models.hpp>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "formats.hpp"
#include "prompts.hpp"

namespace {

using namespace augur;

struct settings {
    std::string model, draft, prompts, weights = "bf16", draft_weights = "keep", draft_layers;
    std::size_t limit = 0, max_tokens = 64, seeds = 2, threads = 0;
    std::vector<std::size_t> lengths{2, 4, 6};
    float temperature = 1;
    bool mocks = false;
};

/// "0-9,12" names layers 0 to 9 and 12.
std::vector<std::size_t> layers_named(const std::string& text) {
    std::vector<std::size_t> layers;
    std::istringstream in(text);
    for (std::size_t first; in >> first;) {
        std::size_t last = first;
        if (in.peek() == '-' && !(in.ignore() >> last)) break;
        for (std::size_t i = first; i <= last; ++i) layers.push_back(i);
        if (in.peek() == ',') in.ignore();
    }
    if (!in.eof()) detail::fail("--draft-layers ", text, " is not a list like 0-9,12");
    return layers;
}

/// Accepted tokens expected over the coins, given the drafts.
struct expectations {
    double each = 0, whole = 0;  ///< token by token, and of whole blocks
    std::size_t rounds = 0;
};

/// accept::block, and what both criteria are expected to accept of what it judges: of token by token all ratios up to a
/// token must have let it pass; a block's prefix stands with the probability of its worth (docs/accept/block.md).
struct gauged_block {
    using guarantee = accept::block::guarantee;
    using token_selector = accept::block::token_selector;

    expectations* into;

    template <ChainProposal Proposal, class Draws>
    verdict judge_block(const auto& targets, const Proposal& proposed, const Draws& draws) const {
        double each = 1, worth = 1;
        for (std::size_t i = 0; i < std::min(proposed.size(), targets.size()); ++i) {
            const auto drafted = proposed[i];
            const double ratio = targets[i].probability(drafted.id) / drafted.probability(drafted.id);
            into->each += each *= std::min(1.0, ratio);
            into->whole += worth = std::min(1.0, worth * ratio);
        }
        ++into->rounds;
        return accept::block{}.judge_block(targets, proposed, draws);
    }
    token draw(const auto& target, auto& draws) const { return accept::block{}.draw(target, draws); }
};

struct rounds {
    std::size_t tokens = 0, count = 0, drafted = 0, accepted = 0;

    void add(const statistics& of) {
        tokens += of.committed();
        count += of.rounds();
        drafted += of.stages.back().drafted;
        accepted += of.stages.back().accepted;
    }
    double length() const { return static_cast<double>(tokens) / static_cast<double>(count); }
};

/// Mean and its standard error.
std::string mean(const std::vector<double>& of) {
    const auto n = static_cast<double>(of.size());
    double sum = 0, squares = 0;
    for (const double x : of) sum += x;
    for (const double x : of) squares += (x - sum / n) * (x - sum / n);
    char text[64];
    std::snprintf(text, sizeof text, "%.3f ± %.3f", sum / n, std::sqrt(squares / (n - 1) / n));
    return text;
}

struct figures {
    std::vector<double> each, whole, difference, expected;  // one of each per prompt
    rounds all;  // token by token, whose acceptance says how near the draft is
};

void measure_prompt(const llama::host_model& target, const llama::host_model& drafter, const prompt& of,
                    std::size_t length, const settings& chosen, const std::vector<token>& stops, figures& into) {
    decode::options options;
    options.sampling.temperature.value = chosen.temperature;
    options.stop.max_tokens = chosen.max_tokens;
    options.stop.stop_tokens = stops;
    expectations expected;
    const policy::fixed_length policy{length};
    const auto by_token = speculate(drafter, target, policy, accept::rejection_sampling{});
    const auto by_block = speculate(drafter, target, policy, gauged_block{&expected});
    rounds each, whole;
    for (options.seed = 0; options.seed < chosen.seeds; ++options.seed) {
        each.add(decode::generate(by_token, of.tokens, options).counts);
        whole.add(decode::generate(by_block, of.tokens, options).counts);
    }
    if (each.count == 0 || whole.count == 0) return;  // every text ended with its first token
    into.each.push_back(each.length());
    into.whole.push_back(whole.length());
    into.difference.push_back(whole.length() - each.length());
    into.expected.push_back((expected.whole - expected.each) / static_cast<double>(expected.rounds));
    into.all.drafted += each.drafted;
    into.all.accepted += each.accepted;
    into.all.count += each.count + whole.count;
}

void measure_pair(const settings& chosen) {
    const auto load = [&](const std::string& path, const std::string& weights, const std::string& layers) {
        llama::load_options options;
        options.weights = format_named(weights);
        options.threads = chosen.threads;
        options.layers = layers_named(layers);
        return llama::host_model::load(path, options);
    };
    if (!chosen.draft.empty()) io::check_same_tokens(chosen.draft, chosen.model);
    const auto target = load(chosen.model, chosen.weights, "");
    const auto drafter =
        load(chosen.draft.empty() ? chosen.model : chosen.draft, chosen.draft_weights, chosen.draft_layers);
    const auto vocabulary = io::read_vocabulary(io::gguf_file(chosen.model));
    const io::tokenizer words(vocabulary);
    const auto prompts = read_prompts(chosen.prompts, chosen.limit, false, words, vocabulary);
    const auto ends = words.end_tokens();
    std::printf("|length|passes|acceptance|token by token|block|difference|expected of the same drafts|\n");
    std::printf("|-|-|-|-|-|-|-|\n");
    for (const std::size_t length : chosen.lengths) {
        figures found;
        for (const prompt& p : prompts) {
            measure_prompt(target, drafter, p, length, chosen, {ends.begin(), ends.end()}, found);
        }
        if (found.each.size() < 2) detail::fail("a standard error takes two prompts at least");
        std::printf("|%zu|%zu|%.2f|%s|%s|%s|%s|\n", length, found.all.count,
                    static_cast<double>(found.all.accepted) / static_cast<double>(found.all.drafted),
                    mean(found.each).c_str(), mean(found.whole).c_str(), mean(found.difference).c_str(),
                    mean(found.expected).c_str());
        std::fflush(stdout);
    }
}

/// Tokens that the first round commits, expected, by enumeration.
template <class Criterion>
double exact_length(const testing::function_model& drafter, const testing::function_model& target, std::size_t length) {
    const std::vector<token> prompt{0, 1, 0};
    const auto scheme = speculate(drafter, target, policy::fixed_length{length}, Criterion{});
    const auto law = testing::enumerate([&](testing::enumerating_chooser chooser) {
        decode::session session(scheme, prompt, {}, {.max_tokens = length + 1}, chooser);
        return std::vector<token>{static_cast<token>(decode::step(scheme, session).decided.accepted)};
    });
    double expected = 1;
    for (const auto& [accepted, p] : law.probability) expected += p * static_cast<double>(accepted[0]);
    return expected;
}

/// The mean over a few models of four tokens, each with a draft at the same distance everywhere.
void measure_mocks(const settings& chosen) {
    constexpr std::uint64_t models = 8;
    std::printf("|total variation|length|token by token|block|gain|\n|-|-|-|-|-|\n");
    for (const double distance : {0.1, 0.2, 0.3, 0.5}) {
        for (const std::size_t length : chosen.lengths) {
            double each = 0, whole = 0;
            for (std::uint64_t seed = 0; seed < models; ++seed) {
                const auto target = testing::hashed_model(4, seed);
                const auto drafter = testing::noisy_model(target, distance);
                each += exact_length<accept::rejection_sampling>(drafter, target, length) / models;
                whole += exact_length<accept::block>(drafter, target, length) / models;
            }
            std::printf("|%.1f|%zu|%.3f|%.3f|%.1f%%|\n", distance, length, each, whole, 100 * (whole / each - 1));
            std::fflush(stdout);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    settings chosen;
    CLI::App app("Tokens per pass of the target, token by token and by whole blocks");
    app.add_flag("--mocks", chosen.mocks, "mock models instead, by enumeration");
    app.add_option("--model", chosen.model, "the target, a GGUF file");
    app.add_option("--weights", chosen.weights, "of the target")->capture_default_str();
    app.add_option("--draft", chosen.draft, "a GGUF file; the target's if none is named");
    app.add_option("--draft-weights", chosen.draft_weights)->capture_default_str();
    app.add_option("--draft-layers", chosen.draft_layers, "like 0-9,12-29; all if none is named");
    app.add_option("--prompts", chosen.prompts, "JSON lines with task and prompt");
    app.add_option("--limit", chosen.limit, "only the first so many prompts; 0 is all")->capture_default_str();
    app.add_option("--lengths", chosen.lengths, "speculative lengths")->delimiter(',')->capture_default_str();
    app.add_option("--max-tokens", chosen.max_tokens)->capture_default_str();
    app.add_option("--seeds", chosen.seeds, "texts of each prompt")->capture_default_str();
    app.add_option("--temperature", chosen.temperature)->capture_default_str();
    app.add_option("--threads", chosen.threads, "0: one per core")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    try {
        chosen.mocks ? measure_mocks(chosen) : measure_pair(chosen);
        return 0;
    } catch (const std::exception& caught) {
        std::cerr << "bench_accepted_length: " << caught.what() << '\n';
        return 1;
    }
}
