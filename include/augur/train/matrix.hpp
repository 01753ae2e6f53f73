#pragma once
// The arrays that training computes with: Eigen's, of float in use and of double where gradients are checked.

#include <Eigen/Core>
#include <cstddef>

namespace augur::train {

/// Rows one after the other, as weights lie in files.
template <class Scalar>
using matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// A sample a column.
template <class Scalar>
using columns = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;
template <class Scalar>
using vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;

}  // namespace augur::train

namespace augur::detail {

constexpr Eigen::Index index(std::size_t of) {
    return static_cast<Eigen::Index>(of);
}

}  // namespace augur::detail
