// A criterion has to say what decoding with it promises.
// expected-error {{StatesGuarantee}}
#include "augur/accept/concept.hpp"

struct silent {
    bool accepts(const augur::distribution&, const augur::drafted_token<augur::point_mass>&, auto&) const {
        return true;
    }
    augur::token draw(const augur::distribution&, auto&) const { return 0; }
};

static_assert(augur::AcceptanceCriterionFor<silent, augur::point_mass>);
