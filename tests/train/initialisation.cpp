#include "augur/train/initialisation.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>

BOOST_AUTO_TEST_SUITE(train_initialisation)
using namespace augur;
using namespace augur::train;

constexpr head_block at{"in the middle", 5, 40, 300};
constexpr double unwritten = 7;

vector<double> filled(std::uint64_t seed, std::uint32_t stream) {
    vector<double> values = vector<double>::Constant(detail::index(at.offset + at.size() + 3), unwritten);
    fill_uniform(values, at, seed, stream);
    return values;
}

BOOST_AUTO_TEST_CASE(only_the_block_is_written) {
    const auto values = filled(1, 0);
    BOOST_TEST((values.head(5).array() == unwritten).all());
    BOOST_TEST((values.tail(3).array() == unwritten).all());
    BOOST_TEST(block(values, at).array().abs().maxCoeff() < 1);
}

// Uniform of variance v lies within sqrt(3 v). The mean of 12000 squares is within 3 % of v: its standard deviation is
// 0.9 %.
BOOST_AUTO_TEST_CASE(inputs_of_variance_1_become_outputs_of_about_that) {
    const auto values = filled(1, 0);
    const auto all = block(values, at);
    const double variance = 1.0 / 300, edge = std::sqrt(3 * variance);
    BOOST_TEST(all.array().abs().maxCoeff() <= edge);
    BOOST_TEST(all.maxCoeff() > 0.99 * edge);
    BOOST_TEST(all.minCoeff() < -0.99 * edge);
    BOOST_TEST(std::abs(all.squaredNorm() / static_cast<double>(at.size()) - variance) < 0.03 * variance);
    BOOST_TEST(std::abs(all.mean()) < 0.03 * edge);
}

BOOST_AUTO_TEST_CASE(equal_seeds_and_streams_equal_numbers_and_others_others) {
    const auto values = filled(1, 2);
    BOOST_TEST((values == filled(1, 2)));
    for (const auto& other : {filled(1, 3), filled(2, 2), filled(1 + (std::uint64_t{1} << 32), 2)}) {
        const auto equal = (block(values, at).array() == block(other, at).array()).count();
        BOOST_TEST(equal < 3);
    }
}

BOOST_AUTO_TEST_SUITE_END()
