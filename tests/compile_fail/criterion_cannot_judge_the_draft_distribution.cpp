// A criterion that needs the draft's distribution cannot judge n-grams, which have none.
// expected-error {{this criterion cannot judge this drafter's draft distribution}}
#include "augur/draft/prompt_lookup.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/testing/models.hpp"

struct needs_rows {
    using guarantee = augur::guarantee::none;
    using token_selector = augur::draft::sampled;
    bool accepts(const augur::distribution&, const augur::drafted_token<augur::distribution>&, auto&) const {
        return true;
    }
    augur::token draw(const augur::distribution& target, auto&) const { return target.mode(); }
};

int main() {
    const auto target = augur::testing::hashed_model(8, 1);
    augur::speculate(augur::draft::prompt_lookup{}, target, augur::policy::fixed_length{}, needs_rows{});
}
