#include "augur/backend/device/skinny_product.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "augur/backend/device/tiles.hpp"
#include "augur/types/error.hpp"
#include "backend/host/matrices.hpp"

namespace device = augur::backend::device;
using device::bfloat16, device::binary16, device::emulated_system;

using augur::testing::normal_numbers;

namespace {

/// A random matrix, and columns of which the first `columns` are multiplied.
template <class Element>
struct product {
    std::size_t rows, depth;
    std::vector<float> weights = normal_numbers(rows * depth, 1);
    std::vector<float> x = normal_numbers(device::most_columns * depth, 2);

    device::tiled_matrix<Element, emulated_system> matrix(const emulated_system& on) const {
        return {on, rows, depth, [&](std::size_t row, std::span<float> out) {
                    std::copy_n(weights.begin() + static_cast<std::ptrdiff_t>(row * depth), depth, out.begin());
                }};
    }

    /// The first `columns` columns, and NaN in those after them.
    std::vector<Element> inputs(std::size_t columns) const {
        const std::size_t padded = device::tile_layout::padded(depth);
        std::vector<Element> out(device::most_columns * padded, Element::of(std::numeric_limits<float>::quiet_NaN()));
        for (std::size_t column = 0; column < columns; ++column) {
            for (std::size_t k = 0; k < padded; ++k) {
                out[column * padded + k] = k < depth ? Element::of(x[column * depth + k]) : Element{};
            }
        }
        return out;
    }

    std::vector<float> multiplied(const emulated_system& on, std::size_t columns) const {
        const auto tiles = matrix(on);
        const device::buffer<Element, emulated_system> in(on, std::span<const Element>(inputs(columns)));
        const device::buffer<float, emulated_system> out(on, columns * rows);
        device::multiply(on, tiles.view(), in.data(), columns, device::store_sums{out.data(), rows, rows});
        return out.on_host();
    }

    double expected(std::size_t row, std::size_t column) const {
        double sum = 0;
        for (std::size_t k = 0; k < depth; ++k) {
            sum += static_cast<double>(Element::of(weights[row * depth + k]).value()) *
                   static_cast<double>(Element::of(x[column * depth + k]).value());
        }
        return sum;
    }
};

template <class Element>
void check_shape(std::size_t rows, std::size_t depth) {
    const product<Element> of{rows, depth};
    const auto all = of.multiplied({}, device::most_columns);
    for (std::size_t i = 0; i < all.size(); ++i) {
        // float32 sums of at most `depth` exact products of numbers about 1
        BOOST_TEST(std::abs(static_cast<double>(all[i]) - of.expected(i % rows, i / rows)) <
                   1e-6 * static_cast<double>(depth));
    }
    for (const std::size_t columns : {1u, 2u, 7u, 8u, 9u, 16u, 17u, 33u, 63u}) {
        const auto some = of.multiplied({}, columns);
        BOOST_TEST((some == std::vector(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(columns * rows))));
    }
    BOOST_TEST((of.multiplied({.backwards = true}, 9) == of.multiplied({}, 9)));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(backend_skinny_product)

BOOST_AUTO_TEST_CASE(sums_are_right_and_belong_to_their_column) {
    for (const auto& [rows, depth] :
         {std::pair<std::size_t, std::size_t>{1, 1}, {16, 32}, {17, 33}, {40, 300}, {5, 1100}}) {
        BOOST_TEST_CONTEXT(rows << " x " << depth) {
            check_shape<bfloat16>(rows, depth);
            check_shape<binary16>(rows, depth);
        }
    }
}

/// Of small integers, whose sums are exact in every order: to be compared with `==` at depths of real models, where a
/// warp asks for many turns of tiles.
template <class Element>
void check_integers(std::size_t rows, std::size_t depth) {
    product<Element> of{rows, depth};
    std::mt19937 random(7);
    const auto draw = [&] { return static_cast<float>(static_cast<int>(random() % 17) - 8); };
    std::generate(of.weights.begin(), of.weights.end(), draw);
    std::generate(of.x.begin(), of.x.end(), draw);
    std::vector<float> expected(device::most_columns * rows);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const auto row = of.weights.begin() + static_cast<std::ptrdiff_t>(i % rows * depth);
        const auto column = of.x.begin() + static_cast<std::ptrdiff_t>(i / rows * depth);
        expected[i] = static_cast<float>(std::inner_product(row, row + static_cast<std::ptrdiff_t>(depth), column, 0L));
    }
    for (const std::size_t columns : {1u, 8u, 9u, 17u, 33u, 64u}) {
        const auto got = of.multiplied({}, columns);
        const auto wanted = std::vector(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(got.size()));
        BOOST_TEST((got == wanted), rows << " x " << depth << ", " << columns << " columns");
    }
}

BOOST_AUTO_TEST_CASE(integers_are_exact_at_the_depths_of_real_models) {
    check_integers<bfloat16>(32, 4096);   // four whole turns of eight warps
    check_integers<bfloat16>(16, 14336);  // fourteen
    check_integers<binary16>(17, 2100);   // two, and a third of which some warps have nothing
    check_integers<binary16>(16, 1056);   // one, and one tile
}

BOOST_AUTO_TEST_CASE(numbers_are_rounded_to_elements) {
    BOOST_TEST(bfloat16::of(1 + 1.0f / 256).value() == 1.0f);
    BOOST_TEST(bfloat16::of(1 + 3.0f / 256).value() == 1 + 4.0f / 256);
    BOOST_TEST(binary16::of(1 + 1.0f / 2048).value() == 1.0f);
    BOOST_TEST(binary16::of(1 + 3.0f / 2048).value() == 1 + 4.0f / 2048);
    BOOST_TEST(std::isinf(binary16::of(65520).value()));
    BOOST_TEST(std::isnan(bfloat16::of(std::numeric_limits<float>::quiet_NaN()).value()));
    BOOST_TEST(pair_of(bfloat16::from_bits(1), bfloat16::from_bits(2)) == 0x20001u);
}

BOOST_AUTO_TEST_CASE(every_weight_has_a_place_of_its_own) {
    std::vector<int> taken(device::tile_layout::elements);
    for (std::size_t row = 0; row < device::tile_layout::rows; ++row) {
        for (std::size_t k = 0; k < device::tile_layout::depth; ++k) ++taken[device::tile_layout::place(row, k)];
    }
    BOOST_TEST((taken == std::vector(device::tile_layout::elements, 1)));
}

BOOST_AUTO_TEST_CASE(sums_are_added_to_a_state) {
    const product<bfloat16> of{20, 40};
    const auto weights = of.matrix({});
    const device::buffer<bfloat16, emulated_system> in({}, std::span<const bfloat16>(of.inputs(3)));
    const auto start = normal_numbers(3 * of.rows, 5);
    const device::buffer<float, emulated_system> state({}, std::span<const float>(start));
    device::multiply(emulated_system{}, weights.view(), in.data(), 3, device::add_sums{state.data(), of.rows});
    const auto alone = of.multiplied({}, 3), got = state.on_host();
    for (std::size_t i = 0; i < got.size(); ++i) BOOST_TEST(got[i] == start[i] + alone[i]);
}

namespace {

/// By a block for so many panels: sums, added to a state, and what the next product reads.
template <unsigned Tiles, unsigned Panels>
auto by_panels(const emulated_system& on, const product<bfloat16>& of, std::size_t columns) {
    const std::size_t padded = device::tile_layout::padded(of.rows), panels = (of.rows + 15) / 16;
    const auto weights = of.matrix(on);
    const auto start = normal_numbers(columns * of.rows, 5), weight = normal_numbers(of.rows, 6);
    const device::buffer<bfloat16, emulated_system> in(on, std::span<const bfloat16>(of.inputs(columns))),
        out(on, columns * padded);
    const device::buffer<float, emulated_system> state(on, std::span<const float>(start)),
        norm(on, std::span<const float>(weight)), squares(on, columns * panels);
    on.clear(out.data(), out.memory_bytes());
    using finish = device::add_and_prepare<bfloat16>;
    const device::skinny_product<device::tiled_view<bfloat16>, Tiles, Panels, finish> kernel{
        weights.view(),
        in.data(),
        columns,
        {},
        {state.data(), of.rows, norm.data(), out.data(), padded, squares.data()}};
    BOOST_TEST(kernel.blocks() == (panels + Panels - 1) / Panels);
    on.launch(kernel.blocks(), kernel);
    std::vector<std::uint16_t> prepared;
    for (const bfloat16 x : out.on_host()) prepared.push_back(x.bits);
    return std::tuple(state.on_host(), squares.on_host(), prepared);
}

}  // namespace

/// Bits do not say how many panels a block took: also where the last one has no other.
BOOST_AUTO_TEST_CASE(panels_are_the_same_alone_and_in_pairs) {
    const emulated_system forwards{}, backwards{.backwards = true};
    for (const std::size_t rows : {9u, 32u, 40u, 64u, 70u}) {
        const product<bfloat16> of{rows, 300};
        const auto alone = by_panels<1, 1>(forwards, of, 7);
        BOOST_TEST((by_panels<1, 2>(forwards, of, 7) == alone));
        BOOST_TEST((by_panels<1, 2>(backwards, of, 7) == alone));
        BOOST_TEST((by_panels<2, 2>(backwards, of, 7) == alone));
        BOOST_TEST((by_panels<4, 2>(forwards, of, 29) == by_panels<4, 1>(forwards, of, 29)));
    }
}

/// Of a matrix with so many panels multiply() takes pairs; a column's bits stay those that it has in fewer.
BOOST_AUTO_TEST_CASE(a_tall_matrix_is_the_same_for_every_number_of_columns) {
    const product<bfloat16> of{16 * 1025, 33};
    const auto one = of.multiplied({}, 1), some = of.multiplied({}, 12), many = of.multiplied({}, 31);
    BOOST_TEST(std::equal(one.begin(), one.end(), some.begin()));
    BOOST_TEST(std::equal(some.begin(), some.end(), many.begin()));
}

/// An RMS norm between two products: the first leaves numbers times the norm's weights and squares, the second divides.
BOOST_AUTO_TEST_CASE(a_norm_is_split_between_two_products) {
    const emulated_system forwards{}, backwards{.backwards = true};
    const std::size_t width = 40, rows = 19, columns = 11, padded = 64, panels = 3;
    const product<bfloat16> first{width, 32}, second{rows, width};
    const auto weight = normal_numbers(width, 8), start = normal_numbers(columns * width, 9);
    const float epsilon = 0.01f;
    const auto run = [&](const emulated_system& on, std::size_t count) {
        const device::buffer<bfloat16, emulated_system> in(on, std::span<const bfloat16>(first.inputs(count))),
            between(on, columns * padded);
        const device::buffer<float, emulated_system> state(on, std::span<const float>(start).first(count * width)),
            norm(on, std::span<const float>(weight)), squares(on, columns * panels), out(on, count * rows);
        on.clear(between.data(), between.memory_bytes());
        const device::add_and_prepare<bfloat16> prepared{state.data(),   width,  norm.data(),
                                                         between.data(), padded, squares.data()};
        device::multiply(on, first.matrix(on).view(), in.data(), count, prepared);
        device::multiply(on, second.matrix(on).view(), between.data(), count,
                         device::store_sums{out.data(), rows, rows}, {squares.data(), panels, width, epsilon});
        return std::pair(state.on_host(), out.on_host());
    };
    const auto [state, got] = run(forwards, columns);
    BOOST_TEST((run(backwards, columns).second == got));
    const auto alone = run(forwards, 1).second;
    BOOST_TEST(std::equal(alone.begin(), alone.end(), got.begin()));
    for (std::size_t i = 0; i < got.size(); ++i) {
        const float* const x = state.data() + i / rows * width;
        double sum = 0, magnitude = 0, squares = 0;
        for (std::size_t k = 0; k < width; ++k) {
            const double w = bfloat16::of(second.weights[i % rows * width + k]).value();
            sum += w * bfloat16::of(x[k] * weight[k]).value();
            magnitude += std::abs(w * static_cast<double>(x[k] * weight[k]));
            squares += static_cast<double>(x[k]) * static_cast<double>(x[k]);
        }
        const double scale = 1 / std::sqrt(squares / width + static_cast<double>(epsilon));
        BOOST_TEST(std::abs(static_cast<double>(got[i]) - sum * scale) <= 1e-5 * magnitude * scale);
    }
}

BOOST_AUTO_TEST_CASE(gates_are_paired_with_their_factors) {
    const std::size_t size = 11, columns = 2,
                      stride = 32;  // two panels: rows 0-7 gate, 8-15 other, 16-18 gate, 24-26 other
    const product<binary16> of{32, 40};
    const auto weights = of.matrix({});
    const device::buffer<binary16, emulated_system> in({}, std::span<const binary16>(of.inputs(columns)));
    const device::buffer<binary16, emulated_system> out({}, columns * stride);
    emulated_system{}.clear(out.data(), out.memory_bytes());
    device::multiply(emulated_system{}, weights.view(), in.data(), columns,
                     device::gate_sums<binary16>{out.data(), size, stride});
    const auto sums = of.multiplied({}, columns);
    const auto got = out.on_host();
    for (std::size_t column = 0; column < columns; ++column) {
        for (std::size_t i = 0; i < stride; ++i) {
            const float* panel = sums.data() + column * of.rows + i / 8 * 16;
            const double gate = i < size ? static_cast<double>(panel[i % 8]) : 0;
            const double expected = i < size ? gate / (1 + std::exp(-gate)) * static_cast<double>(panel[8 + i % 8]) : 0;
            BOOST_TEST(std::abs(static_cast<double>(got[column * stride + i].value()) - expected) <=
                       1e-3 * std::abs(expected) + 1e-7);
        }
    }
}

BOOST_AUTO_TEST_CASE(impossible_shapes_are_refused) {
    const auto nothing = [](std::size_t, std::span<float>) {};
    const auto matrix = [&](std::size_t rows, std::size_t depth) {
        return device::tiled_matrix<bfloat16, emulated_system>({}, rows, depth, nothing);
    };
    BOOST_CHECK_EXCEPTION(matrix(0, 5), augur::error, [](const augur::error& e) {
        return std::string(e.what()) == "a matrix of 0 rows by 5 has no weights";
    });
    BOOST_CHECK_THROW(matrix(5, 0), augur::error);
    const auto weights = matrix(1, 1);
    for (const std::size_t columns : {0u, 65u}) {
        BOOST_CHECK_EXCEPTION(device::multiply(emulated_system{}, weights.view(), static_cast<const bfloat16*>(nullptr),
                                               columns, device::store_sums{}),
                              augur::error, [&](const augur::error& e) {
                                  return std::string(e.what()) ==
                                         "a skinny product takes 1 to 64 columns, not " + std::to_string(columns);
                              });
    }
}

BOOST_AUTO_TEST_SUITE_END()
