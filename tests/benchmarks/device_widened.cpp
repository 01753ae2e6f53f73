#include <algorithm>
#include <augur/llama/host_model.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "../../benchmarks/gpu/widened.hpp"
#include "augur/llama/device/device_model.hpp"
#include "augur/types/error.hpp"
#include "llama/small_llama.hpp"

namespace device = augur::llama::device;
namespace kernels = augur::backend::device;

BOOST_AUTO_TEST_SUITE(benchmarks_device_widened)

using namespace augur;
using device::device_format;
using kernels::bfloat16, kernels::binary16, kernels::emulated_system;

namespace {

/// Added heads in groups and as groups, and added layers; no multiples of tiles.
const program::llama_shape same_heads{150, 250, 24, 4, 8, 4};
/// Heads three times as large, too.
const program::llama_shape larger_heads{192, 128, 10, 2, 24, 2};

llama::host_model loaded(const testing::small_llama& file) {
    const testing::temporary_directory folder;
    return llama::host_model::load(file.write(folder / "model.gguf"), {.threads = 1});
}

template <class Element, device_format F>
using model_type = device::device_model<Element, emulated_system, F>;

template <class Element, device_format F = device_format::elements>
model_type<Element, F> widened(const llama::host_model& narrow, const program::llama_shape& to,
                               bool backwards = false) {
    const emulated_system on{backwards};
    const llama::config wide = benchmarks::widened_config(narrow.configuration(), to);
    return {on, wide, benchmarks::make_widened<Element, F>(on, narrow.configuration(), narrow.parameters(), to, 7)};
}

std::vector<float> all_of(const scores& rows) {
    std::vector<float> out;
    for (std::size_t i = 0; i < rows.size(); ++i) out.insert(out.end(), rows[i].begin(), rows[i].end());
    return out;
}

/// Of 40 tokens; then of three more.
std::vector<float> logits_of(const auto& model) {
    auto s = model.make_sequence();
    auto out = all_of(model.extend(s, testing::some_tokens(40, model.vocabulary_size())));
    const auto more = all_of(model.extend(s, testing::some_tokens(3, model.vocabulary_size())));
    out.insert(out.end(), more.begin(), more.end());
    return out;
}

template <class Element, device_format F = device_format::elements>
void check_logits(const llama::host_model& narrow, const program::llama_shape& to, double tolerance) {
    const auto expected = logits_of(model_type<Element, F>({}, narrow));
    const auto got = logits_of(widened<Element, F>(narrow, to));
    BOOST_TEST_REQUIRE(got.size() == expected.size());
    double apart = 0, largest = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        apart = std::max(apart, std::abs(double{got[i]} - double{expected[i]}));
        largest = std::max(largest, std::abs(double{expected[i]}));
    }
    BOOST_TEST(apart < tolerance * largest, to.text() << ": " << apart << " of " << largest);
    BOOST_TEST((logits_of(widened<Element, F>(narrow, to, true)) == got));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_wider_llama_computes_the_same_logits) {
    const auto narrow = loaded(testing::small_llama());
    for (const auto& to : {same_heads, larger_heads}) {
        check_logits<binary16>(narrow, to, 0.005);
        check_logits<bfloat16>(narrow, to, 0.04);
    }
    auto untied = testing::small_llama();
    untied.shapes["output.weight"] = {77, 64};
    check_logits<binary16>(loaded(untied), same_heads, 0.005);
}

/// Where a block of 32 holds numbers and noise it is rounded in another way: widths here are multiples of it.
BOOST_AUTO_TEST_CASE(integers_are_the_small_ones) {
    check_logits<binary16, device_format::q8_0>(loaded(testing::small_llama()), {192, 256, 24, 4, 8, 4}, 0.05);
}

BOOST_AUTO_TEST_CASE(states_end_in_zeros_and_noise_is_there) {
    const auto narrow = loaded(testing::small_llama());
    const auto wide = widened<binary16>(narrow, same_heads);
    auto s = wide.make_sequence();
    wide.extend(s, testing::some_tokens(5, wide.vocabulary_size()));
    const scores states = wide.hidden(s);
    BOOST_TEST_REQUIRE(states.size() == 5u);
    for (std::size_t i = 0; i < states.size(); ++i) {
        BOOST_TEST(std::any_of(states[i].begin(), states[i].begin() + 64, [](float x) { return x != 0; }));
        BOOST_TEST(std::all_of(states[i].begin() + 64, states[i].end(), [](float x) { return x == 0; }));
    }
    for (const auto& layer : wide.shared_weights()->layers()) {
        const auto& view = layer.gate_up.view();
        std::size_t zeros = 0;
        for (std::size_t i = 0; i < view.tiles() * kernels::tile_layout::fragments; ++i) {
            for (const auto word : view.fragments[i].words) zeros += word == 0 ? 1 : 0;
        }
        const double words = 4.0 * static_cast<double>(view.tiles() * kernels::tile_layout::fragments);
        // 150 columns fill 5 blocks of 32, 250 rows of each 32 groups of 8: 8 % of the words are beyond
        BOOST_TEST(static_cast<double>(zeros) < 0.1 * words);
    }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_widened_is_refused) {
    const auto narrow = loaded(testing::small_llama());
    BOOST_CHECK_EXCEPTION(benchmarks::widened_config(narrow.configuration(), {32, 250, 24, 4, 8, 4}), augur::error,
                          [](const augur::error& e) {
                              return std::string(e.what()).find("cannot be widened to 32 x 250") != std::string::npos;
                          });
    const testing::temporary_directory folder;
    const auto some = llama::host_model::load(testing::small_llama().write(folder / "model.gguf"),
                                              {.threads = 1, .head_tokens = {1, 2, 3}});
    BOOST_CHECK_EXCEPTION(widened<binary16>(some, same_heads), augur::error, [](const augur::error& e) {
        return std::string(e.what()) == "a model with a head of 3 of 77 tokens is not widened on a device";
    });
}

BOOST_AUTO_TEST_SUITE_END()
