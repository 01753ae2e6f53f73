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
    const schedule by_tokens{.tau = 500, .floor = 0.1};
    const schedule by_updates{.lambda = lambda_kind::decay_by_updates, .tau_updates = 500, .floor = 0.1};
    const auto check = [](const auto& lambda_after) {
        BOOST_TEST(lambda_after(0) == 1);
        BOOST_TEST(lambda_after(500) == std::exp(-1.0), close);
        BOOST_TEST(lambda_after(1151) == std::exp(-1151 / 500.0), close);
        BOOST_TEST(lambda_after(1152) == 0.1);
    };
    check([&](std::size_t n) { return by_tokens.lambda_at({.updates = 7, .tokens = n}); });
    check([&](std::size_t n) { return by_updates.lambda_at({.updates = n, .tokens = 7}); });
    BOOST_TEST(schedule{.floor = 0}.lambda_at({.tokens = 10000000}) == 0);
}

BOOST_AUTO_TEST_CASE(a_session_of_20000_tokens_passes_through_both_halves) {
    const schedule s;
    BOOST_TEST(s.lambda_at({.tokens = 1000}) > 0.7);
    BOOST_TEST(s.lambda_at({.tokens = 9880}) > s.floor);
    for (const std::size_t n : {9890U, 20000U}) BOOST_TEST(s.lambda_at({.tokens = n}) == s.floor);
}

BOOST_AUTO_TEST_CASE(by_acceptance_lambda_and_what_is_annealed_go_through_the_band_and_back) {
    const schedule s{.lambda = lambda_kind::acceptance,
                     .band = {.low = 0.1, .high = 0.2},
                     .floor = 0.05,
                     .anchor = {.first = 0.4, .last = 0, .by_acceptance = true},
                     .temperature = {.first = 1.5, .last = 1, .by_acceptance = true}};
    const auto at = [&](double acceptance) {
        return progress{.updates = 5, .tokens = 100000, .acceptance = acceptance};
    };
    for (const double low : {0.0, 0.1}) BOOST_TEST(s.lambda_at(at(low)) == 1);
    for (const double high : {0.2, 1.0}) BOOST_TEST(s.lambda_at(at(high)) == 0.05);
    BOOST_TEST(s.lambda_at(at(0.15)) == 0.525, close);
    BOOST_TEST(s.anchor_at(at(0.125)) == 0.3, close);
    BOOST_TEST(s.temperature_at(at(0.15)) == 1.25, close);
    BOOST_TEST(s.temperature_at(at(0)) == 1.5);
    BOOST_TEST(s.temperature_at(at(0.3)) == 1);
    const schedule at_once{.lambda = lambda_kind::acceptance, .band = {0.2, 0.2}, .floor = 0};
    BOOST_TEST(at_once.lambda_at(at(0.19)) == 1);
    BOOST_TEST(at_once.lambda_at(at(0.2)) == 0);
}

BOOST_AUTO_TEST_CASE(the_bands_switch_goes_on_at_its_end_and_off_before_its_beginning) {
    const acceptance_band band{.low = 0.1, .high = 0.2};
    bool is_on = false;
    const auto seen = [&](double acceptance) { return is_on = band.above(acceptance, is_on); };
    for (const double below : {0.0, 0.15, 0.199}) BOOST_TEST(!seen(below));
    for (const double on : {0.2, 0.15, 0.1}) BOOST_TEST(seen(on));
    for (const double off : {0.099, 0.15}) BOOST_TEST(!seen(off));
    const schedule by_updates{.warm_up = 9}, by_acceptance{.accepted_by_acceptance = true, .warm_up = 9};
    for (const bool above : {false, true}) BOOST_TEST(by_updates.accepted_after(above) == 9U);
    BOOST_TEST(by_acceptance.accepted_after(true) == 9U);
    BOOST_TEST(by_acceptance.accepted_after(false) == std::numeric_limits<std::size_t>::max());
}

BOOST_AUTO_TEST_CASE(lambda_waits_and_then_ramps_to_its_floor) {
    schedule s{.lambda = lambda_kind::ramp, .warm_up = 10, .ramp = 4, .floor = 0.2};
    const auto after = [&](std::size_t updates) { return s.lambda_at({.updates = updates, .tokens = 100000}); };
    BOOST_TEST(after(9) == 1);
    BOOST_TEST(after(10) == 1);
    BOOST_TEST(after(11) == 0.8, close);
    BOOST_TEST(after(13) == 0.4, close);
    BOOST_TEST(after(14) == 0.2, close);
    BOOST_TEST(after(1000) == 0.2);
    s.ramp = 0;
    BOOST_TEST(after(9) == 1);
    BOOST_TEST(after(10) == 0.2);
}

BOOST_AUTO_TEST_CASE(a_constant_lambda_is_its_floor) {
    const schedule s{.lambda = lambda_kind::constant, .floor = 0.3};
    for (const std::size_t t : {0U, 1U, 100000U}) BOOST_TEST(s.lambda_at({t, t, 0.5}) == 0.3);
}

BOOST_AUTO_TEST_CASE(lambda_never_rises_and_never_leaves_its_range) {
    for (const auto kind : {lambda_kind::decay, lambda_kind::decay_by_updates, lambda_kind::acceptance,
                            lambda_kind::ramp, lambda_kind::constant}) {
        for (const double floor : {0.0, 0.05, 1.0}) {
            const schedule s{.lambda = kind, .tau = 30, .tau_updates = 30, .warm_up = 5, .ramp = 40, .floor = floor};
            const auto lambda = [&](std::size_t t) { return s.lambda_at({t, t, static_cast<double>(t) / 200}); };
            for (std::size_t t = 0; t < 200; ++t) {
                BOOST_TEST(lambda(t) >= floor);
                BOOST_TEST(lambda(t) <= 1);
                BOOST_TEST(lambda(t + 1) <= lambda(t));
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
    refused([](auto& s) { s.tau_updates = 0; }, "tau_updates is 0; it must be between 1e-09 and 1e+12");
    refused([](auto& s) { s.band.high = 1.5; }, "the band's end is 1.5; it must be between 0 and 1");
    refused([](auto& s) { s.band.low = 0.3; }, "the band's beginning is 0.3; it must be between 0 and 0.2");
    refused([](auto& s) { s.band.low = nan; }, "the band's beginning is");
    refused([](auto& s) { s.entropy = -1; }, "entropy is -1; it must be between 0 and 1000");
    refused([](auto& s) { s.anchor.first = 1001; }, "anchor is 1001; it must be between 0 and 1000");
    refused([](auto& s) { s.anchor.last = nan; }, "anchor is");
    refused([](auto& s) { s.temperature.first = 0.001; }, "temperature is 0.001; it must be between 0.01 and 100");
    refused([](auto& s) { s.temperature.last = 101; }, "temperature is 101");
}

BOOST_AUTO_TEST_SUITE_END()
