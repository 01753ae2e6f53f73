// Inside a cascade, too, trees need a drafter that branches.
// expected-error {{this policy plans trees, but this drafter proposes chains alone}}
#include "augur/accept/exact.hpp"
#include "augur/policy/tree_static.hpp"
#include "augur/scheme/cascade.hpp"
#include "augur/testing/models.hpp"

int main() {
    const auto model = augur::testing::hashed_model(8, 1);
    const augur::policy::tree_static trees(augur::topology{-1, -1});
    const augur::scheme::model_link inner{trees, augur::accept::exact{}};
    const augur::scheme::model_link outer{augur::policy::fixed_length{2}, augur::accept::exact{}};
    augur::cascaded(model, inner, model, outer, model);
}
