// Of a fallback's drafters those that draft chains come first: where a match is right no tree is needed.
// expected-error {{cost_aware drafts one shape, or chains and then trees}}
#include "augur/policy/cost_aware.hpp"

int main() {
    const augur::policy::cost_aware<augur::draft_shape::tree, augur::draft_shape::chain> as_it_pays;
}
