#include "augur/switching/scheme.hpp"

#include <augur/switching/rolling_entropy.hpp>
#include <augur/switching/step.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <type_traits>

#include "model/counted_in.hpp"

using namespace augur;
using switching::rolling_entropy;

BOOST_AUTO_TEST_SUITE(switching_scheme)

static_assert(switching::SwitchingPolicy<rolling_entropy>);

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused_with_its_values) {
    const auto small = testing::hashed_model(8, 1), large = testing::hashed_model(8, 2),
               other = testing::hashed_model(9, 3);
    const auto refused = [](const std::string& part) {
        return [part](const error& e) { return std::string(e.what()).find(part) != std::string::npos; };
    };
    BOOST_CHECK_EXCEPTION(switched(small, other, rolling_entropy{}), error,
                          refused("model 0 has 8 tokens and model 1 has 9"));
    BOOST_CHECK_EXCEPTION(switched(small, large, small, rolling_entropy({.thresholds_bits = {1, 2}})), error,
                          refused("model 0 and model 2 are one and the same"));
    BOOST_CHECK_EXCEPTION(switched(small, large, rolling_entropy({.thresholds_bits = {1, 2}})), error,
                          refused("between 3 models, but 2 are given"));
    BOOST_CHECK_EXCEPTION(switched(small, large, rolling_entropy{}).with({.first = 2}), error,
                          refused("model 2 is to start, but there are 2"));
}

BOOST_AUTO_TEST_CASE(nothing_is_promised) {
    using scheme = decltype(switched(testing::hashed_model(8, 1), testing::hashed_model(8, 2), rolling_entropy{}));
    static_assert(std::is_same_v<guarantee_of<scheme>, guarantee::none> && !Lossless<scheme>);
}

BOOST_AUTO_TEST_CASE(what_models_share_is_the_vocabulary_and_the_shortest_context) {
    const auto small = testing::hashed_model(8, 1, 2, 30), large = testing::hashed_model(8, 2, 2, 20);
    const auto scheme = switched(small, large, rolling_entropy{});
    BOOST_TEST(scheme.vocabulary_size() == 8u);
    BOOST_TEST(scheme.context_length() == 20u);
    BOOST_TEST(scheme.with({.first = 1, .draft_length = 2}).options().draft_length == 2u);
    BOOST_TEST(scheme.options().first == 0u);
    const counted_in<unsigned> also(testing::hashed_model(8, 3, 2, 25));
    BOOST_TEST(switched(small, also, rolling_entropy{}).context_length() == 25u);
}

BOOST_AUTO_TEST_SUITE_END()
