#pragma once
// The empty drafter: proposes nothing, which gives plain decoding.

#include <cstddef>

#include "augur/draft/concept.hpp"

namespace augur::draft {

/// Proposes nothing, so that every round is one plain decoding step.
struct no_draft {
    struct state_type {};
    using draft_distribution_type = point_mass;

    state_type make_state() const { return {}; }
    std::size_t cache_bytes(std::size_t) const { return 0; }
    void propose(state_type&, auto& /*context*/, proposal<point_mass>&) const {}
    void on_commit(state_type&, const prefix&) const {}
};

}  // namespace augur::draft
