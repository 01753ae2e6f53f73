// One cost_aware of chains tells drafters apart by itself: there are no two lists of them.
// expected-error {{cost_aware drafts one shape, or chains and then trees}}
#include "augur/policy/cost_aware.hpp"

int main() {
    const augur::policy::cost_aware<augur::draft_shape::chain, augur::draft_shape::chain> as_it_pays;
}
