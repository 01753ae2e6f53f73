#include "augur/transform/top_p.hpp"

#include <boost/test/unit_test.hpp>
#include <random>

#include "transform/rows.hpp"

using augur::transform::top_p;

BOOST_AUTO_TEST_SUITE(transform_top_p)

namespace {

std::vector<float> literal(double p, const std::vector<float>& row) {
    const auto probabilities = rows::softmax(row);
    std::vector<float> kept(row.size(), -rows::infinity);
    double mass = 0;
    for (const std::size_t i : rows::ranked(row)) {
        kept[i] = row[i];
        mass += probabilities[i];
        if (mass >= p) break;
    }
    return kept;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_smallest_set_that_holds_the_mass_stays) {
    std::mt19937 random(1);
    for (const std::size_t size : {1u, 2u, 10u, 1000u, 5000u}) {
        for (std::size_t i = 0; i < 20; ++i) {
            const auto row = rows::normal(random, size, i % 3 == 0 ? 0.5f : 3);  // flat ones take several sorted parts
            const float p = static_cast<float>(1 + random() % 999) / 1000;
            BOOST_TEST(rows::after(top_p{p}, row) == literal(static_cast<double>(p), row),
                       boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(of_equals_the_lower_ids_stay) {
    const float gone = -rows::infinity;
    const std::vector<float> level(8, 2.5f);
    for (std::size_t kept = 1; kept <= 8; ++kept) {
        std::vector<float> expected(8, gone);
        std::fill_n(expected.begin(), kept, 2.5f);
        const float p = static_cast<float>(kept) / 8;  // eighths are exact: the mass is reached, not passed
        BOOST_TEST(rows::after(top_p{p}, level) == expected, boost::test_tools::per_element());
    }
    std::mt19937 random(2);
    for (std::size_t i = 0; i < 200; ++i) {  // ties inside and across the sorted parts
        const auto row = rows::coarse(random, 1 + random() % 700);
        const float p = static_cast<float>(1 + random() % 99) / 100 + 0.0003f;
        BOOST_TEST(rows::after(top_p{p}, row) == literal(static_cast<double>(p), row),
                   boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(at_least_one_stays_and_the_impossible_never_returns) {
    const float gone = -rows::infinity;
    const std::vector<float> expected = {gone, 9, gone, gone};
    BOOST_TEST(rows::after(top_p{1e-30f}, {1, 9, 9, gone}) == expected, boost::test_tools::per_element());
    const std::vector<float> nearly = {0, 0, gone, 0};
    BOOST_TEST(rows::after(top_p{0.99999f}, nearly) == nearly, boost::test_tools::per_element());
    const std::vector<float> nothing(5, gone);
    BOOST_TEST(rows::after(top_p{0.5f}, nothing) == nothing, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_row_that_nothing_can_be_drawn_from_stays_one) {
    const std::vector<float> row{1, rows::infinity, 2};
    BOOST_TEST(rows::after(top_p{0.5f}, row) == row, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_is_no_probability_is_refused_with_its_value) {
    BOOST_TEST(rows::refusal(top_p{1}) == "");
    BOOST_TEST(!top_p{1}.active());
    BOOST_TEST(rows::refusal(top_p{0}) == "top_p is 0; it must be in (0, 1]");
    BOOST_TEST(rows::refusal(top_p{-0.1f}) == "top_p is -0.1; it must be in (0, 1]");
    BOOST_TEST(rows::refusal(top_p{1.25f}) == "top_p is 1.25; it must be in (0, 1]");
    BOOST_TEST(rows::refusal(top_p{0.5f}, 1048575) == "");
    BOOST_TEST(rows::refusal(top_p{0.5f}, 1048576) ==
               "top_p counts the mass of at most 1048575 tokens, but the vocabulary has 1048576");
    BOOST_TEST(rows::refusal(top_p{1}, 1048576) == "");
    BOOST_TEST(rows::refusal(top_p{rows::not_a_number}) == "top_p is nan; it must be in (0, 1]");
}

BOOST_AUTO_TEST_SUITE_END()
