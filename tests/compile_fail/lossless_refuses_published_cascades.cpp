// Judged by rows that its tokens were not drawn from, a cascade promises nothing, whatever its last link does.
// expected-error {{this scheme cannot promise the target's own text or distribution}}
#include "augur/accept/fuzzy.hpp"
#include "augur/accept/rejection_sampling.hpp"
#include "augur/decode/generate.hpp"
#include "augur/scheme/cascade.hpp"
#include "augur/testing/models.hpp"

int main() {
    using augur::accept::fuzzy;
    const auto a = augur::testing::hashed_model(8, 1), b = augur::testing::hashed_model(8, 2);
    const auto c = augur::testing::hashed_model(8, 3);
    const augur::policy::fixed_length two{2};
    const auto scheme =
        augur::cascaded_as_published(a, augur::scheme::model_link{two, fuzzy<augur::measure::kl>{0.4}}, b,
                                     augur::scheme::model_link{two, augur::accept::rejection_sampling{}}, c);
    const augur::token prompt[] = {1};
    augur::decode::generate(scheme, prompt);
}
