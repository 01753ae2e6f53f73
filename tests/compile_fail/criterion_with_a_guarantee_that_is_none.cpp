// A guarantee is one of guarantee::*: what a type of somebody's own would promise, nobody could read.
// expected-error {{as one of augur::guarantee::\*}}
#include "augur/scheme/speculator.hpp"
#include "augur/testing/models.hpp"

struct trust_me {};

struct own_words : augur::accept::coupled {
    using guarantee = trust_me;
};

int main() {
    const auto target = augur::testing::hashed_model(8, 1);
    augur::speculate(target, target, augur::policy::fixed_length{}, own_words{});
}
