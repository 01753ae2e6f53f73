#include "augur/switching/rolling_entropy.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>

using namespace augur;
using switching::rolling_entropy;

namespace {

/// The models that write, one digit each, when their rows have these entropies.
std::string models(rolling_entropy policy, const std::vector<double>& bits, std::size_t current = 0) {
    std::string letters;
    for (double each : bits) {
        letters += static_cast<char>('0' + current);
        current = policy.next_model(current, each);
    }
    return letters;
}

void refused(const switching::rolling_entropy_options& options, const std::string& part) {
    BOOST_CHECK_EXCEPTION(rolling_entropy{options}, error,
                          [&](const error& e) { return std::string(e.what()).find(part) != std::string::npos; });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(switching_rolling_entropy)

BOOST_AUTO_TEST_CASE(the_mean_is_of_the_last_tokens_and_of_fewer_at_first) {
    rolling_entropy policy({.thresholds_bits = {1}, .window = 3, .dwell = 100});
    BOOST_TEST(policy.mean_bits() == 0);
    const double bits[] = {3, 1, 2, 6, 1};
    const double means[] = {3, 2, 2, 3, 3};
    for (std::size_t i = 0; i < 5; ++i) {
        policy.next_model(0, bits[i]);
        BOOST_TEST(policy.mean_bits() == means[i]);
    }
}

BOOST_AUTO_TEST_CASE(above_the_threshold_up_and_at_it_down) {
    const switching::rolling_entropy_options options{.thresholds_bits = {1}, .window = 1, .dwell = 1};
    BOOST_TEST(models(rolling_entropy(options), {0, 1, 1.5, 1, 2, 0.5, 0}) == "0001010");
}

BOOST_AUTO_TEST_CASE(a_model_stays_for_its_dwell_and_the_window_is_one_for_all) {
    const switching::rolling_entropy_options options{.thresholds_bits = {1}, .window = 2, .dwell = 3};
    // means                                    4  4  4  2  0  0  0  2  4
    BOOST_TEST(models(rolling_entropy(options), {4, 4, 4, 0, 0, 0, 0, 4, 4}) == "000111000");
}

BOOST_AUTO_TEST_CASE(the_published_settings_are_the_default) {
    const rolling_entropy policy;
    BOOST_TEST(policy.options().window == 5u);
    BOOST_TEST(policy.options().dwell == 10u);
    BOOST_TEST(policy.models() == 2u);
    BOOST_TEST(models(policy, std::vector<double>(21, 1.0)) == "000000000011111111111");
}

BOOST_AUTO_TEST_CASE(a_ladder_has_a_model_for_every_level) {
    const switching::rolling_entropy_options options{.thresholds_bits = {1, 2, 3}, .window = 1, .dwell = 1};
    BOOST_TEST(models(rolling_entropy(options), {0, 1.5, 2, 2.5, 9, 3, 0, 0}) == "00112320");
}

BOOST_AUTO_TEST_CASE(an_entropy_that_is_no_number_brings_the_best_model) {
    rolling_entropy policy({.thresholds_bits = {1, 2}, .window = 2, .dwell = 1});
    BOOST_TEST(policy.next_model(0, 0.5) == 0u);
    BOOST_TEST(policy.next_model(0, std::nan("")) == 2u);
    BOOST_TEST(policy.next_model(2, 0.5) == 2u);  // it is still in the window
    BOOST_TEST(policy.next_model(2, 0.5) == 0u);
}

BOOST_AUTO_TEST_CASE(any_number_has_an_answer) {
    for (const double odd : {std::nan(""), std::numeric_limits<double>::infinity(), -1.0}) {
        rolling_entropy policy({.thresholds_bits = {1, 2}, .window = 2, .dwell = 1});
        BOOST_TEST(policy.next_model(0, odd) < 3u);
        BOOST_TEST(policy.next_model(2, odd) < 3u);
    }
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_is_refused_with_its_value) {
    refused({.thresholds_bits = {}}, "there is no threshold");
    refused({.thresholds_bits = {-0.5}}, "threshold 0 is -0.5 bits");
    refused({.thresholds_bits = {1, std::nan("")}}, "threshold 1 is nan bits");
    refused({.thresholds_bits = {1, 1}}, "threshold 1 is 1 bits, not above the one before, 1");
    refused({.thresholds_bits = {2, 1}}, "threshold 1 is 1 bits, not above the one before, 2");
    refused({.window = 0}, "the window is 0 tokens");
    refused({.dwell = 0}, "the dwell is 0 tokens");
}

BOOST_AUTO_TEST_CASE(it_can_be_written_down) {
    std::ostringstream out;
    out << rolling_entropy({.thresholds_bits = {0.25, 1}, .window = 4, .dwell = 2});
    BOOST_TEST(out.str() == "rolling_entropy{.thresholds_bits={0.25, 1}, .window=4, .dwell=2}");
}

BOOST_AUTO_TEST_SUITE_END()
