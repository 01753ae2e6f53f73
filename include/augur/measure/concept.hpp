#pragma once
// The Divergence concept: how far one distribution is from another.

#include <concepts>
#include <string_view>

namespace augur::measure {

/// A divergence between a target's row and a draft's, as a sum over tokens.
/// Define: `name`; `maximum`, the least upper bound; term(target_probability, draft_probability), a token's part;
///         of_sum(sum of all terms).
/// Laws:   a term is never negative, and 0 where the probabilities are equal: so that rounding makes no distance out
///         of none, nor none out of some. It tends to 0 as one probability moves towards the other.
/// Models: kl, reverse_kl, jensen_shannon, total_variation, hellinger.
template <class D>
concept Divergence = requires(double value) {
    { D::name } -> std::convertible_to<std::string_view>;
    { D::maximum } -> std::convertible_to<double>;
    { D::term(value, value) } -> std::same_as<double>;
    { D::of_sum(value) } -> std::same_as<double>;
};

}  // namespace augur::measure
