#pragma once
// Maps the features of one encoder to the space of another, fitted on samples of both.

#include <Eigen/Core>
#include <Eigen/QR>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "augur/random/philox.hpp"
#include "augur/types/error.hpp"

namespace augur::encoder {

/// What an encoder makes of an input: one vector of doubles.
using features = Eigen::VectorXd;
/// Many of them, one a row.
using feature_samples = Eigen::MatrixXd;

/// Maps features of one encoder to where those of the next one lie.
/// Define: operator()(from) const. Optional: from_size() and to_size(), the numbers that go in and that come out.
/// Laws:   equal features, equal answers.
/// Models: identity, linear, mlp.
template <class A>
concept Alignment = requires(const A& map, const features& from) {
    { map(from) } -> std::convertible_to<features>;
};
template <class A>
concept SizedAlignment = Alignment<A> && requires(const A& map) {
    { map.from_size() } -> std::convertible_to<std::size_t>;
    { map.to_size() } -> std::convertible_to<std::size_t>;
};

}  // namespace augur::encoder

namespace augur::detail {

inline void check_samples(const char* who, const Eigen::MatrixXd& from, const Eigen::MatrixXd& to) {
    if (from.rows() != to.rows()) {
        fail(who, ": samples come in pairs, but there are ", from.rows(), " to map from and ", to.rows(), " to map to");
    }
    if (from.size() == 0 || to.size() == 0) {
        fail(who, ": there is nothing to fit: ", from.rows(), " samples of ", from.cols(), " numbers to map from, ",
             to.cols(), " to map to");
    }
    if (!from.allFinite() || !to.allFinite()) fail(who, ": the samples have a NaN or an infinity");
}

inline void check_ridge(const char* who, double ridge) {
    if (!(ridge >= 0 && std::isfinite(ridge))) fail(who, ": ridge is ", ridge, "; it must be finite, and 0 or more");
}

/// Columns of mean 0 and variance 1, and what makes them so. A column that is constant is 0.
struct standardized {
    Eigen::RowVectorXd mean;
    Eigen::RowVectorXd scale;
    Eigen::MatrixXd samples;

    explicit standardized(const Eigen::MatrixXd& of) : mean(of.colwise().mean()) {
        samples = of.rowwise() - mean;
        scale = samples.array().square().colwise().mean().sqrt();
        scale = (scale.array() > 0).select(scale, 1);
        samples.array().rowwise() /= scale.array();
    }
};

inline Eigen::MatrixXd with_ones(const Eigen::MatrixXd& samples) {
    Eigen::MatrixXd wider(samples.rows(), samples.cols() + 1);
    wider << samples, Eigen::VectorXd::Ones(samples.rows());
    return wider;
}

/// output * [tanh(hidden * [x, 1]), 1]: the last column of each is its intercept.
struct two_layers {
    Eigen::MatrixXd hidden;
    Eigen::MatrixXd output;
};

/// Of the squared error, summed over what comes out, mean over samples. `from` ends in a column of ones.
inline two_layers gradient(const two_layers& at, const Eigen::MatrixXd& from, const Eigen::MatrixXd& to) {
    const Eigen::MatrixXd active = (from * at.hidden.transpose()).array().tanh();
    const Eigen::MatrixXd extended = with_ones(active);
    const Eigen::MatrixXd error = (extended * at.output.transpose() - to) * (2 / static_cast<double>(from.rows()));
    const Eigen::MatrixXd back = (error * at.output.leftCols(active.cols())).array() * (1 - active.array().square());
    return {back.transpose() * from, error.transpose() * extended};
}

/// Moments of a gradient. Source: Kingma and Ba 2015, "Adam", algorithm 1 with its constants.
struct adam {
    Eigen::MatrixXd first;
    Eigen::MatrixXd second;

    explicit adam(const Eigen::MatrixXd& like)
        : first(Eigen::MatrixXd::Zero(like.rows(), like.cols())), second(first) {}

    /// The change of step `t`, from 1 on.
    Eigen::MatrixXd change(const Eigen::MatrixXd& gradient, std::size_t t, double rate) {
        first = 0.9 * first + 0.1 * gradient;
        second = 0.999 * second.array() + 0.001 * gradient.array().square();
        const double first_scale = 1 / (1 - std::pow(0.9, t));
        const double second_scale = 1 / (1 - std::pow(0.999, t));
        return -rate * first_scale * first.array() / ((second_scale * second.array()).sqrt() + 1e-8);
    }
};

/// Uniform with a variance of 1 / columns, a pure function of the seed.
inline Eigen::MatrixXd random_layer(Eigen::Index rows, Eigen::Index columns, std::uint64_t seed) {
    const random::philox_key key{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
    const double half_width = std::sqrt(3 / static_cast<double>(columns));
    return Eigen::MatrixXd::NullaryExpr(rows, columns, [=](Eigen::Index row, Eigen::Index column) {
        const auto words =
            random::philox4x32({static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(column), 0, 0}, key);
        return half_width * (2 * random::unit_interval(words[0], words[1]) - 1);
    });
}

}  // namespace augur::detail

namespace augur::encoder {

/// For encoders that share a space.
struct identity {
    features operator()(const features& from) const { return from; }
};

/// weights * from + intercept. O(from * to) an application.
class linear {
 public:
    /// `weights` has a row per number that comes out and a column per number that goes in. Throws where the intercept
    /// does not fit.
    linear(Eigen::MatrixXd weights, features intercept)
        : weights_(std::move(weights)), intercept_(std::move(intercept)) {
        if (weights_.rows() != intercept_.size()) {
            detail::fail("linear: the weights make ", weights_.rows(), " numbers, but the intercept has ",
                         intercept_.size());
        }
    }

    /// Minimises the sum over samples of |to - weights * from - intercept|^2, plus ridge * |weights|^2; of several
    /// minima the one of least weights. Rows are samples. Throws where they do not pair up, are none or not finite.
    /// O(samples * from * (from + to)).
    static linear fit(const feature_samples& from, const feature_samples& to, double ridge = 0) {
        detail::check_samples("linear::fit", from, to);
        detail::check_ridge("linear::fit", ridge);
        const Eigen::RowVectorXd from_mean = from.colwise().mean();
        const Eigen::RowVectorXd to_mean = to.colwise().mean();
        Eigen::MatrixXd system(from.rows() + from.cols(), from.cols());
        system << from.rowwise() - from_mean, std::sqrt(ridge) * Eigen::MatrixXd::Identity(from.cols(), from.cols());
        Eigen::MatrixXd wanted = Eigen::MatrixXd::Zero(system.rows(), to.cols());
        wanted.topRows(to.rows()) = to.rowwise() - to_mean;
        const Eigen::MatrixXd solved = system.completeOrthogonalDecomposition().solve(wanted);
        return {solved.transpose(), (to_mean - from_mean * solved).transpose()};
    }

    const Eigen::MatrixXd& weights() const { return weights_; }
    const features& intercept() const { return intercept_; }
    std::size_t from_size() const { return static_cast<std::size_t>(weights_.cols()); }
    std::size_t to_size() const { return static_cast<std::size_t>(weights_.rows()); }

    /// Throws where `from` has not from_size() numbers.
    features operator()(const features& from) const {
        if (from.size() != weights_.cols()) {
            detail::fail("linear: maps features of ", weights_.cols(), " numbers, but these have ", from.size());
        }
        return weights_ * from + intercept_;
    }

 private:
    Eigen::MatrixXd weights_;
    features intercept_;
};

struct mlp_options {
    std::size_t hidden = 32;  ///< hidden numbers
    std::size_t steps = 500;  ///< of Adam, each over all samples
    double rate = 0.03;       ///< Adam's step size at first, falling linearly to 0; on standardized samples
    double ridge = 1e-3;      ///< of the output layer, as in linear::fit
    std::uint64_t seed = 0;   ///< of the hidden layer's first weights
};

/// output(tanh(hidden(from))): one hidden layer. O(hidden * (from + to)) an application.
class mlp {
 public:
    /// Throws where one layer does not fit the other.
    mlp(linear hidden, linear output) : hidden_(std::move(hidden)), output_(std::move(output)) {
        if (hidden_.to_size() != output_.from_size()) {
            detail::fail("mlp: the hidden layer makes ", hidden_.to_size(), " numbers, but the output layer reads ",
                         output_.from_size());
        }
    }

    /// Fits both layers by Adam on the mean squared error, then the output layer once more by least squares. Rows are
    /// samples. Equal arguments, equal maps. Throws as linear::fit does, without hidden numbers, and for a rate that is
    /// no step. O(steps * samples * hidden * (from + to)).
    static mlp fit(const feature_samples& from, const feature_samples& to, const mlp_options& options = {}) {
        detail::check_samples("mlp::fit", from, to);
        detail::check_ridge("mlp::fit", options.ridge);
        if (options.hidden == 0) detail::fail("mlp::fit: hidden is 0; it must be 1 or more");
        if (!(options.rate > 0 && std::isfinite(options.rate))) {
            detail::fail("mlp::fit: rate is ", options.rate, "; it must be finite and positive");
        }
        const detail::standardized inputs(from);
        const Eigen::MatrixXd layer = trained(inputs.samples, detail::standardized(to).samples, options);
        const Eigen::MatrixXd weights =
            layer.leftCols(from.cols()).array().rowwise() / inputs.scale.array();  // of samples as they came
        const features intercept = layer.rightCols(1) - weights * inputs.mean.transpose();
        const Eigen::MatrixXd active = ((from * weights.transpose()).rowwise() + intercept.transpose()).array().tanh();
        return {linear(weights, intercept), linear::fit(active, to, options.ridge)};
    }

    const linear& hidden() const { return hidden_; }
    const linear& output() const { return output_; }
    std::size_t from_size() const { return hidden_.from_size(); }
    std::size_t to_size() const { return output_.to_size(); }

    /// Throws where `from` has not from_size() numbers.
    features operator()(const features& from) const { return output_(hidden_(from).array().tanh()); }

 private:
    /// The hidden layer, its last column the intercept.
    static Eigen::MatrixXd trained(const Eigen::MatrixXd& from, const Eigen::MatrixXd& to, const mlp_options& options) {
        const auto hidden = static_cast<Eigen::Index>(options.hidden);
        const Eigen::MatrixXd extended = detail::with_ones(from);
        detail::two_layers layers{detail::random_layer(hidden, extended.cols(), options.seed),
                                  Eigen::MatrixXd::Zero(to.cols(), hidden + 1)};
        detail::adam of_hidden(layers.hidden), of_output(layers.output);
        for (std::size_t t = 1; t <= options.steps; ++t) {
            const double left = static_cast<double>(options.steps - t + 1) / static_cast<double>(options.steps);
            const detail::two_layers gradient = detail::gradient(layers, extended, to);
            layers.hidden += of_hidden.change(gradient.hidden, t, options.rate * left);
            layers.output += of_output.change(gradient.output, t, options.rate * left);
        }
        return layers.hidden;
    }

    linear hidden_;
    linear output_;
};

static_assert(Alignment<identity> && SizedAlignment<linear> && SizedAlignment<mlp>);

}  // namespace augur::encoder
