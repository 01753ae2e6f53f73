// A policy decides a length or a topology: with both nobody could tell which is meant, and a topology by value would
// not stay. expected-error {{has both length\(observation\) and topology\(observation\)}}
// expected-error {{a member topology that cannot be called as const augur::topology&}}
#include "augur/accept/exact.hpp"
#include "augur/cascade/speculator.hpp"
#include "augur/testing/models.hpp"

struct both : augur::policy::fixed_length {
    const augur::topology& topology(const augur::observation&) const { return shape; }
    augur::topology shape{-1, -1};
};
struct by_value : augur::policy::fixed_length {
    augur::topology topology(const augur::observation&) const { return {-1, -1}; }
};

void composed(const auto& policy) {
    const auto target = augur::testing::hashed_model(8, 1);
    augur::speculate(augur::draft::no_draft{}, target, policy, augur::accept::exact{});
}

int main() {
    composed(both{});
    composed(by_value{});
}
