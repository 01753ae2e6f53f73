#pragma once
// Top-k: keeps the k largest logits.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "augur/types/prefix.hpp"

namespace augur::transform {

/// Removes every logit below the k-th largest; ties with the k-th stay, as in transformers (Fan et al. 2018).
/// O(vocabulary log k) at worst; a heap of k, mostly untouched.
struct top_k {
    std::size_t k = 0;  ///< 0 is off

    bool active() const { return k > 0; }
    void check(std::size_t) const {}

    void operator()(std::span<float> logits, const prefix&) const {
        if (k >= logits.size()) return;
        std::vector<float> largest(logits.begin(), logits.begin() + static_cast<std::ptrdiff_t>(k));
        std::make_heap(largest.begin(), largest.end(), std::greater<>());
        for (float logit : logits.subspan(k)) {
            if (logit > largest.front()) {
                std::pop_heap(largest.begin(), largest.end(), std::greater<>());
                largest.back() = logit;
                std::push_heap(largest.begin(), largest.end(), std::greater<>());
            }
        }
        for (float& logit : logits) {
            if (logit < largest.front()) logit = -std::numeric_limits<float>::infinity();
        }
    }
};

}  // namespace augur::transform
