#pragma once
// The measures of measure/entropy.hpp, of rows that lie in device memory: the same functions of each chunk, joined in
// the same order, hence the same values.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "augur/backend/device/distribution.hpp"
#include "augur/backend/device/execution.hpp"
#include "augur/backend/device/row.hpp"
#include "augur/measure/entropy.hpp"

namespace augur::backend::device {

struct measure_chunk {
    const float* logits;

    AUGUR_HOST_DEVICE measure::softmax_moments operator()(std::size_t begin, std::size_t end) const {
        return measure::moments_of_chunk(std::span<const float>(logits + begin, end - begin));
    }
};

struct merge_moments {
    AUGUR_HOST_DEVICE measure::softmax_moments operator()(const measure::softmax_moments& a,
                                                          const measure::softmax_moments& b) const {
        return merge(a, b);
    }
};

/// Maximum, sum and moment of the softmax. O(vocabulary), one pass; 24 bytes come back.
template <class Policy>
measure::softmax_moments moments(const Policy& on, row of) {
    return fold(on, map_chunks(on, of.size(), measure_chunk{of.logits}), merge_moments{});
}

/// Of softmax(row), in nats.
template <class Policy>
double entropy_nats(const Policy& on, row of) {
    return measure::entropy_nats(moments(on, of));
}

template <class Policy>
double entropy_bits(const Policy& on, row of) {
    return entropy_nats(on, of) / std::log(2.0);
}

struct log_moments {
    weights_view weights;

    AUGUR_HOST_DEVICE double operator[](std::size_t i) const { return measure::detail::log_moment(weights[i]); }
};

/// Of a distribution, whatever transform made it, in nats.
template <class Policy>
double entropy_nats(const distribution<Policy>& of) {
    if (of.empty()) return std::numeric_limits<double>::infinity();
    if (of.is_point()) return 0;
    const auto parts = map_chunks(of.policy(), of.size(), sum_chunk<log_moments>{{of.view()}});
    return std::max(0.0, std::log(of.total()) - fold(of.policy(), parts, plus{}) / of.total());
}

}  // namespace augur::backend::device
