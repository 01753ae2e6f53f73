// A criterion that only says yes or no does not say what takes a rejected token's place.
// expected-error {{ReturnsDecision}}
#include "augur/accept/concept.hpp"

struct yes_or_no {
    using guarantee = augur::guarantee::none;
    bool judge(const augur::distribution&, const augur::drafted_token<augur::point_mass>&, auto&) const { return true; }
    augur::token draw(const augur::distribution&, auto&) const { return 0; }
};

static_assert(augur::AcceptanceCriterionFor<yes_or_no, augur::point_mass>);
