// An engine whose rows depend on how many are computed together keeps any promise up to rounding only, and says so.
// expected-error {{lossless within numerics.*ask for generate<lossless_within_numerics>}}
// expected-error {{batch_dependent}}
#include "augur/accept/rejection_sampling.hpp"
#include "augur/decode/generate.hpp"
#include "augur/testing/models.hpp"

struct batch_dependent : augur::testing::function_model {
    using function_model::function_model;
    static constexpr bool bitwise_rows = false;
};

int main() {
    const batch_dependent target(8, 64, nullptr);
    const auto scheme =
        augur::speculate(target, target, augur::policy::fixed_length{4}, augur::accept::rejection_sampling{});
    const augur::token prompt[] = {1};
    augur::decode::generate(scheme, prompt);
}
