// What it costs to decode on a GPU beside the passes: acceptance of a round by each criterion, and whole decodings
// launched as one graph, as a graph per round and round by round from the host, plain and ahead, which write the same
// text.
//
//   bench_loop [--shape 8b] [--layers N] [--exit K] [--context 4096] [--length 5] [--depth-scale 0.1] [--tokens 256]
//              [--vocabulary 128256] [--rows 8] [--repeat 9] [--seed 1] [--json FILE]
//
// Weights are random (synthetic.hpp); the draft is the model's first K layers, one in sixteen unless it is
// said, and the depth scale of the others says how often it is right. The kinds take turns; medians are shown.
// Exit code 77 where there is no GPU, 1 if texts differ.

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "augur/accept/coupled.hpp"
#include "augur/accept/exact.hpp"
#include "augur/accept/rejection_sampling.hpp"
#include "augur/accept/typical.hpp"
#include "augur/backend/device/cuda_system.hpp"
#include "augur/backend/device/round.hpp"
#include "augur/decode/device/generate.hpp"
#include "augur/decode/generate.hpp"
#include "augur/detail/stopwatch.hpp"
#include "augur/policy/fixed_length.hpp"
#include "augur/types/error.hpp"
#include "resident_model.hpp"
#include "synthetic.hpp"

namespace {

using namespace augur;
using namespace augur::benchmarks;

struct settings {
    std::string shape = "8b", json;
    std::size_t layers = 0, exit = 0, context = 4096, length = 5, tokens = 256, vocabulary = 128256, rows = 8,
                repeat = 9, seed = 1;
    double depth_scale = 0.1;
};

settings read(int argc, char** argv) {
    settings s;
    const options named{{{"--shape", &s.shape}, {"--json", &s.json}},
                        {{"--layers", &s.layers},
                         {"--exit", &s.exit},
                         {"--context", &s.context},
                         {"--length", &s.length},
                         {"--tokens", &s.tokens},
                         {"--repeat", &s.repeat},
                         {"--vocabulary", &s.vocabulary},
                         {"--rows", &s.rows},
                         {"--seed", &s.seed}},
                        {{"--depth-scale", &s.depth_scale}}};
    named.read(argc, argv);
    if (s.repeat == 0 || s.tokens == 0 || s.length == 0 || s.rows == 0) {
        detail::fail("--repeat, --tokens, --length and --rows begin at 1");
    }
    return s;
}

/// Seconds of one round's judgement: on the device, and of the host's time to launch it.
struct judgement {
    std::string name;
    double device = 0, host = 0;
};

template <class Criterion>
judgement judge_round(const cuda_system& on, const settings& s, const char* name, const Criterion& criterion,
                      const transform::settings& chosen, const backend::device::buffer<float, cuda_system>& logits,
                      const auto& proposed) {
    const backend::device::round_judge<Criterion, cuda_system> judge(on, s.vocabulary, s.rows, chosen, s.seed,
                                                                     criterion);
    const device_watch watch;
    std::vector<double> device, host;
    for (std::size_t round = 0; round <= s.repeat; ++round) {
        double launching = 0;
        const double taken = watch.seconds(on, [&] {
            const detail::stopwatch since;
            judge.judge(logits.data(), proposed, 1, round);
            launching = since.seconds();
        });
        if (round == 0) continue;  // warms up
        device.push_back(taken);
        host.push_back(launching);
    }
    return {name, median(device), median(host)};
}

/// Rows in which every drafted token is the favourite, so that all of them are judged; and a tree of the same tokens,
/// three after each, so that most are judged by what others have left.
std::vector<judgement> judge_rounds(const cuda_system& on, const settings& s) {
    std::mt19937 bits(static_cast<std::uint32_t>(s.seed));
    std::normal_distribution<float> normal;
    std::vector<float> rows(s.rows * s.vocabulary);
    std::vector<token> drafted(s.rows);
    for (float& logit : rows) logit = 2 * normal(bits);
    for (std::size_t i = 0; i < s.rows; ++i) {
        drafted[i] = static_cast<token>(bits() % s.vocabulary);
        rows[i * s.vocabulary + static_cast<std::size_t>(drafted[i])] = 40;
    }
    const backend::device::buffer<float, cuda_system> logits(on, std::span<const float>(rows));
    const backend::device::buffer<token, cuda_system> tokens(on, std::span<const token>(drafted));
    std::vector<std::int32_t> parents;
    for (std::size_t i = 0; i + 1 < s.rows; ++i) parents.push_back(static_cast<std::int32_t>(i / 3) - 1);
    const backend::device::buffer<std::int32_t, cuda_system> above(on, std::span<const std::int32_t>(parents));
    const backend::device::certain_chain chain{tokens.data(), s.rows - 1};
    const backend::device::drafted_tree<backend::device::certain_chain> tree{chain, above.data(), s.vocabulary};
    transform::settings greedy, cut;
    greedy.temperature = {0};
    cut.top_k.k = 40;
    cut.top_p.p = 0.9f;
    return {
        judge_round(on, s, "exact", accept::exact{}, greedy, logits, chain),
        judge_round(on, s, "coupled", accept::coupled{}, {}, logits, chain),
        judge_round(on, s, "rejection_sampling", accept::rejection_sampling{}, {}, logits, chain),
        judge_round(on, s, "rejection_sampling, top-k 40, top-p 0.9", accept::rejection_sampling{}, cut, logits, chain),
        judge_round(on, s, "rejection_sampling, tree", accept::rejection_sampling{}, {}, logits, tree),
        judge_round(on, s, "typical, tree", accept::typical{}, {}, logits, tree)};
}

/// Greedy decodings of one kind.
struct decoding {
    std::string name;
    double rate = 0;            ///< tokens a second, after the prompt
    double host_per_round = 0;  ///< seconds that the host spends launching
    double accepted_length = 0;
    std::vector<token> tokens;
};

class decodings {
 public:
    explicit decodings(const settings& s) : settings_(s), shape_(known_shape(s.shape, s.layers)) {
        const std::size_t capacity = s.context + s.tokens;
        if (s.context == 0 || capacity > shape_.context) {
            detail::fail("--context ", s.context, " and --tokens ", s.tokens, " exceed 1 ... ", shape_.context);
        }
        llama::config shallow = shape_;
        shallow.layers = s.exit == 0 ? std::max<std::size_t>(1, shape_.layers / 16) : s.exit;
        const auto weights = make_weights<bfloat16>(
            on_, {shape_, s.seed, shallow.layers, static_cast<float>(s.depth_scale)});
        target_.emplace(on_, shape_, weights);
        draft_.emplace(on_, shallow, weights);
        target_there_.emplace(*target_, capacity, std::bit_ceil(s.length + 1));
        draft_there_.emplace(*draft_, capacity, 2);
        options_.sampling.temperature = {0};
        options_.stop.max_tokens = s.tokens;
        prompt_ = some_text(shape_.vocabulary, s.context);
    }

    /// All kinds in turns.
    std::vector<decoding> run() {
        const policy::fixed_length ahead{settings_.length};
        decode::device::speculation_loop plain_loop(*target_there_, *target_there_, policy::fixed_length{0},
                                                    accept::exact{}, options_.sampling, 0);
        decode::device::speculation_loop loop(*target_there_, *draft_there_, ahead, accept::exact{}, options_.sampling,
                                              settings_.length);
        std::vector<decoding> ways{{"plain, from the host"}, {"plain, a graph per token"}, {"plain, one graph"},
                                   {"ahead, from the host"}, {"ahead, a graph per round"}, {"ahead, one graph"}};
        std::vector<std::vector<double>> rates(ways.size()), launching(ways.size());
        for (std::size_t round = 0; round <= settings_.repeat; ++round) {
            std::size_t kind = 0;
            const auto note = [&](const auto& generated, double host) {
                decoding& of = ways[kind];
                of.tokens = generated.tokens;
                of.accepted_length = generated.counts.accepted_length();
                if (round > 0) {  // the first warms up, and records
                    rates[kind].push_back(static_cast<double>(of.tokens.size()) / generated.counts.seconds.decoding());
                    launching[kind].push_back(host);
                }
                ++kind;
            };
            const auto with = [&](auto& of, const auto& scheme) {
                note(decode::generate(scheme, prompt_, options_), 0);
                note(decode::device::generate(of, prompt_, options_, loop_as::rounds),
                     launch_seconds(of, loop_as::rounds));
                note(decode::device::generate(of, prompt_, options_, loop_as::whole),
                     launch_seconds(of, loop_as::whole));
            };
            with(plain_loop, plain(*target_));
            with(loop, speculate(*draft_, *target_, ahead, accept::exact{}));
        }
        for (std::size_t i = 0; i < ways.size(); ++i) {
            ways[i].rate = median(rates[i]);
            ways[i].host_per_round = median(launching[i]);
        }
        return ways;
    }

 private:
    /// Of the host's, to launch a round of a short decoding: of all of them at once, or of each by itself.
    double launch_seconds(auto& loop, loop_as how) const {
        constexpr std::size_t launches = 16;
        const std::size_t prompt = std::min<std::size_t>(prompt_.size(), 8);
        const std::size_t most = how == loop_as::whole ? 64 : launches * (settings_.length + 1);
        loop.start(std::span(prompt_).first(prompt), std::min(prompt + most, loop.capacity()), {}, settings_.seed);
        double taken = 0;
        for (std::size_t i = 0; i < (how == loop_as::whole ? 1 : launches); ++i) {
            const detail::stopwatch since;
            loop.launch(how);
            taken += since.seconds();
            loop.wait();
        }
        return taken / static_cast<double>(loop.rounds());
    }

    settings settings_;
    llama::config shape_;
    cuda_system on_ = cuda_system::with_stream();
    std::optional<model_type> target_, draft_;
    std::optional<resident_type> target_there_, draft_there_;
    decode::options options_;
    std::vector<token> prompt_;
};

void print(const machine& m, const std::vector<judgement>& rounds, const std::vector<decoding>& ways) {
    m.print();
    std::printf("%-40s %10s %10s\n", "a round's judgement", "device us", "host us");
    for (const judgement& each : rounds) {
        std::printf("%-40s %10.2f %10.2f\n", each.name.c_str(), each.device * 1e6, each.host * 1e6);
    }
    std::printf("%-40s %10s %10s %10s %16s\n", "decoding", "tokens/s", "of plain", "length", "host us a round");
    for (const decoding& each : ways) {
        std::printf("%-40s %10.1f %10.3f %10.2f %16.2f\n", each.name.c_str(), each.rate, each.rate / ways.front().rate,
                    each.accepted_length, each.host_per_round * 1e6);
    }
}

std::string json(const settings& s, const machine& m, const std::vector<judgement>& rounds,
                 const std::vector<decoding>& ways) {
    std::ostringstream out;
    out << "{\"program\": \"bench_loop\", " << m.json() << ", \"shape\": \"" << s.shape
        << "\", \"context\": " << s.context << ", \"length\": " << s.length << ", \"tokens\": " << s.tokens
        << ", \"depth_scale\": " << s.depth_scale << ", \"vocabulary\": " << s.vocabulary << ", \"rows\": " << s.rows
        << ", \"repeat\": " << s.repeat << ", \"seed\": " << s.seed << ", \"rounds\": [";
    for (const judgement& each : rounds) {
        out << (&each == &rounds.front() ? "" : ", ") << "{\"name\": \"" << each.name
            << "\", \"device_seconds\": " << each.device << ", \"host_seconds\": " << each.host << '}';
    }
    out << "], \"decodings\": [";
    for (const decoding& each : ways) {
        out << (&each == &ways.front() ? "" : ", ") << "{\"name\": \"" << each.name << "\", \"rate\": " << each.rate
            << ", \"accepted_length\": " << each.accepted_length
            << ", \"host_seconds_per_round\": " << each.host_per_round << '}';
    }
    out << "]}\n";
    return out.str();
}

bool run(const settings& s) {
    const machine m = describe(s.repeat);
    const auto rounds = judge_rounds(cuda_system::with_stream(), s);
    const auto ways = decodings(s).run();
    print(m, rounds, ways);
    write_json(s.json, json(s, m, rounds, ways));
    const auto same = [&](const decoding& each) { return each.tokens == ways.front().tokens; };
    const bool identical = std::all_of(ways.begin(), ways.end(), same);
    std::printf("texts %s\n", identical ? "identical" : "DIFFERENT");
    return identical;
}

}  // namespace

int main(int argc, char** argv) {
    return run_on_gpu("bench_loop", [&] { return run(read(argc, argv)); });
}
