// What EAAD's bins see of a draft whose head has the rows of some tokens only: entropy and acceptance by bin, beside
// the same draft with a head for all tokens.
//
//   bench_pruned_head --model FILE --draft FILE --prompts FILE.jsonl [--weights keep] [--chat] [--limit N]
//                     [--max-tokens 96]
//
// Plain greedy texts of the target. At each of their tokens both drafts are asked for a row; the states below are the
// same, so that the rows of the kept tokens are, too. "Stood" is that the pruned draft's most probable token is the
// text's.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <augur/augur.hpp>
#include <augur/io/files/gguf.hpp>
#include <augur/io/text/read_vocabulary.hpp>
#include <augur/llama/draft_checkpoint.hpp>
#include <augur/llama/host_model.hpp>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "formats.hpp"
#include "prompts.hpp"

namespace {

using namespace augur;

struct settings {
    std::string model, draft, prompts, weights = "keep";
    std::size_t limit = 0, max_tokens = 96, threads = 0;
    bool chat = false;
};

/// The draft checkpoint with the target's whole head in the place of its own rows of it.
llama::host_model with_whole_head(const std::string& path, const llama::host_model& target,
                                  const llama::load_options& options) {
    const llama::draft_checkpoint file(path, "draft", target);
    if (file.head_tokens().empty()) detail::fail(path, ": this draft's head has the rows of all tokens");
    if (file.tensors().find("output.weight")) detail::fail(path, ": this draft's head is its own, not the target's");
    llama::weights parts = file.read(options.weights);
    parts.head_tokens.clear();
    std::vector<std::size_t> all(target.vocabulary_size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    parts.head = target.parameters().output().selected(all);
    return {file.configuration(), std::move(parts), options};
}

struct row_figures {
    double kept_nats, whole_nats, missing;
    bool stood, whole_stood, has_row;
};

std::size_t most_probable(logit_row row) {
    return static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

row_figures figures_of(logit_row pruned, logit_row whole, token next) {
    const auto kept = measure::moments(pruned), all = measure::moments(whole);
    const auto id = static_cast<std::size_t>(next);
    return {measure::entropy_nats(kept),
            measure::entropy_nats(all),
            std::clamp(-std::expm1(kept.log_sum() - all.log_sum()), 0.0, 1.0),
            most_probable(pruned) == id,
            most_probable(whole) == id,
            std::isfinite(pruned[id])};
}

void measure_text(const llama::host_model& target, const llama::host_model& pruned, const llama::host_model& whole,
                  const prompt& of, const decode::options& options, std::vector<row_figures>& into) {
    const auto plain = speculate(draft::no_draft{}, target, policy::fixed_length{0}, accept::exact{});
    const auto decoded = decode::generate(plain, of.tokens, options);
    std::vector<token> text = of.tokens;
    text.insert(text.end(), decoded.tokens.begin(), decoded.tokens.end());
    if (decoded.tokens.empty()) return;
    text.pop_back();  // what it predicts is not known
    auto one = pruned.make_sequence(), other = whole.make_sequence();
    const scores rows = pruned.extend(one, text, decoded.tokens.size());
    const scores all_rows = whole.extend(other, text, decoded.tokens.size());
    for (std::size_t i = 0; i < decoded.tokens.size(); ++i) {
        into.push_back(figures_of(rows[i], all_rows[i], decoded.tokens[i]));
    }
}

void print_bins(const std::vector<row_figures>& rows) {
    struct counted {
        std::size_t rows = 0, stood = 0;
        std::string shown() const {
            char text[64];
            if (rows == 0) return "– (0)";
            std::snprintf(text, sizeof text, "%.2f (%zu)", static_cast<double>(stood) / static_cast<double>(rows),
                          rows);
            return text;
        }
    };
    const policy::entropy_bins bins;
    std::vector<counted> by_kept(bins.lengths().size()), by_whole(bins.lengths().size());
    for (const row_figures& row : rows) {
        for (const auto& [bin, into] :
             {std::pair(bins.bin_of(row.kept_nats), &by_kept), std::pair(bins.bin_of(row.whole_nats), &by_whole)}) {
            ++(*into)[bin].rows;
            (*into)[bin].stood += row.stood ? 1 : 0;
        }
    }
    std::printf("|entropy, nats|of the pruned head: accepted (rows)|of the whole head: accepted (rows)|\n|-|-|-|\n");
    for (std::size_t i = 0; i < by_kept.size(); ++i) {
        const std::string name =
            i < bins.edges_nats().size() ? detail::message("below ", bins.edges_nats()[i]) : "more";
        std::printf("|%s|%s|%s|\n", name.c_str(), by_kept[i].shown().c_str(), by_whole[i].shown().c_str());
    }
}

void print_sums(const std::vector<row_figures>& rows, std::size_t kept, std::size_t vocabulary) {
    const policy::entropy_bins bins;
    const auto n = static_cast<double>(rows.size());
    double missing = 0, difference = 0, largest = 0, width = 0;
    std::size_t outside = 0, moved = 0, stood = 0, whole_stood = 0, without = 0;
    for (const row_figures& row : rows) {
        const auto bounds = measure::whole_entropy(row.kept_nats, row.missing, vocabulary - kept);
        const bool fits = row.whole_nats >= bounds.least_nats - 1e-5 && row.whole_nats <= bounds.most_nats + 1e-5;
        outside += fits ? 0 : 1;
        missing += row.missing / n;
        difference += (row.whole_nats - row.kept_nats) / n;
        largest = std::max(largest, std::abs(row.whole_nats - row.kept_nats));
        width += (bounds.most_nats - bounds.least_nats) / n;
        moved += bins.bin_of(row.kept_nats) != bins.bin_of(row.whole_nats) ? 1 : 0;
        stood += row.stood ? 1 : 0;
        whole_stood += row.whole_stood ? 1 : 0;
        without += row.has_row ? 0 : 1;
    }
    std::printf("\n%zu rows, %zu of %zu tokens kept\n", rows.size(), kept, vocabulary);
    std::printf("missing probability, mean: %.3f; texts' tokens without a row: %.3f\n", missing,
                static_cast<double>(without) / n);
    std::printf("whole entropy less the pruned one, nats: mean %.3f, largest either way %.3f\n", difference, largest);
    std::printf("width of the bounds, mean: %.3f nats; rows outside: %zu\n", width, outside);
    std::printf("rows in another bin: %.3f\n", static_cast<double>(moved) / n);
    std::printf("accepted: %.3f by the pruned head, %.3f by the whole one\n", static_cast<double>(stood) / n,
                static_cast<double>(whole_stood) / n);
}

void measure_pair(const settings& chosen) {
    llama::load_options options;
    options.weights = format_named(chosen.weights);
    options.threads = chosen.threads;
    const auto target = llama::host_model::load(chosen.model, options);
    const auto pruned = llama::load_draft(chosen.draft, target, options);
    const auto whole = with_whole_head(chosen.draft, target, options);
    const auto vocabulary = io::read_vocabulary(io::gguf_file(chosen.model));
    const io::tokenizer words(vocabulary);
    const auto ends = words.end_tokens();
    decode::options asked;
    asked.sampling.temperature.value = 0;
    asked.stop.max_tokens = chosen.max_tokens;
    asked.stop.stop_tokens = {ends.begin(), ends.end()};
    std::vector<row_figures> rows;
    for (const prompt& p : read_prompts(chosen.prompts, chosen.limit, chosen.chat, words, vocabulary)) {
        measure_text(target, pruned, whole, p, asked, rows);
    }
    print_bins(rows);
    print_sums(rows, pruned.parameters().head_tokens.size(), target.vocabulary_size());
}

}  // namespace

int main(int argc, char** argv) {
    settings chosen;
    CLI::App app("EAAD's bins on a draft with a pruned head, beside the same draft with a whole one");
    app.add_option("--model", chosen.model, "the target, a GGUF file")->required();
    app.add_option("--draft", chosen.draft, "the draft checkpoint draft of its draft bundle")->required();
    app.add_option("--prompts", chosen.prompts, "JSON lines with task and prompt")->required();
    app.add_option("--weights", chosen.weights, "of all three")->capture_default_str();
    app.add_flag("--chat", chosen.chat, "prompts are what a user says");
    app.add_option("--limit", chosen.limit, "only the first so many prompts; 0 is all")->capture_default_str();
    app.add_option("--max-tokens", chosen.max_tokens)->capture_default_str();
    app.add_option("--threads", chosen.threads, "0: one per core")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    try {
        measure_pair(chosen);
        return 0;
    } catch (const std::exception& caught) {
        std::cerr << "bench_pruned_head: " << caught.what() << '\n';
        return 1;
    }
}
