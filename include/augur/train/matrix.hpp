#pragma once
// The arrays of training: Eigen's, of float in use and of double where gradients are checked.

#include <Eigen/Core>
#include <cstddef>
#include <string_view>

namespace augur::detail {

constexpr Eigen::Index index(std::size_t of) {
    return static_cast<Eigen::Index>(of);
}

}  // namespace augur::detail

namespace augur::train {

/// Rows one after the other, as weights lie in files.
template <class Scalar>
using matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// A sample a column.
template <class Scalar>
using columns = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;
template <class Scalar>
using vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;

/// Numbers of an array that belong together, and are learned: a matrix row by row, or a vector.
struct head_block {
    std::string_view name;
    std::size_t offset = 0, rows = 0, columns = 0;
    bool decays = false;  ///< weight decay is for matrices

    std::size_t size() const { return rows * columns; }
};

template <class Scalar>
Eigen::Map<vector<Scalar>> block(vector<Scalar>& of, const head_block& at) {
    return {of.data() + at.offset, detail::index(at.size())};
}
template <class Scalar>
Eigen::Map<const vector<Scalar>> block(const vector<Scalar>& of, const head_block& at) {
    return {of.data() + at.offset, detail::index(at.size())};
}
template <class Scalar>
Eigen::Map<matrix<Scalar>> matrix_of(vector<Scalar>& of, const head_block& at) {
    return {of.data() + at.offset, detail::index(at.rows), detail::index(at.columns)};
}
template <class Scalar>
Eigen::Map<const matrix<Scalar>> matrix_of(const vector<Scalar>& of, const head_block& at) {
    return {of.data() + at.offset, detail::index(at.rows), detail::index(at.columns)};
}

}  // namespace augur::train
