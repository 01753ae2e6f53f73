#include "augur/detail/vectors.hpp"

#include <algorithm>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "augur/detail/chunks.hpp"
#include "augur/detail/exponential.hpp"
#include "augur/detail/row_scan.hpp"

using namespace augur::detail;

BOOST_AUTO_TEST_SUITE(detail_vectors)

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(), no_number = std::numeric_limits<float>::quiet_NaN();

/// Lengths around vectors and blocks of them, at places that are not aligned.
void for_rows(const auto& use) {
    std::mt19937 bits(1);
    std::normal_distribution<float> normal(0, 20);
    std::vector<float> room(400);
    for (std::size_t size = 0; size < 140; ++size) {
        for (float& x : room) x = bits() % 5 == 0 ? -infinity : normal(bits);
        use(std::span(room).subspan(size % 9, size), bits);
    }
}

std::uint32_t bits_of(float x) {
    return std::bit_cast<std::uint32_t>(x);
}

/// A row's extent by the definition.
row_extent literal_extent(std::span<const float> row) {
    row_extent seen;
    for (const float x : row) {
        seen.largest = x > seen.largest ? x : seen.largest;
        seen.valid = seen.valid && x < infinity;
    }
    return seen;
}

}  // namespace

/// Wherever a number stands, and whatever the compiler made of the loop.
BOOST_AUTO_TEST_CASE(exponentials_have_the_bits_of_one_alone) {
    for_rows([](std::span<float> row, std::mt19937&) {
        for (float& x : row) x = -std::abs(x);
        std::vector<float> got(row.begin(), row.end());
        got.push_back(7);
        exp_nonpositive(got.data(), row.size());
        for (std::size_t i = 0; i < row.size(); ++i) {
            BOOST_TEST_REQUIRE(bits_of(got[i]) == bits_of(exp_nonpositive(row[i])));
        }
        BOOST_TEST(got.back() == 7);
    });
    for (const float x : {0.0f, -0.0f, -87.0f, -87.01f, -1e30f, -infinity}) {
        std::vector<float> got(9, x);
        exp_nonpositive(got.data(), got.size());
        for (const float each : got) BOOST_TEST(bits_of(each) == bits_of(exp_nonpositive(x)));
    }
}

BOOST_AUTO_TEST_CASE(extents_are_those_of_the_definition_wherever_a_number_stands) {
    for_rows([](std::span<float> row, std::mt19937& bits) {
        for (const float odd : {0.0f, infinity, no_number}) {
            const float kept = row.empty() ? 0 : row[bits() % row.size()];
            const std::size_t at = row.empty() ? 0 : bits() % row.size();
            if (odd != 0 && !row.empty()) row[at] = odd;
            const row_extent expected = literal_extent(row), got = extent_of_chunk(row);
            BOOST_TEST_REQUIRE(got.largest == expected.largest);
            BOOST_TEST_REQUIRE(got.valid == expected.valid);
            if (!row.empty()) row[at] = kept;
        }
    });
}

BOOST_AUTO_TEST_CASE(long_rows_are_scanned_to_their_first_largest_number_and_to_each_odd_one) {
    for (const std::size_t size : {2047u, 2048u, 2049u, 5000u}) {
        for (const std::size_t at : {std::size_t{0}, std::size_t{300}, size / 2, size - 2}) {
            std::vector<float> row(size, -1);
            row[at] = row[size - 1] = 3;
            BOOST_TEST(scan_row(row).first == at);
            BOOST_TEST(scan_row(row).largest == 3);
            BOOST_TEST(scan_row(row).possible());
            for (const float odd : {infinity, no_number}) {
                row[at] = odd;
                BOOST_TEST(!scan_row(row).possible());
            }
        }
    }
    BOOST_TEST(!scan_row(std::vector<float>(5000, -infinity)).possible());
}

/// In eight lanes, and what is left in the first.
BOOST_AUTO_TEST_CASE(sums_of_floats_have_the_bits_of_sums_of_anything) {
    struct anything {
        std::span<const float> of;
        double operator[](std::size_t i) const { return static_cast<double>(of[i]); }
    };
    for_rows([](std::span<float> row, std::mt19937& bits) {
        for (float& x : row) x = std::exp2(static_cast<float>(bits() % 60) - 50);
        for (std::size_t begin = 0; begin < std::min<std::size_t>(row.size(), 10); ++begin) {
            const double expected = sum_of_chunk(anything{row}, begin, row.size());
            BOOST_TEST_REQUIRE(sum_of_chunk(row, begin, row.size()) == expected);
        }
    });
}

BOOST_AUTO_TEST_CASE(weights_are_those_of_single_logits) {
    for_rows([](std::span<float> row, std::mt19937&) {
        const float largest = literal_extent(row).largest;
        if (!std::isfinite(largest)) return;
        for (const float temperature : {1.0f, 0.7f, 2.5f}) {
            const sharpening by = sharpening::at(temperature, largest);
            std::vector<float> got(row.size());
            by.weigh(row, got.data());
            for (std::size_t i = 0; i < row.size(); ++i) BOOST_TEST(bits_of(got[i]) == bits_of(by.weight(row[i])));
        }
    });
}

BOOST_AUTO_TEST_SUITE_END()
