#include "augur/tune/split.hpp"

#include <augur/testing/refined_models.hpp>
#include <boost/test/unit_test.hpp>
#include <random>
#include <string>
#include <vector>

#include "draft/exit_mock.hpp"

using namespace augur;
using tune::split;
using tune::split_choice;
namespace tt = boost::test_tools;

BOOST_AUTO_TEST_SUITE(tune_split)

/// Tokens a second of rounds that draft so many, by going through every number of tokens that can be accepted.
double by_brute_force(const split& of, std::size_t length) {
    double tokens = 0, accepted = 1, seconds = 0;
    for (std::size_t i = 0; i < length; ++i) {
        tokens += accepted * (1 - of.acceptance[i]) * static_cast<double>(i + 1);
        accepted *= of.acceptance[i];
        seconds += of.first_seconds + of.head_seconds;
    }
    tokens += accepted * static_cast<double>(length + 1);
    return tokens / (seconds + of.first_seconds + of.rest_seconds[length]);
}

std::vector<split> some_splits(std::mt19937& random) {
    const auto number = [&](double most) { return std::uniform_real_distribution(1e-4, most)(random); };
    std::vector<split> splits(1 + random() % 4);
    for (std::size_t i = 0; i < splits.size(); ++i) {
        splits[i] = {.layer = 4 * i + 3, .first_seconds = number(0.3), .head_seconds = number(0.1)};
        for (std::size_t n = 0; n < 1 + random() % 6; ++n) splits[i].rest_seconds.push_back(number(1));
        for (std::size_t n = 0; n < random() % 7; ++n) splits[i].acceptance.push_back(number(1));
    }
    return splits;
}

BOOST_AUTO_TEST_CASE(every_split_and_length_is_there_with_its_speed_fastest_first) {
    std::mt19937 random(1);
    for (int trial = 0; trial < 200; ++trial) {
        const auto candidates = some_splits(random);
        const double plain = std::uniform_real_distribution(0.1, 2.0)(random);
        const auto choices = tune::best_splits(candidates, plain);
        std::size_t expected = 1;
        double best = 1 / plain;
        for (const split& each : candidates) {
            for (std::size_t length = 1; length < each.rest_seconds.size() && length <= each.acceptance.size();
                 ++length, ++expected) {
                const double speed = by_brute_force(each, length);
                best = std::max(best, speed);
                const auto is_it = [&](const split_choice& c) { return c.layer == each.layer && c.length == length; };
                const auto found = std::find_if(choices.begin(), choices.end(), is_it);
                BOOST_REQUIRE(found != choices.end());
                BOOST_TEST(found->tokens_per_second == speed, tt::tolerance(1e-12));
                BOOST_TEST(found->speedup == speed * plain, tt::tolerance(1e-12));
            }
        }
        BOOST_TEST(choices.size() == expected);
        BOOST_TEST(choices.front().tokens_per_second == best, tt::tolerance(1e-12));
        for (std::size_t i = 1; i < choices.size(); ++i) BOOST_TEST(choices[i - 1].speedup >= choices[i].speedup);
    }
}

BOOST_AUTO_TEST_CASE(of_equals_plain_decoding_comes_first_then_fewer_layers) {
    // Whatever is accepted costs as much as plain decoding.
    const std::vector<split> candidates{
        {.layer = 6, .first_seconds = 0.5, .rest_seconds = {0.5, 1}, .acceptance = {1}},
        {.layer = 3, .first_seconds = 0.5, .rest_seconds = {0.5, 1}, .acceptance = {1}}};
    const auto choices = tune::best_splits(candidates, 1);
    BOOST_TEST_REQUIRE(choices.size() == 3u);
    BOOST_TEST((choices[0].layer == 0 && choices[0].length == 0 && choices[0].speedup == 1));
    BOOST_TEST((choices[1].layer == 3 && choices[1].length == 1 && choices[1].speedup == 1));
    BOOST_TEST(choices[2].layer == 6u);
}

BOOST_AUTO_TEST_CASE(layers_share_a_pass_but_for_the_output) {
    // 10 seconds of which the output takes 2, 8 layers 1 each.
    const auto parts = tune::proportional_split(3, 8, std::vector<double>{10, 20}, 0.2, 0.5, {0.9});
    BOOST_TEST(parts.layer == 3u);
    BOOST_TEST(parts.first_seconds == 3, tt::tolerance(1e-12));
    BOOST_TEST(parts.rest_seconds[0] == 7, tt::tolerance(1e-12));
    BOOST_TEST(parts.rest_seconds[1] == 14, tt::tolerance(1e-12));
    // One token of 0.9, in 2 x 3 + 0.5 + 14 seconds.
    BOOST_TEST(tune::best_splits(std::span(&parts, 1), 10)[1].tokens_per_second == 1.9 / 20.5, tt::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(costs_are_measured_where_the_head_reads) {
    const testing::split_mock model(testing::hashed_model(9, 1, 2, 20), 4);
    const testing::exit_mock head{.vocabulary = 9, .after = 2};
    const auto parts = tune::measured_split(model, head, 5, 3);
    BOOST_TEST(parts.layer == 2u);
    BOOST_TEST(parts.first_seconds > 0);
    BOOST_TEST(parts.head_seconds >= 0);
    BOOST_TEST(parts.rest_seconds.size() == 5u);
    for (const double seconds : parts.rest_seconds) BOOST_TEST(seconds > 0);
    BOOST_TEST(parts.acceptance.empty());
}

auto says(const std::string& part) {
    return [part](const error& e) { return std::string(e.what()).find(part) != std::string::npos; };
}

BOOST_AUTO_TEST_CASE(figures_that_cannot_be_are_refused) {
    const std::vector<double> passes{1, 2};
    BOOST_CHECK_EXCEPTION(tune::proportional_split(0, 8, passes, 0, 0, {}), error, says("after 0 layers of 8"));
    BOOST_CHECK_EXCEPTION(tune::proportional_split(8, 8, passes, 0, 0, {}), error, says("after 8 layers of 8"));
    BOOST_CHECK_EXCEPTION(tune::proportional_split(3, 8, passes, 1, 0, {}), error, says("share is 1"));
    BOOST_CHECK_EXCEPTION(tune::proportional_split(3, 8, {}, 0, 0, {}), error, says("no pass"));
    const auto refused = [&](split each, double plain, const std::string& part) {
        BOOST_CHECK_EXCEPTION(tune::best_splits(std::span(&each, 1), plain), error, says(part));
    };
    const split sound{.layer = 3, .first_seconds = 1, .rest_seconds = {1, 2}, .acceptance = {0.5}};
    refused(sound, 0, "takes 0 seconds");
    refused(sound, std::numeric_limits<double>::infinity(), "takes inf seconds");
    split odd = sound;
    odd.acceptance = {1.5};
    refused(odd, 1, "1.5");
    odd = sound;
    odd.first_seconds = 0;
    refused(odd, 1, "after 3 layers takes 0");
    odd = sound;
    odd.head_seconds = -1;
    refused(odd, 1, "-1 seconds");
    const testing::split_mock model(testing::hashed_model(9, 1, 2, 20), 4);
    const testing::exit_mock head{.vocabulary = 9, .after = 4};
    BOOST_CHECK_EXCEPTION(tune::measured_split(model, head, 5), error, says("after 4 layers"));
    const testing::exit_mock fits{.vocabulary = 9, .after = 2};
    BOOST_CHECK_EXCEPTION(tune::measured_split(model, fits, 18, 3), error, says("18 tokens after 3"));
    BOOST_CHECK_EXCEPTION(tune::measured_split(model, fits, 0), error, says("over 0 tokens"));
    BOOST_CHECK_EXCEPTION(tune::measured_split(model, fits, 2, 1, {.repetitions = 0}), error,
                          says("repetitions are 0"));
}

BOOST_AUTO_TEST_SUITE_END()
