// Composed into a scheme, a judge that only says yes or no is told what it has to return.
// expected-error {{`judge` has to return an augur::decision}}
#include "augur/cascade/speculator.hpp"
#include "augur/testing/models.hpp"

struct yes_or_no {
    using guarantee = augur::guarantee::none;
    template <class Claim>
    bool judge(const augur::distribution&, const augur::drafted_token<Claim>&, auto&) const {
        return true;
    }
    augur::token draw(const augur::distribution& target, auto&) const { return target.mode(); }
};

int main() {
    const auto target = augur::testing::hashed_model(8, 1);
    augur::speculate(target, target, augur::policy::fixed_length{}, yes_or_no{});
}
