#pragma once
// A base whose rows are its states.

#include <cstddef>
#include <utility>
#include <vector>

#include "augur/train/weight_matrix.hpp"

namespace augur::testing {

inline train::dense_weight_matrix<float> identity_base(std::size_t size) {
    std::vector<float> numbers(size * size);
    for (std::size_t i = 0; i < size; ++i) numbers[i * size + i] = 1;
    return {std::move(numbers), size, size};
}

}  // namespace augur::testing
