// A policy that plans trees which grow by value needs a drafter that grows them: draws and n-grams have no values.
// expected-error {{this policy plans trees that grow by value, but this drafter grows none}}
#include "augur/accept/exact.hpp"
#include "augur/accept/rejection_sampling.hpp"
#include "augur/draft/prompt_lookup.hpp"
#include "augur/policy/cost_aware.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/testing/models.hpp"

int main() {
    const auto target = augur::testing::hashed_model(8, 1);
    const augur::policy::cost_aware<augur::draft_shape::grown_tree> grown;
    augur::speculate(target, target, grown, augur::accept::rejection_sampling{});
    augur::speculate(augur::draft::prompt_lookup{}, target, grown, augur::accept::exact{});
}
