#include "augur/accept/concept.hpp"

#include <augur/accept/exact.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/testing/law_of.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>

using namespace augur;

BOOST_AUTO_TEST_SUITE(accept_concept)

/// The smallest criterion that keeps a distribution: the target draws its own token, and a drafted one stands when it is
/// the same.
struct matching {
    using guarantee = augur::guarantee::same_distribution;

    template <class Claim>
    decision judge(const distribution& target, const drafted_token<Claim>& drafted, auto& draws) const {
        const token drawn = draw(target, draws);
        return drafted.id == drawn ? decision::accept() : decision::replace_with(drawn);
    }
    token draw(const distribution& target, auto& draws) const {
        return static_cast<token>(draws.choose(target, purpose::correction));
    }
};

static_assert(AcceptanceCriterionFor<matching, point_mass> && AcceptanceCriterionFor<matching, distribution>);
static_assert(AcceptanceCriterion<matching> && Lossless<matching>);

struct returns_bool {
    using guarantee = augur::guarantee::none;
    bool judge(const distribution&, const auto&, auto&) const { return true; }
    token draw(const distribution& target, auto&) const { return target.mode(); }
};
static_assert(StatesGuarantee<returns_bool> && DrawsToken<returns_bool>);
static_assert(!ReturnsDecision<returns_bool, point_mass> && !AcceptanceCriterion<returns_bool>);

struct without_guarantee {
    decision judge(const distribution&, const auto&, auto&) const { return decision::accept(); }
    token draw(const distribution& target, auto&) const { return target.mode(); }
};
static_assert(ReturnsDecision<without_guarantee, point_mass> && DrawsToken<without_guarantee>);
static_assert(!StatesGuarantee<without_guarantee> && !AcceptanceCriterion<without_guarantee>);

struct without_draw {
    using guarantee = augur::guarantee::none;
    decision judge(const distribution&, const auto&, auto&) const { return decision::accept(); }
};
static_assert(StatesGuarantee<without_draw> && ReturnsDecision<without_draw, point_mass>);
static_assert(!DrawsToken<without_draw> && !AcceptanceCriterion<without_draw>);

struct remembers : matching {
    template <class Claim>
    decision judge(const distribution&, const drafted_token<Claim>&, auto&) {
        ++judged;
        return decision::accept();
    }
    int judged = 0;
};
static_assert(!AcceptanceCriterion<remembers>);

/// Understands one kind of claim only.
struct needs_rows {
    using guarantee = augur::guarantee::none;
    decision judge(const distribution&, const drafted_token<distribution>&, auto&) const { return decision::accept(); }
    token draw(const distribution& target, auto&) const { return target.mode(); }
};
static_assert(AcceptanceCriterionFor<needs_rows, distribution> && !AcceptanceCriterionFor<needs_rows, point_mass>);
static_assert(AcceptanceCriterion<needs_rows> && !Lossless<needs_rows>);

const std::vector<token> prompt{2, 0, 1};

BOOST_AUTO_TEST_CASE(the_smallest_criterion_keeps_its_claim_exactly) {
    const auto target = testing::hashed_model(3, 1);
    const auto drafter = testing::hashed_model(3, 2);
    decode::options chosen;
    chosen.stop.max_tokens = 3;
    const auto expected = testing::law_of(testing::plain_sampling(target), prompt, chosen);
    BOOST_TEST(expected.probability.size() == 27u);
    const auto with_model = speculate(drafter, target, policy::fixed_length{2}, matching{});
    const auto with_lookup = speculate(draft::prompt_lookup(1, 2), target, policy::fixed_length{2}, matching{});
    BOOST_TEST(testing::total_variation(expected, testing::law_of(with_model, prompt, chosen)) < 1e-12);
    BOOST_TEST(testing::total_variation(expected, testing::law_of(with_lookup, prompt, chosen)) < 1e-12);
}

BOOST_AUTO_TEST_CASE(the_smallest_criterion_decodes) {
    const auto target = testing::hashed_model(12, 1);
    decode::options chosen;
    chosen.sampling.temperature.value = 0;
    chosen.stop.max_tokens = 40;
    const auto made = decode::generate(speculate(target, target, policy::fixed_length{3}, matching{}), prompt, chosen);
    BOOST_TEST(made.tokens == decode::generate(plain(target), prompt, chosen).tokens);
    BOOST_TEST(made.counts.acceptance() == 1.0);
    BOOST_TEST(made.counts.rounds() == 10u);
}

BOOST_AUTO_TEST_SUITE_END()
