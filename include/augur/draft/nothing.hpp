#pragma once
// The drafter of plain decoding.

#include "augur/draft/concept.hpp"

namespace augur::draft {

/// Proposes nothing, so that every round is one plain decoding step.
struct nothing {
    struct state_type {};
    using claim_type = point_mass;

    state_type make_state() const { return {}; }
    void propose(state_type&, auto& /*context*/, proposal<point_mass>&) const {}
    void follow(state_type&, const prefix&) const {}
};

static_assert(Drafter<nothing>);

}  // namespace augur::draft
