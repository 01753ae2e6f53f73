// A check that takes no settings would never be asked.
// expected-error {{a member check that cannot be called as void check}}
#include "augur/accept/rejection_sampling.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/testing/models.hpp"

struct checks_the_temperature : augur::accept::rejection_sampling {
    void check(float) const {}
};

int main() {
    const auto target = augur::testing::hashed_model(8, 1);
    augur::speculate(augur::draft::no_draft{}, target, augur::policy::fixed_length{}, checks_the_temperature{});
}
