#pragma once
// Distances between the aligned features of two encoders.

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <string_view>

#include "augur/encoder/alignment.hpp"
#include "augur/measure/divergence.hpp"
#include "augur/types/scores.hpp"

namespace augur::encoder {

/// How far aligned features are from those of the next encoder. Both have as many numbers.
/// Define: `name`; `maximum`, an upper bound; between(next, aligned).
/// Laws:   never negative, and 0 where they are equal; NaN or +infinity where it is undefined.
/// Models: cosine_distance, relative_distance, softmax_divergence.
template <class D>
concept FeatureDivergence = requires(const features& each) {
    { D::name } -> std::convertible_to<std::string_view>;
    { D::maximum } -> std::convertible_to<double>;
    { D::between(each, each) } -> std::same_as<double>;
};

/// 1 - cosine of the angle, whatever the lengths: no unit, in [0, 2], 1 at a right angle. NaN where either is not
/// finite or has no length. Computed as half the squared distance of the directions, so that nothing cancels.
struct cosine_distance {
    static constexpr std::string_view name = "cosine_distance";
    static constexpr double maximum = 2;

    static double between(const features& next, const features& aligned) {
        const double next_length = next.stableNorm();
        const double aligned_length = aligned.stableNorm();
        if (!std::isnormal(next_length) || !std::isnormal(aligned_length))
            return std::numeric_limits<double>::quiet_NaN();
        return std::min((next / next_length - aligned / aligned_length).squaredNorm() / 2, maximum);
    }
};

/// |next - aligned|^2 / (|next|^2 + |aligned|^2): no unit, in [0, 2], 1 at a right angle, 2 for opposites. Where the
/// lengths are equal it is the cosine distance, else nearer to 1. NaN where either is not finite or has no length.
struct relative_distance {
    static constexpr std::string_view name = "relative_distance";
    static constexpr double maximum = 2;

    static double between(const features& next, const features& aligned) {
        const double next_square = next.squaredNorm();
        const double aligned_square = aligned.squaredNorm();
        if (!std::isnormal(next_square) || !std::isnormal(aligned_square))
            return std::numeric_limits<double>::quiet_NaN();
        return std::min((next - aligned).squaredNorm() / (next_square + aligned_square), maximum);
    }
};

/// A divergence of softmax(next), in the target's place, and softmax(aligned): features are logits, rounded to float.
/// Unit and bounds are D's. +infinity where either has no softmax.
template <measure::Divergence D>
struct softmax_divergence {
    static constexpr std::string_view name = D::name;
    static constexpr double maximum = D::maximum;

    static double between(const features& next, const features& aligned) {
        const Eigen::VectorXf target = next.cast<float>();
        const Eigen::VectorXf draft = aligned.cast<float>();
        return measure::divergence<D>(logit_row(target.data(), static_cast<std::size_t>(target.size())),
                                      logit_row(draft.data(), static_cast<std::size_t>(draft.size())));
    }
};

static_assert(FeatureDivergence<cosine_distance> && FeatureDivergence<relative_distance> &&
              FeatureDivergence<softmax_divergence<measure::kl>>);

}  // namespace augur::encoder
