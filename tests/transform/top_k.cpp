#include "augur/transform/top_k.hpp"

#include <boost/test/unit_test.hpp>
#include <random>

#include "transform/rows.hpp"

using augur::transform::top_k;

namespace {

std::vector<float> literal(std::size_t k, std::vector<float> row) {
    if (k >= row.size()) return row;
    const float least = row[rows::ranked(row)[k - 1]];
    for (float& x : row) {
        if (x < least) x = -rows::infinity;
    }
    return row;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(transform_top_k)

BOOST_AUTO_TEST_CASE(what_is_smaller_than_the_kth_largest_is_removed) {
    std::mt19937 random(1);
    for (const std::size_t size : {1u, 2u, 10u, 300u}) {
        for (std::size_t i = 0; i < 40; ++i) {
            const auto row = i % 2 == 0 ? rows::normal(random, size) : rows::coarse(random, size);
            const std::size_t k = 1 + random() % (size + 2);
            BOOST_TEST(rows::after(top_k{k}, row) == literal(k, row), boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(ties_with_the_kth_stay) {
    const float gone = -rows::infinity;
    const std::vector<float> expected = {3, 2, gone, 2, 2};
    BOOST_TEST(rows::after(top_k{2}, {3, 2, 1, 2, 2}) == expected, boost::test_tools::per_element());
    BOOST_TEST(rows::after(top_k{4}, {3, 2, 1, 2, 2}) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(as_many_as_the_vocabulary_or_more_change_nothing) {
    const std::vector<float> row = {1, -rows::infinity, 3};
    for (const std::size_t k : {std::size_t{3}, std::size_t{4}, std::numeric_limits<std::size_t>::max()}) {
        BOOST_TEST(rows::after(top_k{k}, row) == row, boost::test_tools::per_element());
    }
    BOOST_TEST(!top_k{0}.active());
    BOOST_TEST(top_k{1}.active());
    BOOST_TEST(rows::refusal(top_k{1000}) == "");
}

BOOST_AUTO_TEST_CASE(fewer_possible_tokens_than_k_all_stay) {
    const float gone = -rows::infinity;
    const std::vector<float> row = {gone, 1, gone, 2, gone};
    BOOST_TEST(rows::after(top_k{3}, row) == row, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
