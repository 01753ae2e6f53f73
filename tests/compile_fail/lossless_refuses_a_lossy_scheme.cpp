// generate<lossless>, the default, refuses a scheme that cannot promise the target's text or distribution.
// expected-error {{this scheme cannot promise the target's own text or distribution}}
// expected-error {{keep_everything}}
#include "augur/decode/generate.hpp"
#include "augur/testing/models.hpp"

struct keep_everything {
    using guarantee = augur::guarantee::none;
    bool accepts(const augur::distribution&, const augur::drafted_token<augur::point_mass>&, auto&) const {
        return true;
    }
    augur::token draw(const augur::distribution& target, auto&) const { return target.mode(); }
};

int main() {
    const auto target = augur::testing::hashed_model(8, 1);
    const auto scheme = augur::speculate(target, target, augur::policy::fixed_length{4}, keep_everything{});
    const augur::token prompt[] = {1};
    augur::decode::generate(scheme, prompt);
}
