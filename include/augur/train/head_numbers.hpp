#pragma once
// The blocks of an exit head's numbers, as vectors and matrices.

#include "augur/train/head_options.hpp"
#include "augur/train/matrix.hpp"

namespace augur::train {

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
