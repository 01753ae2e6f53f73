// A policy has one answer: with two nobody could tell which is meant, and one that is no draft_plan would be ignored.
// expected-error {{has both length\(observation\) and plan\(observation\)}}
// expected-error {{a member plan that cannot be called as augur::draft_plan plan}}
#include "augur/accept/exact.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/testing/models.hpp"

struct both : augur::policy::fixed_length {
    augur::draft_plan plan(const augur::observation&) const { return {.length = 2}; }
};
struct a_shape : augur::policy::fixed_length {
    const augur::topology& plan(const augur::observation&) const { return shape; }
    augur::topology shape{-1, -1};
};

void composed(const auto& policy) {
    const auto target = augur::testing::hashed_model(8, 1);
    augur::speculate(augur::draft::no_draft{}, target, policy, augur::accept::exact{});
}

int main() {
    composed(both{});
    composed(a_shape{});
}
