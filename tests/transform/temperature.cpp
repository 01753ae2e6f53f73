#include "augur/transform/temperature.hpp"

#include <boost/test/unit_test.hpp>
#include <random>

#include "transform/rows.hpp"

using augur::transform::temperature;

BOOST_AUTO_TEST_SUITE(transform_temperature)

BOOST_AUTO_TEST_CASE(probabilities_are_those_of_divided_logits) {
    std::mt19937 random(1);
    for (const float value : {0.05f, 0.3f, 0.999f, 1.5f, 40.0f}) {
        const auto row = rows::normal(random, 200);
        auto divided = row;
        for (float& x : divided) x /= value;
        const auto expected = rows::softmax(divided);
        const auto got = rows::softmax(rows::after(temperature{value}, row));
        for (std::size_t i = 0; i < row.size(); ++i) BOOST_TEST(std::abs(got[i] - expected[i]) < 1e-5);
    }
    BOOST_TEST(!temperature{1}.active());
    BOOST_TEST(temperature{0}.active());
}

BOOST_AUTO_TEST_CASE(no_temperature_overflows) {
    const float most = std::numeric_limits<float>::max();
    for (const float value : {1e-38f, 1e-30f, 1e30f, most}) {
        for (const std::vector<float>& row :
             {std::vector<float>{most, 0, -most}, std::vector<float>{-1, -most, -rows::infinity}}) {
            const auto got = rows::after(temperature{value}, row);
            BOOST_TEST(got[0] == 0);
            for (float x : got) BOOST_TEST(x <= 0);
        }
    }
    const auto flat = rows::softmax(rows::after(temperature{most}, {1000, -1000, 0, -rows::infinity}));
    for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(std::abs(flat[i] - 1.0 / 3) < 1e-6);
    BOOST_TEST(flat[3] == 0);
    const auto sharp = rows::after(temperature{1e-38f}, {1, 0.999f, 1});
    BOOST_TEST(sharp[0] == sharp[2]);
    BOOST_TEST(sharp[1] < -1e30f);
}

BOOST_AUTO_TEST_CASE(zero_keeps_the_first_largest_alone) {
    const float gone = -rows::infinity;
    const std::vector<float> expected = {gone, 5, gone, gone};
    BOOST_TEST(rows::after(temperature{0}, {1, 5, 5, -3}) == expected, boost::test_tools::per_element());
    const std::vector<float> nothing(3, gone);
    BOOST_TEST(rows::after(temperature{0}, nothing) == nothing, boost::test_tools::per_element());
    BOOST_TEST(rows::after(temperature{0.5f}, nothing) == nothing, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_is_no_temperature_is_refused_with_its_value) {
    BOOST_TEST(rows::refusal(temperature{0}) == "");
    BOOST_TEST(rows::refusal(temperature{1e-38f}) == "");
    BOOST_TEST(rows::refusal(temperature{-0.5f}) ==
               "temperature is -0.5; it must be 0 (greedy) or positive and finite");
    BOOST_TEST(rows::refusal(temperature{rows::infinity}) ==
               "temperature is inf; it must be 0 (greedy) or positive and finite");
    BOOST_TEST(rows::refusal(temperature{rows::not_a_number}) ==
               "temperature is nan; it must be 0 (greedy) or positive and finite");
    BOOST_TEST(rows::refusal(temperature{1e-40f}).starts_with("temperature 9.99"));
    BOOST_TEST(rows::refusal(temperature{1e-40f}).ends_with("is too small to divide by; use 0 for greedy decoding"));
}

BOOST_AUTO_TEST_SUITE_END()
