// What decides whether speculation pays: the time of one forward pass over n new tokens, T(n), against T(1).
//
//   bench_verify_curve MODEL [WEIGHTS] [THREADS] [CONTEXT] [INSTRUCTIONS]
//
// as in  bench_verify_curve model.gguf bf16 2 256 avx2  (`augur bench verify` does the same with the best instructions
// there are). Prints the median and the least of many passes, in milliseconds, logits for all n rows, and medians'
// ratio to T(1). Row counts take turns, so that a machine's other work slows all of them alike. Beside each chain the
// same number of tokens as a binary tree, and what that costs over the chain.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "augur/llama/host_model.hpp"
#include "formats.hpp"

namespace {

using namespace augur;

/// With parents as a tree, whose nodes wait for `keep` until the next pass.
double milliseconds(const llama::host_model& model, llama::sequence& sequence, std::span<const token> tokens,
                    std::span<const std::int32_t> parents = {}) {
    const std::size_t length = model.length(sequence);
    const pass<llama::sequence> asked{.sequence = &sequence, .tokens = tokens, .parents = parents};
    const auto start = std::chrono::steady_clock::now();
    model.run(std::span(&asked, 1));
    const auto end = std::chrono::steady_clock::now();
    model.truncate(sequence, length);
    return std::chrono::duration<double, std::milli>(end - start).count();
}

void run(const std::string& path, const llama::load_options& options, std::size_t context) {
    const auto start = std::chrono::steady_clock::now();
    const auto model = llama::host_model::load(path, options);
    const std::chrono::duration<double> loading = std::chrono::steady_clock::now() - start;
    std::printf("%s, %zu threads, %.1f MB of weights, loaded in %.2f s\n", std::string(name_of(model.format())).c_str(),
                model.threads(), static_cast<double>(model.memory_bytes()) * 1e-6, loading.count());
    std::vector<token> text(std::max<std::size_t>(context, 512));
    for (std::size_t i = 0; i < text.size(); ++i) {
        text[i] = static_cast<token>((i * 7919 + 13) % model.vocabulary_size());
    }
    auto sequence = model.make_sequence();
    const auto before = std::chrono::steady_clock::now();
    model.extend(sequence, std::span(text).first(context), 0);
    const std::chrono::duration<double> prefill = std::chrono::steady_clock::now() - before;
    std::printf("prefill of %zu tokens: %.0f tokens per second\n", context,
                static_cast<double>(context) / prefill.count());
    const std::vector<std::size_t> rows{1, 2, 3, 4, 6, 8, 12, 16, 32};
    std::vector<std::int32_t> parents(rows.back());
    for (std::size_t node = 0; node < parents.size(); ++node) parents[node] = static_cast<std::int32_t>(node / 2) - 1;
    std::vector<std::vector<double>> times(rows.size()), of_trees(rows.size()), over_chains(rows.size());
    for (int round = 0; round < 31; ++round) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto tokens = std::span(text).first(rows[i]);
            times[i].push_back(milliseconds(model, sequence, tokens));
            of_trees[i].push_back(milliseconds(model, sequence, tokens, std::span(parents).first(rows[i])));
            over_chains[i].push_back(of_trees[i].back() / times[i].back());
        }
    }
    std::printf("%4s %10s %10s %8s %8s %10s %11s\n", "n", "median ms", "least ms", "ratio", "of least", "tree's ms",
                "over chain");
    const auto middle_of = [](std::vector<double>& all) {
        std::sort(all.begin(), all.end());
        return all[all.size() / 2];
    };
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const double median = middle_of(times[i]), least = times[i].front();
        std::printf("%4zu %10.2f %10.2f %8.2f %8.2f %10.2f %11.2f\n", rows[i], median, least,
                    median / times[0][times[0].size() / 2], least / times[0].front(), middle_of(of_trees[i]),
                    middle_of(over_chains[i]));
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc < 2) detail::fail("usage: bench_verify_curve MODEL [WEIGHTS] [THREADS] [CONTEXT] [INSTRUCTIONS]");
        llama::load_options options;
        if (argc > 2) options.weights = format_named(argv[2]);
        if (argc > 3) options.threads = std::stoul(argv[3]);
        if (argc > 5) options.instruction_set = named(argv[5], backend::host::all_instruction_sets);
        run(argv[1], options, argc > 4 ? std::stoul(argv[4]) : 256);
    } catch (const std::exception& caught) {
        std::fprintf(stderr, "bench_verify_curve: %s\n", caught.what());
        return 1;
    }
}
