// What a rejection leaves is judged by the same criterion: one that cannot would be passed over in silence.
// expected-error {{a member after_rejection that cannot be called as after_rejection\(target, drafted\) const}}
#include "augur/accept/rejection_sampling.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/testing/models.hpp"

/// Accepts tokens by the target's row alone.
struct by_the_row_alone : augur::accept::rejection_sampling {
    bool accepts(const augur::distribution& target, const auto& drafted, auto& draws) const {
        return draws.flip(target.probability(drafted.id), augur::purpose::accept);
    }
};

int main() {
    const auto target = augur::testing::hashed_model(8, 1);
    augur::speculate(target, target, augur::policy::fixed_length{}, by_the_row_alone{});
}
