#include "augur/train/state_norm.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "train/gradients.hpp"

BOOST_AUTO_TEST_SUITE(train_state_norm)
using namespace augur;
using namespace augur::train;
using testing::some_numbers;

constexpr double epsilon = 0.01;
const columns<double> states = 2 * some_numbers(5, 3, 0.1);
const columns<double> weights = some_numbers(5, 3, 0.6);

BOOST_AUTO_TEST_CASE(columns_are_divided_by_their_root_mean_square) {
    const state_norm<double> rms(states, norm_kind::rms, epsilon), layer(states, norm_kind::layer, epsilon);
    for (Eigen::Index i = 0; i < states.cols(); ++i) {
        const double mean = states.col(i).mean();
        const double root = std::sqrt(states.col(i).squaredNorm() / 5 + epsilon);
        const double spread = std::sqrt((states.col(i).array() - mean).square().mean() + epsilon);
        for (Eigen::Index k = 0; k < 5; ++k) {
            BOOST_TEST(std::abs(rms.unit(k, i) - states(k, i) / root) < 1e-14);
            BOOST_TEST(std::abs(layer.unit(k, i) - (states(k, i) - mean) / spread) < 1e-14);
        }
    }
    BOOST_TEST((state_norm<double>(states, norm_kind::none, epsilon).unit - states).isZero(0));
}

BOOST_AUTO_TEST_CASE(the_gradient_goes_back_to_the_states) {
    for (const auto kind : {norm_kind::rms, norm_kind::layer, norm_kind::none}) {
        const state_norm<double> norm(states, kind, epsilon);
        const auto expected = testing::differences(
            [&](const Eigen::VectorXd& at) {
                const state_norm<double> moved(Eigen::Map<const columns<double>>(at.data(), 5, 3), kind, epsilon);
                return (moved.unit.array().square() * weights.array()).sum();
            },
            Eigen::Map<const Eigen::VectorXd>(states.data(), states.size()));
        const columns<double> got = norm.backward(2 * norm.unit.cwiseProduct(weights), kind);
        BOOST_TEST(
            testing::relative_difference(Eigen::Map<const Eigen::VectorXd>(got.data(), got.size()), expected) < 1e-8,
            name_of(kind));
    }
}

BOOST_AUTO_TEST_SUITE_END()
