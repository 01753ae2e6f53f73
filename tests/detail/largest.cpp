#include "augur/detail/largest.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

using token = std::int32_t;

BOOST_AUTO_TEST_SUITE(detail_largest)

std::vector<token> largest(const std::vector<float>& all, std::size_t count) {
    std::vector<token> places{3, 3};
    augur::detail::largest_of(all, count, places);
    return places;
}

BOOST_AUTO_TEST_CASE(they_are_those_of_a_stable_sort) {
    std::uint32_t state = 1;
    for (std::size_t size = 0; size < 40; ++size) {
        std::vector<float> all(size);
        for (float& each : all) {
            state = state * 1664525u + 1013904223u;
            each = static_cast<float>(state >> 29);  // many are equal
        }
        std::vector<token> sorted(size);
        std::iota(sorted.begin(), sorted.end(), 0);
        std::stable_sort(sorted.begin(), sorted.end(), [&](token a, token b) {
            return all[static_cast<std::size_t>(a)] > all[static_cast<std::size_t>(b)];
        });
        for (std::size_t count = 0; count < size + 3; ++count) {
            const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(count, size));
            BOOST_TEST(largest(all, count) == std::vector<token>(sorted.begin(), end),
                       boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_drawn_is_left_out) {
    const float never = -std::numeric_limits<float>::infinity(), no_number = std::numeric_limits<float>::quiet_NaN();
    BOOST_TEST(largest({never, 1, no_number, 2, never}, 4) == (std::vector<token>{3, 1}));
    BOOST_TEST(largest({no_number, no_number, 1, no_number}, 2) == (std::vector<token>{2}));
    BOOST_TEST(largest({never, never}, 1) == std::vector<token>());
}

BOOST_AUTO_TEST_SUITE_END()
