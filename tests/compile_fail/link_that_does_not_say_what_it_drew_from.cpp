// Inside a cascade a criterion has to say which row a token was drawn from; the message says what to add.
// expected-error {{add .const distribution& drawn_from\(const distribution& target}}
// expected-error {{static constexpr bool certain = true}}
#include "augur/accept/rejection_sampling.hpp"
#include "augur/scheme/cascade.hpp"
#include "augur/testing/models.hpp"

struct own {
    using guarantee = augur::guarantee::same_distribution;
    bool accepts(const auto& target, const auto& drafted, auto& draws) const {
        return augur::accept::rejection_sampling{}.accepts(target, drafted, draws);
    }
    auto after_rejection(const auto& target, const auto& drafted) const {
        return augur::accept::residual(target, drafted);
    }
    augur::token draw(const auto& target, auto& draws) const {
        return augur::accept::rejection_sampling{}.draw(target, draws);
    }
    const augur::distribution& drawn_from(const augur::distribution& target) const { return target; }  // a near miss
};

int main() {
    const auto a = augur::testing::hashed_model(8, 1), b = augur::testing::hashed_model(8, 2),
               c = augur::testing::hashed_model(8, 3);
    const augur::scheme::model_link inside{augur::policy::fixed_length{2}, own{}};
    const augur::scheme::model_link last{augur::policy::fixed_length{2}, augur::accept::rejection_sampling{}};
    augur::cascaded(a, inside, b, last, c);
}
