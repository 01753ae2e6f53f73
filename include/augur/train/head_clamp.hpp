#pragma once
// Clamps the Frobenius norm of a trained W_exit.

#include <algorithm>
#include <cmath>
#include <concepts>

#include "augur/train/head_options.hpp"
#include "augur/train/matrix.hpp"

namespace augur::train {

/// Heads whose learned matrix starts as a base's, and may be held within a multiple of its norm.
template <class H>
concept CanBeClamped = requires(const H& head) {
    { head.options().clamp } -> std::convertible_to<double>;
    { head.layout() } -> std::convertible_to<const head_layout&>;
    head.weight_matrix().row_squares();
};

/// Of W_exit = W + update: |W|^2, the scalar product of both, and |update|^2. A full matrix is all update.
struct head_norms {
    double base = 0, mixed = 0, update = 0;

    double square() const { return std::max(0.0, base + 2 * mixed + update); }
};

/// Without scale and gains. `base_square`: |W|^2, the sum of base().row_squares(). Cost: products of the base with
/// `rank` columns, two of `state` and one of `output`.
template <class Head>
head_norms norms_of(const Head& head, double base_square) {
    using scalar = typename Head::scalar;
    const head_layout& layout = head.layout();
    if (head.options().update == update_kind::full) {
        return {0, 0, static_cast<double>(block(head.values(), layout.full).squaredNorm())};
    }
    head_norms found{base_square, 0, 0};
    if (layout.up.size() == 0) return found;
    const columns<scalar> up = matrix_of(head.values(), layout.up);
    const columns<scalar> outer = head.options().update == update_kind::state ? head.weight_matrix().product(up) : up;
    const matrix<scalar> down = matrix_of(head.values(), layout.down);
    const columns<scalar> crossed = head.weight_matrix().product(down.transpose());
    found.mixed = static_cast<double>(outer.cwiseProduct(crossed).sum());
    found.update = static_cast<double>((outer.transpose() * outer).cwiseProduct(down * down.transpose()).sum());
    return found;
}

/// Draws the update back until |W_exit| <= options().clamp * |W| (Frobenius norms), along the line between both.
/// Nothing where that is off. Returns whether it had to.
template <class Head>
bool clamp(Head& head, double base_square) {
    const double times = head.options().clamp;
    if (times == 0 || head.options().update == update_kind::none) return false;
    const head_norms found = norms_of(head, base_square);
    const double most = times * times * base_square;
    if (!(found.square() > most)) return false;
    auto values = head.values();
    const auto shrink = [&](const head_block& at, double by) {
        block(values, at) *= static_cast<typename Head::scalar>(by);
    };
    if (head.options().update == update_kind::full) {
        shrink(head.layout().full, std::sqrt(most / found.update));
    } else {  // |W + t update| is the bound
        const double inside = found.mixed * found.mixed - found.update * (found.base - most);
        shrink(head.layout().up, (std::sqrt(inside) - found.mixed) / found.update);
    }
    head.assign(values);
    return true;
}

}  // namespace augur::train
