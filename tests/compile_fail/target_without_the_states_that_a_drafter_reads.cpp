// A drafter on hidden states needs a target that shows them.
// expected-error {{this drafter follows the target's hidden states, but this target does not show them}}
// expected-error {{HiddenStateModel}}
#include "augur/accept/exact.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/testing/models.hpp"

struct on_states : augur::draft::no_draft {
    void on_commit(state_type&, const augur::prefix&, const auto&) const {}
};

int main() {
    const auto target = augur::testing::hashed_model(8, 1);
    augur::speculate(on_states{}, target, augur::policy::fixed_length{2}, augur::accept::exact{});
}
