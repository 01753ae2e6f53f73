// Of a fallback's drafters those that draft chains come first: matches are cheap, and where one is right a tree is not needed.
// expected-error {{cost_aware drafts one shape, or chains and then trees}}
#include "augur/policy/cost_aware.hpp"

int main() {
    const augur::policy::cost_aware<augur::draft_shape::tree, augur::draft_shape::chain> as_it_pays;
}
