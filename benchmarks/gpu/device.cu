// What speculation is worth on a GPU: the time of a pass over n rows, T(n), and whole decodings beside plain ones, with
// random weights in the shape of a known model (synthetic.hpp), which are made on the GPU.
//
//   bench_device [--shape 8b] [--layers N] [--context 4096] [--contexts 256,1024] [--chain 10] [--exit K] [--length 5]
//                [--acceptance 0.8] [--tokens 128] [--repeat 9] [--seed 1] [--json FILE]
//
// Weights are bfloat16; bench_device_q8_0 and bench_device_q4_0 are the same program with integers
// (AUGUR_BENCHMARK_FORMAT). The draft is the model's first K layers (one in sixteen unless it is said) under its head;
// the scale of the other layers is searched for the acceptance. Passes over different rows, and decodings of either
// kind, take turns. A pass's time on the device is that of a chain of them, launched one after another, by their
// number; passes are measured after `--contexts`, too. `apart` is ||a - b|| / ||b|| of eight rows of logits by the
// model's kernel and by the plain one, which adds in another order. Exit code 77 where there is no GPU, 1 if a text
// differs from plain decoding's or rows are not near each other.

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "augur/accept/exact.hpp"
#include "augur/backend/device/cuda_system.hpp"
#include "augur/backend/device/wide_product.hpp"
#include "augur/decode/session.hpp"
#include "augur/decode/step.hpp"
#include "augur/detail/stopwatch.hpp"
#include "augur/llama/device/device_model.hpp"
#include "augur/policy/fixed_length.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/tune/throughput.hpp"
#include "augur/types/error.hpp"
#include "synthetic.hpp"
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
using plain_products =
    llama::device::wide_products<bfloat16, cuda_system, backend::device::plain_products<cuda_system>>;
using plain_type = llama::device::device_model<bfloat16, cuda_system, format, plain_products>;

constexpr const char* format_name = format == llama::device::device_format::elements ? "bf16"
                                    : format == llama::device::device_format::q8_0   ? "q8_0"
                                                                                     : "q4_0";

struct settings {
    std::string shape = "8b", json, contexts = "256,1024";
    std::size_t layers = 0, context = 4096, chain = 10, exit = 0, length = 5, tokens = 128, repeat = 9, seed = 1;
    double acceptance = 0.8;
};

settings read(int argc, char** argv) {
    settings s;
    const options named{{{"--shape", &s.shape}, {"--json", &s.json}, {"--contexts", &s.contexts}},
                        {{"--layers", &s.layers},
                         {"--context", &s.context},
                         {"--chain", &s.chain},
                         {"--exit", &s.exit},
                         {"--length", &s.length},
                         {"--tokens", &s.tokens},
                         {"--repeat", &s.repeat},
                         {"--seed", &s.seed}},
                        {{"--acceptance", &s.acceptance}}};
    named.read(argc, argv);
    if (s.repeat == 0 || s.tokens == 0 || s.length == 0 || s.chain == 0) {
        detail::fail("--repeat, --tokens, --length and --chain begin at 1");
    }
    return s;
}

/// A target and the draft that shares its weights.
struct family {
    std::shared_ptr<const llama::device::weights_on_device<bfloat16, cuda_system, format>> weights;
    model_type target, draft;

    static family make(const llama::config& shape, const settings& s, double depth_scale) {
        const cuda_system on = cuda_system::with_stream();
        const auto shared =
            make_weights<bfloat16, format>(on, {shape, s.seed, s.exit, static_cast<float>(depth_scale)});
        llama::config shallow = shape;
        shallow.layers = s.exit;
        return {shared, model_type(on, shape, shared), model_type(on, shallow, shared)};
    }
    /// Of the target's weights, those that a pass reads.
    double bytes() const {
        const llama::config& c = target.configuration();
        return static_cast<double>(target.memory_bytes() - c.vocabulary * c.width * sizeof(bfloat16));
    }
};

/// Seconds of a pass over so many rows.
struct pass {
    std::size_t rows = 0;
    double device = 0;  ///< of one of a chain: from its first kernel to its last, by its number of passes
    double wall = 0;    ///< of one by itself, until its rows are on the host
};
struct passes_after {
    std::size_t context = 0;
    std::vector<pass> passes;
};

/// Medians. Passes that are timed on the device and one that is timed on the host take turns, and so do the numbers of
/// rows, which ascend.
std::vector<pass> measure(const model_type& model, std::size_t context, const std::vector<std::size_t>& rows,
                          const settings& s) {
    const auto text = some_text(model.vocabulary_size(), std::max(context, rows.back()));
    auto sequence = model.make_sequence();
    model.extend_there(sequence, std::span(text).first(context), 0);
    const device_watch watch;
    std::vector<std::vector<double>> device(rows.size()), wall(rows.size());
    for (std::size_t round = 0; round <= s.repeat; ++round) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto tokens = std::span(text).first(rows[i]);
            const double chained = watch.seconds(model.system(), [&] {
                for (std::size_t link = 0; link < s.chain; ++link) {
                    model.extend_there(sequence, tokens, rows[i]);
                    model.truncate(sequence, context);
                }
            });
            const detail::stopwatch since;
            model.extend(sequence, tokens);
            const double in_all = since.seconds();
            model.truncate(sequence, context);
            if (round == 0) continue;  // warms up
            device[i].push_back(chained / static_cast<double>(s.chain));
            wall[i].push_back(in_all);
        }
    }
    std::vector<pass> out;
    for (std::size_t i = 0; i < rows.size(); ++i) out.push_back({rows[i], median(device[i]), median(wall[i])});
    return out;
}

/// The largest distance of eight rows from those of the plain kernel, after keys and values that are the same.
double apart_from_plain(const family& of, const settings& s) {
    const auto text = some_text(of.target.vocabulary_size(), std::min<std::size_t>(s.context, 256) + 8);
    const auto before = std::span(text).first(text.size() - 8), rows = std::span(text).last(8);
    const plain_type other(
        of.target.system(), of.target.configuration(), of.weights, 0,
        plain_products(backend::device::plain_products<cuda_system>{of.target.system()}, {.from = 1, .most_rows = 64}));
    auto a = of.target.make_sequence(), b = of.target.make_sequence();
    of.target.extend_there(a, before, 0);
    of.target.extend_there(b, before, 0);
    const scores got = of.target.extend(a, rows), expected = other.extend(b, rows);
    double most = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const double apart = distance(got[i], expected[i]);
        if (!(apart <= most)) most = apart;  // a NaN, too, and it stays
    }
    return most;
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
    const auto text = session.committed.generated();
    return {{text.begin(), text.end()}, session.counts, static_cast<double>(text.size()) / taken};
}

decoding speculate_greedily(const family& of, const settings& s, std::size_t prompt, std::size_t tokens) {
    const auto scheme = speculate(of.draft, of.target, policy::fixed_length{s.length}, accept::exact{});
    return decode_greedily(scheme, some_text(of.target.vocabulary_size(), prompt), tokens);
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
        const family models = family::make(shape, s, middle);
        (acceptance(speculate_greedily(models, s, 64, 128)) > s.acceptance ? low : high) = middle;
    }
    return std::sqrt(low * high);
}

struct comparison {
    double depth_scale = 0, acceptance = 0, accepted_length = 0, plain_rate = 0, rate = 0;
    double predicted_by_device = 0, predicted_by_wall = 0;  ///< tokens a second
    double apart = 0;                                       ///< from the plain kernel's rows
    bool identical = true;
};

comparison compare(const family& of, const settings& s, const std::vector<pass>& passes, const pass& draft) {
    comparison out;
    std::vector<double> plain_rates, rates;
    const auto prompt = some_text(of.target.vocabulary_size(), s.context);
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

/// Of keys and values, those that a pass reads.
double cache_bytes(const llama::config& c, std::size_t context) {
    return static_cast<double>(2 * c.layers * c.key_value_heads * c.head_size * sizeof(bfloat16) * context);
}

void print(const machine& m, const family& of, const std::vector<passes_after>& measured, const pass& draft) {
    m.print();
    for (const passes_after& after : measured) {
        const double bytes = of.bytes() + cache_bytes(of.target.configuration(), after.context);
        std::printf("after %zu tokens: %.2f GB of weights a pass, %.2f GB with keys and values\n", after.context,
                    of.bytes() * 1e-9, bytes * 1e-9);
        std::printf("%4s %10s %8s %10s %10s %10s %10s\n", "n", "device ms", "ratio", "weights", "all bytes", "wall ms",
                    "host ms");
        for (const pass& each : after.passes) {
            std::printf("%4zu %10.3f %8.3f %9.1f%% %9.1f%% %10.3f %10.3f\n", each.rows, each.device * 1e3,
                        each.device / after.passes.front().device, 100 * of.bytes() / each.device / m.bandwidth,
                        100 * bytes / each.device / m.bandwidth, each.wall * 1e3, (each.wall - each.device) * 1e3);
        }
    }
    std::printf("draft of %zu layers: %.3f ms on the device, %.3f ms in all\n", of.draft.layer_count(),
                draft.device * 1e3, draft.wall * 1e3);
}

void print(const comparison& c) {
    std::printf("depth scale %.5f: acceptance %.3f, accepted length %.2f, texts %s\n", c.depth_scale, c.acceptance,
                c.accepted_length, c.identical ? "identical" : "DIFFERENT");
    std::printf("rows apart from the plain kernel's by %.5f: %s\n", c.apart,
                c.apart < most_apart ? "near" : "NOT near");
    std::printf(
        "plain %.1f, ahead %.1f tokens/s: speedup %.3f; predicted from wall times %.1f, from device times %.1f\n",
        c.plain_rate, c.rate, c.rate / c.plain_rate, c.predicted_by_wall, c.predicted_by_device);
}

std::string json(const machine& m, const family& of, const passes_after& after) {
    std::ostringstream out;
    out << '[';
    for (const pass& each : after.passes) {
        const double bytes = of.bytes() + cache_bytes(of.target.configuration(), after.context);
        out << (&each == &after.passes.front() ? "" : ", ") << "{\"rows\": " << each.rows
            << ", \"device_seconds\": " << each.device << ", \"wall_seconds\": " << each.wall
            << ", \"ratio\": " << each.device / after.passes.front().device
            << ", \"bandwidth_share\": " << of.bytes() / each.device / m.bandwidth
            << ", \"bandwidth_share_with_cache\": " << bytes / each.device / m.bandwidth << '}';
    }
    out << ']';
    return out.str();
}

std::string json(const settings& s, const comparison& c) {
    std::ostringstream out;
    out << "{\"length\": " << s.length << ", \"tokens\": " << s.tokens << ", \"depth_scale\": " << c.depth_scale
        << ", \"acceptance\": " << c.acceptance << ", \"accepted_length\": " << c.accepted_length
        << ", \"identical\": " << (c.identical ? "true" : "false") << ", \"apart_from_plain_kernel\": " << c.apart
        << ", \"plain_rate\": " << c.plain_rate << ", \"rate\": " << c.rate
        << ", \"speedup\": " << c.rate / c.plain_rate << ", \"predicted_by_wall\": " << c.predicted_by_wall
        << ", \"predicted_by_device\": " << c.predicted_by_device << '}';
    return out.str();
}

std::string json(const settings& s, const machine& m, const family& of, const std::vector<passes_after>& measured,
                 const pass& draft, const comparison& c) {
    std::ostringstream out;
    out << "{\"program\": \"bench_device\", " << m.json() << ", \"shape\": \"" << s.shape << "\", \"format\": \""
        << format_name << "\", \"layers\": " << of.target.layer_count() << ", \"context\": " << s.context
        << ", \"chain\": " << s.chain << ", \"seed\": " << s.seed << ", \"repeat\": " << s.repeat
        << ", \"weight_bytes\": " << of.bytes() << ", \"passes\": " << json(m, of, measured.front())
        << ", \"after\": {";
    for (const passes_after& after : measured) {
        out << (&after == &measured.front() ? "" : ", ") << '"' << after.context << "\": " << json(m, of, after);
    }
    out << "}, \"draft\": {\"layers\": " << of.draft.layer_count() << ", \"device_seconds\": " << draft.device
        << ", \"wall_seconds\": " << draft.wall << "}, \"decoding\": " << json(s, c) << "}\n";
    return out.str();
}

/// --context first, then the others.
std::vector<std::size_t> contexts_of(const settings& s) {
    std::vector<std::size_t> out{s.context};
    std::istringstream rest(s.contexts);
    for (std::string each; std::getline(rest, each, ',');) {
        if (const std::size_t context = std::stoul(each); context != s.context) out.push_back(context);
    }
    return out;
}

bool run(settings s) {
    const llama::config shape = known_shape(s.shape, s.layers);
    if (s.exit == 0) s.exit = std::max<std::size_t>(1, shape.layers / 16);
    std::vector<std::size_t> rows{1, 2, 4, 8, 16, 32, 64, s.length + 1};
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    const auto contexts = contexts_of(s);
    for (const std::size_t context : contexts) {
        if (context == 0 || context + std::max(rows.back(), s.tokens) > shape.context) {
            detail::fail("a context of ", context, " tokens and what follows exceed 1 ... ", shape.context);
        }
    }
    const machine m = describe(s.repeat);
    const double depth_scale = find_depth_scale(shape, s);
    const family models = family::make(shape, s, depth_scale);
    std::vector<passes_after> measured;
    for (const std::size_t context : contexts) measured.push_back({context, measure(models.target, context, rows, s)});
    const pass draft = measure(models.draft, s.context, {1}, s).front();
    print(m, models, measured, draft);
    comparison compared = compare(models, s, measured.front().passes, draft);
    compared.depth_scale = depth_scale;
    compared.apart = apart_from_plain(models, s);
    print(compared);
    write_json(s.json, json(s, m, models, measured, draft, compared));
    return compared.identical && compared.apart < most_apart;
}

}  // namespace

int main(int argc, char** argv) {
    return run_on_gpu("bench_device", [&] { return run(read(argc, argv)); });
}
