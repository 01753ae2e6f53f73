// A policy decides a length.
// expected-error {{DecidesLength}}
#include "augur/policy/concept.hpp"

struct undecided {
    bool go_on(const augur::observation&) const;
};

static_assert(augur::SpeculationPolicy<undecided>);
