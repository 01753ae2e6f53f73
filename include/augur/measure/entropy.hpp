#pragma once
// Shannon entropy of a row of logits, in one pass that cannot overflow.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>

#include "augur/detail/exponential.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/scores.hpp"

namespace augur::measure {

/// Sufficient statistics of softmax(row), mergeable in any grouping:
/// maximum m, sum of e^(x-m), and sum of (x-m) e^(x-m).
struct softmax_moments {
    float maximum = -std::numeric_limits<float>::infinity();
    double sum = 0;
    double moment = 0;
    bool valid = true;  ///< false once a NaN or +infinity was seen

    /// Whether the row has a softmax: at least one finite logit, no NaN and no +infinity.
    bool defined() const { return valid && sum > 0; }

    /// Joins the statistics of two disjoint parts of a row; the larger maximum becomes common.
    friend softmax_moments merge(softmax_moments a, softmax_moments b) {
        if (a.maximum < b.maximum) std::swap(a, b);
        a.valid = a.valid && b.valid;
        if (!(b.sum > 0)) return a;
        const double shift = static_cast<double>(b.maximum) - static_cast<double>(a.maximum);
        const double scale = std::exp(shift);
        a.sum += scale * b.sum;
        a.moment += scale * (b.moment + shift * b.sum);
        return a;
    }

    /// log sum e^x, where defined().
    double log_sum() const { return static_cast<double>(maximum) + std::log(sum); }
};

namespace detail {
inline softmax_moments moments_of_block(std::span<const float> block) {
    softmax_moments made;
    int invalid = 0;
    for (float x : block) {
        invalid |= static_cast<int>(!(x < std::numeric_limits<float>::infinity()));
        made.maximum = made.maximum < x ? x : made.maximum;
    }
    made.valid = invalid == 0;
    if (!made.valid || made.maximum == -std::numeric_limits<float>::infinity()) return made;
    float sum = 0;
    float moment = 0;
    for (float x : block) {
        const float below = std::max(x - made.maximum, -88.0f);
        const float weight = augur::detail::exp_nonpositive(below);
        sum += weight;
        moment += below * weight;
    }
    made.sum = static_cast<double>(sum);
    made.moment = static_cast<double>(moment);
    return made;
}
}  // namespace detail

/// One pass over the row, in blocks that stay in the first-level cache. O(vocabulary).
inline softmax_moments moments(logit_row row) {
    constexpr std::size_t block = 64;
    softmax_moments total;
    for (std::size_t begin = 0; begin < row.size(); begin += block) {
        total = merge(total, detail::moments_of_block(row.subspan(begin, std::min(block, row.size() - begin))));
    }
    return total;
}

/// Entropy of softmax(row) in nats, in [0, ln vocabulary]; log s - t/s with the moments above.
/// A row that holds NaN or +infinity, or no finite logit, is maximally uncertain: +infinity.
inline double entropy_nats(logit_row row) {
    const softmax_moments m = moments(row);
    if (!m.defined()) return std::numeric_limits<double>::infinity();
    return std::max(0.0, std::log(m.sum) - m.moment / m.sum);
}

/// The same in bits, in [0, log2 vocabulary].
inline double entropy_bits(logit_row row) {
    return entropy_nats(row) / std::log(2.0);
}

/// Entropy in nats of a distribution, whatever transform made it. An empty distribution gives +infinity.
inline double entropy_nats(const distribution& of) {
    if (of.empty()) return std::numeric_limits<double>::infinity();
    if (of.is_point()) return 0;
    double moment = 0;
    for (std::size_t i = 0; i < of.size(); ++i) {
        if (of[i] > 0) moment += of[i] * std::log(of[i]);
    }
    return std::max(0.0, std::log(of.total()) - moment / of.total());
}

/// -sum p log(p + 1e-9) in nats: the form EAAD publishes, biased by at most 1e-9 times the vocabulary, kept for fidelity
/// to its bins. The offset must be positive. A row without a softmax gives +infinity. Source: EAAD, "The Entropy-Adaptive k Selection Mechanism".
inline double entropy_nats_offset(logit_row row, double offset = 1e-9) {
    const softmax_moments m = moments(row);
    if (!m.defined()) return std::numeric_limits<double>::infinity();
    const double maximum = static_cast<double>(m.maximum);
    double sum = 0;
    for (float x : row) sum += std::exp(static_cast<double>(x) - maximum);
    double entropy = 0;
    for (float x : row) {
        const double probability = std::exp(static_cast<double>(x) - maximum) / sum;
        entropy -= probability * std::log(probability + offset);
    }
    return entropy;
}

/// log softmax(row)[of], in nats: the log-probability of a token under the untransformed row. NaN where the row holds NaN
/// or +infinity, or no finite logit.
inline double log_probability(logit_row row, token of) {
    const softmax_moments m = moments(row);
    if (!m.defined()) return std::numeric_limits<double>::quiet_NaN();
    return static_cast<double>(row[static_cast<std::size_t>(of)]) - m.log_sum();
}

}  // namespace augur::measure
