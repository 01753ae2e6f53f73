// Tokens a second of a prompt on a GPU, through the skinny kernel and through cuBLASLt, its weights written out for
// each pass or kept, with random weights in the shape of a known model (synthetic.hpp).
//
//   bench_prompts [--shape 8b] [--layers N] [--repeat 9] [--seed 1] [--json FILE]
//
// Weights are bfloat16. The three kinds take turns, for prompts of 512 and 2048 tokens. Before that their last row of
// logits is compared: they add in different orders, so that what differs by more than rounding tells of a wrong kernel.
// Exit code 77 where there is no GPU, 1 where a row is not near the skinny kernel's.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "augur/backend/device/cublas_products.hpp"
#include "augur/backend/device/cuda_system.hpp"
#include "augur/llama/device/device_model.hpp"
#include "augur/types/error.hpp"
#include "synthetic.hpp"
#include "watch.hpp"

namespace {

using namespace augur;
using namespace augur::benchmarks;
using backend::device::bfloat16;
using weights_type = llama::device::weights_on_device<bfloat16, cuda_system>;
using model_type = llama::device::device_model<bfloat16, cuda_system>;
using wide_products = llama::device::wide_products<bfloat16, cuda_system, backend::device::cublas_products<bfloat16>>;
using wide_type =
    llama::device::device_model<bfloat16, cuda_system, llama::device::device_format::elements, wide_products>;

struct settings {
    std::string shape = "8b", json;
    std::size_t layers = 0, repeat = 9, seed = 1;
};

settings read(int argc, char** argv) {
    settings s;
    const options named{{{"--shape", &s.shape}, {"--json", &s.json}},
                        {{"--layers", &s.layers}, {"--repeat", &s.repeat}, {"--seed", &s.seed}},
                        {}};
    named.read(argc, argv);
    if (s.repeat == 0) detail::fail("--repeat begins at 1");
    return s;
}

/// Tokens a second of a prompt, from its first kernel to its last, and how far apart the kinds' last rows are.
struct prompt_rate {
    std::size_t tokens = 0;
    double skinny = 0, wide = 0, kept = 0;
    double wide_apart = 0, kept_apart = 0;
};

struct kinds {
    model_type skinny;
    wide_type wide, kept;

    static kinds make(const llama::config& shape, const settings& s) {
        const cuda_system on = cuda_system::with_stream();
        const auto weights = make_weights<bfloat16>(on, {shape, s.seed, shape.layers, 1});
        const auto wide_model = [&](bool keeps_rows) {
            return wide_type(on, shape, weights, 0,
                             wide_products(backend::device::cublas_products<bfloat16>(on),
                                           {.from = llama::device::wide_settings::measured, .keeps_rows = keeps_rows}));
        };
        return {model_type(on, shape, weights), wide_model(false), wide_model(true)};
    }
};

/// Medians, the three kinds in turns.
prompt_rate measure(const kinds& of, std::size_t size, const settings& s) {
    const auto text = some_text(of.skinny.vocabulary_size(), size);
    auto skinny = of.skinny.make_sequence();
    auto wide = of.wide.make_sequence(), kept = of.kept.make_sequence();
    const device_watch watch;
    const auto rate = [&](const auto& model, auto& sequence) {
        model.truncate(sequence, 0);
        return static_cast<double>(size) /
               watch.seconds(model.system(), [&] { model.extend_there(sequence, text, 1); });
    };
    std::vector<double> rates[3];
    for (std::size_t round = 0; round <= s.repeat; ++round) {
        const double now[] = {rate(of.skinny, skinny), rate(of.wide, wide), rate(of.kept, kept)};
        if (round == 0) continue;  // warms up, and makes caches as long as they must be
        for (std::size_t i = 0; i < 3; ++i) rates[i].push_back(now[i]);
    }
    const scores expected = of.skinny.rows(skinny);
    return {size,
            median(rates[0]),
            median(rates[1]),
            median(rates[2]),
            distance(of.wide.rows(wide)[0], expected[0]),
            distance(of.kept.rows(kept)[0], expected[0])};
}

/// From how many rows on passes were found to be better wide: 0 where none are.
std::size_t wide_from(const wide_type& of) {
    const std::size_t from = of.products().from();
    return from == llama::device::wide_settings::measured ? 0 : from;
}

void print_times(const char* name, const wide_type& of) {
    std::printf("%s from %zu rows on (0: never)\n", name, wide_from(of));
    for (const llama::device::product_times& each : of.products().measured()) {
        std::printf("  %5zu rows: products %.3f ms skinny, %.3f ms wide\n", each.rows, each.skinny_seconds * 1e3,
                    each.wide_seconds * 1e3);
    }
}

std::string json(const settings& s, const machine& m, const kinds& of, const std::vector<prompt_rate>& prompts) {
    std::ostringstream out;
    out << "{\"program\": \"bench_prompts\", " << m.json() << ", \"shape\": \"" << s.shape
        << "\", \"layers\": " << s.layers << ", \"seed\": " << s.seed << ", \"repeat\": " << s.repeat
        << ", \"wide_from\": " << wide_from(of.wide) << ", \"wide_from_with_rows_kept\": " << wide_from(of.kept)
        << ", \"prompts\": [";
    for (const prompt_rate& each : prompts) {
        out << (&each == &prompts.front() ? "" : ", ") << "{\"tokens\": " << each.tokens
            << ", \"skinny_rate\": " << each.skinny << ", \"wide_rate\": " << each.wide
            << ", \"wide_rate_with_rows_kept\": " << each.kept << ", \"wide_distance\": " << each.wide_apart
            << ", \"distance_with_rows_kept\": " << each.kept_apart << '}';
    }
    out << "]}\n";
    return out.str();
}

bool run(const settings& s) {
    const machine m = describe(s.repeat);
    const kinds models = kinds::make(known_shape(s.shape, s.layers), s);
    std::vector<prompt_rate> prompts;
    bool near = true;
    m.print();
    print_times("wide", models.wide);
    print_times("with rows kept, wide", models.kept);
    for (const std::size_t size : {512, 2048}) {
        prompts.push_back(measure(models, size, s));
        const prompt_rate& now = prompts.back();
        std::printf(
            "prompt of %zu tokens: %.0f tokens/s, wide %.0f, with rows kept %.0f; logits apart by %.5f and %.5f\n",
            now.tokens, now.skinny, now.wide, now.kept, now.wide_apart, now.kept_apart);
        near = near && now.wide_apart < most_apart && now.kept_apart < most_apart;
    }
    write_json(s.json, json(s, m, models, prompts));
    if (!near) std::printf("rows are NOT near each other: %g is allowed\n", most_apart);
    return near;
}

}  // namespace

int main(int argc, char** argv) {
    return run_on_gpu("bench_prompts", [&] { return run(read(argc, argv)); });
}
