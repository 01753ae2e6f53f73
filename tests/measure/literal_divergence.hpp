#pragma once
// The divergences as their definitions say, in 64 bits of mantissa.

#include <cmath>
#include <cstddef>
#include <vector>

#include "augur/measure/divergence.hpp"

namespace literal {

using probabilities = std::vector<long double>;

inline probabilities normalised(probabilities weights) {
    long double sum = 0;
    for (long double w : weights) sum += w;
    for (long double& w : weights) w /= sum;
    return weights;
}

inline long double relative_entropy(const probabilities& p, const probabilities& q) {
    long double sum = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
        if (p[i] > 0) sum += p[i] * (std::log(p[i]) - std::log(q[i]));
    }
    return sum;
}

template <class D>
double divergence(const probabilities& p, const probabilities& q) = delete;

template <>
inline double divergence<augur::measure::kl>(const probabilities& p, const probabilities& q) {
    return static_cast<double>(relative_entropy(p, q));
}

template <>
inline double divergence<augur::measure::reverse_kl>(const probabilities& p, const probabilities& q) {
    return static_cast<double>(relative_entropy(q, p));
}

template <>
inline double divergence<augur::measure::jensen_shannon>(const probabilities& p, const probabilities& q) {
    probabilities mean(p.size());
    for (std::size_t i = 0; i < p.size(); ++i) mean[i] = (p[i] + q[i]) / 2;
    return static_cast<double>((relative_entropy(p, mean) + relative_entropy(q, mean)) / 2);
}

template <>
inline double divergence<augur::measure::total_variation>(const probabilities& p, const probabilities& q) {
    long double sum = 0;
    for (std::size_t i = 0; i < p.size(); ++i) sum += std::abs(p[i] - q[i]);
    return static_cast<double>(sum / 2);
}

template <>
inline double divergence<augur::measure::hellinger>(const probabilities& p, const probabilities& q) {
    long double sum = 0;
    for (std::size_t i = 0; i < p.size(); ++i) sum += std::pow(std::sqrt(p[i]) - std::sqrt(q[i]), 2.0L);
    return static_cast<double>(std::sqrt(sum / 2));
}

}  // namespace literal
