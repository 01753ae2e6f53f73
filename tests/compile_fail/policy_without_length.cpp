// A policy decides a length or a topology.
// expected-error {{DecidesPlan}}
// expected-error {{DecidesLength}}
// expected-error {{DecidesTopology}}
#include "augur/policy/concept.hpp"

struct undecided {
    bool go_on(const augur::observation&) const;
};

static_assert(augur::SpeculationPolicy<undecided>);
