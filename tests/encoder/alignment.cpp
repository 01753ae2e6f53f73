#include "augur/encoder/alignment.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <string>

using namespace augur;
using namespace augur::encoder;

BOOST_AUTO_TEST_SUITE(encoder_alignment)

namespace {

feature_samples random_samples(std::uint32_t seed, Eigen::Index rows, Eigen::Index columns) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    return feature_samples::NullaryExpr(rows, columns, [&] { return normal(random); });
}

/// Summed over all samples.
double squared_error(const auto& map, const feature_samples& from, const feature_samples& to) {
    double sum = 0;
    for (Eigen::Index i = 0; i < from.rows(); ++i) {
        sum += (features(to.row(i)) - features(map(from.row(i)))).squaredNorm();
    }
    return sum;
}

auto says(const std::string& part) {
    return [part](const error& e) { return std::string(e.what()).find(part) != std::string::npos; };
}

/// Two numbers of two, neither linear in them.
feature_samples curved(const feature_samples& from) {
    feature_samples to(from.rows(), 2);
    to.col(0) = from.col(0).array() * from.col(1).array();
    to.col(1) = 100 * (2 * from.col(0).array()).sin() + 7;
    return to;
}

}  // namespace

static_assert(Alignment<identity> && !SizedAlignment<identity>);
static_assert(SizedAlignment<linear> && SizedAlignment<mlp>);
static_assert(!Alignment<int>);

BOOST_AUTO_TEST_CASE(identity_changes_nothing) {
    const features some = random_samples(1, 5, 1);
    BOOST_TEST((identity{}(some) == some));
}

BOOST_AUTO_TEST_CASE(linear_finds_the_map_that_made_the_samples) {
    const Eigen::MatrixXd weights = random_samples(2, 3, 4);
    const features intercept = random_samples(3, 3, 1);
    const feature_samples from = random_samples(4, 20, 4).array() + 5;
    const feature_samples to = (from * weights.transpose()).rowwise() + intercept.transpose();
    const linear found = linear::fit(from, to);
    BOOST_TEST((found.weights() - weights).norm() < 1e-12);
    BOOST_TEST((found.intercept() - intercept).norm() < 1e-11);
    BOOST_TEST(found.from_size() == 4u);
    BOOST_TEST(found.to_size() == 3u);
    BOOST_TEST(squared_error(found, from, to) < 1e-20);
}

/// The gradient of what it minimises vanishes, for the weights with the ridge and for the intercept without.
BOOST_AUTO_TEST_CASE(linear_minimises_the_squared_error_and_the_ridge) {
    const feature_samples from = random_samples(5, 30, 4).array() + 2, to = random_samples(6, 30, 3);
    for (const double ridge : {0.0, 0.5, 40.0}) {
        const linear found = linear::fit(from, to, ridge);
        const Eigen::MatrixXd missed =
            to - ((from * found.weights().transpose()).rowwise() + found.intercept().transpose());
        BOOST_TEST((missed.transpose() * from - ridge * found.weights()).norm() < 1e-10);
        BOOST_TEST(missed.colwise().sum().norm() < 1e-10);
    }
    BOOST_TEST(linear::fit(from, to, 40).weights().norm() < linear::fit(from, to).weights().norm());
}

/// Fewer samples than numbers, and a number that is there twice: all minima fit, the least weights share what is twice.
BOOST_AUTO_TEST_CASE(linear_takes_the_least_weights_of_many) {
    const feature_samples few = random_samples(7, 3, 6), to = random_samples(8, 3, 2);
    BOOST_TEST(squared_error(linear::fit(few, to), few, to) < 1e-20);
    feature_samples twice(10, 2);
    twice.col(0) = twice.col(1) = random_samples(9, 10, 1);
    const linear found = linear::fit(twice, 3 * twice.col(0));
    BOOST_TEST(found.weights()(0, 0) == 1.5, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(found.weights()(0, 1) == 1.5, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(the_gradient_is_the_gradient_of_the_error) {
    const feature_samples from = detail::with_ones(random_samples(10, 7, 3)), to = random_samples(11, 7, 2);
    detail::two_layers at{random_samples(12, 5, 4), random_samples(13, 2, 6)};
    const auto error = [&] {
        const Eigen::MatrixXd active = (from * at.hidden.transpose()).array().tanh();
        return (detail::with_ones(active) * at.output.transpose() - to).squaredNorm() / 7;
    };
    const detail::two_layers gradient = detail::gradient(at, from, to);
    const auto agrees = [&](Eigen::MatrixXd& weights, const Eigen::MatrixXd& claimed) {
        BOOST_TEST_REQUIRE((claimed.rows() == weights.rows() && claimed.cols() == weights.cols()));
        for (Eigen::Index i = 0; i < weights.size(); ++i) {
            const double before = weights(i), step = 1e-5;
            weights(i) = before + step;
            const double above = error();
            weights(i) = before - step;
            const double below = error();
            weights(i) = before;
            BOOST_TEST(std::abs((above - below) / (2 * step) - claimed(i)) < 1e-7);
        }
    };
    agrees(at.hidden, gradient.hidden);
    agrees(at.output, gradient.output);
}

/// Kingma and Ba's algorithm 1, one number.
BOOST_AUTO_TEST_CASE(adam_to_the_letter) {
    double m = 0, v = 0;
    detail::adam found(Eigen::MatrixXd::Zero(1, 1));
    for (std::size_t t = 1; t <= 5; ++t) {
        const double gradient = std::sin(static_cast<double>(t)), rate = 0.1 / static_cast<double>(t);
        m = 0.9 * m + 0.1 * gradient;
        v = 0.999 * v + 0.001 * gradient * gradient;
        const double m_hat = m / (1 - std::pow(0.9, t)), v_hat = v / (1 - std::pow(0.999, t));
        const double wanted = -rate * m_hat / (std::sqrt(v_hat) + 1e-8);
        BOOST_TEST(found.change(Eigen::MatrixXd::Constant(1, 1, gradient), t, rate)(0) == wanted,
                   boost::test_tools::tolerance(1e-13));
    }
}

BOOST_AUTO_TEST_CASE(first_weights_are_the_seeds_and_have_their_variance) {
    const Eigen::MatrixXd some = detail::random_layer(200, 16, 3);
    BOOST_TEST((some == detail::random_layer(200, 16, 3)));
    BOOST_TEST((some != detail::random_layer(200, 16, 4)));
    BOOST_TEST((some != detail::random_layer(200, 16, 3 + (std::uint64_t{1} << 32))));
    BOOST_TEST(std::abs(some.mean()) < 0.02);
    BOOST_TEST(std::abs(some.array().square().mean() * 16 - 1) < 0.05);
    BOOST_TEST((some.row(0) != some.row(1)));
    BOOST_TEST((some.col(0) != some.col(1)));
}

BOOST_AUTO_TEST_CASE(mlp_fits_what_no_line_does) {
    const feature_samples from = random_samples(14, 200, 2), to = curved(from);
    const feature_samples others = random_samples(15, 100, 2), wanted = curved(others);
    const mlp found = mlp::fit(from, to);
    const linear line = linear::fit(from, to);
    BOOST_TEST(found.from_size() == 2u);
    BOOST_TEST(found.to_size() == 2u);
    BOOST_TEST(found.hidden().to_size() == 32u);
    BOOST_TEST(squared_error(found, from, to) < 1e-2 * squared_error(line, from, to));
    BOOST_TEST(squared_error(found, others, wanted) < 0.1 * squared_error(line, others, wanted));
    const mlp untrained = mlp::fit(from, to, {.steps = 0});  // a random layer, and least squares after it
    BOOST_TEST(squared_error(found, from, to) < 0.5 * squared_error(untrained, from, to));
    const linear best =
        linear::fit((((from * found.hidden().weights().transpose()).rowwise() + found.hidden().intercept().transpose()))
                        .array()
                        .tanh(),
                    to, 1e-3);
    BOOST_TEST((best.weights() - found.output().weights()).norm() < 1e-6 * best.weights().norm());
}

/// Samples are standardized for training: other units and origins change the layers, not the map.
BOOST_AUTO_TEST_CASE(mlp_does_not_mind_units) {
    const feature_samples from = random_samples(16, 60, 2), to = curved(from);
    feature_samples moved = from;
    moved.col(0) = 1024 * from.col(0).array() + 4096;
    const mlp_options few{.hidden = 6, .steps = 40};
    const mlp of_from = mlp::fit(from, to, few), of_moved = mlp::fit(moved, to, few);
    for (Eigen::Index i = 0; i < from.rows(); ++i) {
        BOOST_TEST((of_from(from.row(i)) - of_moved(moved.row(i))).norm() < 1e-6 * of_from(from.row(i)).norm() + 1e-6);
    }
    feature_samples constant = from;
    constant.col(1).setConstant(3);
    BOOST_TEST(mlp::fit(constant, to, few).hidden().weights().allFinite());
}

BOOST_AUTO_TEST_CASE(mlp_is_a_function_of_its_arguments) {
    const feature_samples from = random_samples(17, 30, 3), to = random_samples(18, 30, 2);
    const mlp_options few{.hidden = 4, .steps = 10};
    const features some = random_samples(19, 3, 1);
    const features once = mlp::fit(from, to, few)(some);
    BOOST_TEST((once == mlp::fit(from, to, few)(some)));
    for (const mlp_options& other :
         {mlp_options{.hidden = 5, .steps = 10}, mlp_options{.hidden = 4, .steps = 11},
          mlp_options{.hidden = 4, .steps = 10, .rate = 0.02}, mlp_options{.hidden = 4, .steps = 10, .ridge = 1},
          mlp_options{.hidden = 4, .steps = 10, .seed = 1}}) {
        BOOST_TEST((once != mlp::fit(from, to, other)(some)));
    }
}

BOOST_AUTO_TEST_CASE(layers_by_hand) {
    const mlp map(linear(Eigen::MatrixXd::Constant(1, 2, 0.5), features::Constant(1, 1)),
                  linear(Eigen::MatrixXd::Constant(1, 1, 3), features::Constant(1, -2)));
    const features one = features::Constant(2, 0.25);
    BOOST_TEST(map(one)(0) == 3 * std::tanh(1.25) - 2, boost::test_tools::tolerance(1e-15));
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
    const feature_samples three = random_samples(20, 3, 2), four = random_samples(21, 4, 2), none(0, 2);
    BOOST_CHECK_EXCEPTION(linear::fit(three, four), error,
                          says("linear::fit: samples come in pairs, but there are 3 to map from and 4 to map to"));
    BOOST_CHECK_EXCEPTION(linear::fit(none, none), error, says("linear::fit: there is nothing to fit: 0 samples of 2"));
    BOOST_CHECK_EXCEPTION(linear::fit(three, feature_samples(3, 0)), error, says("there is nothing to fit: 3 samples"));
    feature_samples broken = three;
    broken(1, 1) = std::numeric_limits<double>::quiet_NaN();
    BOOST_CHECK_EXCEPTION(linear::fit(broken, three), error, says("the samples have a NaN or an infinity"));
    BOOST_CHECK_EXCEPTION(linear::fit(three, broken), error, says("the samples have a NaN or an infinity"));
    BOOST_CHECK_EXCEPTION(linear::fit(three, three, -1), error, says("linear::fit: ridge is -1; it must be finite"));
    BOOST_CHECK_EXCEPTION(linear::fit(three, three, std::nan("")), error, says("linear::fit: ridge is nan"));
    BOOST_CHECK_EXCEPTION(mlp::fit(three, four), error, says("mlp::fit: samples come in pairs"));
    BOOST_CHECK_EXCEPTION(mlp::fit(three, three, {.hidden = 0}), error, says("mlp::fit: hidden is 0"));
    BOOST_CHECK_EXCEPTION(mlp::fit(three, three, {.rate = 0}), error, says("mlp::fit: rate is 0"));
    BOOST_CHECK_EXCEPTION(mlp::fit(three, three, {.ridge = -2}), error, says("mlp::fit: ridge is -2"));
    BOOST_CHECK_EXCEPTION(linear(Eigen::MatrixXd::Zero(3, 2), features::Zero(2)), error,
                          says("linear: the weights make 3 numbers, but the intercept has 2"));
    const linear map(Eigen::MatrixXd::Zero(3, 2), features::Zero(3));
    BOOST_CHECK_EXCEPTION(map(features::Zero(4)), error, says("linear: maps features of 2 numbers, but these have 4"));
    BOOST_CHECK_EXCEPTION(mlp(map, map), error,
                          says("mlp: the hidden layer makes 3 numbers, but the output layer reads 2"));
}

BOOST_AUTO_TEST_SUITE_END()
