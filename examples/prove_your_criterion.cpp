// Prove your criterion in five minutes: write it, name it, read what the laws say (docs/prove_your_criterion.md).
//
// Two criteria promise the target's distribution. They differ in one line, and only one keeps it.

#include <augur/augur.hpp>
#include <augur/testing/criterion_laws.hpp>
#include <iostream>

/// Accepts x with probability min(1, target(x) / draft(x)), and otherwise draws from what the draft proposed too
/// rarely.
struct careful {
    using guarantee = augur::guarantee::same_distribution;
    using token_selector = augur::draft::sampled;

    bool accepts(const auto& target, const auto& drafted, auto& draws) const {
        const double ratio = target.probability(drafted.id) / drafted.probability(drafted.id);
        return draws.flip(std::min(1.0, ratio), augur::purpose::accept);
    }
    auto after_rejection(const auto& target, const auto& drafted) const {
        return augur::accept::residual(target, drafted);
    }
    augur::token draw(const auto& target, auto& draws) const {
        return static_cast<augur::token>(draws.choose(target, augur::purpose::correction));
    }
};

/// The same, but a rejection leaves the target as it was: "it is the target's distribution, after all".
struct hasty : careful {
    const auto& after_rejection(const auto& target, const auto& /*drafted*/) const { return target; }
};

int main() {
    const augur::testing::report right = augur::testing::criterion_laws(careful{});
    const augur::testing::report wrong = augur::testing::criterion_laws(hasty{});
    std::cout << "careful: " << right << "\n\nhasty: " << wrong << '\n';
    return right.kept() && wrong.breaks("keeps its promise (drawn drafts)") ? 0 : 1;
}
