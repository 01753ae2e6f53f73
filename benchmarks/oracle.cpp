// What share of the per-round oracle a policy by cost reaches: the oracle knows the text, and takes for every round the
// drafter and the length that write it soonest.
//
//   bench_oracle --model FILE --eagle FILE --prompts FILE.jsonl [--chat] [--weights bf16] [--limit N] [--max-tokens N]
//
// Greedy, chains, two drafters: prompt lookup and an EAGLE-like layer. Each drafts from every position of plain
// decoding's text, under a criterion that accepts nothing: so it is known how much of a draft would be accepted
// anywhere. The oracle's path is a shortest one (dynamic programming). Both paths are priced alike, by T(n) as measured
// beforehand and by what a token of the layer took in this run; so shares do not depend on the machine's moods.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <augur/accept/exact.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/eagle.hpp>
#include <augur/draft/fallback.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/io/gguf.hpp>
#include <augur/io/read_vocabulary.hpp>
#include <augur/llama/eagle_model.hpp>
#include <augur/llama/host_model.hpp>
#include <augur/policy/cost_aware.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/tune/verify_curve.hpp>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "formats.hpp"
#include "prompts.hpp"

namespace {

using namespace augur;

constexpr std::size_t longest = 10;

struct settings {
    std::string model, eagle, prompts, weights = "bf16";
    std::size_t limit = 0, max_tokens = 96, threads = 0;
    bool chat = false;
};

/// Every round commits one token, plain decoding's.
struct accepts_nothing : accept::exact {
    template <class Claim>
    bool accepts(const auto& /*target*/, const drafted_token<Claim>& /*drafted*/, auto& /*draws*/) const {
        return false;
    }
};

/// What a drafter says from every position of a text.
struct said {
    std::vector<std::size_t> drafted, accepted;
    double token_seconds = 0;
    std::vector<token> text;
};

/// Notes what is drafted, and how long that takes.
struct overheard {
    std::vector<std::vector<token>> drafts;
    double seconds = 0;

    void watch(const auto& view) {
        const auto tokens = view.proposed.tokens();
        drafts.emplace_back(tokens.begin(), tokens.end());
        seconds += view.seconds.draft;
    }
};

template <class Drafter>
said listen(const Drafter& drafter, const llama::host_model& target, std::span<const token> prompt,
            const decode::options& chosen) {
    overheard heard;
    const auto scheme = speculate(drafter, target, policy::fixed_length{longest}, accepts_nothing{});
    said all;
    all.text = decode::generate(scheme, prompt, chosen, heard).tokens;
    std::size_t tokens = 0;
    for (std::size_t at = 0; at < all.text.size(); ++at) {
        const auto& draft = heard.drafts.at(at);
        const auto end = std::mismatch(draft.begin(), draft.end(), all.text.begin() + static_cast<std::ptrdiff_t>(at),
                                       all.text.end());
        all.drafted.push_back(draft.size());
        all.accepted.push_back(static_cast<std::size_t>(end.first - draft.begin()));
        tokens += draft.size();
    }
    all.token_seconds = tokens == 0 ? 0 : heard.seconds / static_cast<double>(tokens);
    return all;
}

/// Seconds of the shortest path through the text.
double oracle_seconds(const std::vector<said>& drafters, std::span<const double> pass, std::size_t length) {
    std::vector<double> left(length + 1, 0);
    for (std::size_t at = length; at-- > 0;) {
        left[at] = pass[0] + left[at + 1];
        for (const said& by : drafters) {
            for (std::size_t k = 1; k <= by.drafted[at]; ++k) {
                const std::size_t next = std::min(length, at + std::min(k, by.accepted[at]) + 1);
                left[at] = std::min(left[at], pass[k] + static_cast<double>(k) * by.token_seconds + left[next]);
            }
        }
    }
    return left[0];
}

/// Prices the rounds of a policy in the same way.
struct priced {
    std::span<const double> pass;
    double layer_seconds;
    double seconds = 0;

    void watch(const auto& view) {
        const outcome made = view.result();
        const bool looked = std::isfinite(made.decided_on.first_draft_entropy_nats);
        const std::size_t by_layer =
            made.decided_on.match_length > 0 ? 0 : std::max<std::size_t>(made.drafted, looked ? 1 : 0);
        seconds += pass[made.drafted] + static_cast<double>(by_layer) * layer_seconds;
    }
};

void run(const settings& chosen) {
    const io::gguf_file file(chosen.model);
    const auto vocabulary = io::read_vocabulary(file);
    const io::tokenizer words(vocabulary);
    const auto target = llama::host_model::load(
        chosen.model, {.weights = format_named(chosen.weights), .threads = chosen.threads, .context_length = 4096});
    const auto layer = llama::eagle_model::load(chosen.eagle, target);
    const auto pass = tune::verify_curve(target, longest + 1, {.repetitions = 6});
    const draft::prompt_lookup lookup(2);
    const draft::eagle eagle(layer);
    decode::options how;
    how.sampling.temperature.value = 0;
    how.stop.max_tokens = chosen.max_tokens;
    struct sums {
        double plain = 0, policy = 0, oracle = 0;
    };
    std::map<std::string, sums> by_task;
    for (const auto& each : read_prompts(chosen.prompts, chosen.limit, chosen.chat, words, vocabulary)) {
        const std::vector<said> drafters{listen(lookup, target, each.tokens, how),
                                         listen(eagle, target, each.tokens, how)};
        if (drafters[0].text != drafters[1].text) detail::fail("the texts of two drafters differ");
        priced paid{pass, drafters[1].token_seconds};
        const policy::cost_aware as_it_pays({.verify_seconds = pass});
        const auto hybrid = speculate(draft::fallback(lookup, eagle), target, as_it_pays, accept::exact{});
        if (decode::generate(hybrid, each.tokens, how, paid).tokens != drafters[0].text) {
            detail::fail("the text is not plain decoding's");
        }
        const std::size_t length = drafters[0].text.size();
        for (const auto& name : {each.task, std::string("all")}) {
            by_task[name].plain += static_cast<double>(length) * pass[0];
            by_task[name].policy += paid.seconds;
            by_task[name].oracle += oracle_seconds(drafters, pass, length);
        }
    }
    std::printf("|prompts|policy, times plain|oracle, times plain|share of the oracle|\n|-|-|-|-|\n");
    for (const auto& [name, of] : by_task) {
        std::printf("|%s|%.2f|%.2f|%.2f|\n", name.c_str(), of.plain / of.policy, of.plain / of.oracle,
                    of.oracle / of.policy);
    }
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("The share of the per-round oracle that a policy by cost reaches");
    settings chosen;
    app.add_option("--model", chosen.model, "GGUF file")->required();
    app.add_option("--eagle", chosen.eagle, "An EAGLE-like layer of the model's family, GGUF")->required();
    app.add_option("--prompts", chosen.prompts, "JSON lines with a prompt and a task")->required();
    app.add_flag("--chat", chosen.chat, "Prompts in the model's chat template");
    app.add_option("--weights", chosen.weights, "How weights are held")->capture_default_str();
    app.add_option("--limit", chosen.limit, "Prompts, 0 for all")->capture_default_str();
    app.add_option("--max-tokens", chosen.max_tokens, "Of each text")->capture_default_str();
    app.add_option("--threads", chosen.threads, "0 for one per core")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    try {
        run(chosen);
    } catch (const std::exception& caught) {
        std::fprintf(stderr, "bench_oracle: %s\n", caught.what());
        return 1;
    }
}
