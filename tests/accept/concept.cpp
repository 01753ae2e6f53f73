#include "augur/accept/concept.hpp"

#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <boost/test/unit_test.hpp>

using namespace augur;

BOOST_AUTO_TEST_SUITE(accept_concept)

/// The smallest criterion that keeps a distribution: a drafted token is accepted as often as the target would draw it,
/// and what is left of the target then is all but that token.
struct matching {
    using guarantee = augur::guarantee::same_distribution;

    bool accepts(const auto& target, const auto& drafted, auto& draws) const {
        return draws.flip(target.probability(drafted.id), purpose::accept);
    }
    auto after_rejection(const auto& target, const auto& drafted) const {
        return accept::residual(target, drafted_token<point_mass>{drafted.id});
    }
    token draw(const auto& target, auto& draws) const {
        return static_cast<token>(draws.choose(target, purpose::correction));
    }
};

static_assert(AcceptanceCriterionFor<matching, point_mass> && AcceptanceCriterionFor<matching, distribution>);
static_assert(LeavesAfterRejection<matching, point_mass> && LeavesAfterRejection<matching, distribution>);
static_assert(AcceptanceCriterion<matching> && Lossless<matching>);

struct returns_int {
    using guarantee = augur::guarantee::none;
    int accepts(const distribution&, const auto&, auto&) const { return 1; }
    token draw(const distribution& target, auto&) const { return target.mode(); }
};
static_assert(StatesGuarantee<returns_int> && DrawsToken<returns_int>);
static_assert(!AcceptsTokens<returns_int, point_mass> && !AcceptanceCriterion<returns_int>);

struct without_guarantee {
    bool accepts(const distribution&, const auto&, auto&) const { return true; }
    token draw(const distribution& target, auto&) const { return target.mode(); }
};
static_assert(AcceptsTokens<without_guarantee, point_mass> && DrawsToken<without_guarantee>);
static_assert(!StatesGuarantee<without_guarantee> && !AcceptanceCriterion<without_guarantee>);

struct without_draw {
    using guarantee = augur::guarantee::none;
    bool accepts(const distribution&, const auto&, auto&) const { return true; }
};
static_assert(StatesGuarantee<without_draw> && AcceptsTokens<without_draw, point_mass>);
static_assert(!DrawsToken<without_draw> && !AcceptanceCriterion<without_draw>);

struct remembers {
    using guarantee = augur::guarantee::none;
    bool accepts(const distribution&, const auto&, auto&) { return ++judged > 0; }
    token draw(const distribution& target, auto&) const { return target.mode(); }
    int judged = 0;
};
static_assert(!AcceptanceCriterion<remembers>);

/// Understands one kind of draft distribution only.
struct needs_rows {
    using guarantee = augur::guarantee::none;
    bool accepts(const distribution&, const drafted_token<distribution>&, auto&) const { return true; }
    token draw(const distribution& target, auto&) const { return target.mode(); }
};
static_assert(AcceptanceCriterionFor<needs_rows, distribution> && !AcceptanceCriterionFor<needs_rows, point_mass>);
static_assert(AcceptanceCriterion<needs_rows> && !Lossless<needs_rows>);
static_assert(!LeavesAfterRejection<needs_rows, distribution>);  // which it need not

/// What is left has to be judged, drawn from, and rejected again.
struct leaves_what_it_cannot_draw_from : needs_rows {
    int after_rejection(const distribution&, const drafted_token<distribution>&) const { return 0; }
};
static_assert(!LeavesAfterRejection<leaves_what_it_cannot_draw_from, distribution>);
static_assert(!detail::heard_after_rejection<leaves_what_it_cannot_draw_from, distribution>);
static_assert(detail::heard_after_rejection<leaves_what_it_cannot_draw_from, point_mass>);  // it accepts none

/// Of another type each time, so that there is no end to what would be compiled.
template <class Of>
struct less_of {
    const Of& of;
};
struct leaves_another_type : needs_rows {
    bool accepts(const auto&, const drafted_token<distribution>&, auto&) const { return true; }
    token draw(const auto&, auto&) const { return 0; }
    template <class Of>
    less_of<Of> after_rejection(const Of& target, const drafted_token<distribution>&) const {
        return {target};
    }
};
static_assert(AcceptanceCriterion<leaves_another_type> && !LeavesAfterRejection<leaves_another_type, distribution>);

const std::vector<token> prompt{2, 0, 1};

BOOST_AUTO_TEST_CASE(the_smallest_criterion_keeps_its_guarantee_exactly) {
    const auto target = testing::hashed_model(3, 1);
    const auto drafter = testing::hashed_model(3, 2);
    decode::options chosen;
    chosen.stop.max_tokens = 3;
    const auto expected = testing::text_distribution_of(testing::plain_sampling(target), prompt, chosen);
    BOOST_TEST(expected.probability.size() == 27u);
    const auto with_model = speculate(drafter, target, policy::fixed_length{2}, matching{});
    const auto with_lookup = speculate(draft::prompt_lookup(1, 2), target, policy::fixed_length{2}, matching{});
    BOOST_TEST(testing::total_variation(expected, testing::text_distribution_of(with_model, prompt, chosen)) < 1e-12);
    BOOST_TEST(testing::total_variation(expected, testing::text_distribution_of(with_lookup, prompt, chosen)) < 1e-12);
}

BOOST_AUTO_TEST_CASE(the_smallest_criterion_decodes) {
    const auto target = testing::hashed_model(12, 1);
    decode::options chosen;
    chosen.sampling.temperature.value = 0;
    chosen.stop.max_tokens = 40;
    const auto decoded =
        decode::generate(speculate(target, target, policy::fixed_length{3}, matching{}), prompt, chosen);
    BOOST_TEST(decoded.tokens == decode::generate(plain(target), prompt, chosen).tokens);
    BOOST_TEST(decoded.counts.acceptance() == 1.0);
    BOOST_TEST(decoded.counts.rounds() == 10u);
}

BOOST_AUTO_TEST_SUITE_END()
