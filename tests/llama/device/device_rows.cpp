#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <tuple>
#include <vector>

#include "augur/backend/device/system.hpp"
#include "augur/llama/device/rows.hpp"
#include "backend/host/matrices.hpp"

namespace device = augur::llama::device;
namespace kernels = augur::backend::device;
using device::row_place;
using kernels::bfloat16, kernels::binary16, kernels::emulated_system;

using augur::testing::normal_numbers;

BOOST_AUTO_TEST_SUITE(llama_device_rows)

namespace {

using elements = std::tuple<bfloat16, binary16>;
template <class T>
using buffer = kernels::buffer<T, emulated_system>;

const emulated_system forwards{}, backwards{.backwards = true};

template <class T>
buffer<T> uploaded(const std::vector<T>& from) {
    return {forwards, std::span<const T>(from)};
}

template <class Element>
std::vector<std::uint16_t> bits_of(const std::vector<Element>& numbers) {
    std::vector<std::uint16_t> out;
    for (const Element x : numbers) out.push_back(x.bits);
    return out;
}

/// Rows of random states, normalised: as Elements, `gap` of them apart, and as floats.
template <class Element>
struct normed {
    std::vector<Element> rounded;
    std::vector<float> unrounded;

    normed(const emulated_system& on, const std::vector<float>& state, const std::vector<float>& weight, float epsilon,
           std::size_t gap = 0) {
        const std::size_t rows = state.size() / weight.size(), stride = weight.size() + gap;
        const auto x = uploaded(state), w = uploaded(weight);
        const buffer<Element> out(on, rows * stride);
        const buffer<float> floats(on, state.size());
        on.launch(rows, device::rms_norm<Element>{
                            {x.data(), w.data(), weight.size(), out.data(), stride}, epsilon, floats.data()});
        rounded = out.on_host();
        unrounded = floats.on_host();
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(positions_from_the_base_on_are_on_the_path) {
    const std::vector<std::int32_t> path{9, 7, 12};
    const row_place chain{.position = 5, .slot = 5}, node{.path = path.data(), .base = 3, .position = 5, .slot = 12};
    for (const std::int32_t at : {0, 2, 3, 5}) BOOST_TEST(chain.slot_of(at) == at);
    BOOST_TEST(node.slot_of(0) == 0);
    BOOST_TEST(node.slot_of(2) == 2);
    BOOST_TEST(node.slot_of(3) == 9);
    BOOST_TEST(node.slot_of(4) == 7);
    BOOST_TEST(node.slot_of(5) == node.slot);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(embeddings_are_rows_of_the_table, Element, elements) {
    const std::size_t vocabulary = 7;
    const std::vector<augur::token> tokens{6, 0, 3, 3};
    for (const std::size_t width : {1u, 255u, 300u}) {
        std::vector<Element> table;
        for (const float x : normal_numbers(vocabulary * width, 1)) table.push_back(Element::of(x));
        std::vector<row_place> rows;
        for (const augur::token id : tokens) rows.push_back({.id = id});
        const auto places = uploaded(rows);
        const auto weights = uploaded(table);
        for (const auto& on : {forwards, backwards}) {
            const buffer<float> state(on, tokens.size() * width);
            on.launch(tokens.size(), device::embed<Element>{places.data(), weights.data(), width, state.data()});
            std::vector<float> expected;
            for (const augur::token id : tokens) {
                for (std::size_t i = 0; i < width; ++i) {
                    expected.push_back(table[static_cast<std::size_t>(id) * width + i].value());
                }
            }
            BOOST_TEST((state.on_host() == expected));
        }
    }
}

BOOST_AUTO_TEST_CASE(turns_are_taken_in_double_precision) {
    const std::vector<std::int32_t> positions{0, 1, 131071, 600};
    std::vector<row_place> rows;
    for (const std::int32_t position : positions) rows.push_back({.position = position});
    const auto places = uploaded(rows);
    for (const std::size_t pairs : {1u, 32u, 100u}) {
        std::vector<double> frequencies(pairs);
        for (std::size_t i = 0; i < pairs; ++i) frequencies[i] = std::pow(1e4, -static_cast<double>(i) / 100);
        const auto given = uploaded(frequencies);
        for (const auto& on : {forwards, backwards}) {
            const buffer<float> turns(on, rows.size() * 2 * pairs);
            on.launch(rows.size(), device::find_turns{places.data(), given.data(), pairs, turns.data()});
            std::vector<float> expected;
            for (const std::int32_t position : positions) {
                for (const double f : frequencies) expected.push_back(static_cast<float>(std::cos(position * f)));
                for (const double f : frequencies) expected.push_back(static_cast<float>(std::sin(position * f)));
            }
            BOOST_TEST((turns.on_host() == expected));
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(norms_are_those_of_double_precision, Element, elements) {
    for (const std::size_t width : {1u, 5u, 256u, 257u, 576u}) {
        for (const float size : {1.0f, 1e-3f}) {  // the second is of the order of epsilon
            auto state = normal_numbers(3 * width, 2);
            for (float& x : state) x *= size;
            const auto weight = normal_numbers(width, 3);
            const float epsilon = 1e-5f;
            const normed<Element> got(forwards, state, weight, epsilon);
            for (std::size_t i = 0; i < state.size(); ++i) {
                double squares = 0;
                for (std::size_t k = 0; k < width; ++k) {
                    squares += std::pow(static_cast<double>(state[i / width * width + k]), 2);
                }
                const double root = std::sqrt(squares / static_cast<double>(width) + static_cast<double>(epsilon));
                const double expected = static_cast<double>(state[i]) * static_cast<double>(weight[i % width]) / root;
                // some ten roundings of float32, of which the sum's count half
                BOOST_TEST(std::abs(static_cast<double>(got.unrounded[i]) - expected) <= 1e-6 * std::abs(expected));
                BOOST_TEST(got.rounded[i].bits == Element::of(got.unrounded[i]).bits);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(norms_belong_to_their_row, Element, elements) {
    const std::size_t width = 300, rows = 5, gap = 20;
    const auto state = normal_numbers(rows * width, 4), weight = normal_numbers(width, 5);
    const normed<Element> all(forwards, state, weight, 1e-5f);
    const normed<Element> turned(backwards, state, weight, 1e-5f);
    BOOST_TEST((turned.unrounded == all.unrounded));
    const auto apart = bits_of(normed<Element>(backwards, state, weight, 1e-5f, gap).rounded),
               bits = bits_of(all.rounded);
    for (std::size_t row = 0; row < rows; ++row) {
        const auto first = static_cast<std::ptrdiff_t>(row * width), end = first + static_cast<std::ptrdiff_t>(width);
        const normed<Element> alone(forwards, {state.begin() + first, state.begin() + end}, weight, 1e-5f);
        BOOST_TEST((alone.unrounded == std::vector(all.unrounded.begin() + first, all.unrounded.begin() + end)));
        const auto at = apart.begin() + static_cast<std::ptrdiff_t>(row * (width + gap));
        BOOST_TEST(std::equal(bits.begin() + first, bits.begin() + end, at));
        for (std::size_t i = width; i < width + gap; ++i)
            BOOST_TEST(at[static_cast<std::ptrdiff_t>(i)] == 0xffff);  // untouched
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(norms_need_not_be_written_as_floats, Element, elements) {
    const auto state = normal_numbers(40, 6), weight = normal_numbers(20, 7);
    const auto x = uploaded(state), w = uploaded(weight);
    const buffer<Element> out(forwards, 40);
    forwards.launch(2, device::rms_norm<Element>{{x.data(), w.data(), 20, out.data(), 20}, 1e-5f});
    BOOST_TEST(bits_of(out.on_host()) == bits_of(normed<Element>(forwards, state, weight, 1e-5f).rounded),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_state_that_is_not_finite_spoils_its_row_only) {
    auto state = normal_numbers(60, 8);
    const auto weight = normal_numbers(20, 9);
    const normed<bfloat16> before(forwards, state, weight, 1e-5f);
    state[25] = std::numeric_limits<float>::quiet_NaN();
    const normed<bfloat16> after(forwards, state, weight, 1e-5f);
    for (std::size_t i = 0; i < 60; ++i) {
        if (i / 20 == 1) {
            BOOST_TEST(std::isnan(after.unrounded[i]));
        } else {
            BOOST_TEST(after.unrounded[i] == before.unrounded[i]);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
