// A round ends with a token of the target's row: without `draw` there is none.
// expected-error {{needs `draw\(target, draws\) const`}}
#include "augur/scheme/speculator.hpp"
#include "augur/testing/models.hpp"

struct only_judges {
    using guarantee = augur::guarantee::none;
    bool accepts(const augur::distribution&, const auto&, auto&) const { return true; }
};

int main() {
    const auto target = augur::testing::hashed_model(8, 1);
    augur::speculate(target, target, augur::policy::fixed_length{}, only_judges{});
}
