#include "augur/tune/beta.hpp"

#include <algorithm>
#include <augur/testing/counting_model.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

using namespace augur;
namespace tt = boost::test_tools;

BOOST_AUTO_TEST_SUITE(tune_beta)

namespace {

using rows = std::vector<std::vector<double>>;

/// After token 0 the rows are equal, after 1 a quarter apart, after 2 a half, after 3 disjoint.
const auto target = testing::markov_model(rows{{1, 1, 1, 1}, {2, 2, 0, 0}, {1, 1, 0, 0}, {1, 0, 0, 0}});
const auto draft = testing::markov_model(rows{{2, 2, 2, 2}, {3, 1, 0, 0}, {0, 1, 1, 0}, {0, 0, 0, 1}});
const std::vector<double> by_token{0, 0.25, 0.5, 1};

std::vector<token> random_text(std::size_t size) {
    std::vector<token> text;
    for (std::size_t i = 0; i < size; ++i) text.push_back(static_cast<token>((i * i + i / 3) % 4));
    return text;
}

std::string refusal(const auto& of, const auto& by, const std::vector<token>& text, std::size_t given) {
    try {
        tune::divergences_along(of, by, text, given);
    } catch (const error& e) {
        return e.what();
    }
    return "";
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_position_has_the_divergence_of_its_rows) {
    for (const std::size_t size : {2u, 5u, 33u, 34u, 65u, 100u}) {  // around the parts
        for (const std::size_t given : {std::size_t{1}, size / 2}) {
            const auto text = random_text(size);
            const auto found = tune::divergences_along(target, draft, text, given);
            BOOST_REQUIRE(found.size() == size - given);
            for (std::size_t i = 0; i < found.size(); ++i) {
                const double expected = by_token[static_cast<std::size_t>(text[given + i - 1])];
                BOOST_TEST(std::abs(found[i] - expected) < 1e-6);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(the_share_is_known_where_the_text_is) {
    // Four positions after 0, three after 1, two after 2, one after 3.
    const std::vector<token> text{0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 0};
    const auto found = tune::divergences_along(target, draft, text, 1);
    const std::vector<double> thresholds{0, 0.2, 0.3, 0.6, 0.9, 1};
    const auto shares = tune::shares_within(found, thresholds);
    BOOST_TEST(shares == (std::vector{0.4, 0.4, 0.7, 0.9, 0.9, 1.0}), tt::per_element());
    BOOST_TEST(tune::shares_within(found, std::vector<double>{}).empty());
    BOOST_TEST(tune::shares_within(std::vector{0.5, 0.25}, std::vector{0.25, 0.5}) == (std::vector{0.5, 1.0}),
               tt::per_element());
}

BOOST_AUTO_TEST_CASE(rows_are_compared_after_the_transform) {
    transform::settings sampling;
    sampling.temperature.value = 0;  // after 1 the draft's most probable token is the target's, after 2 it is not
    const auto found = tune::divergences_along(target, draft, std::vector<token>{1, 2, 0}, 1, sampling);
    BOOST_TEST(found == (std::vector{0.0, 1.0}), tt::per_element());
}

BOOST_AUTO_TEST_CASE(what_is_given_and_what_follows_are_the_history_of_a_row) {
    transform::settings sampling;
    sampling.penalties.repetition = 1.5f;  // of all tokens before
    sampling.penalties.frequency = 0.7f;   // of those after what is given
    const auto large = testing::hashed_model(4, 1), small = testing::hashed_model(4, 2);
    const transform::pipeline transform(sampling, 4);
    const auto text = random_text(40);
    const std::size_t given = 5;
    const auto found = tune::divergences_along(large, small, text, given, sampling);
    prefix before(std::span<const token>(text).first(given));
    for (std::size_t i = given; i < text.size(); ++i) {
        const auto row_of = [&](const auto& model) {
            std::vector<float> row(4);
            model.fill_row(std::span(text).first(i), row);
            return transform(row, before);
        };
        BOOST_TEST(found[i - given] == measure::divergence<measure::total_variation>(row_of(large), row_of(small)));
        before.push(text[i]);
    }
}

BOOST_AUTO_TEST_CASE(the_target_comes_first_in_a_divergence_with_two_sides) {
    const std::vector<token> text{2, 0};
    const double infinity = std::numeric_limits<double>::infinity();
    const auto narrow = testing::markov_model(rows{{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 0, 0, 0}, {1, 1, 1, 1}});
    BOOST_TEST(tune::divergences_along<measure::kl>(narrow, target, text, 1)[0] == std::log(2), tt::tolerance(1e-6));
    BOOST_TEST(tune::divergences_along<measure::kl>(target, narrow, text, 1)[0] == infinity);
}

BOOST_AUTO_TEST_CASE(rows_that_cannot_be_drawn_from_are_near_to_nothing) {
    const testing::function_model broken(4, 64, [](std::span<const token>, std::span<float> row) {
        std::fill(row.begin(), row.end(), std::numeric_limits<float>::quiet_NaN());
    });
    const auto found = tune::divergences_along(target, broken, random_text(5), 2);
    BOOST_TEST(tune::shares_within(found, std::vector{1.0}).front() == 0);
}

BOOST_AUTO_TEST_CASE(each_model_reads_the_text_once) {
    const testing::counting_model counted(target);
    tune::divergences_along(counted, draft, random_text(100), 20);
    BOOST_TEST(counted.counts().tokens == 99u);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_compared_is_refused) {
    BOOST_TEST(refusal(target, draft, random_text(5), 0).find("5 tokens 0 are given") != std::string::npos);
    BOOST_TEST(refusal(target, draft, random_text(5), 5).find("5 tokens 5 are given") != std::string::npos);
    BOOST_TEST(refusal(target, testing::hashed_model(3, 1), random_text(5), 2).find("4 tokens and the draft 3") !=
               std::string::npos);
    const testing::function_model narrow(
        4, 6, [](std::span<const token>, std::span<float> row) { std::fill(row.begin(), row.end(), 0.0f); });
    BOOST_TEST(refusal(target, narrow, random_text(7), 2) == "");
    BOOST_TEST(refusal(target, narrow, random_text(8), 2).find("8 tokens does not fit a context of 6") !=
               std::string::npos);
    BOOST_CHECK_THROW(tune::shares_within({}, std::vector{0.5}), error);
}

BOOST_AUTO_TEST_SUITE_END()
