#pragma once
// Sums in chunks of a fixed size: the order of additions does not depend on threads or devices, so all of them give the
// same bits and the same draws.

#include <cstddef>
#include <iterator>

#include "augur/detail/host_device.hpp"
#include "augur/detail/vectors.hpp"

namespace augur::detail {

/// What one worker adds up alone. Chunks are then added in their order.
inline constexpr std::size_t chunk_size = 256;

AUGUR_HOST_DEVICE constexpr std::size_t chunks_in(std::size_t size) {
    return (size + chunk_size - 1) / chunk_size;
}

AUGUR_HOST_DEVICE constexpr std::size_t end_of_chunk(std::size_t begin, std::size_t size) {
    return size - begin < chunk_size ? size : begin + chunk_size;
}

/// weights[begin] + ... + weights[end - 1] in double, in eight lanes, so that they can be vectors.
AUGUR_WHERE_ARGUMENTS_CAN
template <class Indexed>
AUGUR_HOST_DEVICE double sum_of_chunk(const Indexed& weights, std::size_t begin, std::size_t end) {
    double lanes[8] = {};
    std::size_t i = begin;
#if AUGUR_VECTORS
    if constexpr (requires { vectors::add_up(std::data(weights), begin, end, lanes); }) {
        if (vectors::there()) i = vectors::add_up(std::data(weights), begin, end, lanes);
    }
#endif
    for (; i + 8 <= end; i += 8) {
        for (std::size_t lane = 0; lane < 8; ++lane) lanes[lane] += static_cast<double>(weights[i + lane]);
    }
    for (; i < end; ++i) lanes[0] += static_cast<double>(weights[i]);
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

/// The sum of each chunk, made when it is asked for.
template <class Indexed>
struct chunk_sums {
    const Indexed& weights;
    std::size_t size;

    double operator[](std::size_t chunk) const {
        const std::size_t begin = chunk * chunk_size;
        return sum_of_chunk(weights, begin, end_of_chunk(begin, size));
    }
};

template <class Indexed>
double sum_in_chunks(const Indexed& weights, std::size_t size) {
    const chunk_sums<Indexed> sums{weights, size};
    double total = 0;
    for (std::size_t chunk = 0; chunk < chunks_in(size); ++chunk) total += sums[chunk];
    return total;
}

/// The first index of the chunk at which `before`, growing by the weights, exceeds the threshold; the last index with a
/// weight where it never does.
AUGUR_WHERE_ARGUMENTS_CAN
template <class Indexed>
AUGUR_HOST_DEVICE std::size_t find_in_chunk(const Indexed& weights, std::size_t begin, std::size_t end, double before,
                                            double threshold) {
    std::size_t last_possible = begin;
    for (std::size_t i = begin; i < end; ++i) {
        const double weight = static_cast<double>(weights[i]);
        if (!(weight > 0)) continue;
        last_possible = i;
        before += weight;
        if (threshold < before) break;
    }
    return last_possible;
}

/// The index at which the weights, added up in order, exceed the threshold; the last with a weight where they never do.
/// `sums[c]` is the sum of chunk c. Inverse transform sampling, when the threshold is uniform below the total.
AUGUR_WHERE_ARGUMENTS_CAN
template <class Indexed, class Sums>
AUGUR_HOST_DEVICE std::size_t find_in_chunks(const Indexed& weights, std::size_t size, const Sums& sums,
                                             double threshold) {
    double before = 0;
    std::size_t last_possible = 0;
    for (std::size_t begin = 0; begin < size; begin += chunk_size) {
        const double here = sums[begin / chunk_size];
        if (!(here > 0)) continue;
        last_possible = begin;
        if (threshold < before + here) {
            return find_in_chunk(weights, begin, end_of_chunk(begin, size), before, threshold);
        }
        before += here;
    }
    // The sum, rounded, fell short of the total.
    return find_in_chunk(weights, last_possible, end_of_chunk(last_possible, size), before, threshold);
}

}  // namespace augur::detail
