// A drafter has to be told what was committed.
// expected-error {{HearsCommits}}
#include "augur/draft/concept.hpp"

struct deaf {
    struct state_type {};
    using draft_distribution_type = augur::point_mass;
    state_type make_state() const;
    void propose(state_type&, auto&, augur::proposal<augur::point_mass>&) const {}
};

static_assert(augur::Drafter<deaf>);
