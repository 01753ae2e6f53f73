#pragma once
// What the device's tests share: rows of every kind, in both memories.

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include "augur/backend/device/execution.hpp"
#include "augur/backend/device/row.hpp"
#include "transform/rows.hpp"

namespace parity {

namespace device = augur::backend::device;

/// Mostly small, so that there are many; some beyond every border of chunks, some of a real vocabulary's size.
inline std::size_t random_size(std::mt19937& random) {
    const std::size_t limits[] = {8, 40, 300, 300, 1100, 1100, 5000, 70000};
    return 2 + random() % (limits[random() % 8] - 1);
}

/// Flat, peaked, with ties, with duplicates, with tokens that are impossible.
inline std::vector<float> random_row(std::mt19937& random, std::size_t size) {
    switch (random() % 6) {
        case 0:
            return rows::coarse(random, size);
        case 1:
            return std::vector<float>(size, 1.5f);
        case 2: {
            auto peaked = rows::normal(random, size, 1);
            peaked[random() % size] += 20;
            return peaked;
        }
        case 3: {
            std::vector<float> sparse(size, -rows::infinity);
            for (std::size_t i = 0; i < 5; ++i) sparse[random() % size] = static_cast<float>(random() % 4);
            return sparse;
        }
        case 4: {
            auto doubled = rows::normal(random, size, 8);
            for (std::size_t i = 1; i < size; i += 2) doubled[i] = doubled[i - 1];
            return doubled;
        }
        default:
            return rows::normal(random, size, static_cast<float>(1 + random() % 5));
    }
}

/// A row that has no softmax: NaN or +infinity somewhere, or nothing possible.
inline std::vector<float> invalid_row(std::mt19937& random, std::size_t size) {
    auto row = random_row(random, size);
    switch (random() % 3) {
        case 0:
            row[random() % size] = rows::not_a_number;
            return row;
        case 1:
            row[random() % size] = rows::infinity;
            return row;
        default:
            return std::vector<float>(size, -rows::infinity);
    }
}

inline device::memory<float> upload(const std::vector<float>& row) {
    return {row.begin(), row.end()};
}

inline device::row row_of(const device::memory<float>& logits) {
    return {device::address(logits), logits.size()};
}

}  // namespace parity
