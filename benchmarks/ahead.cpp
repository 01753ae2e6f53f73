// A draft model that goes on while the target verifies, beside the same one that waits: milliseconds a token, in turns.
//
//   bench_ahead --model FILE --draft FILE [--bundle] --prompts FILE.jsonl [--chat] [--length 4] [--threads 2]
//               [--draft-threads 1] [--max-tokens 64] [--repeat 2]
//
// Each prompt is decoded A B A B: with draft::draft_model, then with draft::ahead, both by accept::exact at temperature
// 0 and drafts of --length tokens, after one decoding that is not counted. The draft has threads of its own. Times are
// medians over runs and then prompts, prefill not counted; "used" is the share of tokens run ahead that was of use.
// Exit code 1 if a text differs from plain decoding's.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <augur/augur.hpp>
#include <augur/io/files/gguf.hpp>
#include <augur/io/text/read_vocabulary.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <augur/llama/draft_checkpoint.hpp>
#include <augur/llama/host_model.hpp>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "prompts.hpp"

namespace {

using namespace augur;

struct settings {
    std::string model, draft, prompts;
    std::size_t limit = 0, max_tokens = 64, length = 4, repeat = 2, threads = 2, draft_threads = 1;
    bool chat = false, bundle = false;
};

double median(std::vector<double> of) {
    std::sort(of.begin(), of.end());
    return of.empty() ? 0 : (of[(of.size() - 1) / 2] + of[of.size() / 2]) / 2;
}

/// What one decoding took and wrote.
struct run {
    std::vector<token> tokens;
    double milliseconds_a_token = 0, draft_share = 0, acceptance = 0;
    model::ahead_counts ahead{};
};

run decode_once(const auto& scheme, const prompt& of, const decode::options& chosen) {
    decode::session s(scheme, of.tokens, chosen.sampling, chosen.stop, random::philox_chooser(0));
    while (s.finished == finish_reason::running) decode::step(scheme, s);
    const auto ids = s.committed.generated();
    run made{.tokens = {ids.begin(), ids.end()}};
    const double seconds = s.counts.seconds.decoding();
    made.milliseconds_a_token = 1e3 * seconds / static_cast<double>(ids.size());
    made.draft_share = s.counts.seconds.draft / seconds;
    made.acceptance = s.counts.acceptance();
    if constexpr (requires { scheme.drafter().counts(s.drafter_state); }) {
        made.ahead = scheme.drafter().counts(s.drafter_state);
    }
    return made;
}

bool compare(const settings& chosen) {
    const auto target = llama::host_model::load(chosen.model, {.threads = chosen.threads});
    llama::load_options beside{.threads = chosen.draft_threads};
    beside.pool = std::make_shared<backend::host::thread_pool>(chosen.draft_threads);
    const auto small =
        chosen.bundle ? llama::load_draft(chosen.draft, target, beside) : llama::host_model::load(chosen.draft, beside);
    const auto vocabulary = io::read_vocabulary(io::gguf_file(chosen.model));
    const io::tokenizer words(vocabulary);
    const auto prompts = read_prompts(chosen.prompts, chosen.limit, chosen.chat, words, vocabulary);
    decode::options options;
    options.sampling.temperature.value = 0;
    options.stop.max_tokens = chosen.max_tokens;
    const auto stops = words.end_tokens();
    options.stop.stop_tokens = {stops.begin(), stops.end()};

    const policy::fixed_length length{chosen.length};
    const auto waits = speculate(small, target, length, accept::exact{});
    const auto ahead = speculate(draft::ahead(small), target, length, accept::exact{});
    std::printf(
        "|task|waits, ms a token|ahead, ms a token|times as fast|drafting waits|drafting ahead|acceptance|used|\n");
    std::printf("|-|-|-|-|-|-|-|-|\n");
    bool same = true;
    std::vector<double> ratios;
    for (const prompt& each : prompts) {
        const auto plainly = decode::generate(plain(target), each.tokens, options).tokens;
        decode_once(waits, each, options);
        std::vector<double> a, b, shares, shares_ahead;
        run last;
        for (std::size_t i = 0; i < chosen.repeat; ++i) {
            const run first = decode_once(waits, each, options);
            last = decode_once(ahead, each, options);
            same = same && first.tokens == plainly && last.tokens == plainly;
            a.push_back(first.milliseconds_a_token), b.push_back(last.milliseconds_a_token);
            shares.push_back(first.draft_share), shares_ahead.push_back(last.draft_share);
        }
        ratios.push_back(median(a) / median(b));
        const double used =
            last.ahead.run == 0 ? 0 : static_cast<double>(last.ahead.used) / static_cast<double>(last.ahead.run);
        std::printf("|%s|%.2f|%.2f|%.3f|%.3f|%.3f|%.2f|%.2f|\n", each.task.c_str(), median(a), median(b), ratios.back(),
                    median(shares), median(shares_ahead), last.acceptance, used);
    }
    std::printf("|median|||%.3f|||||\n", median(ratios));
    return same;
}

}  // namespace

int main(int argc, char** argv) {
    settings chosen;
    CLI::App app("A draft model that goes on while the target verifies, beside one that waits");
    app.add_option("--model", chosen.model, "the target, a GGUF file")->required();
    app.add_option("--draft", chosen.draft, "a GGUF file of the same vocabulary")->required();
    app.add_flag("--bundle", chosen.bundle, "the draft is a draft bundle's `draft`");
    app.add_option("--prompts", chosen.prompts, "JSON lines with task and prompt")->required();
    app.add_option("--limit", chosen.limit, "only the first so many prompts; 0 is all")->capture_default_str();
    app.add_option("--length", chosen.length, "tokens of a draft")->capture_default_str();
    app.add_option("--max-tokens", chosen.max_tokens)->capture_default_str();
    app.add_option("--repeat", chosen.repeat, "runs of each prompt and drafter")->capture_default_str();
    app.add_option("--threads", chosen.threads, "of the target")->capture_default_str();
    app.add_option("--draft-threads", chosen.draft_threads)->capture_default_str();
    app.add_flag("--chat", chosen.chat, "wraps prompts in the model's chat template");
    CLI11_PARSE(app, argc, argv);
    try {
        return compare(chosen) ? 0 : 1;
    } catch (const std::exception& caught) {
        std::cerr << "bench_ahead: " << caught.what() << '\n';
        return 1;
    }
}
