// A criterion for drawn tokens that does not say `token_selector` would be drafted for by arg max.
// expected-error {{it names no `token_selector`.*add `using token_selector = augur::draft::sampled`}}
#include "augur/scheme/speculator.hpp"
#include "augur/testing/models.hpp"

struct for_drawn_tokens {
    using guarantee = augur::guarantee::none;
    bool accepts(const augur::distribution&, const augur::drafted_token<augur::distribution>&, auto&) const {
        return true;
    }
    augur::token draw(const augur::distribution& target, auto&) const { return target.mode(); }
};

int main() {
    const auto target = augur::testing::hashed_model(8, 1);
    augur::speculate(target, target, augur::policy::fixed_length{}, for_drawn_tokens{});
}
