// Neither bitwise nor lossless: lossless_within_numerics would not admit it either, so the advice does not name it.
// expected-error {{cannot promise the target's own text or distribution.*generate<any_guarantee>}}
#include "augur/accept/fuzzy.hpp"
#include "augur/decode/generate.hpp"
#include "augur/testing/models.hpp"

struct batch_dependent : augur::testing::function_model {
    using function_model::function_model;
    static constexpr bool bitwise_rows = false;
};

int main() {
    const batch_dependent target(8, 64, nullptr);
    const auto scheme =
        augur::speculate(target, target, augur::policy::fixed_length{4}, augur::accept::fuzzy<augur::measure::kl>{0.4});
    const augur::token prompt[] = {1};
    augur::decode::generate<augur::lossless_within_numerics>(scheme, prompt);
}
