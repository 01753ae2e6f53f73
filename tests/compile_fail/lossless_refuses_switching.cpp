// Models that take turns without verification promise nothing, so generate<lossless>, the default, refuses them.
// expected-error {{this scheme cannot promise the target's own text or distribution}}
#include "augur/decode/generate.hpp"
#include "augur/switching/rolling_entropy.hpp"
#include "augur/switching/step.hpp"
#include "augur/testing/models.hpp"

int main() {
    const auto small = augur::testing::hashed_model(8, 1), large = augur::testing::hashed_model(8, 2);
    const auto scheme = augur::switched(small, large, augur::switching::rolling_entropy{});
    const augur::token prompt[] = {1};
    augur::decode::generate(scheme, prompt);
}
