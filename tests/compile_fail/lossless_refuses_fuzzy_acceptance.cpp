// generate<lossless>, the default, refuses fuzzy acceptance, whatever its threshold will be.
// expected-error {{this scheme cannot promise the target's own text or distribution}}
// expected-error {{fuzzy<}}
#include "augur/accept/fuzzy.hpp"
#include "augur/decode/generate.hpp"
#include "augur/testing/models.hpp"

int main() {
    const auto target = augur::testing::hashed_model(8, 1);
    const auto scheme =
        augur::speculate(target, target, augur::policy::fixed_length{4}, augur::accept::fuzzy<augur::measure::kl>{0});
    const augur::token prompt[] = {1};
    augur::decode::generate(scheme, prompt);
}
