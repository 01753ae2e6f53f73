// Where the time of a forward pass on the CPU goes: every part by its name, beside what reading its weights takes.
//
//   bench_pass_profile MODEL [WEIGHTS] [THREADS] [CONTEXT] [INSTRUCTIONS] [CACHE]
//
// as in  bench_pass_profile model.gguf bf16 2 256 avx2 q8_0.  The kernels are called through functions that look at the
// clock, so what is profiled is the pass that users run. Two passes over the same model take turns, one with these
// functions and one without, which says what looking costs. A part's time is the sum over the threads divided by their
// number; what is left of the pass is what no kernel does: waiting for other threads, beginning loops, adding to the
// residual state, copies. Medians over many passes, in microseconds, for 1, 4 and 8 new rows.

#include <algorithm>
#include <array>
#include <augur/backend/host/thread_pool.hpp>
#include <augur/llama/host_model.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "formats.hpp"

namespace {

using namespace augur;
using backend::host::kernels;
using clock = std::chrono::steady_clock;

enum part_of_pass { query, key, value, mixing, gate, up, down, head, attending, norms, silu, rotary, rounding };
constexpr const char* names[] = {"product query",  "product key", "product value", "product attention output",
                                 "product gate",   "product up",  "product down",  "product head",
                                 "attention",      "norms",       "silu",          "rotary",
                                 "rounding inputs"};
constexpr std::size_t part_count = std::size(names);
using seconds_of_parts = std::array<double, part_count>;

/// Of the threads that have run a kernel.
std::vector<std::unique_ptr<seconds_of_parts>> spent;
std::mutex adding;

seconds_of_parts& spent_here() {
    thread_local seconds_of_parts* const mine = [] {
        const std::lock_guard lock(adding);
        spent.push_back(std::make_unique<seconds_of_parts>());
        return spent.back().get();
    }();
    return *mine;
}

kernels real;
std::unordered_map<const std::byte*, part_of_pass> parts_of_matrices;

template <class Call>
void timed(part_of_pass part, const Call& call) {
    const auto start = clock::now();
    call();
    spent_here()[part] += std::chrono::duration<double>(clock::now() - start).count();
}

/// The same kernels, timed. The parts of attention are not called by the whole.
kernels timing() {
    kernels clocked = real;
    clocked.product = [](const backend::host::product_task& task) {
        timed(parts_of_matrices.at(task.panels), [&] { real.product(task); });
    };
    clocked.prepare = [](auto... arguments) { timed(rounding, [&] { real.prepare(arguments...); }); };
    clocked.attention = [](const backend::host::attention_task& task) {
        timed(attending, [&] { real.attention(task); });
    };
    clocked.attention_scores = [](auto... arguments) {
        timed(attending, [&] { real.attention_scores(arguments...); });
    };
    clocked.softmax = [](auto... arguments) { timed(attending, [&] { real.softmax(arguments...); }); };
    clocked.attention_values = [](auto... arguments) {
        timed(attending, [&] { real.attention_values(arguments...); });
    };
    clocked.rms_norm = [](auto... arguments) { timed(norms, [&] { real.rms_norm(arguments...); }); };
    clocked.silu_product = [](auto... arguments) { timed(silu, [&] { real.silu_product(arguments...); }); };
    clocked.gelu_tanh_product = [](auto... arguments) { timed(silu, [&] { real.gelu_tanh_product(arguments...); }); };
    clocked.gelu_product = [](auto... arguments) { timed(silu, [&] { real.gelu_product(arguments...); }); };
    clocked.soft_cap = [](auto... arguments) { timed(attending, [&] { real.soft_cap(arguments...); }); };
    clocked.rotate = [](auto... arguments) { timed(rotary, [&] { real.rotate(arguments...); }); };
    return clocked;
}

void name_matrices(const llama::weights& weights) {
    for (const auto& layer : weights.layers) {
        const auto matrices = layer->matrices();
        for (std::size_t i = 0; i < matrices.size(); ++i) {
            parts_of_matrices[matrices[i]->data()] = static_cast<part_of_pass>(i);
        }
    }
    parts_of_matrices[weights.output().data()] = head;
}

double median(std::vector<double> all) {
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    return *middle;
}

/// The pass as it is, and one whose kernels look at the clock.
struct two_kinds {
    kernels timed_kernels = timing();
    llama::host_passes plain, looking;

    two_kinds(const llama::host_model& of, llama::cache_format cache)
        : plain(of.configuration(), of.parameters(), real, of.pool(), {of.context_length(), 0, cache}, {}),
          looking(of.configuration(), of.parameters(), timed_kernels, of.pool(), {of.context_length(), 0, cache}, {}) {}
};

/// Passes of both kinds over the same rows, of a sequence each.
struct profile {
    const llama::host_model& model;
    two_kinds& passes;
    llama::sequence first = model.make_sequence(), second = model.make_sequence();
    std::vector<double> plain_seconds{}, looking_seconds{};
    std::array<std::vector<double>, part_count> parts{};

    static double seconds(llama::host_passes& of, llama::sequence& sequence, std::span<const token> tokens,
                          std::size_t rows) {
        const pass<llama::sequence> asked{.sequence = &sequence, .tokens = tokens, .rows = rows};
        const auto start = clock::now();
        of.run(std::span(&asked, 1));
        return std::chrono::duration<double>(clock::now() - start).count();
    }

    void prefill(std::span<const token> tokens) {
        seconds(passes.plain, first, tokens, 0);
        seconds(passes.looking, second, tokens, 0);
    }

    void turn(std::span<const token> tokens) {
        const std::size_t length = model.length(first);
        plain_seconds.push_back(seconds(passes.plain, first, tokens, tokens.size()));
        for (const auto& each : spent) each->fill(0);
        looking_seconds.push_back(seconds(passes.looking, second, tokens, tokens.size()));
        for (std::size_t i = 0; i < part_count; ++i) {
            double sum = 0;
            for (const auto& each : spent) sum += (*each)[i];
            parts[i].push_back(sum / static_cast<double>(model.threads()));
        }
        model.truncate(first, length);
        model.truncate(second, length);
    }
};

/// What a loop of the pool costs that does nothing.
double empty_loop_seconds(std::size_t threads) {
    backend::host::thread_pool pool(threads);
    std::vector<double> all;
    for (int i = 0; i < 4001; ++i) {
        const auto start = clock::now();
        pool.for_each(threads, [](std::size_t, std::size_t) {});
        all.push_back(std::chrono::duration<double>(clock::now() - start).count());
    }
    return median(all);
}

void print(const std::vector<std::size_t>& rows, std::vector<profile>& of) {
    const auto line = [&](const std::string& name, const auto& value_of) {
        std::printf("%-26s", name.c_str());
        for (const profile& each : of) {
            const double microseconds = 1e6 * value_of(each);
            std::printf(" %10.1f %5.1f%%", microseconds, 1e-4 * microseconds / median(each.looking_seconds));
        }
        std::printf("\n");
    };
    std::printf("%-26s", "microseconds");
    for (const std::size_t n : rows) std::printf(" %8zu row%s       ", n, n == 1 ? " " : "s");
    std::printf("\n");
    for (std::size_t i = 0; i < part_count; ++i) {
        line(names[i], [&](const profile& each) { return median(each.parts[i]); });
    }
    line("all else", [&](const profile& each) {
        std::vector<double> left = each.looking_seconds;
        for (std::size_t pass = 0; pass < left.size(); ++pass) {
            for (const auto& part : each.parts) left[pass] -= part[pass];
        }
        return median(left);
    });
    line("the whole pass", [](const profile& each) { return median(each.looking_seconds); });
    line("the same, not looked at", [](const profile& each) { return median(each.plain_seconds); });
}

void run(const std::string& path, const llama::load_options& options, std::size_t context) {
    const auto model = llama::host_model::load(path, options);
    real = backend::host::kernels_of(options.instruction_set);
    name_matrices(model.parameters());
    std::vector<token> text(std::max<std::size_t>(context, 8));
    for (std::size_t i = 0; i < text.size(); ++i) {
        text[i] = static_cast<token>((i * 7919 + 13) % model.vocabulary_size());
    }
    const std::vector<std::size_t> rows{1, 4, 8};
    two_kinds passes(model, options.cache);
    std::vector<profile> profiles;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        profiles.push_back({model, passes});
        profiles.back().prefill(std::span(text).first(context));
    }
    for (int round = 0; round < 61; ++round) {
        for (std::size_t i = 0; i < rows.size(); ++i) profiles[i].turn(std::span(text).first(rows[i]));
    }
    std::printf(
        "%s, cache %s, %zu threads, %.1f MB of weights, after %zu tokens; an empty loop of the threads takes %.2f us\n",
        std::string(name_of(model.format())).c_str(), name_of(options.cache).data(), model.threads(),
        1e-6 * static_cast<double>(model.memory_bytes()), context, 1e6 * empty_loop_seconds(model.threads()));
    print(rows, profiles);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc < 2)
            detail::fail("usage: bench_pass_profile MODEL [WEIGHTS] [THREADS] [CONTEXT] [INSTRUCTIONS] [CACHE]");
        llama::load_options options;
        if (argc > 2) options.weights = format_named(argv[2]);
        if (argc > 3) options.threads = std::stoul(argv[3]);
        if (argc > 5) options.instruction_set = named(argv[5], backend::host::all_instruction_sets);
        if (argc > 6) options.cache = named(argv[6], backend::host::all_cache_formats);
        run(argv[1], options, argc > 4 ? std::stoul(argv[4]) : 256);
    } catch (const std::exception& caught) {
        std::fprintf(stderr, "bench_pass_profile: %s\n", caught.what());
        return 1;
    }
}
