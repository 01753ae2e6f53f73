#pragma once
// The sums of measure/divergence.hpp, of rows that lie in device memory: the same terms of each token, added in the
// same order, hence the same values.

#include <cstddef>

#include "augur/backend/device/distribution.hpp"
#include "augur/backend/device/execution.hpp"
#include "augur/backend/device/residual.hpp"
#include "augur/measure/divergence.hpp"
#include "augur/types/proposal.hpp"

namespace augur::backend::device {

template <class D>
struct divergence_view {
    weights_view target;
    weights_view draft;

    AUGUR_HOST_DEVICE double operator[](std::size_t i) const {
        return D::term(target.probability(i), draft.probability(i));
    }
};

/// Found by measure::divergence. O(vocabulary), one pass; one number comes back.
template <class D, class Policy, class Claim>
double sum_of(const measure::divergence_terms<D, distribution<Policy>, drafted_token<Claim>>& terms) {
    const Policy& on = terms.target.policy();
    const divergence_view<D> view{terms.target.view(), view_of(terms.draft)};
    return fold(on, map_chunks(on, terms.size, sum_chunk<divergence_view<D>>{view}), plus{});
}

}  // namespace augur::backend::device
