#pragma once
// The entropy_bins policy (EAAD) for on-device decoding.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ostream>
#include <span>

#include "augur/decode/device/loop_state.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/policy/entropy_bins.hpp"
#include "augur/types/error.hpp"
#include "augur/types/observation.hpp"

namespace augur::decode::device {

/// policy::entropy_bins with the exact entropy, as kernels ask it: the same answers, and after the same rounds the same
/// acceptance in each bin, of at most `most_bins` bins. It begins with what the host's has learned.
/// No effect on the distribution, no randomness. Source: EAAD, "The Entropy-Adaptive k Selection Mechanism".
template <policy::entropy_of Of = policy::entropy_of::draft>
class kernel_bins {
 public:
    using host_policy = policy::basic_entropy_bins<Of>;
    static constexpr signals_read reads{.required = host_policy::reads.required};
    static constexpr std::size_t most_bins = 16;

    /// Throws for more bins.
    explicit kernel_bins(const host_policy& of = host_policy())
        : count_(of.lengths().size()), acceptance_alpha_(of.options().acceptance_alpha) {
        if (count_ > most_bins) {
            augur::detail::fail("a kernel's entropy bins are ", most_bins, " at most, not ", count_);
        }
        std::copy(of.edges_nats().begin(), of.edges_nats().end(), edges_);
        for (std::size_t i = 0; i < count_; ++i) lengths_[i] = std::min(of.lengths()[i], of.max_k());
        std::copy(of.bins().begin(), of.bins().end(), bins_);
        unknown_ = std::min<std::size_t>(1, of.max_k());
    }

    AUGUR_HOST_DEVICE draft_plan plan(const observation& seen) const {
        const double entropy = entropy_seen(seen);
        return {.length = std::isfinite(entropy) ? lengths_[bin_of(entropy)] : unknown_};
    }

    AUGUR_HOST_DEVICE void learn(const outcome& happened) {
        if (happened.drafted == 0) return;
        bins_[bin_of(entropy_seen(happened.decided_on))].add(happened, acceptance_alpha_);
    }

    /// Which bin an entropy falls into; what is not finite falls into the last.
    AUGUR_HOST_DEVICE std::size_t bin_of(double entropy_nats) const {
        if (!std::isfinite(entropy_nats)) return count_ - 1;
        std::size_t bin = 0;
        while (bin + 1 < count_ && !(entropy_nats < edges_[bin])) ++bin;
        return bin;
    }

    std::span<const double> edges_nats() const { return {edges_, count_ - 1}; }
    /// Each at most max_k.
    std::span<const std::size_t> lengths() const { return {lengths_, count_}; }
    std::span<const policy::bin_statistics> bins() const { return {bins_, count_}; }

    friend std::ostream& operator<<(std::ostream& out, const kernel_bins& p) {
        policy::write_bins(out << "kernel_bins", p.edges_nats(), p.lengths());
        return out << '}';
    }

 private:
    AUGUR_HOST_DEVICE static double entropy_seen(const observation& seen) {
        return Of == policy::entropy_of::draft ? seen.first_draft_entropy_nats : seen.target_entropy_nats;
    }

    std::size_t count_, unknown_ = 0;  ///< bins; the length for what is not finite
    double acceptance_alpha_;
    double edges_[most_bins] = {};
    std::size_t lengths_[most_bins] = {};
    policy::bin_statistics bins_[most_bins] = {};
};

static_assert(LearnsFromOutcomes<kernel_bins<>>);
static_assert(KernelPolicy<kernel_bins<>> && KernelPolicy<kernel_bins<policy::entropy_of::target>>);

}  // namespace augur::decode::device
