#pragma once
// Temperature, top-k, top-p, min-p and softmax of a row in device memory, each with the outcome of its namesake in
// transform/.

#include <thrust/copy.h>
#include <thrust/functional.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>

#include <cstddef>
#include <cstdint>
#include <limits>

#include "augur/backend/device/execution.hpp"
#include "augur/backend/device/row.hpp"
#include "augur/detail/mass.hpp"
#include "augur/detail/row_scan.hpp"

namespace augur::backend::device {

/// Logits by a temperature, the largest becoming 0.
struct sharpen {
    float* logits;
    augur::detail::sharpening by;

    AUGUR_HOST_DEVICE void operator()(std::size_t i) const { logits[i] = by.sharpened(logits[i]); }
};

/// Removes what is below a floor.
struct remove_below {
    float* logits;
    float floor;

    AUGUR_HOST_DEVICE void operator()(std::size_t i) const {
        if (logits[i] < floor) logits[i] = -std::numeric_limits<float>::infinity();
    }
};

/// The k-th largest, 1 <= k <= length. A sort of a copy.
template <class Policy>
float kth_largest(const Policy& on, row of, std::size_t k) {
    const thrust::device_ptr<const float> first(of.logits);
    memory<float> sorted(first, first + static_cast<std::ptrdiff_t>(of.length));
    thrust::sort(on, sorted.begin(), sorted.end(), thrust::greater<float>());
    return sorted[k - 1];
}

/// e^(logit - maximum): weights, that of the maximum being 1.
struct weigh {
    const float* logits;
    augur::detail::sharpening by;
    float* weights;

    AUGUR_HOST_DEVICE void operator()(std::size_t i) const { weights[i] = by.weight(logits[i]); }
};

/// The last token of a nucleus, in order of falling weight, then of rising id.
struct ranked_token {
    float weight = 0;
    std::size_t index = 0;
};

/// One worker adds up from the largest weight until it has the mass.
struct find_nucleus {
    const float* weights;
    const std::size_t* indices;
    std::size_t count;
    std::uint64_t mass;

    AUGUR_HOST_DEVICE ranked_token operator()() const {
        std::uint64_t cumulative = 0;
        ranked_token last;
        for (std::size_t i = 0; i < count && weights[i] > 0; ++i) {
            last = {weights[i], indices[i]};
            cumulative += augur::detail::mass_of(weights[i]);
            if (cumulative >= mass) break;
        }
        return last;
    }
};

struct count_mass {
    const float* weights;

    AUGUR_HOST_DEVICE std::uint64_t operator()(std::size_t begin, std::size_t end) const {
        return augur::detail::mass_of(weights + begin, end - begin);
    }
};

struct add_mass {
    AUGUR_HOST_DEVICE std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return a + b; }
};

struct keep_nucleus {
    const float* weights;
    ranked_token last;
    float* logits;

    AUGUR_HOST_DEVICE void operator()(std::size_t i) const {
        const bool kept = weights[i] > last.weight || (weights[i] == last.weight && i <= last.index);
        if (!kept) logits[i] = -std::numeric_limits<float>::infinity();
    }
};

/// Leaves the smallest set of most probable tokens that holds the share p of the mass. A sort of all weights.
template <class Policy>
void cut_to_nucleus(const Policy& on, float* logits, std::size_t size, float maximum, double p) {
    memory<float> weights(size);
    for_each(on, size, weigh{logits, {.top = maximum}, address(weights)});
    const std::uint64_t total = fold(on, map_chunks(on, size, count_mass{address(weights)}), add_mass{});
    memory<float> sorted = weights;
    memory<std::size_t> indices(size);
    thrust::sequence(on, indices.begin(), indices.end());
    thrust::stable_sort_by_key(on, sorted.begin(), sorted.end(), indices.begin(), thrust::greater<float>());
    const std::uint64_t needed = augur::detail::units_in_share(p, total);
    const ranked_token last = compute(on, find_nucleus{address(sorted), address(indices), size, needed});
    for_each(on, size, keep_nucleus{address(weights), last, logits});
}

}  // namespace augur::backend::device
