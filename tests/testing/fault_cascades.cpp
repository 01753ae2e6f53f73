#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/fuzzy.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/measure/divergence.hpp>
#include <augur/policy/cost_aware.hpp>
#include <augur/policy/entropy_bins.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/testing/scheme_laws.hpp>
#include <boost/test/unit_test.hpp>

#include "draft/exit_mock.hpp"
#include "testing/fault_schemes.hpp"

using namespace augur;
using testing::fault_choice;

BOOST_AUTO_TEST_SUITE(testing_fault_cascades)

const policy::fixed_length two{2};

BOOST_AUTO_TEST_CASE(cascades_keep_them) {
    const auto a = testing::failing_chains(1), b = testing::failing_chains(2), c = testing::failing_chains(3);
    testing::fault_tally tally;
    const scheme::model_link sampled{two, accept::rejection_sampling{}};
    const scheme::model_link raced{two, accept::coupled{}};
    const scheme::model_link learning{policy::entropy_bins({0.8}, {3, 1}), accept::rejection_sampling{}};
    const scheme::model_link near{two, accept::fuzzy<measure::kl>{0.4}};
    tally.keeps("three, sampled", cascaded(a, sampled, b, sampled, c), fault_choice(1));
    tally.keeps("three, learning", cascaded(a, learning, b, learning, c), fault_choice(1));
    tally.keeps("three, raced", cascaded(a, raced, b, raced, c), fault_choice(1));
    tally.keeps("three, fuzzy", cascaded(a, near, b, near, c), fault_choice(1));
    tally.keeps("as published", cascaded_as_published(a, near, b, near, c), fault_choice(1));
    const scheme::model_link costed{policy::cost_aware{}, accept::exact{}};
    tally.keeps("three, cost_aware", cascaded(a, costed, b, costed, c), fault_choice(0));
    tally.report("cascades", 2500);
}

BOOST_AUTO_TEST_CASE(layers_on_the_states_of_a_model_inside_keep_them) {
    const auto middle = testing::failing_passes<pass_features::states>(1);
    const auto layer = testing::failing(testing::fused_mock(testing::fault_rows(3), 5), testing::fault_places);
    const auto last = testing::failing_chains(2);
    testing::fault_tally tally;
    tally.keeps("sampled",
                cascaded(layer, scheme::model_link{two, accept::rejection_sampling{}}, middle,
                         scheme::model_link{policy::fixed_length{3}, accept::rejection_sampling{}}, last),
                fault_choice(1));
    tally.report("layers inside", 300);
}

BOOST_AUTO_TEST_CASE(self_speculation_keeps_them) {
    const auto target = testing::failing_passes<pass_features::layers>(1);
    const auto head = testing::failing(testing::exit_mock{testing::fault_vocabulary}, testing::fault_places);
    testing::fault_tally tally;
    tally.keeps("exact", speculate(head, target, two, accept::exact{}), fault_choice(0));
    tally.keeps("sampled", speculate(head, target, two, accept::rejection_sampling{}), fault_choice(1));
    const policy::entropy_bins bins({0.8}, {3, 1});
    tally.keeps("coupled, bins", speculate(head, target, bins, accept::coupled{}), fault_choice(1));
    tally.report("self-speculation", 1000);
}

BOOST_AUTO_TEST_SUITE_END()
