// A drafter cannot state that its tokens were drawn from rows and return none.
// expected-error {{FillsProposal}}
#include "augur/draft/concept.hpp"

struct pretender {
    struct state_type {};
    using draft_distribution_type = augur::distribution;
    state_type make_state() const { return {}; }
    void propose(state_type&, auto&, augur::proposal<augur::point_mass>&) const {}
    void on_commit(state_type&, const augur::prefix&) const {}
};

static_assert(augur::Drafter<pretender>);
