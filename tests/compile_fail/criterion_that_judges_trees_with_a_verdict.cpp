// A judge_tree that nobody can call would be passed over, and the tree be judged token by token.
// expected-error {{a member judge_tree that cannot be called as token judge_tree}}
#include "augur/accept/rejection_sampling.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/testing/models.hpp"

struct returns_a_verdict : augur::accept::rejection_sampling {
    augur::verdict judge_tree(const auto&, const auto&, const auto&) const { return {}; }
};

int main() {
    const auto target = augur::testing::hashed_model(8, 1);
    augur::speculate(augur::draft::no_draft{}, target, augur::policy::fixed_length{}, returns_a_verdict{});
}
