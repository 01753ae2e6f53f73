#include "augur/tune/throughput.hpp"

#include <augur/accept/fuzzy.hpp>
#include <augur/decode/generate.hpp>
#include <augur/measure/entropy.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/testing/costed_model.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

using namespace augur;
using tune::verification;
namespace tt = boost::test_tools;

BOOST_AUTO_TEST_SUITE(tune_throughput)

BOOST_AUTO_TEST_CASE(expected_length_adds_up_what_is_accepted) {
    BOOST_TEST(tune::expected_length({}) == 1);
    BOOST_TEST(tune::expected_length(std::vector{0.5, 0.5}) == 1.75);
    BOOST_TEST(tune::expected_length(std::vector{1.0, 1.0, 0.0, 1.0}) == 3);
    const std::vector<double> constant(6, 0.8);  // (1 - a^(k+1)) / (1 - a), Leviathan et al. 2023, equation 1
    BOOST_TEST(tune::expected_length(constant) == (1 - std::pow(0.8, 7)) / 0.2, tt::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(formulas_as_published) {
    // V_SD = b (l + 1) / (l / V_D + 1 / V_T)
    const verification target{.length = 4, .kept = 0.6, .pass_seconds = 1 / 60.0};
    BOOST_TEST(tune::throughput(300, std::vector{target}) == 0.6 * 5 / (4 / 300.0 + 1 / 60.0), tt::tolerance(1e-12));
    // V_PSD: the stage below in place of V_D
    const verification qualifier{.length = 5, .kept = 0.7, .pass_seconds = 1 / 120.0};
    const double below = 0.7 * 6 / (5 / 300.0 + 1 / 120.0);
    BOOST_TEST(tune::throughput(300, std::vector{qualifier, target}) == 0.6 * 5 / (4 / below + 1 / 60.0),
               tt::tolerance(1e-12));
    // By hand: 3 tokens in 1/75 + 1/60 s; 4.2 tokens in 1/60 + 1/120 s; 3 tokens in 4/168 + 1/60 s = 17/420 s.
    BOOST_TEST(tune::throughput(300, std::vector{target}) == 100, tt::tolerance(1e-12));
    BOOST_TEST(tune::throughput(300, std::vector{qualifier}) == 168, tt::tolerance(1e-12));
    BOOST_TEST(tune::throughput(300, std::vector{qualifier, target}) == 1260 / 17.0, tt::tolerance(1e-12));
    BOOST_TEST(tune::throughput(300, {}) == 300);
    const double free = std::numeric_limits<double>::infinity();
    BOOST_TEST(tune::throughput(free, std::vector{target}) == 0.6 * 5 * 60, tt::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(no_guess_is_better_than_fano_allows) {
    std::mt19937 random(3);
    for (int i = 0; i < 500; ++i) {
        std::vector<double> weights(2 + random() % 9);
        double total = 0, entropy = 0;
        for (double& w : weights) total += w = std::pow(std::uniform_real_distribution(0.0, 1.0)(random), 6);
        for (double& w : weights) entropy -= w > 0 ? w / total * std::log(w / total) : 0;
        const double best = *std::max_element(weights.begin(), weights.end()) / total;
        BOOST_TEST(best <= 1 - tune::least_error(entropy, weights.size()) + 1e-9);
    }
    for (const double error : {1e-6, 0.01, 0.3, 0.74}) {  // reached where all others are alike
        const double entropy = -(1 - error) * std::log1p(-error) - error * std::log(error / 3);
        BOOST_TEST(tune::least_error(entropy, 4) == error, tt::tolerance(1e-6));
    }
    BOOST_TEST(tune::least_error(0, 9) == 0);
    BOOST_TEST(tune::least_error(100, 4) == 0.75);
}

BOOST_AUTO_TEST_CASE(the_best_certain_chain_stays_below_the_bound) {
    // Of the target's most probable continuation k tokens are accepted with a probability that the entropies of those k
    // rows bound.
    const auto target = testing::hashed_model(7, 3, 2.5);
    for (const std::size_t length : {1u, 2u, 3u, 5u}) {
        std::vector<double> entropies;
        double stands = 0;
        for (token first = 0; first < 49; ++first) {
            std::vector<token> text{first / 7, first % 7};
            double all = 1;
            for (std::size_t i = 0; i < length; ++i) {
                std::vector<float> row(7);
                target.fill_row(text, row);
                const auto best = std::max_element(row.begin(), row.end());
                double sum = 0;
                for (const float logit : row) sum += std::exp(double(logit) - double(*best));
                all /= sum;
                entropies.push_back(measure::entropy_nats(row));
                text.push_back(static_cast<token>(best - row.begin()));
            }
            stands += all / 49;
        }
        const double bound = tune::length_bound(entropies, length, 7) - tune::length_bound(entropies, length - 1, 7);
        BOOST_TEST(stands <= bound);
        BOOST_TEST(stands > 0.2 * bound);  // and it says something
    }
    BOOST_TEST(tune::length_bound(std::vector{0.0, 0.0}, 4, 7) == 5);
}

BOOST_AUTO_TEST_CASE(a_speedup_is_bounded_by_the_best_length) {
    const std::vector<double> certain{0, 0, 0}, flat{1, 1, 1, 1, 1}, steep{1, 2, 3, 4, 5};
    BOOST_TEST(tune::speedup_bound(certain, 100, flat) == 5);
    BOOST_TEST(tune::speedup_bound(certain, 100, steep) == 1);
    BOOST_TEST(tune::speedup_bound(certain, 100, flat, 0.25) == 2.5);
    BOOST_TEST(tune::speedup_bound(std::vector{50.0}, 100, flat) < 1.02);
}

BOOST_AUTO_TEST_CASE(a_cascade_takes_the_time_that_is_predicted) {
    using accept::rejection_sampling;
    using policy::fixed_length;
    const auto clock = std::make_shared<testing::virtual_clock>();
    const auto large = testing::hashed_model(16, 1, 2, 5000);
    const testing::costed_model target(large, {.pass = 1.0 / 60}, clock);
    const testing::costed_model qualifier(testing::noisy_model(large, 0.1), {.pass = 1.0 / 120}, clock);
    const testing::costed_model small(testing::noisy_model(large, 0.25), {.pass = 1.0 / 300}, clock);
    const scheme::model_link lower{fixed_length{3}, rejection_sampling{}}, upper{fixed_length{8}, rejection_sampling{}};
    const auto scheme = cascaded(small, lower, qualifier, upper, target);
    decode::options chosen;
    chosen.stop.max_tokens = 2000;
    const auto decoded = decode::generate(scheme, std::vector<token>{1, 2, 3}, chosen);
    const double measured = static_cast<double>(decoded.tokens.size()) / clock->seconds;

    decode::session s(scheme, std::vector<token>{1, 2, 3}, chosen.sampling, chosen.stop, random::philox_chooser(0));
    while (s.finished == finish_reason::running) decode::step(scheme, s);
    const auto kept = [](const stage_statistics& of, double length) {
        const auto rounds = static_cast<double>(of.rounds);
        return (static_cast<double>(of.accepted) + rounds) / rounds / (length + 1);
    };
    // The stage's last round of each proposal is cut to what is wanted, so its share is of what it could have proposed.
    const std::vector links{verification{3, kept(s.drafter_state.settled.counts, 3), 1.0 / 120},
                            verification{8, kept(s.counts.stages.back(), 8), 1.0 / 60}};
    const double predicted = tune::throughput(300, links);
    BOOST_TEST_MESSAGE("measured " << measured << ", predicted " << predicted << " tokens a second");
    BOOST_TEST(measured == predicted, tt::tolerance(0.1));
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_is_refused) {
    const auto says = [](const std::string& part) {
        return [part](const error& e) { return std::string(e.what()).find(part) != std::string::npos; };
    };
    BOOST_CHECK_EXCEPTION(tune::expected_length(std::vector{0.5, 1.5}), error, says("1.5"));
    BOOST_CHECK_EXCEPTION(tune::throughput(0, {}), error, says("speed is 0"));
    BOOST_CHECK_EXCEPTION(tune::throughput(1, std::vector{verification{1, 0, 1}}), error, says("kept is 0"));
    BOOST_CHECK_EXCEPTION(tune::throughput(1, std::vector{verification{1, 1, -1}}), error, says("-1 seconds"));
    BOOST_CHECK_EXCEPTION(tune::least_error(1, 1), error, says("vocabulary of 1"));
    BOOST_CHECK_EXCEPTION(tune::length_bound({}, 1, 4), error, says("no entropy"));
    BOOST_CHECK_EXCEPTION(testing::costed_model(testing::hashed_model(3, 1), {-1, 0}, nullptr), error, says("-1 s"));
}

BOOST_AUTO_TEST_SUITE_END()
