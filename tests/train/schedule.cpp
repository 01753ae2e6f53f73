#include "augur/train/schedule.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <limits>

#include "train/refuses.hpp"

BOOST_AUTO_TEST_SUITE(train_schedule)
using namespace augur;
using namespace augur::train;
const auto close = boost::test_tools::tolerance(1e-12);

BOOST_AUTO_TEST_CASE(lambda_decays_to_its_floor) {
    const schedule s{.tau = 500, .floor = 0.1};
    BOOST_TEST(s.lambda_at(0) == 1);
    BOOST_TEST(s.lambda_at(500) == std::exp(-1.0), close);
    BOOST_TEST(s.lambda_at(1151) == std::exp(-1151 / 500.0), close);
    BOOST_TEST(s.lambda_at(1152) == 0.1);
    BOOST_TEST(schedule{.floor = 0}.lambda_at(1000000) == 0);
}

BOOST_AUTO_TEST_CASE(lambda_waits_and_then_ramps_to_its_floor) {
    schedule s{.lambda = lambda_kind::ramp, .warm_up = 10, .ramp = 4, .floor = 0.2};
    BOOST_TEST(s.lambda_at(9) == 1);
    BOOST_TEST(s.lambda_at(10) == 1);
    BOOST_TEST(s.lambda_at(11) == 0.8, close);
    BOOST_TEST(s.lambda_at(13) == 0.4, close);
    BOOST_TEST(s.lambda_at(14) == 0.2, close);
    BOOST_TEST(s.lambda_at(1000) == 0.2);
    s.ramp = 0;
    BOOST_TEST(s.lambda_at(9) == 1);
    BOOST_TEST(s.lambda_at(10) == 0.2);
}

BOOST_AUTO_TEST_CASE(a_constant_lambda_is_its_floor) {
    const schedule s{.lambda = lambda_kind::constant, .floor = 0.3};
    for (const std::size_t t : {0U, 1U, 100000U}) BOOST_TEST(s.lambda_at(t) == 0.3);
}

BOOST_AUTO_TEST_CASE(lambda_never_rises_and_never_leaves_its_range) {
    for (const auto kind : {lambda_kind::decay, lambda_kind::ramp, lambda_kind::constant}) {
        for (const double floor : {0.0, 0.05, 1.0}) {
            const schedule s{.lambda = kind, .tau = 30, .warm_up = 5, .ramp = 40, .floor = floor};
            for (std::size_t t = 0; t < 200; ++t) {
                BOOST_TEST(s.lambda_at(t) >= floor);
                BOOST_TEST(s.lambda_at(t) <= 1);
                BOOST_TEST(s.lambda_at(t + 1) <= s.lambda_at(t));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(what_is_annealed_goes_in_a_line_and_stays) {
    const annealed falls{1.5, 0.5, 4};
    BOOST_TEST(falls.at(0) == 1.5);
    BOOST_TEST(falls.at(1) == 1.25, close);
    BOOST_TEST(falls.at(3) == 0.75, close);
    BOOST_TEST(falls.at(4) == 0.5);
    BOOST_TEST(falls.at(400) == 0.5);
    const annealed at_once{1.5, 0.5, 0};
    BOOST_TEST(at_once.at(0) == 0.5);
}

BOOST_AUTO_TEST_CASE(what_is_no_weight_is_refused_with_its_bounds) {
    const auto refused = [](auto&& change, const char* what) {
        schedule s;
        s.check();
        change(s);
        BOOST_TEST(testing::refuses([&] { s.check(); }, what), what);
    };
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    refused([](auto& s) { s.floor = -0.1; }, "floor is -0.1; it must be between 0 and 1");
    refused([](auto& s) { s.floor = 1.1; }, "floor is 1.1");
    refused([](auto& s) { s.tau = 0; }, "tau is 0; it must be between 1e-09 and 1e+12");
    refused([](auto& s) { s.tau = nan; }, "tau is");
    refused([](auto& s) { s.entropy = -1; }, "entropy is -1; it must be between 0 and 1000");
    refused([](auto& s) { s.anchor.first = 1001; }, "anchor is 1001; it must be between 0 and 1000");
    refused([](auto& s) { s.anchor.last = nan; }, "anchor is");
    refused([](auto& s) { s.temperature.first = 0.001; }, "temperature is 0.001; it must be between 0.01 and 100");
    refused([](auto& s) { s.temperature.last = 101; }, "temperature is 101");
}

BOOST_AUTO_TEST_SUITE_END()
