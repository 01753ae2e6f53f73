#include "augur/policy/confidence_stop.hpp"

#include <augur/accept/exact.hpp>
#include <augur/decode/generate.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/policy_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

using namespace augur;

BOOST_AUTO_TEST_SUITE(policy_confidence_stop)

using policy::confidence_stop;
static_assert(SpeculationPolicy<confidence_stop>);
static_assert(required_signals<confidence_stop> == signals::draft_confidence);

std::size_t answer(const confidence_stop& policy, std::size_t drafted, double confidence) {
    observation seen;
    seen.drafted = drafted;
    seen.draft_confidence = confidence;
    return policy.length(seen);
}

BOOST_AUTO_TEST_CASE(the_first_row_below_the_threshold_ends_the_draft) {
    const confidence_stop published({.threshold = 0.6, .max_tokens = 6});
    BOOST_TEST(answer(published, 2, 0.6) == 6u);  // at the threshold it is confident
    BOOST_TEST(answer(published, 2, 0.599) == 3u);
    BOOST_TEST(answer(published, 0, 0.1) == 1u);
    BOOST_TEST(answer(published, 6, 0.1) == 6u);
    const confidence_stop before({.threshold = 0.6, .max_tokens = 6, .beyond = 0});
    BOOST_TEST(answer(before, 2, 0.6) == 6u);
    BOOST_TEST(answer(before, 2, 0.599) == 2u);
    BOOST_TEST(answer(before, 0, 0.1) == 0u);
}

BOOST_AUTO_TEST_CASE(bad_rows_are_not_confident_unless_all_are) {
    constexpr double infinity = std::numeric_limits<double>::infinity(), nan = observation::unknown;
    for (const double confidence : {nan, -infinity, 0.0}) {
        BOOST_TEST(answer(confidence_stop({.threshold = 0.5, .beyond = 0}), 1, confidence) == 1u);
        BOOST_TEST(answer(confidence_stop({.threshold = 0, .max_tokens = 4, .beyond = 0}), 1, confidence) == 4u);
    }
    BOOST_TEST(answer(confidence_stop({.threshold = 1}), 1, 1.0) == 6u);
}

/// Rows that are certain but after every third token.
testing::function_model certain_but_each_third() {
    return {5, 100, [](std::span<const token> before, std::span<float> row) {
                std::fill(row.begin(), row.end(), before.size() % 3 == 0 ? 0.0f : -30.0f);
                row[before.size() % 5] += 0.5f;
                if (before.size() % 3 != 0) row[before.size() % 5] = 0;
            }};
}

BOOST_AUTO_TEST_CASE(in_a_decoding_the_uncertain_token_is_the_last_or_left_out) {
    const auto model = certain_but_each_third();
    const std::vector<token> prompt{0};  // rows after 1 and 2 tokens are certain, that after 3 is not
    for (const std::size_t beyond : {0u, 1u}) {
        const auto scheme =
            speculate(model, model, confidence_stop({.max_tokens = 9, .beyond = beyond}), accept::exact{});
        decode::session<std::remove_cvref_t<decltype(scheme)>> s(scheme, prompt, {.temperature = {0}},
                                                                 {.max_tokens = 30}, random::philox_chooser(0));
        BOOST_TEST(decode::step(scheme, s).proposed.size() == 2 + beyond);
    }
}

BOOST_AUTO_TEST_CASE(keeps_the_laws) {
    for (const std::size_t beyond : {0u, 1u}) {
        const auto r = testing::policy_laws(confidence_stop({.beyond = beyond}));
        BOOST_TEST(r.kept(), r);
    }
}

void refused(policy::confidence_stop_options options, const std::string& message) {
    BOOST_CHECK_EXCEPTION(confidence_stop{options}, error,
                          [&](const error& e) { return std::string(e.what()).find(message) != std::string::npos; });
}

BOOST_AUTO_TEST_CASE(options_that_cannot_be_are_refused) {
    refused({.threshold = -0.1}, "threshold is -0.1");
    refused({.threshold = 1.5}, "threshold is 1.5");
    refused({.threshold = observation::unknown}, "threshold is nan");
    refused({.beyond = 2}, "2 tokens beyond");
}

BOOST_AUTO_TEST_CASE(prints) {
    std::ostringstream out;
    out << confidence_stop();
    BOOST_TEST(out.str() == "confidence_stop{.threshold=0.6, .max_tokens=6, .beyond=1}");
}

BOOST_AUTO_TEST_SUITE_END()
