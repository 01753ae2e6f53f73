#include "augur/detail/mass.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

using namespace augur::detail;

BOOST_AUTO_TEST_SUITE(detail_mass)

namespace {

/// Of every size that a softmax makes.
std::vector<float> random_weights(std::mt19937& random, std::size_t size) {
    std::vector<float> weights(size);
    for (float& weight : weights) {
        weight = static_cast<float>(random() % 1000) / 999 * std::exp2(-static_cast<float>(random() % 60));
    }
    return weights;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_weight_counts_its_nearest_number_of_units) {
    BOOST_TEST(mass_of(1) == std::uint64_t{1} << 44);
    BOOST_TEST(mass_of(0) == 0u);
    BOOST_TEST(mass_of(0x1p-44f) == 1u);
    BOOST_TEST(mass_of(0x1.8p-45f) == 1u);
    BOOST_TEST(mass_of(0x1.8p-46f) == 0u);
    std::mt19937 random(1);
    for (const float weight : random_weights(random, 1000)) {
        const auto units = static_cast<std::uint64_t>(std::nearbyint(std::ldexp(static_cast<double>(weight), 44)));
        BOOST_TEST(mass_of(weight) == units);
    }
}

BOOST_AUTO_TEST_CASE(many_count_what_each_counts_in_any_order) {
    std::mt19937 random(2);
    for (const std::size_t size : {0u, 1u, 7u, 8u, 200u, 5000u}) {
        auto weights = random_weights(random, size);
        std::uint64_t expected = 0;
        for (const float weight : weights) expected += mass_of(weight);
        for (int repeat = 0; repeat < 20; ++repeat) {
            BOOST_TEST(mass_of(weights.data(), size) == expected);
            std::shuffle(weights.begin(), weights.end(), random);
        }
    }
    const std::vector<float> full(most_counted, 1.0f);  // the largest sum there can be
    BOOST_TEST(mass_of(full.data(), full.size()) == most_counted * (std::uint64_t{1} << 44));
}

BOOST_AUTO_TEST_CASE(a_share_is_rounded_up_and_never_nothing) {
    BOOST_TEST(units_in_share(0.5, 10) == 5u);
    BOOST_TEST(units_in_share(0.5, 11) == 6u);
    BOOST_TEST(units_in_share(1e-30, mass_of(1)) == 1u);
    const std::uint64_t most = most_counted * mass_of(1);
    BOOST_TEST(units_in_share(0.5, most) == most / 2);
    BOOST_TEST(units_in_share(static_cast<double>(0x1.fffffep-1f), most) < most);
}

BOOST_AUTO_TEST_SUITE_END()
