// What share of the per-round oracle policies by cost reach: the oracle knows the text, and takes for every round the
// drafter and the length that write it soonest.
//
//   bench_oracle --model FILE --eagle FILE --prompts FILE.jsonl [--chat] [--weights bf16] [--limit N] [--max-tokens N]
//
// Greedy, two drafters: prompt lookup and an EAGLE-like layer, held as `augur` holds it. Each drafts chains from every
// position of plain decoding's text, under a criterion that accepts nothing: so it is known how much of a draft would
// be accepted anywhere. The oracle's path is a shortest one (dynamic programming). Beside it:
//   chains   policy::cost_aware, of chains as the oracle's
//   trees    policy::cost_aware<chain, grown_tree>, whose trees of the layer are what `--scheme auto` drafts
//   again    the same on the same text once more, with what it learned of it: what is lost on finding out is not in it
// All paths are priced alike, by T(n) as measured beforehand and by what a token of the layer took in this run; so
// shares do not depend on the machine's moods, but for what these make of T(n) and of a policy's own clock. With
// --level X the trees' policy is told prices in place of times: X times those, with noise of 8 % and a pass in thirty
// of 2.5 times its time, the same in every run. A depth of a tree costs what a token of a chain does.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <augur/accept/exact.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/eagle.hpp>
#include <augur/draft/fallback.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/io/files/gguf.hpp>
#include <augur/io/text/read_vocabulary.hpp>
#include <augur/llama/eagle_model.hpp>
#include <augur/llama/host_model.hpp>
#include <augur/policy/cost_aware.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/policy/learned_state.hpp>
#include <augur/random/chooser.hpp>
#include <augur/tune/verify_curve.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "formats.hpp"
#include "prompts.hpp"

namespace {

using namespace augur;

constexpr std::size_t longest = 10;     // chain
constexpr std::size_t most_nodes = 32;  // of a tree

struct settings {
    std::string model, eagle, prompts, weights = "bf16";
    std::size_t limit = 0, max_tokens = 96, threads = 0;
    double level = 0;  ///< 0: the policy's clock is the machine's
    bool chat = false;
};

/// Every round commits one token, plain decoding's.
struct accepts_nothing : accept::exact {
    template <class DraftDistribution>
    bool accepts(const auto& /*target*/, const drafted_token<DraftDistribution>& /*drafted*/, auto& /*draws*/) const {
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
        const outcome happened = view.result();
        const bool by_layer = happened.decided_on.source == 1;
        // A chain was looked at where its first row's entropy is known; a tree has noted its depths.
        const bool looked = happened.drafted > 0 || std::isfinite(happened.decided_on.first_draft_entropy_nats);
        const std::size_t depths =
            std::max({deep(view.proposed), happened.decided_on.drafted, std::size_t{looked ? 1u : 0u}});
        seconds += pass[happened.drafted] + static_cast<double>(by_layer ? depths : 0) * layer_seconds;
    }

    static std::size_t deep(const auto& proposed) {
        std::size_t most = 0;
        for (std::size_t node = 0; node < proposed.size(); ++node) {
            most = std::max(most, parents::depth_of(proposed.parents(), static_cast<std::int32_t>(node)));
        }
        return most;
    }
};

/// A policy that is told prices in place of times.
template <class Policy>
struct told_prices : Policy {
    std::span<const double> pass;
    double layer_seconds, level;

    told_prices(const Policy& policy, std::span<const double> curve, double layer, double times)
        : Policy(policy), pass(curve), layer_seconds(layer), level(times) {}

    void watch(const auto& view) {
        if (level == 0) return Policy::watch(view);
        priced paid{pass, layer_seconds};
        paid.watch(view);
        const double drawn = random::philox_chooser(1).uniform({.position = view.length_before});
        const double times = level * (drawn > 0.97 ? 2.5 : 0.97 + 0.08 * drawn);
        time_spent told = view.seconds;
        told.verify = times * pass[view.decided.drafted];
        told.draft = times * (paid.seconds - pass[view.decided.drafted]);
        told.accept = 0;
        Policy::watch(round_view{view.prefix, view.length_before, view.proposed, view.rows, view.states, view.decided,
                                 view.committed, view.decided_on, told});
    }
};

/// Of some prompts.
struct sums {
    double plain = 0, oracle = 0, chains = 0, trees = 0, again = 0;
};

struct measurement {
    const llama::host_model& target;
    const llama::eagle_model& layer;
    std::span<const double> pass;
    decode::options how;
    double level;
    draft::prompt_lookup<> lookup{2};
    draft::eagle<const llama::eagle_model&> eagle{layer};

    /// Seconds of a prompt's text, by each.
    sums of(std::span<const token> prompt) const {
        const std::vector<said> drafters{listen(lookup, target, prompt, how), listen(eagle, target, prompt, how)};
        const auto& text = drafters[0].text;
        if (text != drafters[1].text) detail::fail("the texts of two drafters differ");
        const auto run = [&](const auto& scheme) {
            priced paid{pass, drafters[1].token_seconds};
            const auto decoded = decode::generate(scheme, prompt, how, paid);
            if (decoded.tokens != text) detail::fail("the text is not plain decoding's");
            return std::pair(paid.seconds, decoded.policy.learned());
        };
        const std::vector<double> curve(pass.begin(), pass.end());
        const auto trees = [&](const policy::learned_state& known) {
            const draft::eagle drafts(layer, {.depth = 8, .top_k = 4, .nodes = most_nodes});
            const policy::cost_aware<draft_shape::chain, draft_shape::grown_tree> as_it_pays(
                {.max_nodes = most_nodes, .verify_seconds = curve}, known);
            const told_prices policy(as_it_pays, pass, drafters[1].token_seconds, level);
            return run(speculate(draft::fallback(lookup, drafts), target, policy, accept::exact{}));
        };
        const policy::cost_aware chains({.verify_seconds = curve});
        const auto [tree_seconds, learned] = trees({});
        return {.plain = static_cast<double>(text.size()) * pass[0],
                .oracle = oracle_seconds(drafters, pass, text.size()),
                .chains = run(speculate(draft::fallback(lookup, eagle), target, chains, accept::exact{})).first,
                .trees = tree_seconds,
                .again = trees(learned).first};
    }
};

void print(const std::map<std::string, sums>& by_task) {
    std::printf("|prompts|oracle, times plain|chains, share|trees, share|again, share|\n|-|-|-|-|-|\n");
    for (const auto& [name, of] : by_task) {
        std::printf("|%s|%.2f|", name.c_str(), of.plain / of.oracle);
        for (const double seconds : {of.chains, of.trees, of.again}) {
            std::printf("%.2f, %.2f|", of.plain / seconds, of.oracle / seconds);
        }
        std::printf("\n");
    }
}

void run(const settings& chosen) {
    const io::gguf_file file(chosen.model);
    const auto vocabulary = io::read_vocabulary(file);
    const io::tokenizer words(vocabulary);
    const auto target = llama::host_model::load(
        chosen.model, {.weights = format_named(chosen.weights), .threads = chosen.threads, .context_length = 4096});
    const auto layer = llama::eagle_model::load(chosen.eagle, target, {.weights = llama::weight_format::halved});
    const auto pass = tune::verify_curve(target, most_nodes + 1, {.repetitions = 6});
    decode::options how;
    how.sampling.temperature.value = 0;
    how.stop.max_tokens = chosen.max_tokens;
    const measurement measure{target, layer, pass, how, chosen.level};
    std::map<std::string, sums> by_task;
    for (const auto& each : read_prompts(chosen.prompts, chosen.limit, chosen.chat, words, vocabulary)) {
        const sums found = measure.of(each.tokens);
        for (const auto& name : {each.task, std::string("all")}) {
            sums& so_far = by_task[name];
            for (const auto part : {&sums::plain, &sums::oracle, &sums::chains, &sums::trees, &sums::again}) {
                so_far.*part += found.*part;
            }
        }
    }
    std::printf("T(n) in milliseconds:");
    for (const double seconds : pass) std::printf(" %.2f", 1e3 * seconds);
    std::printf("\n");
    print(by_task);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("The share of the per-round oracle that policies by cost reach");
    settings chosen;
    app.add_option("--model", chosen.model, "GGUF file")->required();
    app.add_option("--eagle", chosen.eagle, "An EAGLE-like layer of the model's draft bundle, GGUF")->required();
    app.add_option("--prompts", chosen.prompts, "JSON lines with a prompt and a task")->required();
    app.add_flag("--chat", chosen.chat, "Prompts in the model's chat template");
    app.add_option("--weights", chosen.weights, "How weights are held")->capture_default_str();
    app.add_option("--limit", chosen.limit, "Prompts, 0 for all")->capture_default_str();
    app.add_option("--max-tokens", chosen.max_tokens, "Of each text")->capture_default_str();
    app.add_option("--level", chosen.level,
                   "Prices that the trees' policy is told, beside the curve's; 0 for its clock")
        ->capture_default_str();
    app.add_option("--threads", chosen.threads, "0 for one per core")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    try {
        run(chosen);
    } catch (const std::exception& caught) {
        std::fprintf(stderr, "bench_oracle: %s\n", caught.what());
        return 1;
    }
}
