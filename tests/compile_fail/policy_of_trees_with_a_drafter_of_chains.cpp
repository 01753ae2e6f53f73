// A policy that plans trees needs a drafter that makes them: counted n-grams are drafted as chains.
// expected-error {{this policy plans trees, but this drafter proposes chains alone}}
#include "augur/accept/exact.hpp"
#include "augur/draft/ngram_store.hpp"
#include "augur/policy/tree_hysteresis.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/testing/models.hpp"

void composed(const augur::draft::ngram_store& counted) {
    const auto target = augur::testing::hashed_model(8, 1);
    const augur::policy::tree_hysteresis<> policy({{-1}, {-1, -1}}, {.on = 0.5, .off = 0.4});
    augur::speculate(counted, target, policy, augur::accept::exact{});
}
