// Many requests at once: tokens a second, time to the first token and the longest gap between tokens, by batch size.
//
//   bench_serving MODEL.gguf PROMPTS.jsonl [--batch 1,2,4,8,16,32] [--tokens N] [--threads N] [--length K]
//                 [--long N] [--runs N]
//
// As many requests as a batch has, submitted at once to a scheduler, greedy: plain decoding; prompt lookup whose rows
// compete (K tokens at most); and prompt lookup whose drafts are all verified. The ways take turns in each of --runs
// runs, and medians are printed; texts of all ways are compared. --long: one more request, with a prompt of so many
// tokens, is submitted when the others decode, and the longest gap is that of the others. Prints JSON, a line for each
// batch and way.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <augur/augur.hpp>
#include <augur/io/files/gguf.hpp>
#include <augur/io/text/read_vocabulary.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <augur/llama/host_model.hpp>
#include <chrono>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "prompts.hpp"

namespace {

using namespace augur;
using clock_type = std::chrono::steady_clock;

struct settings {
    std::string model, prompts;
    std::vector<std::size_t> batches{1, 2, 4, 8, 16, 32};
    std::size_t tokens = 64, threads = 1, length = 5, long_prompt = 0, runs = 3;
};

/// What one run of one way came to.
struct figures {
    double tokens_per_second = 0, first_token_seconds = 0, longest_gap_seconds = 0, accepted_length = 0;
    std::map<std::size_t, std::vector<token>> texts;
};

double seconds(clock_type::duration some) {
    return std::chrono::duration<double>(some).count();
}

template <class Scheme>
figures serve(const Scheme& scheme, const std::vector<prompt>& prompts, std::size_t batch, bool competes,
              const settings& chosen) {
    decode::scheduler server(scheme, {.most_running = batch + 1, .rows = {.competes = competes}});
    figures got;
    std::vector<double> first;
    std::vector<clock_type::time_point> last(batch);
    std::size_t finished = 0;
    for (std::size_t i = 0; i < batch; ++i) {
        decode::request r{.prompt = prompts[i % prompts.size()].tokens, .seed = i};
        r.sampling.temperature.value = 0;
        r.stop.max_tokens = chosen.tokens;
        r.on_token = [&, i](const commit::committed_token&) {
            const auto now = clock_type::now();
            if (last[i] != clock_type::time_point()) {
                got.longest_gap_seconds = std::max(got.longest_gap_seconds, seconds(now - last[i]));
            }
            last[i] = now;
            return true;
        };
        r.on_end = [&, i](const decode::served& of) {
            first.push_back(of.first_token_seconds);
            got.texts[i] = of.tokens;
            ++finished;
        };
        if (const auto taken = server.submit(std::move(r)); !taken) augur::detail::fail("refused: ", taken.detail);
    }
    auto before = server.counters();
    for (; before.waiting + before.prefilling > 0; before = server.counters()) server.step();
    const auto begun = clock_type::now();
    if (chosen.long_prompt > 0) {
        decode::request r;
        while (r.prompt.size() < chosen.long_prompt) {
            const auto& more = prompts[r.prompt.size() % prompts.size()].tokens;
            r.prompt.insert(r.prompt.end(), more.begin(), more.end());
        }
        r.prompt.resize(chosen.long_prompt);
        r.stop.max_tokens = 1;
        if (const auto taken = server.submit(std::move(r)); !taken) augur::detail::fail("refused: ", taken.detail);
    }
    while (finished < batch && server.step()) {
    }
    const auto after = server.counters();
    got.tokens_per_second =
        static_cast<double>(after.generated_tokens - before.generated_tokens) / seconds(clock_type::now() - begun);
    got.accepted_length =
        static_cast<double>(after.generated_tokens) / static_cast<double>(std::max<std::uint64_t>(after.rounds, 1));
    std::sort(first.begin(), first.end());
    got.first_token_seconds = first[first.size() / 2];
    return got;
}

double median(const std::vector<figures>& of, double figures::*what) {
    std::vector<double> all;
    for (const figures& each : of) all.push_back(each.*what);
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
}

void print(std::size_t batch, const std::string& way, const std::vector<figures>& of) {
    std::cout << nlohmann::json{{"batch", batch},
                                {"way", way},
                                {"tokens_per_second", median(of, &figures::tokens_per_second)},
                                {"first_token_seconds", median(of, &figures::first_token_seconds)},
                                {"longest_gap_seconds", median(of, &figures::longest_gap_seconds)},
                                {"accepted_length", median(of, &figures::accepted_length)}}
              << std::endl;
}

int run(const settings& chosen) {
    const auto target = llama::host_model::load(chosen.model, {.threads = chosen.threads});
    const auto vocabulary = io::read_vocabulary(io::gguf_file(chosen.model));
    const io::tokenizer words(vocabulary);
    const auto prompts = read_prompts(chosen.prompts, 0, false, words, vocabulary);
    const auto drafted =
        speculate(draft::prompt_lookup(2), target, policy::fixed_length{chosen.length}, accept::coupled{});
    const auto simple = plain(target);
    for (const std::size_t batch : chosen.batches) {
        std::vector<figures> without, competing, always;
        for (std::size_t i = 0; i < chosen.runs; ++i) {
            without.push_back(serve(simple, prompts, batch, true, chosen));
            competing.push_back(serve(drafted, prompts, batch, true, chosen));
            always.push_back(serve(drafted, prompts, batch, false, chosen));
            if (without[i].texts == competing[i].texts && without[i].texts == always[i].texts) continue;
            augur::detail::fail("texts differ at a batch of ", batch);
        }
        print(batch, "plain", without);
        print(batch, "competing", competing);
        print(batch, "always", always);
    }
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    settings chosen;
    CLI::App app("Many requests at once.");
    app.add_option("model", chosen.model)->required();
    app.add_option("prompts", chosen.prompts)->required();
    app.add_option("--batch", chosen.batches)->delimiter(',');
    app.add_option("--tokens", chosen.tokens)->check(CLI::PositiveNumber);
    app.add_option("--threads", chosen.threads)->check(CLI::PositiveNumber);
    app.add_option("--length", chosen.length);
    app.add_option("--long", chosen.long_prompt);
    app.add_option("--runs", chosen.runs)->check(CLI::PositiveNumber);
    CLI11_PARSE(app, count, arguments);
    try {
        return run(chosen);
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
