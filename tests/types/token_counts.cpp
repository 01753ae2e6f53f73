#include "augur/types/token_counts.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "augur/types/error.hpp"

using augur::token;
using augur::token_counts;

BOOST_AUTO_TEST_SUITE(types_token_counts)

namespace {

void check_same(const token_counts& got, const std::map<token, std::size_t>& expected) {
    BOOST_TEST_REQUIRE(got.size() == expected.size());
    std::size_t seen = 0;
    for (const auto& [t, count] : got) {
        BOOST_TEST_REQUIRE(expected.contains(t));
        BOOST_TEST_REQUIRE(count.anywhere == expected.at(t));
        BOOST_TEST_REQUIRE(got.at(t).anywhere == expected.at(t));
        ++seen;
    }
    BOOST_TEST(seen == expected.size());
}

}  // namespace

BOOST_AUTO_TEST_CASE(it_counts_as_a_map_does_whatever_comes_and_goes) {
    std::mt19937 random(1);
    for (const std::size_t range : {3u, 40u, 5000u}) {
        token_counts counts;
        std::map<token, std::size_t> expected;
        for (std::size_t i = 0; i < 3000; ++i) {
            const auto t = static_cast<token>(random() % range * 257);  // multiples share low bits
            if (random() % 3 == 0 && expected.contains(t)) {
                counts.erase(t);
                expected.erase(t);
            } else {
                ++counts[t].anywhere;
                ++expected[t];
            }
            BOOST_TEST_REQUIRE(counts.contains(t) == expected.contains(t));
            if (i % 97 == 0) check_same(counts, expected);
        }
        check_same(counts, expected);
    }
}

BOOST_AUTO_TEST_CASE(the_last_that_came_goes_without_a_trace_in_the_order) {
    token_counts counts;
    for (const token t : {7, 3, 9}) ++counts[t].anywhere;
    for (const token t : {100, 1, 50}) ++counts[t].anywhere;
    for (const token t : {50, 1, 100}) counts.erase(t);
    std::vector<token> order;
    for (const auto& [t, count] : counts) order.push_back(t);
    BOOST_TEST((order == std::vector<token>{7, 3, 9}));
}

BOOST_AUTO_TEST_CASE(any_id_has_a_place) {
    token_counts counts;
    for (const token t : {std::numeric_limits<token>::max(), std::numeric_limits<token>::min(), 0, -1}) {
        BOOST_TEST(!counts.contains(t));
        counts[t].generated = 2;
    }
    BOOST_TEST(counts.size() == 4u);
    counts.forget_generated();
    BOOST_TEST(counts.at(-1).generated == 0u);
    BOOST_CHECK_EXCEPTION(counts.at(5), augur::error, [](const augur::error& e) {
        return std::string(e.what()).find("token 5 does not occur") != std::string::npos;
    });
}

BOOST_AUTO_TEST_SUITE_END()
