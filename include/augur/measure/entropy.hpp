#pragma once
// Shannon entropy of a row of logits, in one numerically stable pass.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "augur/detail/chunks.hpp"
#include "augur/detail/exponential.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/detail/listed.hpp"
#include "augur/detail/row_scan.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/error.hpp"
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
    AUGUR_HOST_DEVICE bool defined() const { return valid && sum > 0; }

    /// Joins the statistics of two disjoint parts of a row; the larger maximum becomes common.
    AUGUR_HOST_DEVICE friend softmax_moments merge(softmax_moments a, softmax_moments b) {
        if (a.maximum < b.maximum) {
            const softmax_moments larger = b;
            b = a;
            a = larger;
        }
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
AUGUR_HOST_DEVICE inline double log_moment(double weight) {
    return weight > 0 ? weight * std::log(weight) : 0;
}

struct log_moments {
    const distribution& of;

    double operator[](std::size_t i) const { return log_moment(of[i]); }
};
}  // namespace detail

/// Of one chunk of a row (detail/chunks.hpp), in loops that compilers vectorise.
AUGUR_HOST_DEVICE inline softmax_moments moments_of_chunk(std::span<const float> chunk) {
    const augur::detail::row_extent seen = augur::detail::extent_of_chunk(chunk);
    softmax_moments sums{.maximum = seen.largest, .valid = seen.valid};
    if (!sums.valid || sums.maximum == -std::numeric_limits<float>::infinity()) return sums;
    float weights[augur::detail::chunk_size];
    float moments[augur::detail::chunk_size];
    augur::detail::weigh_below(chunk.data(), chunk.size(), sums.maximum, weights, moments);
    sums.sum = augur::detail::sum_of_chunk(weights, 0, chunk.size());
    sums.moment = augur::detail::sum_of_chunk(moments, 0, chunk.size());
    return sums;
}

namespace detail {
/// Adds those of the chunks of a row of which these entries are listed (detail/listed.hpp): bit for bit what
/// moments_of_chunk makes, for whatever is not listed has no weight.
inline void merge_listed(softmax_moments& total, logit_row row, std::span<const token> places,
                         std::span<const augur::detail::listed_part> parts) {
    using augur::detail::chunk_size;
    const augur::detail::listed_chunk logits(row, places);
    const bool valid = logits.extent().valid;
    augur::detail::row_extent seen[chunk_size];
    float below[chunk_size], weights[chunk_size], moments[chunk_size];
    const std::size_t size = logits.up_to(8);
    std::copy(logits.values, logits.values + size, below);
    for (std::size_t part = 0; part < parts.size(); ++part) {
        seen[part] = logits.extent(parts[part], valid);
        const bool possible = seen[part].possible();
        for (std::size_t i = parts[part].first; i < parts[part].last; ++i) {
            below[i] = possible ? below[i] - seen[part].largest : -std::numeric_limits<float>::infinity();
        }
    }
    augur::detail::weigh_below(below, size, 0, weights, moments);
    for (std::size_t part = 0; part < parts.size(); ++part) {
        softmax_moments found{.maximum = seen[part].largest, .valid = seen[part].valid};
        if (seen[part].possible()) {
            const auto sums = augur::detail::sums_of_part<2>({weights, moments}, places, parts[part]);
            found.sum = sums[0];
            found.moment = sums[1];
        }
        total = merge(total, found);
    }
}
}  // namespace detail

/// One pass over the row. O(vocabulary), or of the tokens that it names as possible.
inline softmax_moments moments(logit_row row) {
    softmax_moments total;
    if (const auto listed = augur::detail::if_short(row.possible(), row.size()); !listed.empty()) {
        const auto add = [&](const auto& places, const auto& parts) {
            detail::merge_listed(total, row, places, parts);
        };
        augur::detail::for_listed_groups(listed, row.size(), add);
        return total;
    }
    for (std::size_t begin = 0; begin < row.size(); begin += augur::detail::chunk_size) {
        const std::size_t end = augur::detail::end_of_chunk(begin, row.size());
        total = merge(total, moments_of_chunk(row.subspan(begin, end - begin)));
    }
    return total;
}

/// Entropy in nats of the softmax that has these moments: log s - t/s. Where it has none, +infinity.
AUGUR_HOST_DEVICE inline double entropy_nats(const softmax_moments& m) {
    if (!m.defined()) return std::numeric_limits<double>::infinity();
    return std::max(0.0, std::log(m.sum) - m.moment / m.sum);
}

/// The largest probability of the softmax that has these moments; 0 where it has none.
AUGUR_HOST_DEVICE inline double confidence(const softmax_moments& m) {
    return m.valid && m.sum > 0 ? 1 / m.sum : 0;
}

/// Entropy of softmax(row) in nats, in [0, ln vocabulary].
/// A row that holds NaN or +infinity, or no finite logit, is maximally uncertain: +infinity.
inline double entropy_nats(logit_row row) {
    return entropy_nats(moments(row));
}

/// The same in bits, in [0, log2 vocabulary].
inline double entropy_bits(logit_row row) {
    return entropy_nats(row) / std::log(2.0);
}

/// Entropy in nats of a distribution, whatever transform made it. An empty distribution gives +infinity.
inline double entropy_nats(const distribution& of) {
    if (of.empty()) return std::numeric_limits<double>::infinity();
    if (of.is_point()) return 0;
    const detail::log_moments terms{of};
    const augur::detail::chunk_sums<detail::log_moments> sums{terms, of.size()};
    double moment = 0;
    for (std::size_t chunk = 0; chunk < of.sums().size(); ++chunk) {
        if (of.sums()[chunk] > 0) moment += sums[chunk];
    }
    return std::max(0.0, std::log(of.total()) - moment / of.total());
}

/// -sum p log(p + 1e-9) in nats: the form EAAD publishes, biased by at most 1e-9 times the vocabulary, kept for
/// fidelity to its bins. The offset must be positive. A row without a softmax gives +infinity. Source: EAAD, "The
/// Entropy-Adaptive k Selection Mechanism".
inline double entropy_nats_offset(logit_row row, double offset = 1e-9) {
    const softmax_moments m = moments(row);
    if (!m.defined()) return std::numeric_limits<double>::infinity();
    const double maximum = static_cast<double>(m.maximum);
    const auto for_each = [&](const auto& add) {  // but what has no probability, and adds none
        if (row.possible().empty()) return static_cast<void>(std::for_each(row.begin(), row.end(), add));
        for (const token id : row.possible()) add(row[static_cast<std::size_t>(id)]);
    };
    double sum = 0;
    for_each([&](float x) { sum += std::exp(static_cast<double>(x) - maximum); });
    double entropy = 0;
    for_each([&](float x) {
        const double probability = std::exp(static_cast<double>(x) - maximum) / sum;
        entropy -= probability * std::log(probability + offset);
    });
    return entropy;
}

/// Between which the entropy of a whole distribution lies, in nats.
struct entropy_bounds {
    double least_nats = 0;
    double most_nats = 0;
};

/// Of a distribution over more tokens than have a row: kept_nats is the entropy of those that have, by themselves, and
/// the `others` have the probability `missing` together, however it is spread. Both bounds are reached: where one of
/// the others has all of it, and where all have the same. Source: the chain rule of entropy.
inline entropy_bounds whole_entropy(double kept_nats, double missing, std::size_t others) {
    if (!(missing >= 0 && missing <= 1)) {
        augur::detail::fail("the missing probability is ", missing, "; it must be in [0, 1]");
    }
    if (missing > 0 && others == 0) {
        augur::detail::fail("a probability of ", missing, " is missing, but there are no other tokens");
    }
    const auto part = [](double p) { return p > 0 ? -p * std::log(p) : 0; };
    const double least = part(missing) + part(1 - missing) + (missing < 1 ? (1 - missing) * kept_nats : 0);
    return {least, least + (missing > 0 ? missing * std::log(static_cast<double>(others)) : 0)};
}

/// log softmax(row)[of], in nats: the log-probability of a token under the untransformed row. NaN where the row holds
/// NaN or +infinity, or no finite logit.
inline double log_probability(logit_row row, token of) {
    const softmax_moments m = moments(row);
    if (!m.defined()) return std::numeric_limits<double>::quiet_NaN();
    return static_cast<double>(row[static_cast<std::size_t>(of)]) - m.log_sum();
}

}  // namespace augur::measure
