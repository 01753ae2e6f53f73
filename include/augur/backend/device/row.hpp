#pragma once
// Rows of logits that lie in device memory. A type of its own, so that no host code reads them by mistake.

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "augur/backend/device/execution.hpp"
#include "augur/types/token.hpp"

namespace augur::backend::device {

/// One row, not owned.
struct row {
    const float* logits = nullptr;
    std::size_t length = 0;

    std::size_t size() const { return length; }
};

/// Rows of one length, one after the other; what a model on the device returns.
class rows {
 public:
    rows(const float* logits, std::size_t count, std::size_t vocabulary_size)
        : logits_(logits), count_(count), vocabulary_size_(vocabulary_size) {}

    std::size_t size() const { return count_; }
    row operator[](std::size_t i) const { return {logits_ + i * vocabulary_size_, vocabulary_size_}; }

 private:
    const float* logits_;
    std::size_t count_;
    std::size_t vocabulary_size_;
};

/// What one look at a row says: its first largest element, and whether all are numbers below +infinity.
struct scan_result {
    float maximum = -std::numeric_limits<float>::infinity();
    token first = no_token;  ///< no_token where nothing is above -infinity
    bool valid = true;

    bool possible() const { return valid && first != no_token; }
};

struct scan_chunk {
    const float* logits;

    AUGUR_HOST_DEVICE scan_result operator()(std::size_t begin, std::size_t end) const {
        scan_result made;
        for (std::size_t i = begin; i < end; ++i) {
            if (!(logits[i] < std::numeric_limits<float>::infinity())) made.valid = false;
            if (made.maximum < logits[i]) {
                made.maximum = logits[i];
                made.first = static_cast<token>(i);
            }
        }
        return made;
    }
};

struct join_scans {
    AUGUR_HOST_DEVICE scan_result operator()(scan_result a, const scan_result& b) const {
        a.valid = a.valid && b.valid;
        if (a.maximum < b.maximum) {
            a.maximum = b.maximum;
            a.first = b.first;
        }
        return a;
    }
};

/// O(vocabulary), one pass.
template <class Policy>
scan_result scan(const Policy& on, row of) {
    return fold(on, map_chunks(on, of.size(), scan_chunk{of.logits}), join_scans{});
}

}  // namespace augur::backend::device
