#pragma once
// Divergences of two distributions: KL, reverse KL, Jensen-Shannon, total variation and Hellinger, in one pass each.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <string_view>

#include "augur/detail/chunks.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/measure/concept.hpp"
#include "augur/measure/entropy.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/error.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"

namespace augur::measure {

namespace detail {
inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// What rounding took below 0 is 0.
AUGUR_HOST_DEVICE inline double nonnegative(double value) {
    return value < 0 ? 0 : value;
}

/// p log(2p / (p + q)), to full precision also where p and q are nearly equal.
AUGUR_HOST_DEVICE inline double times_log_of_share(double p, double q) {
    if (!(p > 0)) return 0;
    const double over = (p - q) / (p + q);
    return p * (over > -0.5 ? std::log1p(over) : std::log(2 * p / (p + q)));
}
}  // namespace detail

/// sum of target log(target / draft), in nats: the Kullback-Leibler divergence of the draft from the target, as seen by
/// the target. In [0, infinity]; infinite where the draft excludes a token that the target does not.
struct kl {
    static constexpr std::string_view name = "kl";
    static constexpr double maximum = detail::infinity;

    /// p log(p / q) - p + q: both rows add up to 1, so that what is added to the definition adds up to 0.
    AUGUR_HOST_DEVICE static double term(double p, double q) {
        if (!(p > 0)) return q;
        if (!(q > 0)) return detail::infinity;
        const double excess = (q - p) / p;
        if (excess < -0.5 || excess > 0.5) return p * (std::log(p) - std::log(q)) - p + q;
        return detail::nonnegative(p * (excess - std::log1p(excess)));
    }
    AUGUR_HOST_DEVICE static double of_sum(double sum) { return sum; }
};

/// sum of draft log(draft / target), in nats: infinite where the draft has a token that the target excludes.
struct reverse_kl {
    static constexpr std::string_view name = "reverse_kl";
    static constexpr double maximum = detail::infinity;

    AUGUR_HOST_DEVICE static double term(double p, double q) { return kl::term(q, p); }
    AUGUR_HOST_DEVICE static double of_sum(double sum) { return sum; }
};

/// The mean of the Kullback-Leibler divergences of both rows from their mean, in nats. Symmetric, in [0, ln 2].
struct jensen_shannon {
    static constexpr std::string_view name = "jensen_shannon";
    static constexpr double maximum = 0x1.62e42fefa39efp-1;  ///< ln 2

    AUGUR_HOST_DEVICE static double term(double p, double q) {
        return detail::nonnegative((detail::times_log_of_share(p, q) + detail::times_log_of_share(q, p)) / 2);
    }
    AUGUR_HOST_DEVICE static double of_sum(double sum) { return sum; }
};

/// Half the sum of |target - draft|, the most by which the probability of anything differs. Symmetric, in [0, 1].
struct total_variation {
    static constexpr std::string_view name = "total_variation";
    static constexpr double maximum = 1;

    AUGUR_HOST_DEVICE static double term(double p, double q) { return std::abs(p - q) / 2; }
    AUGUR_HOST_DEVICE static double of_sum(double sum) { return sum; }
};

/// The square root of half the sum of (sqrt(target) - sqrt(draft))^2. Symmetric, in [0, 1].
struct hellinger {
    static constexpr std::string_view name = "hellinger";
    static constexpr double maximum = 1;

    AUGUR_HOST_DEVICE static double term(double p, double q) {
        const double difference = std::sqrt(p) - std::sqrt(q);
        return difference * difference / 2;
    }
    AUGUR_HOST_DEVICE static double of_sum(double sum) { return std::sqrt(sum); }
};

/// The terms of a divergence, made when they are asked for. Both rows must outlive it.
template <Divergence D, class Target, class Draft>
struct divergence_terms {
    const Target& target;
    const Draft& draft;
    std::size_t size;

    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE double operator[](std::size_t i) const {
        const token t = static_cast<token>(i);
        return D::term(target.probability(t), draft.probability(t));
    }
};

/// In the order that the row has (detail/chunks.hpp). Rows that lie elsewhere have an overload beside them.
template <class D, class Target, class Draft>
double sum_of(const divergence_terms<D, Target, Draft>& terms) {
    return augur::detail::sum_in_chunks(terms, terms.size);
}

namespace detail {
AUGUR_WHERE_ARGUMENTS_CAN
template <Divergence D, class Target, class Draft>
AUGUR_HOST_DEVICE double summed(const Target& target, const Draft& draft, std::size_t size) {
    return std::min(double{D::maximum}, D::of_sum(sum_of(divergence_terms<D, Target, Draft>{target, draft, size})));
}

inline void check_sizes(std::size_t target, std::size_t draft) {
    if (target != draft) {
        augur::detail::fail("a divergence is between rows of one vocabulary, but these have ", target, " and ", draft,
                            " tokens");
    }
}

/// softmax(row), one probability at a time. Below 1e-323 it is 0.
struct softmax_of {
    logit_row row;
    double log_sum;

    double probability(token t) const {
        return std::exp(static_cast<double>(row[static_cast<std::size_t>(t)]) - log_sum);
    }
};
}  // namespace detail

/// Of the draft distribution from the target's row: of the row that the token was drawn from, or of certainty in it.
/// One pass over both, O(vocabulary); neither may be empty.
AUGUR_WHERE_ARGUMENTS_CAN
template <Divergence D, class Target, class DraftDistribution>
AUGUR_HOST_DEVICE double divergence(const Target& target, const drafted_token<DraftDistribution>& drafted) {
    return detail::summed<D>(target, drafted, target.size());
}

/// The same of two distributions. +infinity where one is empty: whatever is compared to it, it is not near.
template <Divergence D>
double divergence(const distribution& target, const distribution& draft) {
    detail::check_sizes(target.size(), draft.size());
    if (target.empty() || draft.empty()) return detail::infinity;
    return detail::summed<D>(target, draft, target.size());
}

/// Of softmax(target) and softmax(draft), in two passes: for the sums of both rows, then over both at once. Nothing is
/// stored. +infinity where a row has no softmax.
template <Divergence D>
double divergence(logit_row target, logit_row draft) {
    detail::check_sizes(target.size(), draft.size());
    const softmax_moments of_target = moments(target);
    const softmax_moments of_draft = moments(draft);
    if (!of_target.defined() || !of_draft.defined()) return detail::infinity;
    return detail::summed<D>(detail::softmax_of{target, of_target.log_sum()},
                             detail::softmax_of{draft, of_draft.log_sum()}, target.size());
}

static_assert(Divergence<kl> && Divergence<reverse_kl> && Divergence<jensen_shannon> && Divergence<total_variation> &&
              Divergence<hellinger>);

}  // namespace augur::measure
