// A criterion of whole chains would take a tree for one.
// expected-error {{this drafter branches under this policy \(its proposals are trees\), but this criterion}}
#include "augur/accept/block.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/testing/models.hpp"

struct two_guesses : augur::draft::no_draft {
    static constexpr bool branches = true;
    void propose(state_type&, auto&, augur::proposal<augur::point_mass>& out) const {
        out.push(0, augur::after_prefix);
        out.push(1, augur::after_prefix);
    }
};

int main() {
    const auto target = augur::testing::hashed_model(8, 1);
    augur::speculate(two_guesses{}, target, augur::policy::fixed_length{}, augur::accept::block{});
}
