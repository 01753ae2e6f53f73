// Where the time of a pass goes on a GPU: every kernel of the Llama's pass by itself, for all layers one after another,
// beside the whole pass, with random weights in the shape of a known model (synthetic.hpp).
//
//   bench_parts [--shape 8b] [--layers N] [--contexts 256,4096] [--rows 1,2,4,8,16,32,64] [--chain 4] [--repeat 9]
//               [--seed 1] [--json FILE]
//
// Weights are bfloat16. A part is a graph of its launches, one for each layer, replayed `--chain` times; parts and rows
// take turns, medians are shown. `read` is the share of what a kernel that only reads the same weights reads in the
// same run: the best of several ways. `left` is the whole pass without its parts: what starting kernels costs beyond
// what these graphs have of it, less what overlaps. Exit code 77 where there is no GPU.

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "augur/backend/device/cuda_system.hpp"
#include "augur/backend/device/skinny_product.hpp"
#include "augur/llama/device/attention.hpp"
#include "augur/llama/device/device_model.hpp"
#include "augur/llama/device/forward.hpp"
#include "augur/types/error.hpp"
#include "synthetic.hpp"
#include "watch.hpp"

namespace {

using namespace augur;
using namespace augur::benchmarks;
namespace there = llama::device;
using backend::device::bfloat16, backend::device::buffer, backend::device::tile_layout;
using model_type = there::device_model<bfloat16, cuda_system>;

struct settings {
    std::string shape = "8b", json, contexts = "256,4096", rows = "1,2,4,8,16,32,64";
    std::size_t layers = 0, chain = 4, repeat = 9, seed = 1;
};

settings read(int argc, char** argv) {
    settings s;
    const options named{{{"--shape", &s.shape}, {"--json", &s.json}, {"--contexts", &s.contexts}, {"--rows", &s.rows}},
                        {{"--layers", &s.layers}, {"--chain", &s.chain}, {"--repeat", &s.repeat}, {"--seed", &s.seed}},
                        {}};
    named.read(argc, argv);
    if (s.repeat == 0 || s.chain == 0) detail::fail("--repeat and --chain begin at 1");
    return s;
}

std::vector<std::size_t> numbers_of(const std::string& listed, std::size_t most, const char* option) {
    std::vector<std::size_t> out;
    std::istringstream rest(listed);
    for (std::string each; std::getline(rest, each, ',');) {
        out.push_back(std::stoul(each));
        if (out.back() == 0 || out.back() > most) detail::fail(option, " takes 1 ... ", most, ", not ", out.back());
    }
    if (out.empty()) detail::fail(option, " names no number");
    return out;
}

/// Reads 16 bytes a thread, `Ahead` of them before the first is used, and adds their bits up so that none is dropped.
template <unsigned Ahead>
struct read_all {
    static constexpr unsigned threads = 256;

    const uint4* from;
    std::size_t count, blocks;
    std::uint32_t* sums;  ///< of each block

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    __device__ void operator()(const Team& team) const {
        team.each([&](unsigned thread) {
            std::uint32_t sum = 0;
            const std::size_t apart = blocks * threads;
            for (std::size_t first = team.block() * threads + thread; first < count; first += apart * Ahead) {
                uint4 read[Ahead];
#pragma unroll
                for (unsigned i = 0; i < Ahead; ++i) {
                    const std::size_t at = first + i * apart;
                    read[i] = at < count ? __ldcs(from + at) : uint4{};
                }
#pragma unroll
                for (unsigned i = 0; i < Ahead; ++i) sum ^= read[i].x ^ read[i].y ^ read[i].z ^ read[i].w;
            }
            atomicXor(sums + team.block(), sum);
        });
    }
};

/// Bytes a second that the best of some ways of only reading reaches, of what a pass reads most of: `bytes` in a row.
double read_bandwidth(const cuda_system& on, const settings& s, const void* from, std::size_t bytes) {
    int multiprocessors = 0;
    check_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0),
               "asking for multiprocessors");
    const buffer<std::uint32_t, cuda_system> sums(on, 64 * static_cast<std::size_t>(multiprocessors));
    on.clear(sums.data(), sums.memory_bytes());
    const device_watch watch;
    double best = 0;
    const auto attempt = [&]<unsigned Ahead>(std::size_t each) {
        const std::size_t blocks = each * static_cast<std::size_t>(multiprocessors);
        const read_all<Ahead> kernel{static_cast<const uint4*>(from), bytes / sizeof(uint4), blocks, sums.data()};
        std::vector<double> times;
        for (std::size_t i = 0; i <= s.repeat; ++i) {
            const double taken = watch.seconds(on, [&] { on.launch(blocks, kernel); });
            if (i > 0) times.push_back(taken);
        }
        best = std::max(best, static_cast<double>(bytes) / median(times));
    };
    for (const std::size_t each : {4u, 8u, 32u}) {
        attempt.template operator()<4>(each);
        attempt.template operator()<8>(each);
    }
    return best;
}

/// What a part's launches are, and the bytes that they must read.
struct part {
    std::string name;
    double bytes = 0;
    std::function<void()> launch;
};

struct part_time {
    std::string name;
    double seconds = 0, bytes = 0;
};
struct row_times {
    std::size_t context = 0, rows = 0;
    double pass = 0;
    std::vector<part_time> parts;
};

/// Everything that the kernels of a pass over so many rows read and write, made of random numbers.
class workbench {
 public:
    workbench(const model_type& model, std::size_t context, std::size_t most_rows)
        : model_(model), c_(model.configuration()), on_(model.system()), cache_(on_, layout()) {
        places_ = buffer<there::row_place, cuda_system>(on_, most_rows);
        turns_ = random<float>(most_rows * c_.rotary_size);
        queries_ = random<float>(most_rows * queries_size());
        state_ = random<float>(most_rows * c_.width);
        squares_ = random<float>(most_rows * (c_.width / tile_layout::rows + 1));
        scratch_ = buffer<float, cuda_system>(
            on_, there::scratch_floats(most_rows, c_.heads, c_.head_size, 2 * (context + most_rows) + 256));
        arrivals_ = buffer<std::uint32_t, cuda_system>(on_, most_rows * c_.key_value_heads);
        on_.clear(arrivals_.data(), arrivals_.memory_bytes());
        normed_ = random<bfloat16>(most_rows * tile_layout::padded(c_.width));
        mixed_ = random<bfloat16>(most_rows * tile_layout::padded(queries_size()));
        gated_ = random<bfloat16>(most_rows * tile_layout::padded(c_.feed_forward));
        logits_ = buffer<float, cuda_system>(on_, most_rows * c_.vocabulary);
        cache_.reserve(context + most_rows);
        std::vector<there::row_place> places(most_rows);
        for (std::size_t i = 0; i < most_rows; ++i) {
            const auto at = static_cast<std::int32_t>(context + i);
            places[i] = {cache_.blocks(), nullptr, at, at, at, static_cast<token>(i * 7919 % c_.vocabulary)};
        }
        on_.upload(places_.data(), places.data(), places.size() * sizeof places[0]);
        on_.wait();
    }

    /// Of a pass over so many rows after `context` tokens. They refer to this.
    std::vector<part> parts(std::size_t n, std::size_t context) const {
        const auto& weights = *model_.shared_weights();
        const auto cached = static_cast<double>(2 * c_.layers * c_.key_value_heads * c_.head_size * 2 * context);
        return {
            {"beginning", 0, [=, this] { begin(n); }},
            {"query, key, value", bytes_of(&there::layer_on_device<bfloat16, cuda_system>::query_key_value),
             [=, this] { each_layer([&](const auto& layer, std::size_t i) { query_key_value(layer, i, n); }); }},
            {"attention", cached,
             [=, this] { each_layer([&](const auto&, std::size_t i) { attend(i, n, context); }); }},
            {"attention's output", bytes_of(&there::layer_on_device<bfloat16, cuda_system>::attention_output),
             [=, this] {
                 each_layer([&](const auto& layer, std::size_t) {
                     multiply(layer.attention_output.view(), mixed_, n, prepared(layer), {});
                 });
             }},
            {"gate and up", bytes_of(&there::layer_on_device<bfloat16, cuda_system>::gate_up),
             [=, this] { each_layer([&](const auto& layer, std::size_t) { gate_up(layer, n); }); }},
            {"down", bytes_of(&there::layer_on_device<bfloat16, cuda_system>::down),
             [=, this] {
                 each_layer([&](const auto& layer, std::size_t) {
                     multiply(layer.down.view(), gated_, n, prepared(layer), {});
                 });
             }},
            {"head", static_cast<double>(c_.vocabulary * c_.width * sizeof(bfloat16)), [=, &weights, this] {
                 on_.launch(n, there::rms_norm<bfloat16>{read_by_next(weights.final_norm()), c_.norm_epsilon, nullptr});
                 multiply(weights.head(), normed_, n,
                          there::kernels::store_sums{logits_.data(), c_.vocabulary, c_.vocabulary}, {});
             }}};
    }

 private:
    there::cache_layout layout() const { return {c_.layers, c_.key_value_heads, c_.head_size}; }
    std::size_t queries_size() const { return c_.heads * c_.head_size; }
    std::size_t keys_size() const { return c_.key_value_heads * c_.head_size; }

    template <class T>
    buffer<T, cuda_system> random(std::size_t count) {
        std::normal_distribution<float> normal;
        std::vector<T> values(count);
        for (T& each : values) {
            if constexpr (std::is_same_v<T, float>)
                each = normal(bits_);
            else
                each = T::of(normal(bits_));
        }
        return {on_, std::span<const T>(values)};
    }

    double bytes_of(auto matrix) const {
        double total = 0;
        each_layer([&](const auto& layer, std::size_t) {
            total += static_cast<double>((layer.*matrix).view().tiles() * tile_layout::elements * sizeof(bfloat16));
        });
        return total;
    }
    template <class Use>
    void each_layer(const Use& use) const {
        const auto& layers = model_.shared_weights()->layers();
        for (std::size_t i = 0; i < layers.size(); ++i) use(layers[i], i);
    }

    void multiply(const auto& view, const buffer<bfloat16, cuda_system>& inputs, std::size_t n, const auto& finish,
                  const there::kernels::column_scales& scales) const {
        there::kernels::multiply(on_, view, inputs.data(), n, finish, scales);
    }
    there::norm_rows<bfloat16> read_by_next(const float* weight) const {
        return {state_.data(), weight, c_.width, normed_.data(), tile_layout::padded(c_.width)};
    }
    there::kernels::column_scales scales() const {
        return {squares_.data(), (c_.width + tile_layout::rows - 1) / tile_layout::rows, c_.width, c_.norm_epsilon};
    }
    there::kernels::add_and_prepare<bfloat16> prepared(const auto& layer) const {
        return {state_.data(),  c_.width, layer.feed_forward_norm.data(), normed_.data(), tile_layout::padded(c_.width),
                squares_.data()};
    }

    void begin(std::size_t n) const {
        const auto& weights = *model_.shared_weights();
        on_.launch(n, there::embed<bfloat16>{places_.data(), weights.embedding(), c_.width, state_.data()});
        on_.launch(n, there::find_turns{places_.data(), weights.frequencies(), c_.rotary_size / 2, turns_.data()});
        on_.launch(
            n, there::prepare_rows<bfloat16>{read_by_next(weights.layers()[0].attention_norm.data()), squares_.data()});
    }
    void query_key_value(const auto& layer, std::size_t index, std::size_t n) const {
        const float scale = 1.0f / std::sqrt(static_cast<float>(c_.head_size));
        multiply(layer.query_key_value.view(), normed_, n,
                 there::place_sums<bfloat16>{places_.data(), turns_.data(), queries_.data(), layout(), index,
                                             queries_size(), keys_size(), c_.rotary_size / 2, scale},
                 scales());
    }
    void attend(std::size_t index, std::size_t n, std::size_t context) const {
        std::size_t longest = there::cache_layout::block_positions;
        while (longest < context + n) longest *= 2;
        there::attend_all(on_, there::attention_task<bfloat16>{places_.data(), n, longest, layout(), index, c_.heads,
                                                               queries_.data(), scratch_.data(), mixed_.data(),
                                                               tile_layout::padded(queries_size()), arrivals_.data()});
    }
    void gate_up(const auto& layer, std::size_t n) const {
        multiply(
            layer.gate_up.view(), normed_, n,
            there::kernels::gate_sums<bfloat16>{gated_.data(), c_.feed_forward, tile_layout::padded(c_.feed_forward)},
            scales());
    }

    const model_type& model_;
    const llama::config& c_;
    cuda_system on_;
    std::mt19937 bits_{1};
    there::kv_cache<bfloat16, cuda_system> cache_;
    buffer<there::row_place, cuda_system> places_;
    buffer<float, cuda_system> turns_, queries_, state_, squares_, scratch_, logits_;
    buffer<std::uint32_t, cuda_system> arrivals_;
    buffer<bfloat16, cuda_system> normed_, mixed_, gated_;
};

/// Medians of all parts and of the whole pass, in turns.
row_times measure(const model_type& model, const settings& s, std::size_t context, std::size_t n) {
    const cuda_system on = model.system();
    const workbench bench(model, context, n);
    const auto parts = bench.parts(n, context);
    std::vector<cuda_system::recording> recordings;
    for (const part& each : parts) recordings.push_back(on.record(each.launch));
    const auto text = some_text(model.vocabulary_size(), std::max(context, n));
    auto sequence = model.make_sequence();
    model.extend_there(sequence, std::span(text).first(context), 0);
    const device_watch watch;
    std::vector<std::vector<double>> times(parts.size() + 1);
    for (std::size_t round = 0; round <= s.repeat; ++round) {
        for (std::size_t i = 0; i <= parts.size(); ++i) {
            const double taken = watch.seconds(on, [&] {
                for (std::size_t link = 0; link < s.chain; ++link) {
                    if (i < parts.size()) {
                        on.replay(recordings[i]);
                    } else {
                        model.extend_there(sequence, std::span(text).first(n), n);
                        model.truncate(sequence, context);
                    }
                }
            });
            if (round > 0) times[i].push_back(taken / static_cast<double>(s.chain));
        }
    }
    row_times out{context, n, median(times.back()), {}};
    for (std::size_t i = 0; i < parts.size(); ++i)
        out.parts.push_back({parts[i].name, median(times[i]), parts[i].bytes});
    return out;
}

double left_of(const row_times& of) {
    double left = of.pass;
    for (const part_time& each : of.parts) left -= each.seconds;
    return left;
}

void print(const machine& m, double read, const std::vector<row_times>& measured) {
    m.print();
    std::printf("reading alone: %.0f GB/s\n", read * 1e-9);
    for (const row_times& of : measured) {
        std::printf("after %zu tokens, %zu rows: %.3f ms\n", of.context, of.rows, of.pass * 1e3);
        for (const part_time& each : of.parts) {
            std::printf("  %-20s %9.1f us %6.1f%% of the pass", each.name.c_str(), each.seconds * 1e6,
                        100 * each.seconds / of.pass);
            if (each.bytes > 0) std::printf(", read %5.1f%%", 100 * each.bytes / each.seconds / read);
            std::printf("\n");
        }
        std::printf("  %-20s %9.1f us\n", "left", left_of(of) * 1e6);
    }
}

std::string json(const settings& s, const machine& m, double read, const std::vector<row_times>& measured) {
    std::ostringstream out;
    out << "{\"program\": \"bench_parts\", " << m.json() << ", \"read_bytes_per_second\": " << read << ", \"shape\": \""
        << s.shape << "\", \"chain\": " << s.chain << ", \"seed\": " << s.seed << ", \"repeat\": " << s.repeat
        << ", \"measured\": [";
    for (const row_times& of : measured) {
        out << (&of == &measured.front() ? "" : ", ") << "{\"context\": " << of.context << ", \"rows\": " << of.rows
            << ", \"pass_seconds\": " << of.pass << ", \"left_seconds\": " << left_of(of) << ", \"parts\": {";
        for (const part_time& each : of.parts) {
            out << (&each == &of.parts.front() ? "" : ", ") << '"' << each.name << "\": {\"seconds\": " << each.seconds
                << ", \"bytes\": " << each.bytes << '}';
        }
        out << "}}";
    }
    out << "]}\n";
    return out.str();
}

bool run(const settings& s) {
    const llama::config shape = known_shape(s.shape, s.layers);
    const auto rows = numbers_of(s.rows, backend::device::most_columns, "--rows");
    const auto contexts = numbers_of(s.contexts, shape.context - backend::device::most_columns, "--contexts");
    const machine m = describe(s.repeat);
    const cuda_system on = cuda_system::with_stream();
    const auto weights = make_weights<bfloat16>(on, {shape, s.seed, shape.layers, 1});
    const model_type model(on, shape, weights);
    const double read = read_bandwidth(on, s, weights->head().fragments,
                                       weights->head().tiles() * tile_layout::elements * sizeof(bfloat16));
    std::vector<row_times> measured;
    for (const std::size_t context : contexts) {
        for (const std::size_t n : rows) measured.push_back(measure(model, s, context, n));
    }
    print(m, read, measured);
    write_json(s.json, json(s, m, read, measured));
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    return run_on_gpu("bench_parts", [&] { return run(read(argc, argv)); });
}
