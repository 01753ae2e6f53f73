#include "augur/tune/metered.hpp"

#include <augur/accept/exact.hpp>
#include <augur/accept/fuzzy.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/accept/rejection_then_fuzzy.hpp>
#include <augur/cascade/cascade.hpp>
#include <augur/decode/generate.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

using namespace augur;
using fuzzy = accept::fuzzy<measure::total_variation>;
namespace tt = boost::test_tools;

BOOST_AUTO_TEST_SUITE(tune_metered)

using cascade::model_link;

/// One judgement: the meter afterwards.
template <class Criterion>
tune::meter judged(const Criterion& criterion, const distribution& target, const distribution& draft, token id) {
    tune::meter into;
    random::philox_chooser chooser(3);
    position_draws draws(chooser, 5, 0);
    tune::metered(criterion, into).accepts(target, drafted_token<distribution>{id, &draft}, draws);
    return into;
}

BOOST_AUTO_TEST_CASE(what_stands_within_the_threshold_is_as_far_as_the_drafts_row) {
    const auto target = distribution::weighted({0.5f, 0.5f, 0}), draft = distribution::weighted({0.75f, 0.25f, 0});
    BOOST_TEST(judged(fuzzy(0.3), target, draft, 0).divergence == 0.25, tt::tolerance(1e-12));
    BOOST_TEST(judged(accept::rejection_then_fuzzy<measure::total_variation>(0.3), target, draft, 0).divergence == 0.25,
               tt::tolerance(1e-12));
    BOOST_TEST(judged(fuzzy(0.2), target, draft, 0).divergence == 0);
    BOOST_TEST(judged(accept::rejection_sampling{}, target, draft, 0).divergence == 0);
    BOOST_TEST(judged(fuzzy(0.2), target, draft, 0).judged == 1u);
}

BOOST_AUTO_TEST_CASE(what_the_target_excludes_is_drawn_from_the_target) {
    const auto target = distribution::weighted({0.5f, 0.5f, 0}), draft = distribution::weighted({0.5f, 0.25f, 0.25f});
    // of the draft's quarter on the third token each of the others gets an eighth
    BOOST_TEST(judged(fuzzy(1), target, draft, 0).divergence == 0.125, tt::tolerance(1e-12));
}

/// Of a decoding by a cascade of two hash models, at temperature 1.
template <class Criterion>
auto decoded(const Criterion& criterion) {
    const auto draft = testing::hashed_model(8, 1, 2), target = testing::hashed_model(8, 2, 2);
    decode::options options{.seed = 4};
    options.stop.max_tokens = 400;
    return decode::generate<any_guarantee>(cascaded(draft, model_link{policy::fixed_length{3}, criterion}, target),
                                           std::vector<token>{1}, options);
}

BOOST_AUTO_TEST_CASE(a_metered_criterion_refuses_what_it_refused) {
    tune::meter into;
    const tune::metered greedy(accept::exact{}, into);
    BOOST_CHECK_THROW(accept::check(greedy, {}), error);
    accept::check(greedy, {.temperature = {0}});
    accept::check(tune::metered(fuzzy(0.3), into), {});
}

BOOST_AUTO_TEST_CASE(a_metered_criterion_decides_as_it_did) {
    tune::meter into;
    const fuzzy rule(0.4);
    const auto plain = decoded(rule);
    const auto metered = decoded(tune::metered(rule, into));
    BOOST_TEST(plain.tokens == metered.tokens, tt::per_element());
    const auto& counts = metered.counts;
    BOOST_TEST(into.judged >= counts.stages.back().accepted);
    BOOST_TEST(into.judged <= counts.stages.back().accepted + counts.rounds());
    BOOST_TEST(into.divergence > 0);
    BOOST_TEST(into.divergence <= 0.4 * static_cast<double>(into.judged));
    BOOST_TEST(into.seconds > 0);
}

BOOST_AUTO_TEST_CASE(a_promise_is_handed_on) {
    tune::meter into;
    static_assert(std::is_same_v<tune::metered<fuzzy>::guarantee, fuzzy::guarantee>);
    BOOST_TEST(tune::metered(fuzzy(0.25), into).promised().bound == 0.25);
}

BOOST_AUTO_TEST_SUITE_END()
