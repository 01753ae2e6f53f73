// A policy that plans trees which grow by value needs a drafter that grows them: a Model drafts chains.
// expected-error {{this policy plans trees that grow by value, but this drafter grows none}}
#include "augur/accept/exact.hpp"
#include "augur/draft/lookup_tree.hpp"
#include "augur/policy/cost_aware.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/testing/models.hpp"

int main() {
    const auto target = augur::testing::hashed_model(8, 1);
    augur::speculate(target, target, augur::policy::cost_aware<augur::draft_shape::grown_tree>{},
                     augur::accept::exact{});
    augur::speculate(augur::draft::lookup_tree{}, target, augur::policy::cost_aware<augur::draft_shape::grown_tree>{},
                     augur::accept::exact{});
}
