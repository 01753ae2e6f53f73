// Inside a cascade, too, trees need a drafter that makes them.
// expected-error {{this policy plans trees, but this drafter proposes chains alone}}
#include "augur/accept/exact.hpp"
#include "augur/draft/no_draft.hpp"
#include "augur/policy/tree_static.hpp"
#include "augur/scheme/stage.hpp"
#include "augur/testing/models.hpp"

using augur::testing::function_model;
template class augur::scheme::stage<augur::draft::no_draft, function_model, augur::policy::tree_static,
                                    augur::accept::exact>;
