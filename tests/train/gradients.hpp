#pragma once
// Gradients by central differences, in double.

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace augur::testing {

/// Of `value(x)` by each parameter of x.
template <class Value>
Eigen::VectorXd differences(const Value& value, Eigen::VectorXd x, double step = 1e-5) {
    Eigen::VectorXd gradient(x.size());
    for (Eigen::Index i = 0; i < x.size(); ++i) {
        const double at = x[i];
        x[i] = at + step;
        const double above = value(x);
        x[i] = at - step;
        gradient[i] = (above - value(x)) / (2 * step);
        x[i] = at;
    }
    return gradient;
}

/// The largest difference between both, relative to the largest of the second.
inline double relative_difference(const Eigen::VectorXd& got, const Eigen::VectorXd& expected) {
    return (got - expected).cwiseAbs().maxCoeff() / std::max(expected.cwiseAbs().maxCoeff(), 1e-300);
}

/// Reproducible numbers in [-1, 1].
inline Eigen::MatrixXd some_numbers(Eigen::Index rows, Eigen::Index columns, double from) {
    return Eigen::MatrixXd::NullaryExpr(rows, columns, [=](Eigen::Index i, Eigen::Index j) {
        return std::sin(12.9898 * static_cast<double>(i) + 78.233 * static_cast<double>(j) + from);
    });
}

}  // namespace augur::testing
