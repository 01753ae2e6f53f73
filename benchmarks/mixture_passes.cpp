// Passes over 1 to 8 new rows of a mixture of experts of random weights, after 64 tokens.
//
//   bench_mixture_passes [EXPERTS] [USED] [THREADS]
//
// as in  bench_mixture_passes 8 2 2.  Six layers 1024 wide, experts of 1792, 32,000 tokens, BF16: 312 million
// parameters with 8 experts. The tokens are random, and so are the choices of their experts. Medians of 25 passes of
// each length in turns, in milliseconds, and as a multiple of one row's.

#include <algorithm>
#include <augur/backend/host/packed_matrix.hpp>
#include <augur/io/files/quantize.hpp>
#include <augur/llama/host_model.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace augur;
using backend::host::packed_matrix;
using backend::host::storage;

/// Rows are windows on one list of random numbers.
class random_weights {
 public:
    packed_matrix matrix(std::size_t rows, std::size_t depth, storage format, float scale) {
        packed_matrix out(format, rows, depth);
        std::normal_distribution<float> number(0, scale);
        std::vector<float> list(rows + depth), values(depth);
        for (float& each : list) each = number(random_);
        std::vector<std::byte> row(depth * backend::host::layout_of(format).file_bytes);
        for (std::size_t i = 0; i < rows; ++i) {
            for (std::size_t k = 0; k < depth; ++k) values[k] = list[(i * 7919 + k) % list.size()];
            io::quantize(format == storage::f32 ? io::tensor_type::f32 : io::tensor_type::bf16, values, row);
            out.set_row(i, row);
        }
        return out;
    }
    packed_matrix matrix(std::size_t rows, std::size_t depth) { return matrix(rows, depth, storage::bf16, 0.03f); }

 private:
    std::mt19937 random_{1};
};

llama::host_model model_of(const llama::config& c, std::size_t threads) {
    random_weights random;
    llama::weights w;
    w.embedding = std::make_shared<const packed_matrix>(random.matrix(c.vocabulary, c.width, storage::bf16, 1.0f));
    w.final_norm.assign(c.width, 1.0f);
    for (std::size_t i = 0; i < c.layers; ++i) {
        llama::layer_weights layer;
        layer.attention_norm = layer.feed_forward_norm = w.final_norm;
        const std::size_t queries = c.heads * c.head_size, keys = c.key_value_heads * c.head_size;
        layer.query = random.matrix(queries, c.width);
        layer.key = random.matrix(keys, c.width);
        layer.value = random.matrix(keys, c.width);
        layer.attention_output = random.matrix(c.width, queries);
        layer.router = random.matrix(c.experts.count, c.width, storage::f32, 0.03f);
        for (std::size_t expert = 0; expert < c.experts.count; ++expert) {
            llama::expert_weights next;
            next.gate = random.matrix(c.experts.feed_forward, c.width);
            next.up = random.matrix(c.experts.feed_forward, c.width);
            next.down = random.matrix(c.width, c.experts.feed_forward);
            layer.experts.push_back(std::move(next));
        }
        w.layers.push_back(std::make_shared<const llama::layer_weights>(std::move(layer)));
    }
    return {c, std::move(w), {.threads = threads}};
}

void measure(const llama::host_model& model) {
    constexpr std::size_t longest = 8, passes = 25;
    std::mt19937 random(5);
    const auto tokens = [&](std::size_t count) {
        std::vector<token> out(count);
        for (token& each : out) each = static_cast<token>(random() % model.vocabulary_size());
        return out;
    };
    auto sequence = model.make_sequence();
    model.extend(sequence, tokens(64), 1);
    std::vector<std::vector<double>> times(longest);
    for (std::size_t pass = 0; pass < passes; ++pass) {
        for (std::size_t rows = 1; rows <= longest; ++rows) {
            const auto text = tokens(rows);
            const auto start = std::chrono::steady_clock::now();
            model.extend(sequence, text);
            const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
            times[rows - 1].push_back(taken.count());
            model.truncate(sequence, 64);
        }
    }
    for (auto& each : times) std::nth_element(each.begin(), each.begin() + passes / 2, each.end());
    for (std::size_t rows = 1; rows <= longest; ++rows) {
        const double median = times[rows - 1][passes / 2];
        std::printf("%zu rows: %.2f ms, %.2f\n", rows, median, median / times[0][passes / 2]);
    }
}

}  // namespace

int main(int count, char** given) try {
    const auto number = [&](int at, std::size_t fallback) { return at < count ? std::stoul(given[at]) : fallback; };
    llama::config c;
    c.layers = 6;
    c.width = 1024;
    c.heads = 16;
    c.key_value_heads = 4;
    c.head_size = c.rotary_size = 64;
    c.feed_forward = c.experts.feed_forward = 1792;
    c.vocabulary = 32000;
    c.context = 512;
    c.tied_head = true;
    c.experts.count = number(1, 8);
    c.experts.used = number(2, 2);
    llama::validate(c, "the shape");
    const auto model = model_of(c, number(3, 0));
    std::printf("%zu parameters in %zu bytes\n", model.parameter_count(), model.memory_bytes());
    measure(model);
} catch (const std::exception& caught) {
    std::fprintf(stderr, "%s\n", caught.what());
    return 1;
}
