// How near the pass comes to what the machine allows, for every instruction set that it has, as one table.
//
//   bench_goals MODEL [WEIGHTS,...] [SETS,...] [THREADS] [CONTEXT] [ROUNDS]
//
// as in  bench_goals wide.gguf bf16,q4_0 avx2,avx512_bf16 2 256 15.  One model is held at a time. In every round
// the bytes of its weights are read from other memory in the fastest way that was found just before (reading.hpp), then
// passes run over 1, 4 and 8 new rows, all of which have logits. `bandwidth` is the median of the reads; `share` is the
// median, over the rounds, of the time of reading over the time of one row; T(4) and T(8) are medians of what a round
// took over that round's T(1). The goals: a share of 0.85 where the weights are over 500 MB and 0.75 elsewhere; T(8) of
// 1.25 in BF16 (1.9 with AVX2), 1.4 in Q8_0, 1.8 in formats of four bits; T(4) of 1.35 in BF16 with AVX2.

#include <augur/detail/stopwatch.hpp>
#include <augur/llama/host_model.hpp>
#include <cstdio>
#include <exception>
#include <sstream>

#include "formats.hpp"
#include "reading.hpp"

namespace {

using namespace augur;
using backend::host::instruction_set;

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    std::stringstream stream(text);
    for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
    return parts;
}

struct plan {
    std::string path;
    llama::load_options options;
    std::size_t context = 256, rounds = 15;
};

double pass_seconds(const llama::host_model& model, llama::sequence& sequence, std::span<const token> tokens) {
    const std::size_t length = model.length(sequence);
    const detail::stopwatch watch;
    model.extend(sequence, tokens, tokens.size());
    const double seconds = watch.seconds();
    model.truncate(sequence, length);
    return seconds;
}

/// Of the weights, without a table of embeddings that no product reads.
std::size_t bytes_of_pass(const llama::weights& weights) {
    const bool table_apart = weights.head.rows() != 0 && !weights.embedding_is_lent;
    return weights.memory_bytes() - (table_apart ? weights.embedding->memory_bytes() : 0);
}

void measure(const plan& asked) {
    const auto model = llama::host_model::load(asked.path, asked.options);
    reading::memory memory(bytes_of_pass(model.parameters()), model.threads());
    const auto fastest = reading::compared(memory, 3).front().how;
    std::vector<token> text(asked.context + 8);
    for (std::size_t i = 0; i < text.size(); ++i) {
        text[i] = static_cast<token>((i * 7919 + 13) % model.vocabulary_size());
    }
    auto sequence = model.make_sequence();
    model.extend(sequence, std::span(text).first(asked.context), 0);
    const auto next = std::span(text).subspan(asked.context);
    std::vector<double> rates, shares, ones, fours, eights;
    for (std::size_t round = 0; round <= asked.rounds; ++round) {
        const double read = memory.seconds(fastest), one = pass_seconds(model, sequence, next.first(1));
        const double four = pass_seconds(model, sequence, next.first(4));
        const double eight = pass_seconds(model, sequence, next.first(8));
        if (round == 0) continue;  // begins threads, fills caches
        rates.push_back(static_cast<double>(memory.bytes()) / read * 1e-9);
        shares.push_back(read / one);
        ones.push_back(one * 1e3);
        fours.push_back(four / one);
        eights.push_back(eight / one);
    }
    using reading::median;
    std::printf("|%s|%s|%.0f|%.1f|%s|%.2f|%.2f|%.2f|%.2f|\n", std::string(name_of(model.format())).c_str(),
                std::string(name_of(asked.options.instruction_set)).c_str(), static_cast<double>(memory.bytes()) * 1e-6,
                median(rates), fastest.name.c_str(), median(ones), median(shares), median(fours), median(eights));
    std::fflush(stdout);
}

void run(int argc, char** argv) {
    const auto argument = [&](int at, const char* otherwise) { return std::string(argc > at ? argv[at] : otherwise); };
    plan asked{.path = argv[1], .options = {.threads = std::stoul(argument(4, "2"))}};
    asked.context = std::stoul(argument(5, "256"));
    asked.rounds = std::stoul(argument(6, "15"));
    if (asked.context == 0 || asked.rounds == 0) detail::fail("CONTEXT and ROUNDS must be at least 1");
    std::printf(
        "|weights|instructions|MB|bandwidth, GB/s|read as|T(1), ms|share|T(4)/T(1)|T(8)/T(1)|\n"
        "|-|-|-|-|-|-|-|-|-|\n");
    for (const auto& format : split(argument(2, "bf16,q8_0,q4_0,q4_k"))) {
        for (const auto& set : split(argument(3, "avx2,avx512,avx512_bf16,amx"))) {
            asked.options.weights = format_named(format);
            asked.options.instruction_set = named(set, backend::host::all_instruction_sets);
            if (is_supported(asked.options.instruction_set)) measure(asked);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc < 2) {
            detail::fail("usage: bench_goals MODEL [WEIGHTS] [SETS] [THREADS] [CONTEXT] [ROUNDS]");
        }
        run(argc, argv);
    } catch (const std::exception& caught) {
        std::fprintf(stderr, "bench_goals: %s\n", caught.what());
        return 1;
    }
}
