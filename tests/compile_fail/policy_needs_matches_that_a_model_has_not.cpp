// A policy on match lengths needs a drafter that matches.
// expected-error {{this policy looks at how long the draft's matches are, but this drafter matches nothing}}
#include "augur/accept/exact.hpp"
#include "augur/decode/speculator.hpp"
#include "augur/policy/cost_aware.hpp"
#include "augur/testing/models.hpp"

int main() {
    const auto target = augur::testing::hashed_model(8, 1);
    augur::speculate(target, target, augur::policy::cost_aware{}, augur::accept::exact{});
}
