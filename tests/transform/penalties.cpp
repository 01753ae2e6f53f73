#include "augur/transform/penalties.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>
#include <span>

#include "transform/rows.hpp"

using augur::transform::penalties;

namespace {

/// The formulas, from the tokens themselves.
std::vector<float> literal(const penalties& chosen, std::vector<float> row, const std::vector<augur::token>& prompt,
                           const std::vector<augur::token>& output) {
    for (std::size_t t = 0; t < row.size(); ++t) {
        const auto id = static_cast<augur::token>(t);
        const auto in_prompt = std::count(prompt.begin(), prompt.end(), id);
        const auto in_output = std::count(output.begin(), output.end(), id);
        if (in_prompt + in_output > 0) {
            if (row[t] > 0) {
                row[t] /= chosen.repetition;
            } else {
                row[t] *= chosen.repetition;
            }
        }
        if (in_output > 0) row[t] -= chosen.presence + chosen.frequency * static_cast<float>(in_output);
    }
    return row;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(transform_penalties)

BOOST_AUTO_TEST_CASE(every_combination_is_the_literal_formula) {
    std::mt19937 random(1);
    for (const float repetition : {1.0f, 1.3f, 0.7f}) {
        for (const float presence : {0.0f, 0.6f, -0.4f}) {
            for (const float frequency : {0.0f, 0.25f, -0.1f}) {
                const penalties chosen{repetition, presence, frequency};
                BOOST_TEST(chosen.active() == (repetition != 1 || presence != 0 || frequency != 0));
                for (std::size_t i = 0; i < 10; ++i) {
                    const auto row = rows::coarse(random, 30);
                    const auto prompt = rows::tokens(random, random() % 40, 30);
                    const auto output = rows::tokens(random, random() % 40, 30);
                    augur::prefix before(prompt);
                    for (augur::token t : output) before.push(t);
                    BOOST_TEST(rows::after(chosen, row, before) == literal(chosen, row, prompt, output),
                               boost::test_tools::per_element());
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_speculative_token_counts_while_it_is_there) {
    const penalties chosen{2, 0.5f, 0.25f};
    const std::vector<augur::token> prompt = {0};
    augur::prefix before(prompt);
    const std::vector<float> row = {4, 4, -4};
    const std::vector<float> plain = {2, 4, -4};
    BOOST_TEST(rows::after(chosen, row, before) == plain, boost::test_tools::per_element());
    {
        augur::speculative_suffix drafted(before);
        drafted.push(2);
        drafted.push(2);
        const std::vector<float> twice = {2, 4, -9};
        BOOST_TEST(rows::after(chosen, row, before) == twice, boost::test_tools::per_element());
    }
    BOOST_TEST(rows::after(chosen, row, before) == plain, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(tokens_beyond_the_row_are_passed_over) {
    const std::vector<augur::token> prompt = {7, 2, 1};
    std::vector<float> row = {3, 3, 3};
    penalties{2, 0, 0}(std::span(row).first(2), augur::prefix(prompt));
    const std::vector<float> expected = {3, 1.5f, 3};
    BOOST_TEST(row == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_is_no_penalty_is_refused_with_its_value) {
    BOOST_TEST(rows::refusal(penalties{0.1f, -3, 100}) == "");
    BOOST_TEST(rows::refusal(penalties{0, 0, 0}) ==
               "repetition penalty is 0; it must be positive and finite (1 is off)");
    BOOST_TEST(rows::refusal(penalties{-1.5f, 0, 0}) ==
               "repetition penalty is -1.5; it must be positive and finite (1 is off)");
    BOOST_TEST(rows::refusal(penalties{rows::infinity, 0, 0}) ==
               "repetition penalty is inf; it must be positive and finite (1 is off)");
    BOOST_TEST(rows::refusal(penalties{1, rows::not_a_number, 0}) == "presence penalty is nan; it must be finite");
    BOOST_TEST(rows::refusal(penalties{1, 0, -rows::infinity}) == "frequency penalty is -inf; it must be finite");
}

BOOST_AUTO_TEST_SUITE_END()
