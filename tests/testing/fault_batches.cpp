#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/draft/fallback.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/entropy_bins.hpp>
#include <augur/scheme/cascade.hpp>
#include <boost/test/unit_test.hpp>

#include "testing/fault_schemes.hpp"

using namespace augur;
using testing::fault_choice;

BOOST_AUTO_TEST_SUITE(testing_fault_batches)

const policy::fixed_length two{2};

BOOST_AUTO_TEST_CASE(where_one_fails_all_are_what_they_would_be) {
    const auto target = testing::failing_passes<pass_features::batches>(1);
    const auto small = testing::failing_passes<pass_features::batches>(2);
    testing::fault_tally tally;
    tally.keeps_together("plain", plain(target), fault_choice(1));
    tally.keeps_together("exact", speculate(small, target, two, accept::exact{}), fault_choice(0));
    const policy::entropy_bins bins({0.8}, {3, 1});
    tally.keeps_together("bins", speculate(small, target, bins, accept::rejection_sampling{}), fault_choice(1));
    const draft::fallback several(draft::prompt_lookup(1, 3), small);
    tally.keeps_together("fallback", speculate(several, target, two, accept::coupled{}), fault_choice(1));
    tally.report("batches", 1500);
}

BOOST_AUTO_TEST_CASE(so_are_those_of_models_that_run_one_pass_at_a_time) {
    const auto target = testing::failing_chains(1), small = testing::failing_chains(2),
               middle = testing::failing_chains(3);
    testing::fault_tally tally;
    tally.keeps_together("rejection sampling", speculate(small, target, two, accept::rejection_sampling{}),
                         fault_choice(1));
    const scheme::model_link link{two, accept::rejection_sampling{}};
    tally.keeps_together("three models", cascaded(small, link, middle, link, target), fault_choice(1));
    tally.report("batches of single passes", 800);
}

BOOST_AUTO_TEST_CASE(so_are_trees_and_cascades_in_one_run) {
    const auto target = testing::failing_passes<every_pass_feature>(1),
               small = testing::failing_passes<every_pass_feature>(2);
    const auto middle = testing::failing_passes<pass_features::batches>(3);
    testing::fault_tally tally;
    const scheme::model_link link{two, accept::rejection_sampling{}};
    tally.keeps_together("three models", cascaded(small, link, middle, link, target), fault_choice(1));
    tally.report("batches of cascades", 400);
}

BOOST_AUTO_TEST_SUITE_END()
