#include <algorithm>
#include <augur/accept/exact.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/llama/device/device_model.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/model_laws.hpp>
#include <augur/types/guarantee.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/llama/device/products.hpp"
#include "differences.hpp"
#include "llama/small_llama.hpp"
#include "sanitized.hpp"

namespace device = augur::llama::device;
namespace kernels = augur::backend::device;
using augur::token;
using device::device_format, device::wide_settings;
using kernels::bfloat16, kernels::binary16, kernels::emulated_system;

BOOST_AUTO_TEST_SUITE(llama_device_products)

namespace {

/// Plain products that say what was asked of them.
struct observed_products {
    emulated_system on{};
    std::shared_ptr<std::vector<kernels::wide_shape>> prepared = std::make_shared<std::vector<kernels::wide_shape>>();
    std::shared_ptr<std::vector<kernels::wide_shape>> asked = std::make_shared<std::vector<kernels::wide_shape>>();

    template <class Element>
    void prepare(const kernels::wide_shape& shape, const Element*, const Element*, float*) const {
        prepared->push_back(shape);
    }
    template <class Element>
    void multiply(const kernels::wide_shape& shape, const Element* weights, const Element* inputs, float* sums) const {
        asked->push_back(shape);
        on.launch(shape.columns, kernels::plain_product<Element>{shape, weights, inputs, sums});
    }
    static std::size_t memory_bytes() { return 1000; }

    /// Columns of what was asked for since the last time.
    std::vector<std::size_t> columns() const {
        std::vector<std::size_t> out;
        for (const auto& shape : *asked) out.push_back(shape.columns);
        asked->clear();
        return out;
    }
};

template <class Element>
using products = device::wide_products<Element, emulated_system, observed_products>;
template <class Element, device_format F = device_format::elements>
using wide_model = device::device_model<Element, emulated_system, F, products<Element>>;
template <class Element, device_format F = device_format::elements>
using skinny_model = device::device_model<Element, emulated_system, F>;

static_assert(augur::has_bitwise_rows<skinny_model<bfloat16>> && !augur::has_bitwise_rows<wide_model<bfloat16>>);

augur::llama::host_model some_llama(bool even) {
    using augur::io::tensor_type;
    if (even) return augur::testing::small_llama(tensor_type::bf16).load();
    return augur::testing::small_llama(tensor_type::f32, 36, 6, 3, 44, 51).load();  // no multiples of tiles
}

using augur::testing::copied, augur::testing::largest_difference;

double largest_of(const std::vector<float>& numbers) {
    return static_cast<double>(*std::max_element(numbers.begin(), numbers.end()));
}

/// A prompt, then a tree of which a path is kept, then single tokens: all rows.
template <class Model>
std::vector<float> rows_of(const Model& model, std::size_t prompt) {
    const auto text = augur::testing::some_tokens(prompt, model.vocabulary_size());
    auto s = model.make_sequence();
    std::vector<float> out = copied(model.extend(s, text));
    const auto append = [&](const std::vector<float>& more) { out.insert(out.end(), more.begin(), more.end()); };
    append(copied(augur::model::run(
        model,
        {.sequence = &s, .tokens = std::vector<token>{1, 2, 3}, .parents = std::vector<std::int32_t>{-1, 0, 0}})));
    model.keep(s, std::vector<std::size_t>{0, 2});
    append(copied(model.extend(s, std::vector<token>{4})));
    augur::model::run(model, {.sequence = &s, .tokens = text, .to_layer = 1});
    append(copied(model.hidden(s)));
    append(copied(augur::model::run(model, {.sequence = &s, .from_layer = 1})));
    return out;
}

std::string refusal(const wide_settings& chosen) {
    try {
        const products<bfloat16> refused({}, chosen);
    } catch (const augur::error& e) {
        return e.what();
    }
    return "";
}

}  // namespace

/// Wide from a few rows on, so that short texts are.
template <class Element, device_format F = device_format::elements>
void check_laws(bool even, double tolerance, const wide_settings& chosen) {
    const observed_products library{{.backwards = !even}};
    const wide_model<Element, F> model(library.on, some_llama(even), products<Element>(library, chosen));
    const auto r =
        augur::testing::model_laws(model, {.cases = augur::testing::unless_sanitized<std::size_t>(6, 1)}, tolerance);
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(r.skipped.empty(), r);
    BOOST_TEST(!library.asked->empty());
}

/// A sum that is rounded to another Element is off by one part in 2048, or in 256.
#if !defined(AUGUR_SANITIZED)  // the laws of device_model are checked there
BOOST_AUTO_TEST_CASE(it_keeps_the_laws_within_numerics) {
    check_laws<binary16>(false, 0.01, {.from = 3, .most_rows = 64, .keeps_rows = true});
    check_laws<binary16>(true, 0.01, {.from = 1, .most_rows = 64});
    check_laws<bfloat16, device_format::q4_0>(true, 0.08, {.from = 2, .most_rows = 64});
}
#endif

template <class Element, device_format F = device_format::elements>
void check_rows(bool even, bool keeps_rows, double tolerance) {
    const auto host = some_llama(even);
    const observed_products library;
    const wide_model<Element, F> wide({}, host, products<Element>(library, {.keeps_rows = keeps_rows}));
    const auto expected = rows_of(skinny_model<Element, F>({}, host), 150), got = rows_of(wide, 150);
    BOOST_TEST(!library.asked->empty());
    BOOST_TEST((got != expected));
    const double far = largest_difference(got, expected) / largest_of(expected);
    BOOST_TEST_MESSAGE("largest difference of a logit: " << far << " of the largest");
    BOOST_TEST(far < tolerance);
}

/// Prefill through wide products and what follows on its cache, beside the skinny kernel's rows.
BOOST_AUTO_TEST_CASE(rows_are_near_skinny_ones) {
    check_rows<binary16, device_format::q4_0>(true, true, 0.002);
#if !defined(AUGUR_SANITIZED)
    check_rows<binary16>(true, false, 0.002);
    check_rows<bfloat16>(false, true, 0.01);
    check_rows<binary16, device_format::q8_0>(false, false, 0.005);
#endif
}

BOOST_AUTO_TEST_CASE(rows_are_the_same_whether_they_are_kept) {
    const auto host = some_llama(false);
    const auto rows = [&](bool keeps_rows) {
        return rows_of(wide_model<bfloat16>({}, host, products<bfloat16>({}, {.keeps_rows = keeps_rows})), 70);
    };
    BOOST_TEST((rows(true) == rows(false)));
}

/// Beyond a block of the cache, in passes of 128 rows, and the rest in skinny ones.
BOOST_AUTO_TEST_CASE(long_prompts_go_in_wide_passes) {
    const auto host = some_llama(true);
    const observed_products library;
    const wide_model<binary16> wide({}, host, products<binary16>(library, {.from = 100, .most_rows = 128}));
    const skinny_model<binary16> skinny({}, host);
    const auto tokens = augur::testing::some_tokens(128 + 128 + 99, host.vocabulary_size());
    auto a = wide.make_sequence();
    auto b = skinny.make_sequence();
    const auto got = copied(wide.extend(a, tokens, 300)), expected = copied(skinny.extend(b, tokens, 300));
    BOOST_TEST(largest_difference(got, expected) < 0.002 * largest_of(expected));
    BOOST_TEST(library.columns() == std::vector<std::size_t>(2 * 4, 128));  // the second pass replays the first
}

BOOST_AUTO_TEST_CASE(very_long_passes_are_not_recorded, *boost::unit_test::enable_if<!augur::testing::sanitized>()) {
    const observed_products library;
    const wide_model<binary16> model({}, some_llama(true), products<binary16>(library, {.most_rows = 512}));
    auto s = model.make_sequence();
    const auto twice = [&](std::size_t rows) {
        for (int i = 0; i < 2; ++i) {
            model.truncate(s, 0);
            model.extend(s, augur::testing::some_tokens(rows, model.vocabulary_size()), 0);
        }
        return library.columns();
    };
    BOOST_TEST(twice(256) == std::vector<std::size_t>(2 * 4, 256));
    BOOST_TEST(twice(257) == std::vector<std::size_t>(2 * 2 * 4, 257));
}

/// Until a pass is so long, every bit is the skinny kernel's.
BOOST_AUTO_TEST_CASE(short_passes_are_skinny) {
    const auto host = some_llama(true);
    const observed_products library;
    const wide_model<bfloat16> wide({}, host, products<bfloat16>(library));
    BOOST_TEST((rows_of(wide, 64) == rows_of(skinny_model<bfloat16>({}, host), 64)));
    BOOST_TEST(library.columns().empty());
    auto s = wide.make_sequence();
    wide.extend(s, augur::testing::some_tokens(65, host.vocabulary_size()), 1);
    BOOST_TEST(library.columns() == std::vector<std::size_t>(8, 65));
}

/// Before anything is multiplied: the shapes of a layer, once for each power of two of columns.
BOOST_AUTO_TEST_CASE(every_shape_is_prepared, *boost::unit_test::enable_if<!augur::testing::sanitized>()) {
    const observed_products library;
    const wide_model<bfloat16> model({}, some_llama(true), products<bfloat16>(library, {.from = 65, .most_rows = 512}));
    BOOST_TEST(library.prepared->size() == 2u * 4 * 3);
    const auto is_prepared = [&](const kernels::wide_shape& wanted) {
        return std::any_of(library.prepared->begin(), library.prepared->end(), [&](const auto& each) {
            return each.rows == wanted.rows && each.depth == wanted.depth && each.columns / 2 < wanted.columns &&
                   wanted.columns <= each.columns;
        });
    };
    auto s = model.make_sequence();
    model.extend(s, augur::testing::some_tokens(513, model.vocabulary_size()), 0);
    model.truncate(s, 0);
    model.extend(s, augur::testing::some_tokens(65, model.vocabulary_size()), 0);
    BOOST_TEST(library.asked->size() == 2u * 2 * 4);
    for (const auto& each : *library.asked) BOOST_TEST(is_prepared(each));
}

template <class>
struct is_skinny : std::false_type {};
template <class View, unsigned Tiles, unsigned Panels, class Finish>
struct is_skinny<kernels::skinny_product<View, Tiles, Panels, Finish>> : std::true_type {};

/// Its time is what launches cost: of a skinny product 4 a launch, of a wide one 1 and something a column.
struct clocked_system : emulated_system {
    double of_column = 0;
    std::shared_ptr<double> now = std::make_shared<double>(0);

    template <kernels::Kernel K>
    void launch(std::size_t blocks, const K& kernel) const {
        if constexpr (std::is_same_v<K, kernels::plain_product<bfloat16>>) {
            *now += 1 + of_column * static_cast<double>(blocks);
        } else if constexpr (is_skinny<K>::value) {
            *now += 4;
        }
        emulated_system::launch(blocks, kernel);
    }
};
template <class Launch>
double seconds_of(const clocked_system& on, const Launch& launch) {
    const double before = *on.now;
    launch();
    return *on.now - before;
}

/// Two layers of four matrices; skinny passes of 64 rows cost 32, and each 64 more as much again.
BOOST_AUTO_TEST_CASE(from_how_many_rows_on_is_what_the_clock_says,
                     *boost::unit_test::enable_if<!augur::testing::sanitized>()) {
    using clocked_products = kernels::plain_products<clocked_system>;
    using wide_type = device::wide_products<bfloat16, clocked_system, clocked_products>;
    using model_type = device::device_model<bfloat16, clocked_system, device_format::elements, wide_type>;
    const auto host = some_llama(true);
    const auto model_with = [&](double of_column, bool keeps_rows = false) {
        const clocked_system on{{}, of_column};
        return model_type(on, host,
                          wide_type(clocked_products{on},
                                    {.from = wide_settings::measured, .most_rows = 256, .keeps_rows = keeps_rows}));
    };
    const auto rows_looked_at = [](const model_type& of) {
        std::vector<std::size_t> out;
        for (const device::product_times& each : of.products().measured()) out.push_back(each.rows);
        return out;
    };
    const model_type crossing = model_with(0.05);  // 8 (1 + 0.05 n): 110 of 256 beside 128, 59 of 64, 34 beside 32
    BOOST_TEST(crossing.products().from() == 128u);
    BOOST_TEST(rows_looked_at(crossing) == (std::vector<std::size_t>{256, 128, 64}), boost::test_tools::per_element());
    const device::product_times& most = crossing.products().measured().front();
    BOOST_TEST(most.skinny_seconds == 128, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(most.wide_seconds == 8 * (1 + 0.05 * 256), boost::test_tools::tolerance(1e-9));
    BOOST_TEST(model_with(0.05, true).products().from() == 128u);
    BOOST_TEST(model_with(0.01).products().from() == 1u);
    const model_type never = model_with(1);
    BOOST_TEST(never.products().from() == wide_settings::measured);
    BOOST_TEST(rows_looked_at(never) == (std::vector<std::size_t>{256}), boost::test_tools::per_element());
    // and passes go the way that was found
    const auto text = augur::testing::some_tokens(127, host.vocabulary_size());
    const auto rows = [&](const auto& model) {
        auto s = model.make_sequence();
        return copied(model.extend(s, text));
    };
    const auto skinny = rows(skinny_model<bfloat16>({}, host));
    BOOST_TEST((rows(never) == skinny));
    BOOST_TEST((rows(crossing) == skinny));
    BOOST_TEST((rows(model_with(0.01)) != skinny));
}

/// Without a clock of its own, a system's time is the host's.
BOOST_AUTO_TEST_CASE(a_system_without_a_clock_is_timed_by_the_host) {
    std::size_t launched = 0;
    BOOST_TEST(kernels::seconds_of(emulated_system{}, [&] { ++launched; }) >= 0);
    BOOST_TEST(launched == 1u);
}

BOOST_AUTO_TEST_CASE(a_scheme_promises_what_the_products_allow) {
    const auto scheme_with = [](const auto& model) {
        return augur::speculate(augur::draft::prompt_lookup(1, 4), model, augur::policy::fixed_length{3},
                                augur::accept::exact{});
    };
    using skinny = augur::guarantee_of<decltype(scheme_with(std::declval<const skinny_model<bfloat16>&>()))>;
    using wide = augur::guarantee_of<decltype(scheme_with(std::declval<const wide_model<bfloat16>&>()))>;
    static_assert(std::is_same_v<wide, augur::guarantee::within_numerics<skinny>>);
    const wide_model<bfloat16> model({}, some_llama(true), products<bfloat16>({}, {.from = 3, .most_rows = 64}));
    augur::decode::options options;
    options.sampling.temperature = {0};
    options.stop.max_tokens = 20;
    const std::vector<token> prompt = {1, 2, 3, 1, 2, 3};
    const auto decoded = augur::decode::generate<augur::lossless_within_numerics>(scheme_with(model), prompt, options);
    BOOST_TEST(decoded.tokens.size() == 20u);
}

BOOST_AUTO_TEST_CASE(memory_is_counted) {
    const auto host = some_llama(true);
    const skinny_model<bfloat16> skinny({}, host);
    const auto more = [&](bool keeps_rows) {
        const wide_model<bfloat16> wide({}, host, products<bfloat16>({}, {.most_rows = 128, .keeps_rows = keeps_rows}));
        return wide.memory_bytes() - skinny.memory_bytes();
    };
    const std::size_t sums = 128 * (192 + 1) * sizeof(float);  // of gate and up, the tallest and largest, and factors
    BOOST_TEST(more(false) == 1000 + sums + 192 * 64 * 2u);
    BOOST_TEST(more(true) == 1000 + sums + 2 * (96 * 64 + 64 * 64 + 192 * 64 + 64 * 96) * 2u);
}

BOOST_AUTO_TEST_CASE(impossible_settings_are_refused) {
    BOOST_TEST(refusal({}) == "");
    BOOST_TEST(refusal({.from = 0}) == "wide passes begin at 1 row or more, not at 0");
    BOOST_TEST(refusal({.from = wide_settings::measured}) == "");
    BOOST_TEST(refusal({.from = wide_settings::measured, .most_rows = 32}) ==
               "wide passes take up to a power of two of rows, at least 64, not 32");
    BOOST_TEST(refusal({.from = 1, .most_rows = 32}) ==
               "wide passes take up to a power of two of rows, at least 64, not 32");
    BOOST_TEST(refusal({.most_rows = 1000}) == "wide passes take up to a power of two of rows, at least 65, not 1000");
    BOOST_TEST(refusal({.from = 129, .most_rows = 128}) ==
               "wide passes take up to a power of two of rows, at least 129, not 128");
}

BOOST_AUTO_TEST_SUITE_END()
