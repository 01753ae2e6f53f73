// A policy answers with a plan, or with a length.
// expected-error {{DecidesLength}}
// expected-error {{Plans}}
#include "augur/policy/concept.hpp"

struct undecided {
    bool go_on(const augur::observation&) const;
};

static_assert(augur::SpeculationPolicy<undecided>);
