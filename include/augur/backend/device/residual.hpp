#pragma once
// The residual of two distributions that lie in device memory, for the criteria of augur::accept.

#include <cstddef>

#include "augur/accept/rejection_sampling.hpp"
#include "augur/backend/device/distribution.hpp"
#include "augur/backend/device/execution.hpp"
#include "augur/types/proposal.hpp"

namespace augur::backend::device {

/// What device code sees of a claim: a row, or a certain token.
template <class Policy>
weights_view view_of(const drafted_token<distribution<Policy>>& drafted) {
    return drafted.row->view();
}
inline weights_view view_of(const drafted_token<point_mass>& drafted) {
    return {.weights = nullptr, .point = drafted.id, .total = 1};
}

struct residual_view {
    weights_view target;
    weights_view drafted;
    accept::subtraction left;

    residual_view(weights_view of, weights_view without, double scale)
        : target(of), drafted(without), left{scale / of.total, 1 / without.total} {}

    AUGUR_HOST_DEVICE double operator[](std::size_t i) const { return left(target[i], drafted[i]); }
};

}  // namespace augur::backend::device

namespace augur::accept {

/// The same weights, added up on the device.
template <class Claim, class Policy>
class residual_weights<Claim, backend::device::distribution<Policy>> {
 public:
    using row = backend::device::distribution<Policy>;

    residual_weights(const row& target, drafted_token<Claim> drafted, double scale = 1)
        : target_(target),
          drafted_(drafted),
          view_{target.view(), backend::device::view_of(drafted), scale},
          sums_(backend::device::map_chunks(policy(), size(), backend::device::sum_chunk<decltype(view_)>{view_})),
          total_(backend::device::fold(policy(), sums_, backend::device::plus{})) {}
    ~residual_weights() {}  // the host's: one that is not written out would be __device__ too, as judge is

    std::size_t size() const { return target_.size(); }
    double operator[](std::size_t i) const { return view_.left(target_[i], draft_weight(drafted_, i)); }
    double total() const { return total_; }

    const Policy& policy() const { return target_.policy(); }
    backend::device::residual_view view() const { return view_; }
    const backend::device::memory<double>& sums() const { return sums_; }

 private:
    const row& target_;
    drafted_token<Claim> drafted_;
    backend::device::residual_view view_;
    backend::device::memory<double> sums_;
    double total_;
};

}  // namespace augur::accept
