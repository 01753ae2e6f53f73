#pragma once
// Converts a trained exit head for a widened model. See docs/train/checkpoint.md.

#include <array>
#include <cmath>
#include <cstddef>
#include <string>

#include "augur/train/checkpoint.hpp"
#include "augur/train/head_options.hpp"
#include "augur/train/matrix.hpp"
#include "augur/train/state_file.hpp"
#include "augur/types/error.hpp"

namespace augur::train {

/// Where the numbers of a head lie among those of a wider one: first in each row and column of their block. All other
/// numbers are zero; weights of the norm are scaled, because its mean is over more numbers.
class head_growth {
 public:
    head_growth(const head_options& of, std::size_t classes, std::size_t narrow, std::size_t wide)
        : from_(of, classes, narrow),
          to_(of, classes, wide),
          norm_scale_(std::sqrt(static_cast<double>(narrow) / static_cast<double>(wide))) {}

    std::size_t narrow_size() const { return from_.size; }

    /// Times the scale to this power: 1 of numbers, -1 of gradients by them, -2 of squares of those.
    template <class Scalar>
    vector<Scalar> placed(const vector<Scalar>& numbers, int power) const {
        vector<Scalar> values = vector<Scalar>::Zero(detail::index(to_.size));
        const auto from = from_.blocks(), to = to_.blocks();
        for (std::size_t i = 0; i < from.size(); ++i) {
            if (from[i].size() == 0) continue;
            const auto rows = detail::index(from[i].rows), columns = detail::index(from[i].columns);
            matrix_of(values, to[i]).topLeftCorner(rows, columns) = matrix_of(numbers, from[i]);
        }
        if (from_.norm_weight.size() != 0) {
            block(values, to_.norm_weight) *= static_cast<Scalar>(std::pow(norm_scale_, power));
        }
        return values;
    }

    /// Throws unless a head of these options makes the same logits of states with zeros behind.
    static void check(const head_options& of, const std::string& origin) {
        const auto refuse = [&](const char* what, const auto& value, const char* why) {
            detail::fail(origin, ": its head cannot be converted for a widened model: ", what, " is ", value, ", and ",
                         why);
        };
        if (of.layer_rank != 0) refuse("layer_rank", of.layer_rank, "it reads what the layer's heads attended to");
        if (of.norm == norm_kind::layer) refuse("the norm", name_of(of.norm), "a wider state has another mean");
        if (of.weight_norm) refuse("weight_norm", "on", "rows of a wider matrix have other lengths");
    }

 private:
    head_layout from_, to_;
    double norm_scale_;
};

/// The same head on hidden states of `width` numbers, of which the first are those of `whose` and the others zeros, as
/// llama::widening makes them: the same logits up to the rounding of sums, and the same gradients by its numbers, so
/// that learning can go on from there. `epsilon`: the wide model's. Throws, with the values, for numbers that are not
/// the head's, a width that is less, an epsilon that was not widened so, and heads for which it cannot hold: norms that
/// subtract a mean, rows of learned lengths, a layer that learns. Cost: O(numbers of the wide head).
template <class Scalar>
checkpoint<Scalar> widened(const checkpoint<Scalar>& from, const state_identity& whose, std::size_t width,
                           double epsilon, const std::string& origin = "checkpoint") {
    head_growth::check(from.options, origin);
    if (width < whose.width) {
        detail::fail(origin, ": hidden states of ", whose.width, " numbers do not fit into ", width);
    }
    const double expected = from.options.epsilon * static_cast<double>(whose.width) / static_cast<double>(width);
    if (!(std::abs(epsilon - expected) <= 1e-6 * expected)) {
        detail::fail(origin, ": its epsilon ", from.options.epsilon, " becomes ", expected, " where ", whose.width,
                     " numbers become ", width, ", but the model's is ", epsilon);
    }
    const std::size_t classes = from.tokens.empty() ? whose.vocabulary_size : from.tokens.size();
    const head_growth grows(from.options, classes, whose.width, width);
    for (const auto* each : {&from.values, &from.first, &from.second}) {
        if (each->size() == detail::index(grows.narrow_size())) continue;
        detail::fail(origin, ": it has ", each->size(), " parameters, but its head has ", grows.narrow_size());
    }
    checkpoint<Scalar> wider = from;
    wider.options.epsilon = epsilon;
    wider.values = grows.placed(from.values, 1);
    wider.first = grows.placed(from.first, -1);
    wider.second = grows.placed(from.second, -2);
    return wider;
}

}  // namespace augur::train
