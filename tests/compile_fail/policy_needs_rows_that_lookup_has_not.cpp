// A policy on the draft's entropy needs a drafter that has rows.
// expected-error {{this policy looks at the draft's rows, but this drafter has none}}
// expected-error {{target_entropy_bins}}
#include "augur/accept/exact.hpp"
#include "augur/draft/prompt_lookup.hpp"
#include "augur/policy/entropy_bins.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/testing/models.hpp"

int main() {
    const auto target = augur::testing::hashed_model(8, 1);
    augur::speculate(augur::draft::prompt_lookup{}, target, augur::policy::entropy_bins{}, augur::accept::exact{});
}
