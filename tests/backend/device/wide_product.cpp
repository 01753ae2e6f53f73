#include "augur/backend/device/wide_product.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "augur/backend/device/quantised_tiles.hpp"
#include "backend/host/matrices.hpp"

namespace device = augur::backend::device;
using augur::testing::normal_numbers;
using device::bfloat16, device::binary16, device::emulated_system;

namespace {

const emulated_system forwards{}, backwards{.backwards = true};

template <class T>
device::buffer<T, emulated_system> uploaded(const std::vector<T>& from) {
    return {forwards, std::span<const T>(from)};
}

template <class Matrix>
Matrix some_matrix(std::size_t rows, std::size_t depth) {
    const auto numbers = normal_numbers(rows * depth, 1);
    return Matrix(forwards, rows, depth, [&](std::size_t row, std::span<float> out) {
        std::copy_n(numbers.begin() + static_cast<std::ptrdiff_t>(row * depth), depth, out.begin());
    });
}

template <class View>
auto written_out(const emulated_system& on, const View& from) {
    const device::buffer<typename View::element, emulated_system> out(on, from.panels * 16 * from.padded_depth());
    on.launch(from.panels, device::untile<View>{from, out.data()});
    return out.on_host();
}

template <class Element>
std::vector<std::uint16_t> bits_of(const std::vector<Element>& numbers) {
    std::vector<std::uint16_t> out;
    for (const Element x : numbers) out.push_back(x.bits);
    return out;
}

/// Random columns, what fills up their depth zero.
template <class Element>
std::vector<Element> some_inputs(std::size_t columns, std::size_t depth) {
    const std::size_t padded = device::tile_layout::padded(depth);
    const auto numbers = normal_numbers(columns * depth, 2);
    std::vector<Element> out(columns * padded);
    for (std::size_t i = 0; i < numbers.size(); ++i) out[i / depth * padded + i % depth] = Element::of(numbers[i]);
    return out;
}

/// What `finish(out)` makes of skinny and of wide sums, both from the same start.
template <class Matrix, class Out, class Finish>
std::pair<std::vector<Out>, std::vector<Out>> finished(std::size_t rows, std::size_t depth, std::size_t columns,
                                                       const std::vector<Out>& start, const Finish& finish) {
    using view = typename Matrix::view_type;
    const auto matrix = some_matrix<Matrix>(rows, depth);
    const auto inputs = uploaded(some_inputs<typename view::element>(columns, depth));
    const auto skinny = uploaded(start), wide = uploaded(start);
    device::multiply(forwards, matrix.view(), inputs.data(), columns, finish(skinny.data()));
    const auto weights = uploaded(written_out(forwards, matrix.view()));
    const device::wide_shape shape = device::shape_of(matrix.view(), columns);
    const device::buffer<float, emulated_system> sums(forwards, shape.rows * columns), factors(forwards, columns);
    const device::plain_products<emulated_system> library{backwards};
    device::multiply_wide(backwards, library, shape, weights.data(), inputs.data(), sums.data(), factors.data(),
                          finish(wide.data()));
    return {skinny.on_host(), wide.on_host()};
}

/// Rows and depths at and beside the sizes of panels, blocks and of a kernel's threads.
const std::vector<std::pair<std::size_t, std::size_t>> shapes = {{1, 1}, {16, 32}, {17, 33}, {40, 300}, {272, 40}};

void check_near(const std::vector<float>& got, const std::vector<float>& expected, double tolerance) {
    BOOST_TEST_REQUIRE(got.size() == expected.size());
    double far = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double apart = std::abs(static_cast<double>(got[i]) - static_cast<double>(expected[i]));
        far = std::max(far, std::isnan(apart) ? INFINITY : apart);
    }
    BOOST_TEST(far <= tolerance);
}

template <class Element>
std::vector<float> values_of(const std::vector<Element>& numbers) {
    std::vector<float> out;
    for (const Element x : numbers) out.push_back(x.value());
    return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(backend_wide_product)

template <class Element>
void check_tiles(std::size_t rows, std::size_t depth) {
    const auto matrix = some_matrix<device::tiled_matrix<Element, emulated_system>>(rows, depth);
    const auto numbers = normal_numbers(rows * depth, 1);
    const std::size_t padded = matrix.view().padded_depth();
    std::vector<Element> expected(matrix.view().panels * 16 * padded);
    for (std::size_t i = 0; i < numbers.size(); ++i) expected[i / depth * padded + i % depth] = Element::of(numbers[i]);
    BOOST_TEST(bits_of(written_out(forwards, matrix.view())) == bits_of(expected));
    BOOST_TEST(bits_of(written_out(backwards, matrix.view())) == bits_of(expected));
}

BOOST_AUTO_TEST_CASE(tiles_are_written_out_exactly) {
    for (const auto& [rows, depth] : shapes) {
        check_tiles<bfloat16>(rows, depth);
        check_tiles<binary16>(rows, depth);
    }
}

/// What io::quantize makes of the rows, read back: integer times scale, here rounded to Elements.
template <class Element, unsigned Bits>
void check_integers(std::size_t rows, std::size_t depth) {
    using layout = device::quantised_layout<Bits>;
    const auto matrix = some_matrix<device::quantised_matrix<Element, Bits, emulated_system>>(rows, depth);
    const auto numbers = normal_numbers(rows * depth, 1);
    const std::size_t padded = matrix.view().padded_depth();
    std::vector<Element> expected(matrix.view().panels * 16 * padded);
    std::vector<float> row(padded);
    std::vector<std::byte> blocks(padded / 32 * layout::block_bytes);
    for (std::size_t i = 0; i < rows; ++i) {
        std::copy_n(numbers.begin() + static_cast<std::ptrdiff_t>(i * depth), depth, row.begin());
        augur::io::quantize(layout::type, row, blocks);
        std::vector<float> kept(padded);
        augur::io::dequantize(layout::type, blocks, kept);
        std::transform(kept.begin(), kept.end(), expected.begin() + static_cast<std::ptrdiff_t>(i * padded),
                       &Element::of);
    }
    const auto got = written_out(forwards, matrix.view());
    BOOST_TEST(values_of(got) == values_of(expected));  // a zero may have a sign
    BOOST_TEST(bits_of(got) == bits_of(written_out(backwards, matrix.view())));
}

BOOST_AUTO_TEST_CASE(integers_are_written_out_as_elements) {
    for (const auto& [rows, depth] : shapes) {
        check_integers<bfloat16, 8>(rows, depth);
        check_integers<binary16, 8>(rows, depth);
        check_integers<bfloat16, 4>(rows, depth);
        check_integers<binary16, 4>(rows, depth);
    }
}

/// Beyond a skinny product's columns, beside sums in double precision.
BOOST_AUTO_TEST_CASE(many_columns_are_multiplied) {
    const std::size_t rows = 33, depth = 70, columns = 130;
    const auto matrix = some_matrix<device::tiled_matrix<bfloat16, emulated_system>>(rows, depth);
    const auto weights = written_out(forwards, matrix.view());
    const auto inputs = some_inputs<bfloat16>(columns, depth);
    const auto w = uploaded(weights), x = uploaded(inputs);
    const device::wide_shape shape = device::shape_of(matrix.view(), columns);
    const device::buffer<float, emulated_system> sums(forwards, shape.rows * columns), out(forwards, rows * columns),
        factors(forwards, columns);
    device::multiply_wide(forwards, device::plain_products<emulated_system>{}, shape, w.data(), x.data(), sums.data(),
                          factors.data(), device::store_sums{out.data(), rows, rows});
    const auto got = out.on_host();
    for (std::size_t i = 0; i < got.size(); ++i) {
        double sum = 0;
        for (std::size_t k = 0; k < shape.depth; ++k) {
            sum += static_cast<double>(weights[i % rows * shape.depth + k].value()) *
                   static_cast<double>(inputs[i / rows * shape.depth + k].value());
        }
        BOOST_TEST(std::abs(static_cast<double>(got[i]) - sum) < 1e-6 * static_cast<double>(depth));
    }
}

/// Sums of exact products of numbers about 1; orders differ.
BOOST_AUTO_TEST_CASE(sums_are_stored_and_added_as_a_skinny_products_are) {
    using matrix = device::tiled_matrix<bfloat16, emulated_system>;
    for (const auto& [rows, depth] : shapes) {
        for (const std::size_t columns : {1u, 5u, 64u}) {
            const std::size_t height = rows, stride = rows + 3;  // what lies between columns stays
            const std::vector<float> untouched(columns * stride, -1), state = normal_numbers(columns * rows, 5);
            const double tolerance = 1e-6 * static_cast<double>(depth);
            const auto stored = finished<matrix>(rows, depth, columns, untouched, [&](float* out) {
                return device::store_sums{out, height, stride};
            });
            check_near(stored.second, stored.first, tolerance);
            const auto added = finished<matrix>(rows, depth, columns, state, [&](float* out) {
                return device::add_sums{out, height};
            });
            check_near(added.second, added.first, tolerance);
            BOOST_TEST((added.second != state));
        }
    }
}

/// Of integers, too, whose written-out numbers are rounded once more.
BOOST_AUTO_TEST_CASE(gates_are_paired_as_a_skinny_products_are) {
    const std::size_t size = 11, columns = 7, stride = 32;  // of the rows of two panels: see skinny_product.cpp
    const std::vector<binary16> start(columns * stride);
    const auto gates = [&](binary16* out) { return device::gate_sums<binary16>{out, size, stride}; };
    const auto check = [&]<class Matrix>(double tolerance) {
        const auto [skinny, wide] = finished<Matrix>(32, 40, columns, start, gates);
        const auto expected = values_of(skinny);
        const float largest = *std::max_element(expected.begin(), expected.end());
        check_near(values_of(wide), expected, tolerance * static_cast<double>(largest));
        BOOST_TEST(largest > 1);
    };
    check.template operator()<device::tiled_matrix<binary16, emulated_system>>(0x1p-10);
    check.template operator()<device::quantised_matrix<binary16, 8, emulated_system>>(0x1p-8);
    check.template operator()<device::quantised_matrix<binary16, 4, emulated_system>>(0x1p-8);
}

/// A product that was recorded is multiplied when it is replayed.
BOOST_AUTO_TEST_CASE(products_are_recorded) {
    const auto matrix = some_matrix<device::tiled_matrix<bfloat16, emulated_system>>(16, 32);
    const auto weights = uploaded(written_out(forwards, matrix.view())),
               inputs = uploaded(some_inputs<bfloat16>(3, 32));
    const device::wide_shape shape = device::shape_of(matrix.view(), 3);
    const device::buffer<float, emulated_system> sums(forwards, 48), out(forwards, 48), factors(forwards, 3);
    forwards.clear(out.data(), out.memory_bytes());
    const auto recording = forwards.record([&] {
        device::multiply_wide(forwards, device::plain_products<emulated_system>{}, shape, weights.data(), inputs.data(),
                              sums.data(), factors.data(), device::store_sums{out.data(), 16, 16});
    });
    BOOST_TEST(out.on_host() == std::vector<float>(48));
    forwards.replay(recording);
    BOOST_TEST(out.on_host() == sums.on_host());
    BOOST_TEST(out.on_host() != std::vector<float>(48));
}

BOOST_AUTO_TEST_SUITE_END()
