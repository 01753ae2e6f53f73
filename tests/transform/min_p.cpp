#include "augur/transform/min_p.hpp"

#include <boost/test/unit_test.hpp>
#include <random>

#include "transform/rows.hpp"

using augur::transform::min_p;

BOOST_AUTO_TEST_SUITE(transform_min_p)

namespace {

std::vector<float> literal(double p, std::vector<float> row) {
    const auto probabilities = rows::softmax(row);
    const double largest = *std::max_element(probabilities.begin(), probabilities.end());
    for (std::size_t i = 0; i < row.size(); ++i) {
        if (probabilities[i] < p * largest) row[i] = -rows::infinity;
    }
    return row;
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_less_probable_than_a_fraction_of_the_largest_is_removed) {
    std::mt19937 random(1);
    for (const std::size_t size : {1u, 2u, 10u, 1000u}) {
        for (std::size_t i = 0; i < 40; ++i) {
            const auto row = i % 2 == 0 ? rows::normal(random, size) : rows::coarse(random, size);
            const float p = static_cast<float>(1 + random() % 999) / 1000;
            BOOST_TEST(rows::after(min_p{p}, row) == literal(static_cast<double>(p), row),
                       boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(one_keeps_the_largest_with_their_ties) {
    const float gone = -rows::infinity;
    const std::vector<float> expected = {gone, 7, gone, 7};
    BOOST_TEST(rows::after(min_p{1}, {6.9f, 7, gone, 7}) == expected, boost::test_tools::per_element());
    const std::vector<float> nothing(3, gone);
    BOOST_TEST(rows::after(min_p{0.5f}, nothing) == nothing, boost::test_tools::per_element());
    const std::vector<float> far = {0, -80, -200};
    const std::vector<float> near = {0, -80, gone};
    BOOST_TEST(rows::after(min_p{1e-38f}, far) == near, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_is_no_probability_is_refused_with_its_value) {
    BOOST_TEST(rows::refusal(min_p{0}) == "");
    BOOST_TEST(rows::refusal(min_p{1}) == "");
    BOOST_TEST(!min_p{0}.active());
    BOOST_TEST(rows::refusal(min_p{-0.5f}) == "min_p is -0.5; it must be in [0, 1]");
    BOOST_TEST(rows::refusal(min_p{1.5f}) == "min_p is 1.5; it must be in [0, 1]");
    BOOST_TEST(rows::refusal(min_p{rows::not_a_number}) == "min_p is nan; it must be in [0, 1]");
}

BOOST_AUTO_TEST_SUITE_END()
