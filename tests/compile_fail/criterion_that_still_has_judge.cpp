// One function that accepts or replaces was split in three: a criterion that has it is told which.
// expected-error {{`judge`, which would be ignored: write in its place bool accepts.*after_rejection.*token draw}}
#include "augur/scheme/speculator.hpp"
#include "augur/testing/models.hpp"

struct accepts_or_replaces {
    using guarantee = augur::guarantee::none;
    bool judge(const augur::distribution&, const auto&, auto&) const { return true; }
    augur::token draw(const augur::distribution& target, auto&) const { return target.mode(); }
};

int main() {
    const auto target = augur::testing::hashed_model(8, 1);
    augur::speculate(target, target, augur::policy::fixed_length{}, accepts_or_replaces{});
}
