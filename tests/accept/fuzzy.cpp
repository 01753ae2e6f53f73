#include "augur/accept/fuzzy.hpp"

#include "accept/fuzzy_laws.hpp"

namespace augur::accept {
static_assert(AcceptanceCriterionFor<fuzzy<measure::kl>, point_mass> &&
              AcceptanceCriterionFor<fuzzy<measure::kl>, distribution>);
static_assert(!Lossless<fuzzy<measure::kl>>);
}  // namespace augur::accept

using namespace augur;
using accept::fuzzy;
using fuzzy_laws::exactly;
using fuzzy_laws::infinity;

BOOST_AUTO_TEST_SUITE(accept_fuzzy)

static_assert(AcceptanceCriterionFor<fuzzy<measure::kl>, point_mass>);
static_assert(AcceptanceCriterionFor<fuzzy<measure::kl>, distribution>);
static_assert(std::is_same_v<guarantee_of<fuzzy<measure::kl>>, guarantee::bounded_divergence<measure::kl>>);

BOOST_AUTO_TEST_CASE(each_token_is_within_the_threshold) {
    fuzzy_laws::check_bound<fuzzy>();
}

BOOST_AUTO_TEST_CASE(each_token_of_a_text_is_within_the_threshold) {
    fuzzy_laws::check_bound_in_texts<fuzzy>();
}

BOOST_AUTO_TEST_CASE(a_threshold_of_zero_keeps_the_targets_law) {
    fuzzy_laws::each_divergence([]<class D>(const D&) { fuzzy_laws::check_lossless(fuzzy<D>{0}); });
}

BOOST_AUTO_TEST_CASE(an_infinite_threshold_keeps_every_drafted_token) {
    fuzzy_laws::each_divergence([]<class D>(const D&) { fuzzy_laws::check_keeps_everything(fuzzy<D>{infinity}); });
    fuzzy_laws::check_keeps_everything(fuzzy<measure::total_variation>{1});
}

BOOST_AUTO_TEST_CASE(a_threshold_between_gives_the_drafts_row_or_the_targets) {
    // The rows are 0.25 apart in total variation: near enough for 0.25, too far for any less.
    const auto target = distribution::weighted({2, 1, 1});
    const auto draft_row = distribution::weighted({1, 2, 1});
    using rule = fuzzy<measure::total_variation>;
    BOOST_TEST(fuzzy_laws::law_of_a_judgement(rule{0.25}, target, draft_row) == (std::vector{0.25, 0.5, 0.25}));
    BOOST_TEST(fuzzy_laws::law_of_a_judgement(rule{0.2499}, target, draft_row) == (std::vector{0.5, 0.25, 0.25}));
}

BOOST_AUTO_TEST_CASE(the_target_comes_first_in_a_divergence_with_two_sides) {
    // The target excludes what the draft may draw: seen by the target they are near, seen by the draft infinitely far.
    const auto target = distribution::weighted({1, 1, 0});
    const auto draft_row = distribution::weighted({1, 1, 2});
    const drafted_token<distribution> drafted{0, &draft_row};
    BOOST_TEST(fuzzy<measure::kl>{0.7}.is_near(target, drafted));
    BOOST_TEST(!fuzzy<measure::kl>{0.69}.is_near(target, drafted));
    BOOST_TEST(!fuzzy<measure::reverse_kl>{100}.is_near(target, drafted));
}

BOOST_AUTO_TEST_CASE(a_token_the_target_excludes_never_stands) {
    const auto target = distribution::weighted({1, 1, 0});
    const auto draft_row = distribution::weighted({1, 1, 2});
    fuzzy_laws::each_divergence([&]<class D>(const D&) {
        // A quarter each from the draft, and half of the time the target is asked.
        BOOST_TEST(fuzzy_laws::law_of_a_judgement(fuzzy<D>{infinity}, target, draft_row) ==
                   (std::vector{0.5, 0.5, 0.0}));
        BOOST_TEST(!fuzzy<D>{infinity}.is_near(target, drafted_token<point_mass>{2}));
    });
}

BOOST_AUTO_TEST_CASE(an_excluded_point_mass_was_drawn_from_the_target) {
    const auto target = distribution::weighted({1, 1, 0});
    fuzzy_laws::each_divergence([&]<class D>(const D&) {
        const fuzzy<D> rule{infinity};
        distribution certain;
        BOOST_TEST(&rule.drawn_from(target, drafted_token<point_mass>{2}, certain) == &target);
        BOOST_TEST(rule.drawn_from(target, drafted_token<point_mass>{1}, certain).probability(1) == 1);
        BOOST_TEST(&fuzzy<D>{0}.drawn_from(target, drafted_token<point_mass>{1}, certain) == &target);
    });
}

BOOST_AUTO_TEST_CASE(a_point_mass_is_near_by_its_own_probability) {
    const auto target = distribution::weighted({5, 3, 2});
    const drafted_token<point_mass> first{0}, last{2};
    BOOST_TEST(fuzzy<measure::total_variation>{0.5}.is_near(target, first));
    BOOST_TEST(!fuzzy<measure::total_variation>{0.75}.is_near(target, last));
    BOOST_TEST(fuzzy<measure::reverse_kl>{0.6932}.is_near(target, first));  // ln 2
    BOOST_TEST(!fuzzy<measure::reverse_kl>{1.6}.is_near(target, last));     // ln 5 = 1.609...
    BOOST_TEST(fuzzy<measure::reverse_kl>{1.61}.is_near(target, last));
    BOOST_TEST(!fuzzy<measure::kl>{100}.is_near(target, first));  // the target gives others something
    BOOST_TEST(fuzzy<measure::kl>{0}.is_near(distribution::point(0, 3), first));
}

BOOST_AUTO_TEST_CASE(greedy_at_temperature_zero) {
    fuzzy_laws::check_greedy(fuzzy<measure::kl>{infinity});
    fuzzy_laws::check_greedy(fuzzy<measure::jensen_shannon>{0.3});
}

BOOST_AUTO_TEST_CASE(thresholds_that_are_none_are_refused) {
    fuzzy_laws::check_refusals<fuzzy>();
}

BOOST_AUTO_TEST_CASE(siblings_are_within_the_threshold) {
    fuzzy_laws::check_bound_among_siblings<fuzzy>();
}

BOOST_AUTO_TEST_CASE(laws) {
    fuzzy_laws::check_criterion_laws<fuzzy>();
}

BOOST_AUTO_TEST_SUITE_END()
