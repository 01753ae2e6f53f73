// Composed into a scheme, a criterion that answers with a token is told where tokens are drawn.
// expected-error {{`accepts` has to return bool.*the token that follows a rejected one comes from `draw`}}
#include "augur/scheme/speculator.hpp"
#include "augur/testing/models.hpp"

struct answers_with_a_token {
    using guarantee = augur::guarantee::none;
    augur::token accepts(const augur::distribution& target, const auto&, auto&) const { return target.mode(); }
    augur::token draw(const augur::distribution& target, auto&) const { return target.mode(); }
};

int main() {
    const auto target = augur::testing::hashed_model(8, 1);
    augur::speculate(target, target, augur::policy::fixed_length{}, answers_with_a_token{});
}
