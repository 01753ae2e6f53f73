#include "augur/transform/bias.hpp"

#include <boost/test/unit_test.hpp>
#include <random>

#include "transform/rows.hpp"

using augur::transform::bias;

BOOST_AUTO_TEST_SUITE(transform_bias)

BOOST_AUTO_TEST_CASE(named_tokens_move_by_their_bias_and_others_do_not) {
    std::mt19937 random(1);
    for (std::size_t i = 0; i < 50; ++i) {
        const auto row = rows::normal(random, 40);
        bias chosen;
        auto expected = row;
        for (std::size_t n = random() % 6; n > 0; --n) {
            const std::size_t t = random() % 40;
            const float by = static_cast<float>(random() % 100) / 10 - 5;
            chosen.added.emplace_back(static_cast<augur::token>(t), by);
            expected[t] += by;  // a token named twice moves twice
        }
        BOOST_TEST(chosen.active() == !chosen.added.empty());
        BOOST_TEST(rows::after(chosen, row) == expected, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(minus_infinity_bans) {
    const auto row = rows::after(bias{{{2, -rows::infinity}}}, {1, 2, 3});
    const std::vector<float> expected = {1, 2, -rows::infinity};
    BOOST_TEST(row == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_added_is_refused_with_its_values) {
    BOOST_TEST(rows::refusal(bias{}) == "");
    BOOST_TEST(rows::refusal(bias{{{0, -rows::infinity}, {9, 1e30f}}}) == "");
    BOOST_TEST(rows::refusal(bias{{{0, 1}, {10, 1}}}) == "logit bias names token 10, but the vocabulary has 10");
    BOOST_TEST(rows::refusal(bias{{{-1, 1}}}) == "logit bias names token -1, but the vocabulary has 10");
    BOOST_TEST(rows::refusal(bias{{{3, rows::infinity}}}) ==
               "logit bias of token 3 is inf; it must be below +infinity");
    BOOST_TEST(rows::refusal(bias{{{3, rows::not_a_number}}}) ==
               "logit bias of token 3 is nan; it must be below +infinity");
}

BOOST_AUTO_TEST_SUITE_END()
