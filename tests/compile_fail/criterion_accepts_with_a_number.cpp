// Whether a token is accepted is yes or no.
// expected-error {{AcceptsTokens}}
#include "augur/accept/concept.hpp"

struct more_or_less {
    using guarantee = augur::guarantee::none;
    double accepts(const augur::distribution&, const augur::drafted_token<augur::point_mass>&, auto&) const {
        return 0.5;
    }
    augur::token draw(const augur::distribution&, auto&) const { return 0; }
};

static_assert(augur::AcceptanceCriterionFor<more_or_less, augur::point_mass>);
