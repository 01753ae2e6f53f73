// fuzzy_greedy judges tokens that are the most probable of their row, not tokens that a link inside has drawn.
// expected-error {{this criterion cannot judge this drafter's draft distribution}}
#include "augur/accept/fuzzy_greedy.hpp"
#include "augur/accept/rejection_sampling.hpp"
#include "augur/policy/fixed_length.hpp"
#include "augur/scheme/cascade.hpp"
#include "augur/testing/models.hpp"

int main() {
    const auto a = augur::testing::hashed_model(8, 1), b = augur::testing::hashed_model(8, 2);
    const auto c = augur::testing::hashed_model(8, 3);
    const augur::policy::fixed_length two{2};
    const augur::accept::fuzzy_greedy<augur::measure::total_variation> near(0.3);
    augur::cascaded(a, augur::scheme::model_link{two, augur::accept::rejection_sampling{}}, b,
                    augur::scheme::model_link{two, near}, c);
}
