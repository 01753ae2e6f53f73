#include <algorithm>
#include <array>
#include <augur/accept/exact.hpp>
#include <augur/decode/generate.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/testing/compare_rows.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../../benchmarks/gpu/synthetic.hpp"
#include "augur/llama/device/device_model.hpp"
#include "sanitized.hpp"

namespace device = augur::llama::device;
namespace kernels = augur::backend::device;
namespace benchmarks = augur::benchmarks;

BOOST_AUTO_TEST_SUITE(benchmarks_device_synthetic)

using augur::token;
using device::device_format, benchmarks::matrix_name, benchmarks::random_matrix;
using kernels::bfloat16, kernels::binary16, kernels::emulated_system;

namespace {

constexpr std::size_t first_deep = 2;

/// Odd sizes, none a multiple of a tile's.
augur::llama::config odd_shape() {
    auto c = benchmarks::known_shape("8b", 3);
    c.width = 37;
    c.heads = 6;
    c.key_value_heads = 3;
    c.head_size = c.rotary_size = 6;
    c.feed_forward = 43;
    c.vocabulary = 51;
    return c;
}

augur::llama::config small_shape(bool tied) {
    auto c = benchmarks::known_shape(tied ? "3b" : "8b", 6);
    c.width = 64;
    c.heads = 8;
    c.key_value_heads = 4;
    c.head_size = c.rotary_size = 8;
    c.feed_forward = 96;
    c.vocabulary = 300;
    return c;
}

template <class Element, device_format F = device_format::elements>
auto weights_of(const benchmarks::synthetic& of, bool backwards = false) {
    return benchmarks::make_weights<Element, F>(emulated_system{backwards}, of);
}

template <class Element, device_format F = device_format::elements>
using model_type = device::device_model<Element, emulated_system, F>;

/// A matrix's padded numbers, row after row.
template <class Element>
std::vector<float> unpacked(const kernels::tiled_view<Element>& view) {
    using layout = kernels::tile_layout;
    const std::size_t depth = view.padded_depth();
    std::vector<float> out(view.panels * layout::rows * depth);
    for (std::size_t i = 0; i < out.size(); ++i) {
        const std::size_t row = i / depth, k = i % depth;
        const auto* const tile =
            view.fragments + (row / layout::rows * view.blocks + k / layout::depth) * layout::fragments;
        const std::size_t place = layout::place(row % layout::rows, k % layout::depth);
        const std::uint32_t word = tile[place / 8].words[place % 8 / 2];
        out[i] = Element::from_bits(static_cast<std::uint16_t>(word >> place % 2 * 16)).value();
    }
    return out;
}

/// What the matrix is to be, from its numbers one at a time.
template <class Element>
std::vector<float> expected(const random_matrix& of, std::size_t rows, std::size_t depth) {
    std::vector<float> out(rows * depth);
    for (std::size_t row = 0; row < of.rows; ++row) {
        for (std::size_t k = 0; k < of.depth; ++k) {
            out[row * depth + k] = Element::of(of.four(row, k / 4 * 4)[k % 4]).value();
        }
    }
    return out;
}

template <class T>
std::vector<std::byte> bytes_of(const T* from, std::size_t size) {
    std::vector<std::byte> out(size * sizeof(T));
    std::memcpy(out.data(), from, out.size());
    return out;
}

/// Equal, integer for integer and scale for scale, to what the host makes of the Elements.
template <class Element, unsigned Bits>
void check_integers(const kernels::quantised_view<Element, Bits>& view, const kernels::tiled_view<Element>& elements) {
    const std::size_t depth = elements.padded_depth();
    const auto numbers = unpacked(elements);
    const kernels::quantised_matrix<Element, Bits, emulated_system> wanted(
        {}, elements.rows, depth, [&](std::size_t row, std::span<float> out) {
            std::copy_n(numbers.begin() + static_cast<std::ptrdiff_t>(row * depth), depth, out.begin());
        });
    BOOST_TEST(view.rows == elements.rows);
    BOOST_TEST_REQUIRE(view.tiles() == elements.tiles());
    const std::size_t lanes = view.tiles() * kernels::warp_size;
    BOOST_TEST((bytes_of(view.integers, lanes) == bytes_of(wanted.integers(), lanes)));
    BOOST_TEST((bytes_of(view.scales, view.tiles()) == bytes_of(wanted.scales(), view.tiles())));
}

/// Every matrix of a model, by its layer, unpacked.
template <class Element>
std::vector<std::vector<float>> matrices(const device::weights_on_device<Element, emulated_system>& of) {
    std::vector<std::vector<float>> out{unpacked(of.head())};
    for (const auto& layer : of.layers()) {
        for (const auto* each : {&layer.query_key_value, &layer.attention_output, &layer.gate_up, &layer.down}) {
            out.push_back(unpacked(each->view()));
        }
    }
    return out;
}

double mean(const std::vector<float>& of, double power) {
    double sum = 0;
    for (const float x : of) sum += std::pow(static_cast<double>(x), power);
    return sum / static_cast<double>(of.size());
}

void refuses(const std::function<void()>& what, const std::string& text) {
    BOOST_CHECK_EXCEPTION(what(), augur::error,
                          [&](const augur::error& e) { return std::string(e.what()).find(text) != std::string::npos; });
}

}  // namespace

template <class Element>
void check_matrices(bool backwards) {
    const auto c = odd_shape();
    const std::uint64_t seed = 0x500000003;
    const auto w = weights_of<Element>({c, seed, 1, 0.5f}, backwards);
    const auto check = [&](const kernels::tiled_view<Element>& view, const random_matrix& from) {
        BOOST_TEST(view.rows == from.rows);
        BOOST_TEST(
            (unpacked(view) == expected<Element>(from, view.panels * kernels::tile_layout::rows, view.padded_depth())));
    };
    check(w->head(), {seed, matrix_name::head, 0, 51, 37});
    for (std::size_t i = 0; i < 3; ++i) {
        const auto& layer = w->layers()[i];
        const float gain = i < 1 ? 1 : 0.5f;
        check(layer.query_key_value.view(), {seed, matrix_name::query_key_value, i, 72, 37});
        check(layer.attention_output.view(), {seed, matrix_name::attention_output, i, 37, 36, gain / 4});
        check(layer.gate_up.view(), {seed, matrix_name::gate_up, i, 96, 37});
        check(layer.down.view(), {seed, matrix_name::down, i, 37, 43, gain});
        BOOST_TEST((layer.attention_norm.on_host() == std::vector<float>(37, 1.0f)));
        BOOST_TEST((layer.feed_forward_norm.on_host() == std::vector<float>(37, 1.0f)));
    }
    std::vector<float> rows;
    for (std::size_t i = 0; i < 51 * 37; ++i) rows.push_back(w->embedding()[i].value());
    BOOST_TEST((rows == expected<Element>({seed, matrix_name::embedding, 0, 51, 37}, 51, 37)));
}

BOOST_AUTO_TEST_CASE(every_number_is_that_of_its_name) {
    check_matrices<bfloat16>(false);
    check_matrices<binary16>(true);
}

/// The name is the counter {k / 4, row, matrix, layer}; 24 bits of each word count, the last of them always set.
BOOST_AUTO_TEST_CASE(numbers_are_odd_multiples_of_a_unit) {
    const random_matrix m(0x100000002, matrix_name::gate_up, 2, 20, 48);
    BOOST_TEST(m.unit == 0.25f * 0x1p-23f);  // sqrt(3 / 48) is a power of two: products are exact
    const auto words = augur::random::philox4x32({5, 7, 4, 2}, {2, 1});
    const auto numbers = m.four(7, 20);
    for (std::size_t i = 0; i < 4; ++i) {
        const double multiple = static_cast<double>(numbers[i] / m.unit);
        BOOST_TEST(std::abs(multiple - (static_cast<double>(words[i]) * 0x1p-8 - 0x1p23)) < 1);
        BOOST_TEST(std::fmod(std::abs(multiple), 2) == 1);
    }
    BOOST_TEST((m.four(20, 0) == std::array<float, 4>{}));
    BOOST_TEST((m.four(0, 48) == std::array<float, 4>{}));
}

BOOST_AUTO_TEST_CASE(a_tied_head_is_the_embedding) {
    auto c = odd_shape();
    c.tied_head = true;
    const auto w = weights_of<bfloat16>({c, 4});
    const auto head = unpacked(w->head());
    for (std::size_t i = 0; i < 51 * 37; ++i) {
        BOOST_REQUIRE(head[i / 37 * w->head().padded_depth() + i % 37] == w->embedding()[i].value());
    }
}

BOOST_AUTO_TEST_CASE(equal_seeds_are_equal_bits_and_nothing_else_is) {
    const auto c = odd_shape();
    const auto first = matrices(*weights_of<bfloat16>({c, 1})), again = matrices(*weights_of<bfloat16>({c, 1}, true));
    BOOST_TEST((first == again));
    for (const std::uint64_t seed : {std::uint64_t{2}, std::uint64_t{1} << 32 | 1}) {
        const auto other = matrices(*weights_of<bfloat16>({c, seed}));
        for (std::size_t i = 0; i < first.size(); ++i) BOOST_TEST((first[i] != other[i]));
    }
    // Rows of all matrices are different from each other, as far as they have numbers of the same places.
    std::vector<std::vector<float>> rows;
    for (std::size_t name = 0; name < 6; ++name) {
        for (std::size_t layer = 0; layer < 2; ++layer) {
            const random_matrix of(1, static_cast<matrix_name>(name), layer, 20, 37);
            const auto numbers = expected<bfloat16>(of, 20, 37);
            for (auto row = numbers.begin(); row != numbers.end(); row += 37) rows.emplace_back(row, row + 37);
        }
    }
    std::sort(rows.begin(), rows.end());
    BOOST_TEST((std::adjacent_find(rows.begin(), rows.end()) == rows.end()));
}

/// Sixty thousand uniform numbers: five standard errors.
BOOST_AUTO_TEST_CASE(numbers_have_the_deviation_that_is_promised) {
    for (const float gain : {1.0f, 0.125f}) {
        const random_matrix of(9, matrix_name::down, 3, 300, 200, gain);
        const auto numbers = expected<binary16>(of, 300, 200);
        const double deviation = static_cast<double>(gain) / std::sqrt(200.0), size = 60000;
        BOOST_TEST(std::abs(mean(numbers, 1)) < 5 * deviation / std::sqrt(size));
        BOOST_TEST(std::abs(mean(numbers, 2) / (deviation * deviation) - 1) < 5 * std::sqrt(0.8 / size));
        BOOST_TEST(static_cast<double>(*std::max_element(numbers.begin(), numbers.end())) <
                   1.001 * std::sqrt(3.0) * deviation);
    }
}

template <class Element, device_format F>
void check_quantised(bool tied, bool backwards) {
    auto c = odd_shape();
    c.tied_head = tied;
    c.feed_forward = 1100;  // more blocks in a row than a block's threads take at once
    const benchmarks::synthetic of{c, 0x500000003, 1, 0.5f};
    const auto elements = weights_of<Element>(of);
    const auto w = weights_of<Element, F>(of, backwards);
    check_integers(w->head(), elements->head());
    for (std::size_t i = 0; i < 3; ++i) {
        const auto& layer = w->layers()[i];
        const auto& wanted = elements->layers()[i];
        check_integers(layer.query_key_value.view(), wanted.query_key_value.view());
        check_integers(layer.attention_output.view(), wanted.attention_output.view());
        check_integers(layer.gate_up.view(), wanted.gate_up.view());
        check_integers(layer.down.view(), wanted.down.view());
        BOOST_TEST((layer.attention_norm.on_host() == std::vector<float>(37, 1.0f)));
        BOOST_TEST((layer.feed_forward_norm.on_host() == std::vector<float>(37, 1.0f)));
    }
    const std::size_t size = c.vocabulary * c.width;
    BOOST_TEST((bytes_of(w->embedding(), size) == bytes_of(elements->embedding(), size)));
}

BOOST_AUTO_TEST_CASE(integers_are_those_that_quantising_the_elements_gives) {
    check_quantised<bfloat16, device_format::q8_0>(false, false);
    check_quantised<bfloat16, device_format::q4_0>(true, true);
    check_quantised<binary16, device_format::q8_0>(true, true);
    check_quantised<binary16, device_format::q4_0>(false, false);
}

/// How many of 60 tokens, chosen greedily by a model, its first layers choose too.
template <device_format F>
std::size_t agreement(bool tied, float depth_scale) {
    const auto c = small_shape(tied);
    const auto w = weights_of<bfloat16, F>({c, 7, first_deep, depth_scale});
    auto shallow = c;
    shallow.layers = first_deep;
    const model_type<bfloat16, F> target({}, c, w), draft({}, shallow, w);
    BOOST_TEST(draft.layer_count() == first_deep);
    auto a = target.make_sequence();
    auto b = draft.make_sequence();
    const auto best = [](augur::logit_row row) { return std::max_element(row.begin(), row.end()) - row.begin(); };
    std::size_t same = 0;
    std::vector<token> next = {1, 2, 3, 4, 5};
    for (int i = 0; i < 60; ++i) {
        const auto chosen = best(target.extend(a, next, 1)[0]);
        same += chosen == best(draft.extend(b, next, 1)[0]) ? 1 : 0;
        next = {static_cast<token>(chosen)};
    }
    return same;
}

template <device_format F>
void check_agreement(bool tied) {
    BOOST_TEST_CONTEXT("tied " << tied << ", format " << static_cast<int>(F)) {
        const std::size_t ordinary = agreement<F>(tied, 1), between = agreement<F>(tied, 0.15f);
        BOOST_TEST(ordinary < 20u);
        BOOST_TEST(between > ordinary + 10);
        BOOST_TEST(between < 58u);
        BOOST_TEST(agreement<F>(tied, 0) == 60u);
    }
}

BOOST_AUTO_TEST_CASE(the_scale_of_deep_layers_sets_the_agreement) {
    check_agreement<device_format::q4_0>(false);
#if !defined(AUGUR_SANITIZED)
    check_agreement<device_format::elements>(false);
    check_agreement<device_format::elements>(true);
    check_agreement<device_format::q8_0>(true);
#endif
}

template <device_format F>
void check_rows_without_deep_layers() {
    const auto c = small_shape(false);
    auto shallow = c;
    shallow.layers = first_deep;
    const auto w = weights_of<binary16, F>({c, 3, first_deep, 0});
    const model_type<binary16, F> target({}, c, w), draft({}, shallow, w);
    auto a = target.make_sequence();
    auto b = draft.make_sequence();
    const std::vector<token> tokens = {1, 2, 3, 4};
    BOOST_TEST((augur::testing::copy_of(target.extend(a, tokens)) == augur::testing::copy_of(draft.extend(b, tokens))));
}

BOOST_AUTO_TEST_CASE(without_deep_layers_rows_are_those_of_the_exit) {
    check_rows_without_deep_layers<device_format::elements>();
    check_rows_without_deep_layers<device_format::q8_0>();
    check_rows_without_deep_layers<device_format::q4_0>();
}

BOOST_AUTO_TEST_CASE(eighty_layers_stay_finite_in_every_format) {
    auto c = benchmarks::known_shape("70b");
    BOOST_TEST(c.layers == 80u);
    c.width = 32;
    c.heads = 4;
    c.key_value_heads = 2;
    c.head_size = c.rotary_size = 8;
    c.feed_forward = 112;
    c.vocabulary = 64;
    const auto check = [&]<class Element, device_format F>() {
        const model_type<Element, F> model({}, c, weights_of<Element, F>({c, 5}));
        auto s = model.make_sequence();
        const auto row = model.extend(s, std::vector<token>{1, 2, 3}, 1)[0];
        double squares = 0;
        for (const float logit : row) squares += static_cast<double>(logit) * static_cast<double>(logit);
        const double variance = squares / static_cast<double>(row.size());
        BOOST_TEST(variance > 0.5);  // sums of 32 products of numbers of variance 1 and 1 / 32
        BOOST_TEST(variance < 2);
    };
    check.template operator()<bfloat16, device_format::elements>();
    check.template operator()<binary16, device_format::elements>();
    check.template operator()<bfloat16, device_format::q8_0>();
    check.template operator()<binary16, device_format::q4_0>();
}

/// Heads of 128 numbers, as of every Llama 3, and products deeper than one turn of a block.
BOOST_AUTO_TEST_CASE(sixty_four_rows_at_once_are_those_one_by_one_in_a_real_models_proportions) {
    auto c = benchmarks::known_shape("8b", 1);
    c.width = 256;
    c.heads = 4;
    c.key_value_heads = 1;
    c.head_size = c.rotary_size = 128;
    c.feed_forward = 1100;
    c.vocabulary = 1000;
    const model_type<bfloat16> model({}, c, weights_of<bfloat16>({c, 3}));
    std::vector<token> text(70);
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<token>(37 * i % c.vocabulary);
    auto together = model.make_sequence(), alone = model.make_sequence();
    const std::span<const token> all(text);
    for (auto* s : {&together, &alone}) model.extend(*s, all.first(6), 0);
    const auto rows = model.extend(together, all.subspan(6), 64);
    std::size_t different = 0;
    for (std::size_t i = 0; i < 64; i += 9) {  // first, last, and some of every eight
        model.truncate(alone, 6);
        model.extend(alone, all.subspan(6, i), 0);
        const auto row = model.extend(alone, all.subspan(6 + i, 1), 1)[0];
        different += std::equal(row.begin(), row.end(), rows[i].begin(), rows[i].end()) ? 0 : 1;
    }
    BOOST_TEST(different == 0U);
}

BOOST_AUTO_TEST_CASE(speculation_writes_the_text_of_plain_decoding) {
    const auto c = small_shape(false);
    auto shallow = c;
    shallow.layers = first_deep;
    const auto w = weights_of<bfloat16>({c, 7, first_deep, 0.15f});
    const device::device_model<bfloat16, emulated_system> target({}, c, w), draft({}, shallow, w);
    augur::decode::options options;
    options.sampling.temperature = {0};
    options.stop.max_tokens = 40;
    const std::vector<token> prompt = {1, 2, 3};
    const auto ahead = augur::decode::generate(
        augur::speculate(draft, target, augur::policy::fixed_length{5}, augur::accept::exact{}), prompt, options);
    BOOST_TEST((ahead.tokens == augur::decode::generate(augur::plain(target), prompt, options).tokens));
    BOOST_TEST(ahead.counts.acceptance() > 0.1);
    BOOST_TEST(ahead.counts.acceptance() < 1.0);
}

BOOST_AUTO_TEST_CASE(shapes_are_those_of_smollm2_and_llama_3) {
    struct known {
        std::string name;
        std::size_t layers, width, heads, key_value_heads, head_size, feed_forward, vocabulary;
        double rotary_base;
        bool tied;
    };
    for (const known& of : {known{"135m", 30, 576, 9, 3, 64, 1536, 49152, 1e5, true},
                            {"1b", 16, 2048, 32, 8, 64, 8192, 128256, 5e5, true},
                            {"3b", 28, 3072, 24, 8, 128, 8192, 128256, 5e5, true},
                            {"8b", 32, 4096, 32, 8, 128, 14336, 128256, 5e5, false},
                            {"70b", 80, 8192, 64, 8, 128, 28672, 128256, 5e5, false}}) {
        const auto c = benchmarks::known_shape(of.name);
        augur::llama::validate(c, of.name);
        BOOST_TEST(c.layers == of.layers);
        BOOST_TEST(c.width == of.width);
        BOOST_TEST(c.heads == of.heads);
        BOOST_TEST(c.key_value_heads == of.key_value_heads);
        BOOST_TEST(c.head_size == of.head_size);
        BOOST_TEST(c.rotary_size == of.head_size);
        BOOST_TEST(c.feed_forward == of.feed_forward);
        BOOST_TEST(c.vocabulary == of.vocabulary);
        BOOST_TEST(c.context == 8192u);
        BOOST_TEST(c.rotary_base == of.rotary_base);
        BOOST_TEST(c.tied_head == of.tied);
    }
    BOOST_TEST(benchmarks::known_shape("70b", 2).layers == 2u);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused) {
    refuses([] { benchmarks::known_shape("7b"); }, "there is no shape 7b; there are 135m, 1b, 3b, 8b and 70b");
    refuses([] { benchmarks::known_shape("8b", 33); }, "the shape 8b has 32 layers, not 33");
    auto c = odd_shape();
    refuses([&] { weights_of<bfloat16>({c, 1, 4}); }, "deep layers begin after 4 layers, but the shape has 3");
    for (const float scale : {-1.0f, INFINITY, std::numeric_limits<float>::quiet_NaN()}) {
        refuses([&] { weights_of<bfloat16>({c, 1, 1, scale}); }, "the depth scale is ");
    }
    const auto w = weights_of<bfloat16>({c, 1, 3});
    c.layers = 4;
    refuses([&] { device::device_model<bfloat16, emulated_system>({}, c, w); },
            "a model of 4 layers cannot have weights of 3");
    c.key_value_heads = 4;
    refuses([&] { weights_of<bfloat16>({c, 1}); }, "a synthetic Llama: 6 heads cannot share 4 key-value heads equally");
    c = odd_shape();
    c.head_size = 7;
    refuses([&] { weights_of<bfloat16>({c, 1}); }, "heads of even size, not 7");
}

BOOST_AUTO_TEST_SUITE_END()
