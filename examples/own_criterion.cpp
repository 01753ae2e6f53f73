// Your own acceptance criterion, and what it does to the distribution, exactly.
//
// A criterion is one struct: what it promises, which drafted tokens it accepts, how it draws what follows a rejection.
// It is the only thing that may change the output's distribution, so the library can say by how much:
// `text_distribution_of` decodes down every branch of the randomness and returns the distribution of the text.

#include <augur/augur.hpp>
#include <augur/testing/criterion_laws.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <iostream>
#include <vector>

/// Accepts a drafted token that the target finds at least half as likely as its favourite; otherwise samples the
/// target.
struct lenient {
    using guarantee = augur::guarantee::none;
    using token_selector = augur::draft::sampled;

    bool accepts(const augur::distribution& target, const auto& drafted, auto& /*draws*/) const {
        return target.probability(drafted.id) >= share * target.probability(target.mode());
    }
    augur::token draw(const augur::distribution& target, auto& draws) const {
        return static_cast<augur::token>(draws.choose(target, augur::purpose::correction));
    }

    double share = 0.5;
};

static_assert(augur::AcceptanceCriterion<lenient>);
static_assert(!augur::Lossless<lenient>);

int main() {
    // It promises nothing, so there is no distribution of the text to check; the others hold.
    const augur::testing::report laws = augur::testing::criterion_laws(lenient{});
    std::cout << laws << '\n';

    const auto target = augur::testing::hashed_model(4, 1);
    const auto drafter = augur::testing::hashed_model(4, 2);
    const std::vector<augur::token> prompt{0, 1};
    augur::decode::options chosen;
    chosen.stop.max_tokens = 3;
    const auto plain = augur::testing::text_distribution_of(augur::testing::plain_sampling(target), prompt, chosen);

    const auto distance = [&](const auto& scheme) {
        return augur::testing::total_variation(plain, augur::testing::text_distribution_of(scheme, prompt, chosen));
    };
    const augur::policy::fixed_length two{2};
    const double lossless = distance(augur::speculate(drafter, target, two, augur::accept::rejection_sampling{}));
    const double lossy = distance(augur::speculate(drafter, target, two, lenient{}));
    std::cout << "total variation from plain sampling over " << plain.probability.size() << " texts of 3 tokens\n"
              << "  rejection_sampling  " << lossless << '\n'
              << "  lenient             " << lossy << '\n';

    // decode::generate(speculate(drafter, target, two, lenient{}), prompt) does not compile: lossless is the default.
    chosen.stop.max_tokens = 20;
    const auto scheme = augur::speculate(drafter, target, two, lenient{});
    const auto text = augur::decode::generate<augur::any_guarantee>(scheme, prompt, chosen);
    std::cout << "guarantee: " << augur::guarantee_of<decltype(scheme)>::name << ", accepted "
              << text.counts.accepted_length() << " tokens a pass\n";
    return laws.kept() && lossless < 1e-12 && lossy > 0.01 ? 0 : 1;
}
