#include "augur/encoder/feature_divergence.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <random>
#include <tuple>

using namespace augur::encoder;
namespace measure = augur::measure;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

features of(std::initializer_list<double> numbers) {
    features values(static_cast<Eigen::Index>(numbers.size()));
    std::copy(numbers.begin(), numbers.end(), values.begin());
    return values;
}

features random_features(std::mt19937& random, Eigen::Index size) {
    std::normal_distribution<double> normal;
    return features::NullaryExpr(size, [&] { return normal(random); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(encoder_feature_divergence)

BOOST_AUTO_TEST_CASE(by_hand) {
    BOOST_TEST(cosine_distance::between(of({1, 0}), of({0, 3})) == 1);
    BOOST_TEST(cosine_distance::between(of({2, 0}), of({5, 0})) == 0);
    BOOST_TEST(cosine_distance::between(of({2, 0}), of({-5, 0})) == 2);
    BOOST_TEST(cosine_distance::between(of({3, 4}), of({1, 0})) == 1 - 0.6, boost::test_tools::tolerance(1e-15));
    BOOST_TEST(relative_distance::between(of({1, 0}), of({0, 3})) == 1);
    BOOST_TEST(relative_distance::between(of({2, 0}), of({-2, 0})) == 2);
    BOOST_TEST(relative_distance::between(of({2, 0}), of({4, 0})) == 4.0 / 20);
    BOOST_TEST(relative_distance::between(of({2, 0}), of({-4, 0})) == 36.0 / 20);
}

BOOST_AUTO_TEST_CASE(definitions_bounds_and_symmetry) {
    std::mt19937 random(1);
    for (Eigen::Index size = 1; size < 40; ++size) {
        const features a = random_features(random, size), b = random_features(random, size) * 3;
        const double cosine = a.dot(b) / (a.norm() * b.norm());
        const double lengths = 2 * a.norm() * b.norm() / (a.squaredNorm() + b.squaredNorm());
        BOOST_TEST(std::abs(cosine_distance::between(a, b) - (1 - cosine)) < 1e-14);
        BOOST_TEST(std::abs(relative_distance::between(a, b) - (1 - lengths * cosine)) < 1e-14);
        const features as_long = b * (a.norm() / b.norm());
        BOOST_TEST(std::abs(relative_distance::between(a, as_long) - cosine_distance::between(a, b)) < 1e-14);
        BOOST_TEST(std::abs(cosine_distance::between(a, 7 * b) - cosine_distance::between(a, b)) < 1e-14);
        for (const auto between : {cosine_distance::between, relative_distance::between}) {
            BOOST_TEST(between(a, b) == between(b, a));
            BOOST_TEST(between(a, a) == 0);
            BOOST_TEST(between(a, -a) <= 2);
            BOOST_TEST(between(a, -a) > 2 - 1e-14);
        }
    }
}

BOOST_AUTO_TEST_CASE(nearly_equal_directions_do_not_cancel) {
    BOOST_TEST(cosine_distance::between(of({1, 0}), of({1, 1e-10})) == 0.5e-20, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(what_has_no_direction_is_near_nothing) {
    const features some = of({1, 2});
    const features undefined[] = {of({0, 0}), of({1, not_a_number}), of({infinity, 1}), of({-infinity, infinity})};
    for (const auto between : {cosine_distance::between, relative_distance::between}) {
        for (const features& each : undefined) {
            BOOST_TEST(std::isnan(between(some, each)));
            BOOST_TEST(std::isnan(between(each, some)));
            BOOST_TEST(std::isnan(between(each, each)));
        }
        BOOST_TEST(std::isnan(between(features(), features())));
        const double largest = std::numeric_limits<double>::max();
        BOOST_TEST(std::isnan(between(of({largest, largest}), some)));  // a length beyond all doubles
    }
    BOOST_TEST(cosine_distance::between(of({1e200, 0}), of({0, 1e-200})) == 1);  // the squares are beyond
}

BOOST_AUTO_TEST_CASE_TEMPLATE(softmax_is_the_librarys, D,
                              decltype(std::tuple<measure::kl, measure::reverse_kl, measure::total_variation>{})) {
    using divergence = softmax_divergence<D>;
    BOOST_TEST(divergence::name == D::name);
    BOOST_TEST(divergence::maximum == D::maximum);
    const float next[] = {1, 2, 0.5f}, aligned[] = {0.25f, -1, 3};
    const double wanted = measure::divergence<D>(augur::logit_row(next), augur::logit_row(aligned));
    BOOST_TEST(wanted > 0.1);
    BOOST_TEST(divergence::between(of({1, 2, 0.5}), of({0.25, -1, 3})) == wanted);
    BOOST_TEST(divergence::between(of({1, 2, 0.5}), of({1, 2, 0.5})) == 0);
    BOOST_TEST(divergence::between(of({1, 2}), of({not_a_number, 2})) == infinity);
    BOOST_TEST(divergence::between(of({infinity, 2}), of({1, 2})) == infinity);
    BOOST_TEST(divergence::between(features(), features()) == infinity);
}

BOOST_AUTO_TEST_SUITE_END()
