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
    const double* before = nullptr;  ///< in the target's place: what siblings before have left of it

    AUGUR_HOST_DEVICE double operator[](std::size_t i) const {
        return left(before == nullptr ? target[i] : before[i], drafted[i]);
    }
};

struct store_weight {
    residual_view from;
    double* to;

    AUGUR_HOST_DEVICE void operator()(std::size_t i) const { to[i] = from[i]; }
};

}  // namespace augur::backend::device

namespace augur::accept {

/// The same weights, added up on the device. What siblings before have left is stored there: eight bytes a token.
template <class Claim, class Policy>
class residual_weights<Claim, backend::device::distribution<Policy>> {
 public:
    using row = backend::device::distribution<Policy>;

    residual_weights(const row& target, drafted_token<Claim> drafted, double scale = 1)
        : target_(target), drafted_(drafted) {
        subtract(scale / target.total());
    }
    residual_weights(const row& target, drafted_token<Claim> drafted, or_target) : residual_weights(target, drafted) {
        if (!(total_ > 0)) restore();
    }
    residual_weights(const residual_weights& before, drafted_token<Claim> drafted, or_target)
        : target_(before.target_), drafted_(drafted), before_(before.size()) {
        backend::device::for_each(policy(), size(),
                                  backend::device::store_weight{before.view(), backend::device::address(before_)});
        subtract(1 / before.total());
        if (!(total_ > 0)) restore();
    }
    ~residual_weights() {}  // the host's: one that is not written out would be __device__ too, as after_rejection is

    std::size_t size() const { return target_.size(); }
    double operator[](std::size_t i) const {
        const double whole = before_.empty() ? target_[i] : static_cast<double>(before_[i]);
        return view_.left(whole, draft_weight(drafted_, i));
    }
    double total() const { return total_; }
    double probability(token of) const { return (*this)[static_cast<std::size_t>(of)] / total_; }

    const Policy& policy() const { return target_.policy(); }
    backend::device::residual_view view() const { return view_; }
    const backend::device::memory<double>& sums() const { return sums_; }

 private:
    void subtract(double target_factor) {
        const backend::device::weights_view drafted = backend::device::view_of(drafted_);
        view_ = {target_.view(),
                 drafted,
                 {target_factor, 1 / drafted.total},
                 before_.empty() ? nullptr : backend::device::address(before_)};
        add_up();
    }
    void restore() {
        view_.left = {1, 0};
        add_up();
    }
    void add_up() {
        sums_ = backend::device::map_chunks(policy(), size(),
                                            backend::device::sum_chunk<backend::device::residual_view>{view_});
        total_ = backend::device::fold(policy(), sums_, backend::device::plus{});
    }

    const row& target_;
    drafted_token<Claim> drafted_;
    backend::device::memory<double> before_;
    backend::device::residual_view view_{};
    backend::device::memory<double> sums_;
    double total_ = 0;
};

}  // namespace augur::accept
