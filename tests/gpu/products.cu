// The skinny product at the shapes of real models: integers, whose sums are exact in every order, beside the plain
// kernel's.
#include <augur/backend/device/cuda_system.hpp>
#include <augur/backend/device/skinny_product.hpp>
#include <augur/backend/device/wide_product.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(gpu_products)

namespace {

using namespace augur::backend::device;

constexpr std::pair<std::size_t, std::size_t> shapes[] = {{6144, 4096}, {4096, 14336}, {28672, 4096}, {128256, 4096}};

/// -8 to 8: exact as an Element and as products; sums of 14336 of them are below 2^24.
class integers {
 public:
    explicit integers(std::uint32_t seed) : state_(seed) {}

    float next() {
        state_ = state_ * 1664525u + 1013904223u;
        return static_cast<float>(static_cast<int>(state_ >> 16) % 17 - 8);
    }

 private:
    std::uint32_t state_;
};

template <class Element>
void check(std::size_t rows, std::size_t depth) {
    const auto on = cuda_system::with_stream();
    integers drawn(1), of_inputs(2);
    std::vector<Element> weights;  // by rows, as the tiles ask for them
    weights.reserve(rows * depth);
    const tiled_matrix<Element, cuda_system> tiles(on, rows, depth, [&](std::size_t, std::span<float> out) {
        for (float& x : out) {
            x = drawn.next();
            weights.push_back(Element::of(x));
        }
    });
    BOOST_TEST_REQUIRE(weights.size() == rows * depth);
    std::vector<Element> inputs(most_columns * depth);
    for (Element& x : inputs) x = Element::of(of_inputs.next());
    const buffer<Element, cuda_system> w(on, std::span<const Element>(weights)),
        x(on, std::span<const Element>(inputs));
    const buffer<float, cuda_system> expected(on, most_columns * rows), got(on, most_columns * rows);
    plain_products<cuda_system>{on}.multiply({rows, depth, most_columns}, w.data(), x.data(), expected.data());
    const auto wanted = expected.on_host();
    for (const std::size_t columns : {1u, 2u, 8u, 9u, 17u, 33u, 64u}) {
        on.clear(got.data(), got.memory_bytes());
        multiply(on, tiles.view(), x.data(), columns, store_sums{got.data(), rows, rows});
        const auto values = got.on_host();
        const auto end = static_cast<std::ptrdiff_t>(columns * rows);
        BOOST_TEST(
            (std::vector(values.begin(), values.begin() + end) == std::vector(wanted.begin(), wanted.begin() + end)),
            rows << " x " << depth << ", " << columns << " columns");
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(sums_of_integers_are_the_plain_kernels) {
    for (const auto& [rows, depth] : shapes) check<bfloat16>(rows, depth);
    check<binary16>(6144, 4096);
}

BOOST_AUTO_TEST_SUITE_END()
