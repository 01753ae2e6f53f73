// Products by cuBLASLt beside the skinny kernel's, alone and in a Llama's passes.
#include <algorithm>
#include <augur/backend/device/cublas_products.hpp>
#include <augur/backend/device/cuda_system.hpp>
#include <augur/llama/device/device_model.hpp>
#include <augur/testing/model_laws.hpp>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "differences.hpp"
#include "gpu/random_llama.hpp"

BOOST_AUTO_TEST_SUITE(gpu_wide)

namespace {

using namespace augur;
using namespace augur::backend::device;
using llama::device::device_format;

template <class Element>
using products = llama::device::wide_products<Element, cuda_system, cublas_products<Element>>;
template <class Element, device_format F = device_format::elements>
using wide_model = llama::device::device_model<Element, cuda_system, F, products<Element>>;

using augur::testing::largest_difference;

/// Integers from -8 to 8, whose sums are exact in any order.
template <class Element>
std::vector<Element> some_integers(std::size_t count, std::uint32_t seed) {
    std::vector<Element> out(count);
    for (Element& x : out) {
        seed = seed * 1664525u + 1013904223u;
        x = Element::of(static_cast<float>(static_cast<int>(seed >> 16) % 17 - 8));
    }
    return out;
}

template <class Element>
void check_exact(const wide_shape& shape) {
    const auto on = cuda_system::with_stream();
    const auto weights = some_integers<Element>(shape.rows * shape.depth, 1);
    const auto inputs = some_integers<Element>(shape.columns * shape.depth, 2);
    const buffer<Element, cuda_system> w(on, std::span<const Element>(weights)),
        x(on, std::span<const Element>(inputs));
    const buffer<float, cuda_system> expected(on, shape.rows * shape.columns), got(on, shape.rows * shape.columns);
    plain_products<cuda_system>{on}.multiply(shape, w.data(), x.data(), expected.data());
    cublas_products<Element> library(on);
    BOOST_CHECK_EXCEPTION(
        library.multiply(shape, w.data(), x.data(), got.data()), augur::error,
        [](const augur::error& e) { return std::string(e.what()).find("was not prepared") != std::string::npos; });
    const wide_shape bucket = {shape.rows, shape.depth, std::bit_ceil(shape.columns)};
    const buffer<Element, cuda_system> room(on, bucket.columns * bucket.depth);
    const buffer<float, cuda_system> sums(on, bucket.rows * bucket.columns);
    on.clear(room.data(), room.memory_bytes());
    library.prepare(bucket, w.data(), room.data(), sums.data());
    const auto recording = on.record([&] { library.multiply(shape, w.data(), x.data(), got.data()); });
    on.clear(got.data(), got.memory_bytes());
    on.replay(recording);
    BOOST_TEST((got.on_host() == expected.on_host()));
}

std::vector<float> rows_of(const auto& model, std::size_t prompt) {
    std::vector<token> text(prompt);
    for (std::size_t i = 0; i < prompt; ++i) text[i] = static_cast<token>((i * 7919 + 13) % model.vocabulary_size());
    auto s = model.make_sequence();
    std::vector<float> out;
    const auto append = [&](const scores& rows) {
        for (std::size_t i = 0; i < rows.size(); ++i) out.insert(out.end(), rows[i].begin(), rows[i].end());
    };
    append(model.extend(s, text));
    append(model.extend(s, std::vector<token>{1, 2, 3}));
    return out;
}

/// Beside the skinny model's rows, and beside those of wide passes by the plain kernel.
template <class Element, device_format F = device_format::elements>
void check_rows(const llama::config& c, bool keeps_rows, double tolerance) {
    const auto on = cuda_system::with_stream();
    const auto w = testing::random_weights(c, 3);
    const auto expected = rows_of(llama::device::device_model<Element, cuda_system, F>(on, c, w), 500);
    const llama::device::wide_settings chosen{.most_rows = 256, .keeps_rows = keeps_rows};
    const wide_model<Element, F> wide(on, c, w, 0, products<Element>(cublas_products<Element>(on), chosen));
    const double far = largest_difference(rows_of(wide, 500), expected);
    const float largest = *std::max_element(expected.begin(), expected.end());
    BOOST_TEST_MESSAGE("largest difference of a logit: " << far << " of " << largest);
    BOOST_TEST(far < tolerance * static_cast<double>(largest));
}

}  // namespace

BOOST_AUTO_TEST_CASE(sums_of_integers_are_exact) {
    check_exact<bfloat16>({64, 96, 65});
    check_exact<bfloat16>({4096, 1024, 200});
    check_exact<binary16>({16, 32, 1});
    check_exact<binary16>({528, 64, 128});
}

/// To some five times what plain products on the host differ by.
BOOST_AUTO_TEST_CASE(rows_are_near_skinny_ones) {
    check_rows<bfloat16>(testing::some_config(3, 128, 8, 2, 320, 500, 700), false, 0.01);
    check_rows<binary16>(testing::some_config(2, 60, 6, 3, 100, 77, 700), true, 0.002);
    check_rows<bfloat16, device_format::q8_0>(testing::some_config(2, 128, 8, 2, 320, 500, 700), false, 0.01);
    check_rows<binary16, device_format::q4_0>(testing::some_config(2, 60, 6, 3, 100, 77, 700), true, 0.002);
}

BOOST_AUTO_TEST_CASE(it_keeps_the_laws_within_numerics) {
    const auto on = cuda_system::with_stream();
    const auto c = testing::some_config(2, 60, 6, 3, 100, 77, 300);
    const wide_model<binary16> model(on, c, testing::random_weights(c, 3), 0,
                                     products<binary16>(cublas_products<binary16>(on), {.from = 3, .most_rows = 64}));
    const auto r = testing::model_laws(model, {.cases = 20}, 0.01);  // some sums are rounded to other Elements
    BOOST_TEST(r.kept(), r);
}

BOOST_AUTO_TEST_SUITE_END()
