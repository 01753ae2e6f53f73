#pragma once
// What the tests of the transforms share: rows, histories, and a literal way to write down what stays of a row.

#include <algorithm>
#include <augur/types/error.hpp>
#include <augur/types/prefix.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace rows {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

inline std::vector<float> normal(std::mt19937& random, std::size_t size, float spread = 3) {
    std::normal_distribution<float> drawn;
    std::vector<float> row(size);
    for (float& x : row) x = spread * drawn(random);
    return row;
}

/// Few different values, hence ties everywhere; some tokens already removed.
inline std::vector<float> coarse(std::mt19937& random, std::size_t size) {
    std::vector<float> row = normal(random, size, 2);
    for (float& x : row) x = random() % 8 == 0 ? -infinity : std::round(x);
    row[random() % size] = 1;
    return row;
}

inline std::vector<augur::token> tokens(std::mt19937& random, std::size_t size, std::size_t vocabulary) {
    std::vector<augur::token> ids(size);
    for (augur::token& t : ids) t = static_cast<augur::token>(random() % vocabulary);
    return ids;
}

/// Indices by falling logit; ties: lower index first.
inline std::vector<std::size_t> ranked(const std::vector<float>& row) {
    std::vector<std::size_t> order(row.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return row[a] > row[b]; });
    return order;
}

/// softmax(row), as the definition says.
inline std::vector<double> softmax(const std::vector<float>& row) {
    const double maximum = static_cast<double>(*std::max_element(row.begin(), row.end()));
    std::vector<double> probabilities;
    for (float x : row) probabilities.push_back(std::exp(static_cast<double>(x) - maximum));
    const double sum = std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
    for (double& p : probabilities) p /= sum;
    return probabilities;
}

/// The row after a transform, as if it stood alone.
template <class Transform>
std::vector<float> after(const Transform& transform, std::vector<float> row, const augur::prefix& before = {}) {
    transform(row, before);
    return row;
}

/// What the transform's check says about its settings; empty when it accepts them.
template <class Transform>
std::string refusal(const Transform& transform, std::size_t vocabulary_size = 10) {
    try {
        transform.check(vocabulary_size);
    } catch (const augur::error& e) {
        return e.what();
    }
    return "";
}

}  // namespace rows
