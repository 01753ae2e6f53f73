#pragma once
// A layer of a few numbers.

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "augur/train/draft_attention.hpp"
#include "augur/train/draft_layer.hpp"
#include "augur/train/matrix.hpp"
#include "augur/train/weight_matrix.hpp"

namespace augur::testing {

template <class Scalar>
train::dense_weight_matrix<Scalar> base_of_waves(std::size_t rows, std::size_t width, double from) {
    std::vector<Scalar> values;
    for (std::size_t i = 0; i < rows * width; ++i) {
        values.push_back(static_cast<Scalar>(std::sin(1.7 * static_cast<double>(i) + from)));
    }
    return {std::move(values), rows, width};
}

/// `width` numbers a state, `attended` ones before the output projection, `inner` ones inside the feed-forward part.
template <class Scalar>
train::layer_projections<train::dense_weight_matrix<Scalar>> layer_of_waves(std::size_t width, std::size_t attended,
                                                                            std::size_t inner,
                                                                            std::span<const float> norm_weight = {}) {
    return {base_of_waves<Scalar>(width, attended, 0.2), base_of_waves<Scalar>(inner, width, 0.4),
            base_of_waves<Scalar>(inner, width, 0.8), base_of_waves<Scalar>(width, inner, 1.1), norm_weight};
}

/// `heads` of queries and `key_heads` of keys and values, of `head_size` numbers each.
template <class Scalar>
train::attention_projections<train::dense_weight_matrix<Scalar>> attention_of_waves(
    std::size_t width, std::size_t heads, std::size_t key_heads, std::size_t head_size,
    std::span<const double> frequencies = {}, std::span<const float> norm_weight = {}) {
    return {base_of_waves<Scalar>(heads * head_size, width, 0.3),
            base_of_waves<Scalar>(key_heads * head_size, width, 0.6),
            base_of_waves<Scalar>(key_heads * head_size, width, 0.9),
            head_size,
            frequencies,
            norm_weight};
}

/// What a layer without updates makes of a layer input, number by number.
template <class Scalar>
std::vector<double> layer_by_hand(const train::layer_projections<train::dense_weight_matrix<Scalar>>& of,
                                  std::span<const Scalar> layer_input, double epsilon) {
    const auto multiplied = [](const train::dense_weight_matrix<Scalar>& by, const std::vector<double>& in) {
        const train::matrix<Scalar> weights = by.dense();
        std::vector<double> out(by.classes());
        for (std::size_t row = 0; row < out.size(); ++row) {
            for (std::size_t i = 0; i < in.size(); ++i) {
                out[row] += static_cast<double>(weights(augur::detail::index(row), augur::detail::index(i))) * in[i];
            }
        }
        return out;
    };
    const std::size_t attended = of.attention_output.width();
    std::vector<double> state(layer_input.begin() + static_cast<std::ptrdiff_t>(attended), layer_input.end());
    const auto add = [&](const std::vector<double>& change) {
        for (std::size_t i = 0; i < state.size(); ++i) state[i] += change[i];
    };
    add(multiplied(of.attention_output,
                   {layer_input.begin(), layer_input.begin() + static_cast<std::ptrdiff_t>(attended)}));
    double square = 0;
    for (const double each : state) square += each * each;
    std::vector<double> normalised = state;
    for (std::size_t i = 0; i < normalised.size(); ++i) {
        normalised[i] /= std::sqrt(square / static_cast<double>(normalised.size()) + epsilon);
        normalised[i] *= of.norm_weight.empty() ? 1 : static_cast<double>(of.norm_weight[i]);
    }
    auto inner = multiplied(of.gate, normalised);
    const auto up = multiplied(of.up, normalised);
    for (std::size_t i = 0; i < inner.size(); ++i) inner[i] *= up[i] / (1 + std::exp(-inner[i]));
    add(multiplied(of.down, inner));
    return state;
}

}  // namespace augur::testing
