// What speculation is worth on a GPU: the time of a pass over n rows, T(n), and whole decodings beside plain ones, with
// random weights in the shape of a known model (llama/device/synthetic.hpp), which are made on the GPU.
//
//   bench_device [--shape 8b] [--layers N] [--context 4096] [--exit K] [--length 5] [--acceptance 0.8] [--tokens 128]
//                [--repeat 9] [--seed 1] [--json FILE]
//
// Weights are bfloat16; bench_device_q8_0 and bench_device_q4_0 are the same program with integers
// (AUGUR_BENCHMARK_FORMAT). The draft is the model's first K layers (one in sixteen unless it is said) under its head;
// the scale of the other layers is searched for the acceptance. Passes over different rows, and decodings of either
// kind, take turns; so do prompts of 512 and 2048 tokens through the skinny kernel and through cuBLASLt, its weights
// written out for each pass or kept. Exit code 77 where there is no GPU, 1 if a text differs from plain decoding's.

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "augur/accept/exact.hpp"
#include "augur/backend/device/cublas_products.hpp"
#include "augur/backend/device/cuda_system.hpp"
#include "augur/cascade/speculator.hpp"
#include "augur/decode/session.hpp"
#include "augur/decode/step.hpp"
#include "augur/detail/stopwatch.hpp"
#include "augur/llama/device/device_model.hpp"
#include "augur/llama/device/synthetic.hpp"
#include "augur/policy/fixed_length.hpp"
#include "augur/tune/throughput.hpp"
#include "augur/types/error.hpp"
#include "watch.hpp"

namespace {

using namespace augur;
using namespace augur::benchmarks;
using backend::device::bfloat16;
#if !defined(AUGUR_BENCHMARK_FORMAT)
#define AUGUR_BENCHMARK_FORMAT elements
#endif
constexpr auto format = llama::device::device_format::AUGUR_BENCHMARK_FORMAT;
using model_type = llama::device::device_model<bfloat16, cuda_system, format>;
using wide_products = llama::device::wide_products<bfloat16, cuda_system, backend::device::cublas_products<bfloat16>>;
using wide_type = llama::device::device_model<bfloat16, cuda_system, format, wide_products>;

constexpr const char* format_name = format == llama::device::device_format::elements ? "bf16"
                                    : format == llama::device::device_format::q8_0   ? "q8_0"
                                                                                     : "q4_0";

struct settings {
    std::string shape = "8b", json;
    std::size_t layers = 0, context = 4096, exit = 0, length = 5, tokens = 128, repeat = 9, seed = 1;
    double acceptance = 0.8;
};

settings read(int argc, char** argv) {
    settings s;
    const options named{{{"--shape", &s.shape}, {"--json", &s.json}},
                        {{"--layers", &s.layers},
                         {"--context", &s.context},
                         {"--exit", &s.exit},
                         {"--length", &s.length},
                         {"--tokens", &s.tokens},
                         {"--repeat", &s.repeat},
                         {"--seed", &s.seed}},
                        {{"--acceptance", &s.acceptance}}};
    named.read(argc, argv);
    if (s.repeat == 0 || s.tokens == 0 || s.length == 0) detail::fail("--repeat, --tokens and --length begin at 1");
    return s;
}

/// A target and the draft that shares its weights.
struct family {
    std::shared_ptr<const llama::device::weights_on_device<bfloat16, cuda_system, format>> weights;
    model_type target, draft;

    static family make(const llama::config& shape, const settings& s, double depth_scale) {
        const cuda_system on = cuda_system::with_stream();
        const auto made =
            llama::device::make_weights<bfloat16, format>(on, {shape, s.seed, s.exit, static_cast<float>(depth_scale)});
        llama::config shallow = shape;
        shallow.layers = s.exit;
        return {made, model_type(on, shape, made), model_type(on, shallow, made)};
    }
    /// Of the target's weights, those that a pass reads.
    double bytes() const {
        const llama::config& c = target.configuration();
        return static_cast<double>(target.memory_bytes() - c.vocabulary * c.width * sizeof(bfloat16));
    }
};

template <class Model>
std::vector<token> some_text(const Model& of, std::size_t size) {
    std::vector<token> text(size);
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<token>((i * 7919 + 13) % of.vocabulary_size());
    return text;
}

/// Seconds of a pass over so many rows.
struct pass {
    std::size_t rows = 0;
    double device = 0;  ///< from the first kernel to the last
    double wall = 0;    ///< until the rows are on the host
};

/// Medians. A pass that is timed on the device and one that is timed on the host take turns, and so do the numbers of
/// rows, which ascend.
std::vector<pass> measure(const model_type& model, const std::vector<std::size_t>& rows, const settings& s) {
    const auto text = some_text(model, std::max(s.context, rows.back()));
    auto sequence = model.make_sequence();
    model.extend_there(sequence, std::span(text).first(s.context), 0);
    const device_watch watch;
    std::vector<std::vector<double>> device(rows.size()), wall(rows.size());
    for (std::size_t round = 0; round <= s.repeat; ++round) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto tokens = std::span(text).first(rows[i]);
            const double on_device =
                watch.seconds(model.system(), [&] { model.extend_there(sequence, tokens, rows[i]); });
            model.truncate(sequence, s.context);
            const detail::stopwatch since;
            model.extend(sequence, tokens);
            const double in_all = since.seconds();
            model.truncate(sequence, s.context);
            if (round == 0) continue;  // warms up
            device[i].push_back(on_device);
            wall[i].push_back(in_all);
        }
    }
    std::vector<pass> out;
    for (std::size_t i = 0; i < rows.size(); ++i) out.push_back({rows[i], median(device[i]), median(wall[i])});
    return out;
}

/// Tokens a second of a prompt, from its first kernel to its last.
struct prompt_rate {
    std::size_t tokens = 0;
    double skinny = 0, wide = 0, kept = 0;
};

/// Medians, the three kinds in turns.
std::vector<prompt_rate> measure_prompts(const family& of, const settings& s) {
    const auto wide_model = [&](bool keeps_rows) {
        const cuda_system& on = of.target.system();
        return wide_type(on, of.target.configuration(), of.weights, 0,
                         wide_products(backend::device::cublas_products<bfloat16>(on), {.keeps_rows = keeps_rows}));
    };
    const wide_type wide = wide_model(false), kept = wide_model(true);
    auto in_skinny = of.target.make_sequence(), in_wide = wide.make_sequence(), in_kept = kept.make_sequence();
    const device_watch watch;
    std::vector<prompt_rate> out;
    for (const std::size_t size : {512, 2048}) {
        const auto text = some_text(of.target, size);
        std::vector<double> rates[3];
        const auto rate = [&](const auto& model, auto& sequence) {
            model.truncate(sequence, 0);
            return static_cast<double>(size) /
                   watch.seconds(model.system(), [&] { model.extend_there(sequence, text, 1); });
        };
        for (std::size_t round = 0; round <= s.repeat; ++round) {
            const double now[] = {rate(of.target, in_skinny), rate(wide, in_wide), rate(kept, in_kept)};
            if (round == 0) continue;  // warms up, and makes caches as long as they must be
            for (std::size_t i = 0; i < 3; ++i) rates[i].push_back(now[i]);
        }
        out.push_back({size, median(rates[0]), median(rates[1]), median(rates[2])});
    }
    return out;
}

/// A greedy text, and what it took after the prompt.
struct decoding {
    std::vector<token> tokens;
    statistics counts;
    double rate = 0;  ///< tokens a second
};

template <class Scheme>
decoding decode_greedily(const Scheme& scheme, const std::vector<token>& prompt, std::size_t tokens) {
    transform::settings sampling;
    sampling.temperature = {0};
    commit::stop_conditions stop;
    stop.max_tokens = tokens;
    decode::session<Scheme> session(scheme, prompt, sampling, stop, random::philox_chooser(0));
    scheme.target().system().wait();
    const detail::stopwatch since;
    while (session.finished == finish_reason::running) decode::step(scheme, session);
    const double taken = since.seconds();
    const auto made = session.committed.generated();
    return {{made.begin(), made.end()}, session.counts, static_cast<double>(made.size()) / taken};
}

decoding speculate_greedily(const family& of, const settings& s, std::size_t prompt, std::size_t tokens) {
    const auto scheme = speculate(of.draft, of.target, policy::fixed_length{s.length}, accept::exact{});
    return decode_greedily(scheme, some_text(of.target, prompt), tokens);
}

/// By position: the share of tokens that are accepted where those before them are.
std::vector<double> acceptance_by_position(const decoding& of) {
    std::vector<double> rates;
    std::size_t judged = 0;
    for (const auto& at : of.counts.stages.back().positions) {
        if (rates.empty()) judged = at.drafted;
        rates.push_back(judged == 0 ? 0 : static_cast<double>(at.accepted) / static_cast<double>(judged));
        judged = at.accepted;
    }
    return rates;
}

/// The same over all positions.
double acceptance(const decoding& of) {
    const auto& positions = of.counts.stages.back().positions;
    std::size_t judged = 0, accepted = 0;
    for (std::size_t i = 0; i < positions.size(); ++i) {
        judged += i == 0 ? positions[i].drafted : positions[i - 1].accepted;
        accepted += positions[i].accepted;
    }
    return judged == 0 ? 0 : static_cast<double>(accepted) / static_cast<double>(judged);
}

/// The scale at which about that share of the draft's tokens is accepted, by short texts: six halvings of its
/// logarithm.
double find_depth_scale(const llama::config& shape, const settings& s) {
    double low = 0x1p-10, high = 1;
    for (int i = 0; i < 6; ++i) {
        const double middle = std::sqrt(low * high);
        const family made = family::make(shape, s, middle);
        (acceptance(speculate_greedily(made, s, 64, 128)) > s.acceptance ? low : high) = middle;
    }
    return std::sqrt(low * high);
}

struct comparison {
    double depth_scale = 0, acceptance = 0, accepted_length = 0, plain_rate = 0, rate = 0;
    double predicted_by_device = 0, predicted_by_wall = 0;  ///< tokens a second
    bool identical = true;
};

comparison compare(const family& of, const settings& s, const std::vector<pass>& passes, const pass& draft) {
    comparison out;
    std::vector<double> plain_rates, rates;
    const auto prompt = some_text(of.target, s.context);
    std::optional<decoding> last;
    for (std::size_t i = 0; i < s.repeat; ++i) {
        const decoding plain_one = decode_greedily(plain(of.target), prompt, s.tokens);
        last = speculate_greedily(of, s, s.context, s.tokens);
        plain_rates.push_back(plain_one.rate);
        rates.push_back(last->rate);
        out.identical = out.identical && plain_one.tokens == last->tokens;
    }
    out.plain_rate = median(plain_rates);
    out.rate = median(rates);
    out.acceptance = acceptance(*last);
    out.accepted_length = last->counts.accepted_length();
    const double kept = tune::expected_length(acceptance_by_position(*last)) / static_cast<double>(s.length + 1);
    const auto verifying =
        std::find_if(passes.begin(), passes.end(), [&](const pass& each) { return each.rows == s.length + 1; });
    const auto predicted = [&](double drafting, double pass_seconds) {
        const tune::verification link{s.length, kept, pass_seconds};
        return tune::throughput(1 / drafting, std::span(&link, 1));
    };
    out.predicted_by_device = predicted(draft.device, verifying->device);
    out.predicted_by_wall = predicted(draft.wall, verifying->wall);
    return out;
}

void print(const machine& m, const family& of, const std::vector<pass>& passes, const pass& draft,
           const std::vector<prompt_rate>& prompts, const comparison& c) {
    std::printf(
        "%s, driver %d, runtime %d, clocks up to %d MHz, of memory %d MHz, copies %.0f GB/s (read and written)\n",
        m.name.c_str(), m.driver, m.runtime, m.clock_khz / 1000, m.memory_clock_khz / 1000, m.bandwidth * 1e-9);
    std::printf("%.2f GB of weights a pass\n%4s %10s %8s %10s %10s %10s\n", of.bytes() * 1e-9, "n", "device ms",
                "ratio", "bandwidth", "wall ms", "host ms");
    for (const pass& each : passes) {
        std::printf("%4zu %10.3f %8.3f %9.1f%% %10.3f %10.3f\n", each.rows, each.device * 1e3,
                    each.device / passes.front().device, 100 * of.bytes() / each.device / m.bandwidth, each.wall * 1e3,
                    (each.wall - each.device) * 1e3);
    }
    for (const prompt_rate& each : prompts) {
        std::printf("prompt of %zu tokens: %.0f tokens/s, wide %.0f, with rows kept %.0f\n", each.tokens, each.skinny,
                    each.wide, each.kept);
    }
    std::printf("draft of %zu layers: %.3f ms on the device, %.3f ms in all\n", of.draft.layer_count(),
                draft.device * 1e3, draft.wall * 1e3);
    std::printf("depth scale %.5f: acceptance %.3f, accepted length %.2f, texts %s\n", c.depth_scale, c.acceptance,
                c.accepted_length, c.identical ? "identical" : "DIFFERENT");
    std::printf(
        "plain %.1f, ahead %.1f tokens/s: speedup %.3f; predicted from wall times %.1f, from device times %.1f\n",
        c.plain_rate, c.rate, c.rate / c.plain_rate, c.predicted_by_wall, c.predicted_by_device);
}

std::string json(const settings& s, const machine& m, const family& of, const std::vector<pass>& passes,
                 const pass& draft, const std::vector<prompt_rate>& prompts, const comparison& c) {
    std::ostringstream out;
    out << "{\"device\": \"" << m.name << "\", \"driver\": " << m.driver << ", \"runtime\": " << m.runtime
        << ", \"clock_khz\": " << m.clock_khz << ", \"memory_clock_khz\": " << m.memory_clock_khz
        << ", \"copy_bytes_per_second\": " << m.bandwidth << ",\n \"shape\": \"" << s.shape << "\", \"format\": \""
        << format_name << "\", \"layers\": " << of.target.layer_count() << ", \"context\": " << s.context
        << ", \"seed\": " << s.seed << ", \"repeat\": " << s.repeat << ", \"weight_bytes\": " << of.bytes()
        << ",\n \"passes\": [";
    for (const pass& each : passes) {
        out << (&each == &passes.front() ? "" : ", ") << "\n  {\"rows\": " << each.rows
            << ", \"device_seconds\": " << each.device << ", \"wall_seconds\": " << each.wall
            << ", \"ratio\": " << each.device / passes.front().device
            << ", \"bandwidth_share\": " << of.bytes() / each.device / m.bandwidth << '}';
    }
    out << "],\n \"prompts\": [";
    for (const prompt_rate& each : prompts) {
        out << (&each == &prompts.front() ? "" : ", ") << "\n  {\"tokens\": " << each.tokens
            << ", \"skinny_rate\": " << each.skinny << ", \"wide_rate\": " << each.wide
            << ", \"wide_rate_with_rows_kept\": " << each.kept << '}';
    }
    out << "],\n \"draft\": {\"layers\": " << of.draft.layer_count() << ", \"device_seconds\": " << draft.device
        << ", \"wall_seconds\": " << draft.wall << "},\n \"decoding\": {\"length\": " << s.length
        << ", \"tokens\": " << s.tokens << ", \"depth_scale\": " << c.depth_scale
        << ", \"acceptance\": " << c.acceptance << ", \"accepted_length\": " << c.accepted_length
        << ", \"identical\": " << (c.identical ? "true" : "false") << ", \"plain_rate\": " << c.plain_rate
        << ", \"rate\": " << c.rate << ", \"speedup\": " << c.rate / c.plain_rate
        << ", \"predicted_by_wall\": " << c.predicted_by_wall << ", \"predicted_by_device\": " << c.predicted_by_device
        << "}}\n";
    return out.str();
}

bool run(settings s) {
    const llama::config shape = llama::device::known_shape(s.shape, s.layers);
    if (s.exit == 0) s.exit = std::max<std::size_t>(1, shape.layers / 16);
    std::vector<std::size_t> rows{1, 2, 4, 8, 16, 32, 64, s.length + 1};
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    if (s.context == 0 || s.context + std::max(rows.back(), s.tokens) > shape.context) {
        detail::fail("--context ", s.context, " and what follows exceed 1 ... ", shape.context);
    }
    const machine m = describe(s.repeat);
    const double depth_scale = find_depth_scale(shape, s);
    const family made = family::make(shape, s, depth_scale);
    const auto passes = measure(made.target, rows, s);
    const pass draft = measure(made.draft, {1}, s).front();
    const auto prompts = measure_prompts(made, s);
    comparison compared = compare(made, s, passes, draft);
    compared.depth_scale = depth_scale;
    print(m, made, passes, draft, prompts, compared);
    if (!s.json.empty()) {
        std::ofstream out(s.json);
        out << json(s, m, made, passes, draft, prompts, compared);
        if (!out.flush()) detail::fail("cannot write ", s.json);
    }
    return compared.identical;
}

}  // namespace

int main(int argc, char** argv) {
    return run_on_gpu("bench_device", [&] { return run(read(argc, argv)); });
}
