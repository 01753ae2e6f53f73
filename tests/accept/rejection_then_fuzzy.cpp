#include "augur/accept/rejection_then_fuzzy.hpp"

#include "accept/fuzzy_laws.hpp"

namespace augur::accept {
static_assert(AcceptanceCriterionFor<rejection_then_fuzzy<measure::kl>, point_mass> &&
              AcceptanceCriterionFor<rejection_then_fuzzy<measure::kl>, distribution>);
static_assert(!Lossless<rejection_then_fuzzy<measure::kl>>);
}  // namespace augur::accept

using namespace augur;
using accept::fuzzy;
using accept::rejection_then_fuzzy;
using fuzzy_laws::exactly;
using fuzzy_laws::infinity;

BOOST_AUTO_TEST_SUITE(accept_rejection_then_fuzzy)

static_assert(AcceptanceCriterionFor<rejection_then_fuzzy<measure::kl>, point_mass>);
static_assert(AcceptanceCriterionFor<rejection_then_fuzzy<measure::kl>, distribution>);
static_assert(
    std::is_same_v<guarantee_of<rejection_then_fuzzy<measure::kl>>, guarantee::bounded_divergence<measure::kl>>);

BOOST_AUTO_TEST_CASE(each_token_is_within_the_threshold) {
    fuzzy_laws::check_bound<rejection_then_fuzzy>();
}

BOOST_AUTO_TEST_CASE(each_token_of_a_text_is_within_the_threshold) {
    fuzzy_laws::check_bound_in_texts<rejection_then_fuzzy>();
}

BOOST_AUTO_TEST_CASE(a_threshold_of_zero_keeps_the_targets_law) {
    fuzzy_laws::each_divergence([]<class D>(const D&) { fuzzy_laws::check_lossless(rejection_then_fuzzy<D>{0}); });
}

BOOST_AUTO_TEST_CASE(an_infinite_threshold_keeps_every_drafted_token) {
    fuzzy_laws::each_divergence(
        []<class D>(const D&) { fuzzy_laws::check_keeps_everything(rejection_then_fuzzy<D>{infinity}); });
}

/// The probability that a token drawn from the draft is accepted.
template <class Criterion>
double acceptance(const Criterion& criterion, const distribution& target, const distribution& draft_row) {
    const auto law = testing::enumerate([&](testing::enumerating_chooser chooser) {
        position_draws draws(chooser, 0, 0);
        const drafted_token<distribution> drafted{draft::sampled{}.pick(draft_row, draws), &draft_row};
        return std::vector<token>{criterion.accepts(target, drafted, draws)};
    });
    const auto found = law.probability.find({1});
    return found == law.probability.end() ? 0 : found->second;
}

BOOST_AUTO_TEST_CASE(the_law_is_that_of_fuzzy_with_more_accepted) {
    std::mt19937 random(2);
    std::size_t more = 0;
    for (std::size_t i = 0; i < 200; ++i) {
        const std::size_t size = 2 + random() % 4;
        auto possible = fuzzy_laws::random_weights(random, size);
        for (float& w : possible) w += 1;
        const auto target = distribution::weighted(possible);
        const auto draft_row = distribution::weighted(fuzzy_laws::random_weights(random, size));
        for (const double threshold : {0.0, 0.1, 0.25, 0.5}) {
            const rejection_then_fuzzy<measure::total_variation> second(threshold);
            const fuzzy<measure::total_variation> only(threshold);
            const auto expected = fuzzy_laws::law_of_a_judgement(only, target, draft_row);
            const auto got = fuzzy_laws::law_of_a_judgement(second, target, draft_row);
            for (std::size_t t = 0; t < size; ++t) BOOST_TEST(std::abs(got[t] - expected[t]) < exactly);
            const double accepted = acceptance(second, target, draft_row);
            BOOST_TEST(accepted >= acceptance(only, target, draft_row) - exactly);
            BOOST_TEST(accepted >= acceptance(accept::rejection_sampling{}, target, draft_row) - exactly);
            more += accepted > acceptance(only, target, draft_row) + exactly;
        }
    }
    BOOST_TEST(more > 100u);
}

BOOST_AUTO_TEST_CASE(what_the_target_excludes_goes_to_the_residual) {
    const auto target = distribution::weighted({1, 3, 0});
    const auto draft_row = distribution::weighted({1, 1, 2});
    fuzzy_laws::each_divergence([&]<class D>(const D&) {
        // A quarter each from the draft; the other half goes where the draft has too little: all of it to token 1.
        const auto law = fuzzy_laws::law_of_a_judgement(rejection_then_fuzzy<D>{infinity}, target, draft_row);
        BOOST_TEST(law == (std::vector{0.25, 0.75, 0.0}));
    });
}

BOOST_AUTO_TEST_CASE(greedy_at_temperature_zero) {
    fuzzy_laws::check_greedy(rejection_then_fuzzy<measure::kl>{infinity});
    fuzzy_laws::check_greedy(rejection_then_fuzzy<measure::jensen_shannon>{0.3});
}

BOOST_AUTO_TEST_CASE(thresholds_that_are_none_are_refused) {
    fuzzy_laws::check_refusals<rejection_then_fuzzy>();
}

BOOST_AUTO_TEST_CASE(siblings_are_within_the_threshold) {
    fuzzy_laws::check_bound_among_siblings<rejection_then_fuzzy>();
}

BOOST_AUTO_TEST_CASE(laws) {
    fuzzy_laws::check_criterion_laws<rejection_then_fuzzy>();
}

BOOST_AUTO_TEST_SUITE_END()
