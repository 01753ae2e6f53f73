// Prove your criterion in five minutes: write it, name it, read what the laws say (docs/prove_your_criterion.md).
//
// Two criteria promise the target's distribution. They differ in one line, and only one keeps it.

#include <augur/augur.hpp>
#include <augur/testing/criterion_laws.hpp>
#include <iostream>

/// Accepts x with probability min(1, target(x) / draft(x)), and otherwise draws from what the draft proposed too rarely.
struct careful {
    using guarantee = augur::guarantee::same_distribution;
    using drawing = augur::draft::sampled;

    template <class Claim>
    augur::decision judge(const augur::distribution& target, const augur::drafted_token<Claim>& drafted,
                          auto& draws) const {
        const double target_probability = target.probability(drafted.id);
        const double ratio = target_probability / drafted.probability(drafted.id);
        if (draws.flip(std::min(1.0, ratio), augur::purpose::accept)) return augur::decision::accept();
        const augur::accept::residual_weights<Claim> left(target, drafted);
        return augur::decision::replace_with(static_cast<augur::token>(draws.choose(left, augur::purpose::correction)));
    }
    augur::token draw(const augur::distribution& target, auto& draws) const {
        return static_cast<augur::token>(draws.choose(target, augur::purpose::correction));
    }
};

/// The same, but what was rejected is replaced by a draw from the target: "it is the target's distribution, after all".
struct hasty : careful {
    template <class Claim>
    augur::decision judge(const augur::distribution& target, const augur::drafted_token<Claim>& drafted,
                          auto& draws) const {
        const augur::decision ruled = careful::judge(target, drafted, draws);
        return ruled.accepted ? ruled : augur::decision::replace_with(draw(target, draws));
    }
};

int main() {
    const augur::testing::report right = augur::testing::criterion_laws(careful{});
    const augur::testing::report wrong = augur::testing::criterion_laws(hasty{});
    std::cout << "careful: " << right << "\n\nhasty: " << wrong << '\n';
    return right.kept() && wrong.breaks("keeps its promise (drawn drafts)") ? 0 : 1;
}
