// What a round on llama.cpp costs beside llama.cpp: policy, drafter, batch, acceptance, commit.
//
//   bench_llama_cpp_overhead MODEL PROMPT_FILE [TOKENS]
//
// One line of JSON for each scheme and number of rows in a round. The linker has every call of llama_decode,
// llama_get_logits and llama_synchronize timed; what remains of a round is augur's. Medians of microseconds: on the
// wall, and of this thread's processor time, in which llama.cpp computes, too (one thread), and others' work is not.

#include <llama.h>

#include <algorithm>
#include <augur/augur.hpp>
#include <augur/engines/llama_cpp.hpp>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using namespace augur;

struct microseconds {
    double wall = 0, processor = 0;

    static microseconds now() {
        const auto read = [](clockid_t clock) {
            timespec at{};
            clock_gettime(clock, &at);
            return 1e6 * static_cast<double>(at.tv_sec) + 1e-3 * static_cast<double>(at.tv_nsec);
        };
        return {read(CLOCK_MONOTONIC), read(CLOCK_THREAD_CPUTIME_ID)};
    }
    microseconds operator-(const microseconds& other) const { return {wall - other.wall, processor - other.processor}; }
    void add(const microseconds& other) {
        wall += other.wall;
        processor += other.processor;
    }
};

microseconds inside;  ///< of llama.cpp, so far

template <class Call>
auto timed(Call call) {
    const microseconds before = microseconds::now();
    const auto ended = [&] { inside.add(microseconds::now() - before); };
    if constexpr (std::is_void_v<decltype(call())>) {
        call();
        ended();
    } else {
        const auto result = call();
        ended();
        return result;
    }
}

}  // namespace

// Names that the linker makes of --wrap.
extern "C" {
std::int32_t __real_llama_decode(llama_context* context, llama_batch batch);
float* __real_llama_get_logits(llama_context* context);
void __real_llama_synchronize(llama_context* context);

std::int32_t __wrap_llama_decode(llama_context* context, llama_batch batch) {
    return timed([&] { return __real_llama_decode(context, batch); });
}
float* __wrap_llama_get_logits(llama_context* context) {
    return timed([&] { return __real_llama_get_logits(context); });
}
void __wrap_llama_synchronize(llama_context* context) {
    timed([&] { __real_llama_synchronize(context); });
}
}

namespace {

namespace llama_cpp = engines::llama_cpp;

/// Of the rounds with as many rows.
struct figures {
    std::vector<double> wall, processor, round;
};

double median(std::vector<double> of) {
    const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
    std::nth_element(of.begin(), middle, of.end());
    return *middle;
}

double rounded(double value) {
    return std::round(10 * value) / 10;
}

template <class Scheme>
void measure(const std::string& name, const Scheme& scheme, std::span<const token> prompt,
             const decode::options& chosen) {
    decode::session<Scheme> s(scheme, prompt, chosen.sampling, chosen.stop, random::philox_chooser(chosen.seed));
    std::map<std::size_t, figures> by_rows;
    std::size_t drafted = 0;
    while (s.finished == finish_reason::running) {
        const microseconds there = inside, before = microseconds::now();
        decode::step(scheme, s);
        const microseconds round = microseconds::now() - before, beside = round - (inside - there);
        const std::size_t now = s.counts.stages.empty() ? 0 : s.counts.stages.back().drafted;
        figures& of = by_rows[1 + now - drafted];
        drafted = now;
        of.wall.push_back(beside.wall);
        of.processor.push_back(beside.processor);
        of.round.push_back(round.processor);
    }
    for (const auto& [rows, of] : by_rows) {
        std::cout << nlohmann::ordered_json{{"scheme", name},
                                            {"temperature", chosen.sampling.temperature.value},
                                            {"rows", rows},
                                            {"rounds", of.wall.size()},
                                            {"beside", rounded(median(of.processor))},
                                            {"beside_wall", rounded(median(of.wall))},
                                            {"round", rounded(median(of.round))}}
                  << std::endl;
    }
}

void measure_all(const llama_cpp::streams& model, std::span<const token> prompt, decode::options chosen) {
    const auto lookup = [&](auto policy, auto criterion) {
        return speculate(draft::prompt_lookup(1, 8), model, policy, criterion);
    };
    measure("plain", plain(model), prompt, chosen);
    for (const std::size_t length : {2u, 4u, 8u}) {
        const std::string name = "lookup, " + std::to_string(length);
        measure(name, lookup(policy::fixed_length{length}, accept::exact{}), prompt, chosen);
    }
    measure("lookup, as it pays", lookup(policy::cost_aware{}, accept::exact{}), prompt, chosen);
    chosen.sampling.temperature.value = 0.7f;
    chosen.sampling.top_p.p = 0.95f;
    measure("plain", plain(model), prompt, chosen);
    measure("lookup, 4", lookup(policy::fixed_length{4}, accept::coupled{}), prompt, chosen);
}

void run(const std::string& path, const std::string& prompt_file, std::size_t tokens) {
    const auto weights = llama_cpp::weights::load(path, {.gpu_layers = 0});
    std::ifstream file(prompt_file);
    if (!file) detail::fail("cannot read ", prompt_file);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto prompt = llama_cpp::tokenizer(weights).encode(text, {.add_special = true, .parse_special = true});
    const llama_cpp::streams model(weights, {.context_length = prompt.size() + tokens + 16, .threads = 1});
    decode::options chosen;
    chosen.sampling.temperature.value = 0;
    chosen.stop.max_tokens = 8;
    decode::generate<lossless_within_numerics>(plain(model), prompt, chosen);  // not counted
    chosen.stop.max_tokens = tokens;
    measure_all(model, prompt, chosen);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc < 3) detail::fail("usage: bench_llama_cpp_overhead MODEL PROMPT_FILE [TOKENS]");
        run(argv[1], argv[2], argc > 3 ? std::stoul(argv[3]) : 256);
    } catch (const std::exception& caught) {
        std::cerr << "bench_llama_cpp_overhead: " << caught.what() << '\n';
        return 1;
    }
}
