// What is called on a drafter that nobody may change has to be const: inside another drafter, too.
// expected-error {{a member prepare that cannot be called as}}
#include "augur/accept/exact.hpp"
#include "augur/decode/generate.hpp"
#include "augur/draft/fallback.hpp"
#include "augur/testing/models.hpp"

struct not_const : augur::draft::no_draft {
    void prepare(state_type&, const augur::prefix&) {}
};

int main() {
    const auto target = augur::testing::hashed_model(8, 1);
    const auto scheme = augur::speculate(augur::draft::fallback(not_const{}), target, augur::policy::fixed_length{},
                                         augur::accept::exact{});
    augur::decode::generate(scheme, std::vector<augur::token>{1});
}
