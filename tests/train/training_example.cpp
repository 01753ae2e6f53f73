#include "augur/train/training_example.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <vector>

BOOST_AUTO_TEST_SUITE(train_training_example)
using namespace augur;
using namespace augur::train;
const auto close = boost::test_tools::tolerance(1e-6);
constexpr std::size_t none = training_example<double>::none;

const std::vector<float> logs{std::log(0.5F), std::log(0.3F), std::log(0.15F), std::log(0.05F)};
const std::vector<float> two_logs{std::log(0.5F), std::log(0.3F)};
const std::vector<token> two{3, 1};

training_example<double> example(const teacher_row& row, const class_index& index, double temperature = 1) {
    training_example<double> result;
    result.classes = {7, 7, 7};  // of the row before
    result.probabilities = {7};
    fill_example(row, index, temperature, result);
    return result;
}
double mass(const training_example<double>& of) {
    return std::accumulate(of.probabilities.begin(), of.probabilities.end(), of.tail);
}

BOOST_AUTO_TEST_CASE(tokens_have_the_classes_that_list_them) {
    const std::vector<token> listed{4, 0};
    const class_index some(listed, 5), all({}, 5);
    BOOST_TEST(!some.all());
    BOOST_TEST(some(4) == 0U);
    BOOST_TEST(some(0) == 1U);
    BOOST_TEST(some(2) == none);
    BOOST_TEST(all.all());
    BOOST_TEST(all(2) == 2U);
    for (const token outside : {no_token, 5}) {
        BOOST_TEST(some(outside) == none);
        BOOST_TEST(all(outside) == none);
    }
    const std::vector<token> wrong{5};
    BOOST_CHECK_THROW(class_index(wrong, 5), std::out_of_range);
}

BOOST_AUTO_TEST_CASE(the_most_probable_token_is_the_first_listed_or_the_largest) {
    BOOST_TEST((teacher_row{two, two_logs, 0.2F}.top()) == 3);
    const std::vector<float> second{-2, -1, -3};
    BOOST_TEST((teacher_row{{}, second, 0}.top()) == 1);
}

BOOST_AUTO_TEST_CASE(positions_that_nobody_judged_are_drawn_and_say_nothing_of_acceptance) {
    reward_average of;
    of.see(accept_bit::accepted, 0.75);
    of.see(accept_bit::unknown, 0.75);
    BOOST_TEST(of.drawn == 2U);
    BOOST_TEST(of.acceptance == 0.25);
    BOOST_TEST(of.begin_update() == 0);
    BOOST_TEST(of.baseline == 0.25);
}

BOOST_AUTO_TEST_CASE(a_low_temperature_leaves_the_largest) {
    const std::vector<float> flat(4, -8), falling{-8, -8.01F, -9, -20};
    for (const float tail : {0.0F, 1e-5F, 0.99F}) {
        for (const auto& row : {flat, falling}) {
            const auto got = example({{}, row, tail}, class_index({}, 4), 0.01);
            BOOST_TEST(mass(got) == 1, close);
            if (tail > 0.5F) BOOST_TEST(got.tail == 1, close);
            if (tail < 0.5F && row == flat) BOOST_TEST(got.probabilities[2] == 0.25, close);
            if (tail < 0.5F && row == falling) BOOST_TEST(got.probabilities[1] / got.probabilities[0] < 0.5);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_whole_row_over_all_classes_is_listed_in_order) {
    const auto got = example({{}, logs, 0}, class_index({}, 4));
    BOOST_TEST(got.whole);
    BOOST_TEST(got.classes.empty());
    BOOST_TEST_REQUIRE(got.probabilities.size() == 4U);
    BOOST_TEST(got.probabilities[2] == 0.15, close);
    BOOST_TEST(got.tail == 0);
    BOOST_TEST(got.top == 0U);
    BOOST_TEST(got.drafted == none);
}

BOOST_AUTO_TEST_CASE(of_listed_tokens_the_others_are_one_outcome) {
    const auto got = example({two, two_logs, 0.2F}, class_index({}, 4));
    BOOST_TEST(!got.whole);
    BOOST_TEST(got.classes == std::vector<std::size_t>({3, 1}), boost::test_tools::per_element());
    BOOST_TEST(got.probabilities[1] == 0.3, close);
    BOOST_TEST(got.tail == 0.2, close);
    BOOST_TEST(got.top == 3U);
}

BOOST_AUTO_TEST_CASE(a_token_without_a_class_keeps_its_share_and_teaches_nothing) {
    const std::vector<token> listed{1, 2};
    const auto pruned = example({two, two_logs, 0.2F}, class_index(listed, 4));
    BOOST_TEST(pruned.classes == std::vector<std::size_t>({0}), boost::test_tools::per_element());
    BOOST_TEST(pruned.probabilities[0] == 0.3, close);
    BOOST_TEST(pruned.tail == 0.2, close);
    BOOST_TEST(mass(pruned) == 0.5, close);
    BOOST_TEST(pruned.top == none);
    const auto of_whole = example({{}, logs, 0}, class_index(listed, 4));
    BOOST_TEST(!of_whole.whole);
    BOOST_TEST(of_whole.classes == std::vector<std::size_t>({0, 1}), boost::test_tools::per_element());
    BOOST_TEST(of_whole.probabilities[1] == 0.15, close);
}

BOOST_AUTO_TEST_CASE(a_temperature_is_taken_of_every_outcome_and_the_tail_is_one) {
    const auto got = example({two, two_logs, 0.2F}, class_index({}, 4), 2);
    const double total = std::sqrt(0.5) + std::sqrt(0.3) + std::sqrt(0.2);
    BOOST_TEST(got.probabilities[0] == std::sqrt(0.5) / total, close);
    BOOST_TEST(got.tail == std::sqrt(0.2) / total, close);
    BOOST_TEST(mass(got) == 1, close);
    const auto sharp = example({{}, logs, 0}, class_index({}, 4), 0.5);
    BOOST_TEST(sharp.probabilities[0] == 0.25 / (0.25 + 0.09 + 0.0225 + 0.0025), close);
}

BOOST_AUTO_TEST_SUITE_END()
