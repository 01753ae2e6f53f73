#pragma once
// Normalises hidden states (RMS or layer norm, without weights): forward and backward.

#include "augur/train/head_options.hpp"
#include "augur/train/matrix.hpp"

namespace augur::train {

/// Columns, each divided by its root mean square, of `layer` after its mean was taken off; as they are where the norm
/// is none. Weights are the caller's.
template <class Scalar>
struct state_norm {
    columns<Scalar> unit;
    vector<Scalar> roots;  ///< of each column: what it was divided by

    state_norm() = default;
    state_norm(const columns<Scalar>& states, norm_kind kind, double epsilon) : unit(states) {
        if (kind == norm_kind::none) return;
        if (kind == norm_kind::layer) unit.rowwise() -= states.colwise().mean();
        roots = (unit.array().square().colwise().mean().transpose() + static_cast<Scalar>(epsilon)).sqrt();
        unit.array().rowwise() /= roots.transpose().array();
    }

    /// The gradient of a loss by each state, given that by each parameter of `unit`.
    columns<Scalar> backward(const columns<Scalar>& grad_unit, norm_kind kind) const {
        if (kind == norm_kind::none) return grad_unit;
        columns<Scalar> gradient = grad_unit;
        if (kind == norm_kind::layer) gradient.rowwise() -= grad_unit.colwise().mean();
        const auto along = grad_unit.cwiseProduct(unit).colwise().mean().eval();
        gradient.array() -= unit.array().rowwise() * along.array();
        gradient.array().rowwise() /= roots.transpose().array();
        return gradient;
    }
};

}  // namespace augur::train
