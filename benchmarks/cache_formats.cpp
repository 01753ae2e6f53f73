// Keys and values in Q8_0 beside those in floats: what rounding them changes of the rows along a text, and what it
// saves.
//
//   bench_cache_formats MODEL TEXT [WEIGHTS] [THREADS] [TOKENS] [INSTRUCTIONS]
//
// The first TOKENS tokens of the file go through two models that differ in their caches alone, in passes of 128. Of
// every row: the next token's -log probability, whether both rank the same token first, and the Kullback-Leibler
// divergence of the rounded one, in nats. Then single new rows after so many tokens, in turns: medians in milliseconds.

#include <algorithm>
#include <augur/io/text/read_vocabulary.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <augur/llama/host_model.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "formats.hpp"

namespace {

using namespace augur;

/// Log probabilities of a row.
std::vector<double> logs_of(logit_row row) {
    const double largest = static_cast<double>(*std::max_element(row.begin(), row.end()));
    double sum = 0;
    for (const float logit : row) sum += std::exp(static_cast<double>(logit) - largest);
    std::vector<double> out(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) out[i] = static_cast<double>(row[i]) - largest - std::log(sum);
    return out;
}

struct side {
    const llama::host_model& model;
    llama::sequence sequence = model.make_sequence();
    std::vector<double> prefill = {}, passes = {};

    auto timed(std::vector<double>& into, std::span<const token> tokens) {
        const auto start = std::chrono::steady_clock::now();
        auto rows = model.extend(sequence, tokens);
        into.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
        return rows;
    }
};

double median(std::vector<double> all) {
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
    return all[all.size() / 2];
}

void compare_rows(side& plain, side& packed, std::span<const token> text) {
    double nats[2] = {}, divergence = 0;
    std::size_t rows = 0, same = 0;
    for (std::size_t first = 0; first < text.size(); first += 128) {
        const auto part = text.subspan(first, std::min<std::size_t>(128, text.size() - first));
        const auto a = plain.timed(plain.prefill, part), b = packed.timed(packed.prefill, part);
        for (std::size_t i = 0; i < part.size() && first + i + 1 < text.size(); ++i, ++rows) {
            const auto of = logs_of(a[i]), rounded = logs_of(b[i]);
            const auto next = static_cast<std::size_t>(text[first + i + 1]);
            nats[0] -= of[next];
            nats[1] -= rounded[next];
            same += std::max_element(of.begin(), of.end()) - of.begin() ==
                    std::max_element(rounded.begin(), rounded.end()) - rounded.begin();
            for (std::size_t t = 0; t < of.size(); ++t) divergence += std::exp(of[t]) * (of[t] - rounded[t]);
        }
    }
    const auto count = static_cast<double>(rows);
    std::printf("%zu rows: %.4f nats a token in f32, %.4f in q8_0; the same token first in %.2f %%; divergence %.2e\n",
                rows, nats[0] / count, nats[1] / count, 100 * static_cast<double>(same) / count, divergence / count);
}

void compare_times(side& plain, side& packed, token next) {
    const std::size_t length = plain.model.length(plain.sequence);
    for (int round = 0; round < 61; ++round) {
        for (side* each : {&plain, &packed}) {
            each->timed(each->passes, {&next, 1});
            each->model.truncate(each->sequence, length);
        }
    }
    for (const side* each : {&plain, &packed}) {
        double prefill = 0;
        for (const double seconds : each->prefill) prefill += seconds;
        std::printf("%-5s %8.2f MB of keys and values, prefill %7.2f s, one row after them %7.2f ms\n",
                    each == &plain ? "f32" : "q8_0", 1e-6 * static_cast<double>(each->model.cache_bytes(length)),
                    prefill, 1e3 * median(each->passes));
    }
}

void run(const std::string& path, const std::string& text_path, llama::load_options options, std::size_t most) {
    std::ifstream file(text_path, std::ios::binary);
    if (!file) detail::fail("cannot read ", text_path);
    std::ostringstream text;
    text << file.rdbuf();
    const io::tokenizer words(io::read_vocabulary(io::gguf_file(path)));
    auto tokens = words.encode(text.str());
    tokens.resize(std::min(tokens.size(), most));
    if (tokens.size() < 2) detail::fail(text_path, " has ", tokens.size(), " tokens, fewer than 2");
    const auto plain = llama::host_model::load(path, options);
    options.cache = llama::cache_format::q8_0;
    const auto packed = llama::host_model::load(path, options);
    side a{plain}, b{packed};
    compare_rows(a, b, tokens);
    compare_times(a, b, tokens.front());
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc < 3) {
            detail::fail("usage: bench_cache_formats MODEL TEXT [WEIGHTS] [THREADS] [TOKENS] [INSTRUCTIONS]");
        }
        llama::load_options options;
        if (argc > 3) options.weights = format_named(argv[3]);
        if (argc > 4) options.threads = std::stoul(argv[4]);
        if (argc > 6) options.instruction_set = named(argv[6], backend::host::all_instruction_sets);
        run(argv[1], argv[2], options, argc > 5 ? std::stoul(argv[5]) : 2048);
    } catch (const std::exception& caught) {
        std::fprintf(stderr, "bench_cache_formats: %s\n", caught.what());
        return 1;
    }
}
