#include "augur/policy/pass_seconds.hpp"

#include <boost/test/unit_test.hpp>
#include <vector>

using namespace augur;
using policy::pass_seconds;

BOOST_AUTO_TEST_SUITE(policy_pass_seconds)

const auto is = boost::test_tools::tolerance(1e-12);

BOOST_AUTO_TEST_CASE(nothing_is_known_before_a_pass_over_one_row) {
    pass_seconds passes(4, 0.5);
    BOOST_TEST(!passes.known());
    passes.learn(3, 7.0);
    BOOST_TEST(!passes.known());
    BOOST_TEST(passes(3) == 0.0);
    passes.learn(1, 1.0);
    BOOST_TEST(passes.known());
    BOOST_TEST(passes(1) == 1.0);
}

BOOST_AUTO_TEST_CASE(a_further_row_costs_a_tenth_until_more_is_known_and_half_of_what_rows_did_then) {
    pass_seconds passes(6, 0.5);
    passes.learn(1, 1.0);
    BOOST_TEST(passes.most_measured() == 1u);
    BOOST_TEST(passes(2) == 1.1, is);
    BOOST_TEST(passes(5) == 1.4, is);
    for (int i = 0; i < 60; ++i) passes.learn(3, 2.0);  // its weight tends to 2, the line's is 1
    BOOST_TEST(passes.most_measured() == 3u);
    BOOST_TEST(passes(3) == (2 * 2.0 + 1.2) / 3, is);
    BOOST_TEST(passes(2) == 1.5, is);  // halfway
    BOOST_TEST(passes(5) == 2.0 + 2 * 0.25, is);
}

BOOST_AUTO_TEST_CASE(more_rows_take_no_less_than_fewer) {
    const std::vector<double> curve{1, 2, 1.5};
    const pass_seconds passes(3, 0.5, curve);
    BOOST_TEST(passes(2) == 1.85, is);
    BOOST_TEST(passes(3) == 1.85, is);  // not the 1.7 that it alone would be
}

BOOST_AUTO_TEST_CASE(early_figures_count_alike) {
    pass_seconds passes(2, 0.999999999);
    for (double seconds : {1.0, 1.2, 1.4}) passes.learn(1, seconds);
    BOOST_TEST(passes(1) == 1.2, boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(what_was_disturbed_counts_as_twice_the_usual) {
    pass_seconds passes(2, 0.5);
    BOOST_TEST(passes.learn(1, 1.0) == 1.0);
    BOOST_TEST(passes.learn(1, 100.0) == 2.0);
    BOOST_TEST(passes(1) == (0.5 * 1.0 + 2.0) / 1.5, is);
    BOOST_TEST(passes.learn(2, 100.0) == 2 * passes(1) * 1.1, is);
}

BOOST_AUTO_TEST_CASE(what_a_curve_said_too_little_of_is_owed_until_a_plain_pass_tells_its_worth) {
    const std::vector<double> curve{1, 1, 1};
    pass_seconds passes(3, 0.99, curve);
    const double usual = passes(3);
    const double two = passes(2);
    BOOST_TEST(passes.learn(2, 9.0, false) == 2 * two);  // somebody else's draft
    passes.learn(1, 1.0);
    BOOST_TEST(passes.take_due() == 0.0);
    passes = pass_seconds(3, 0.99, curve);
    BOOST_TEST(passes.learn(3, 10.0) == 2 * usual);
    BOOST_TEST(passes(3) > 2.0);  // believed
    BOOST_TEST(passes.owes());
    BOOST_TEST(passes.take_due() == 0.0);
    passes.learn(1, 2.0);
    BOOST_TEST(!passes.owes());
    BOOST_TEST(passes.take_due() == (10.0 - 2 * usual) / 2, is);
    BOOST_TEST(passes.take_due() == 0.0);
    passes.learn(3, 100.0);  // beside what was measured here it was disturbed
    BOOST_TEST(!passes.owes());
    pass_seconds without(3, 0.99);
    without.learn(1, 1.0);
    without.learn(3, 100.0);
    BOOST_TEST(!without.owes());
}

/// A curve says how passes compare, and one pass how fast they are here.
BOOST_AUTO_TEST_CASE(what_the_first_passes_take_is_carried_over_to_those_of_other_rows) {
    const std::vector<double> curve{1, 1.1, 1.2, 1.3};
    pass_seconds passes(4, 0.99, curve);
    const double one = passes(1), two = passes(2), three = passes(3), four = passes(4);
    passes.learn(3, 1.5 * three);
    BOOST_TEST(passes(1) == 1.5 * one, is);
    BOOST_TEST(passes(4) == 1.5 * four, boost::test_tools::tolerance(0.02));
    const double halfway = passes(2);
    passes.learn(4, 0.5 * passes(4));  // on average with the one before; the root of a half
    BOOST_TEST(passes(2) < 0.8 * halfway);
    BOOST_TEST(passes(2) > 0.7 * halfway);
    passes.learn(1, 2 * one);  // a plain one says all
    BOOST_TEST(passes(2) == 2 * two, boost::test_tools::tolerance(0.1));
    const double measured = passes(2);
    passes.learn(3, 1.5 * three);  // was measured here before
    BOOST_TEST(passes(2) == measured, boost::test_tools::tolerance(0.02));
    pass_seconds disturbed(4, 0.99, curve);
    disturbed.learn(3, 100);
    BOOST_TEST(disturbed(1) == 2.0, is);  // no more than a factor of 2
    disturbed.learn(1, 1.0);
    BOOST_TEST(disturbed(1) == 1.0, is);
    pass_seconds faster(4, 0.99, curve);
    faster.learn(3, 0.01);
    BOOST_TEST((faster(1) > 0.4 && faster(1) <= 0.5));  // three rows took less than half of what one did
    pass_seconds without(4, 0.99);
    without.learn(1, 1);
    without.learn(3, 9);
    BOOST_TEST(without(1) == 1.0);
}

/// By more than a tenth, and only until a plain one has been timed here.
BOOST_AUTO_TEST_CASE(a_pass_of_another_time_than_was_said_asks_for_a_plain_one) {
    const std::vector<double> curve{1, 1.1, 1.2, 1.3};
    for (const double times : {0.85, 0.95, 1.05, 1.15}) {
        for (const bool pays : {false, true}) {
            pass_seconds passes(4, 0.99, curve);
            passes.learn(3, times * passes(3), pays);
            BOOST_TEST(passes.owes() == (times < 0.9 || times > 1.1), times);
            passes.learn(1, times);
            BOOST_TEST(!passes.owes());
            passes.learn(4, 1.5 * passes(4), pays);
            BOOST_TEST(!passes.owes());
        }
    }
}

BOOST_AUTO_TEST_CASE(one_slow_pass_is_forgotten) {
    pass_seconds passes(8, 0.95);
    passes.learn(1, 1.0);
    passes.learn(5, 2.8);
    BOOST_TEST(passes(5) > 2.0);
    BOOST_TEST(passes.most_measured() == 5u);
    for (int i = 0; i < 30; ++i) passes.learn(1, 1.0);
    BOOST_TEST(passes.most_measured() == 1u);  // others lean on it no more
    BOOST_TEST(passes(4) == 1.3, is);
    BOOST_TEST(passes(8) < 2.0);
    for (int i = 0; i < 200; ++i) passes.learn(1, 1.0);
    BOOST_TEST(passes(5) == 1.4, boost::test_tools::tolerance(1e-4));
}

BOOST_AUTO_TEST_CASE(more_rows_take_no_less) {
    pass_seconds passes(4, 0.9);
    passes.learn(1, 3.0);  // the first was slow
    passes.learn(2, 1.1);
    BOOST_TEST(passes(1) == 1.1, is);
    passes.learn(4, 1.0);
    for (std::size_t rows = 2; rows <= 4; ++rows) BOOST_TEST(passes(rows) >= passes(rows - 1));
}

BOOST_AUTO_TEST_CASE(a_curve_that_was_measured_before_is_a_start) {
    const std::vector<double> curve{1, 1.2, 3};
    pass_seconds passes(5, 0.5, curve);
    BOOST_TEST(passes.known());
    BOOST_TEST(passes.most_measured() == 3u);
    BOOST_TEST(passes(1) == 1.0);
    BOOST_TEST(passes(3) == (4 * 3 + 1.3) / 5, is);
    for (int i = 0; i < 20; ++i) passes.learn(1, 2.0);
    BOOST_TEST(passes(1) == 2.0, boost::test_tools::tolerance(1e-3));
    BOOST_TEST(passes(3) == 2.4, boost::test_tools::tolerance(1e-3));
    const pass_seconds longer(2, 0.5, std::vector<double>{1, 2, 3, 4});
    BOOST_TEST(longer.most_measured() == 2u);
}

BOOST_AUTO_TEST_CASE(the_measure_of_all_others_fades_but_stays) {
    pass_seconds passes(4, 0.5);
    passes.learn(1, 1.0);
    for (int i = 0; i < 100; ++i) passes.learn(4, 9.0);
    BOOST_TEST(passes(1) == 1.0);
    passes.learn(1, 1.5);  // counts for four fifths: the first still has a weight of a quarter, now halved to no less
    BOOST_TEST(passes(1) == 1.0 + 0.5 / 1.25, is);
}

/// Of an engine whose clock is coarse.
BOOST_AUTO_TEST_CASE(a_pass_that_took_no_time_owes_nothing) {
    pass_seconds passes(4, 0.5);
    passes.learn(1, 0.0);
    BOOST_TEST(passes.take_due() == 0.0);
    BOOST_TEST(!passes.known());
    passes.learn(1, 2.0);
    BOOST_TEST(passes.take_due() == 0.0);
    BOOST_TEST(passes.known());
}

/// The machine was slow, as plain passes say: what drafts took longer is not their loss.
BOOST_AUTO_TEST_CASE(a_slow_plain_pass_gives_drafts_just_before_it_back_what_they_were_charged_too_much) {
    const std::vector<double> curve{1, 1.5, 2};
    const auto refund = [&](double plain, std::size_t rounds, std::size_t tokens) {
        pass_seconds passes(3, 0.5, curve);
        for (std::size_t i = 0; i < rounds; ++i) passes.spend(tokens, 3);
        passes.learn(1, plain);
        const double back = passes.take_refund();
        BOOST_TEST(passes.take_refund() == 0.0);
        passes.learn(1, 2 * plain);  // with nothing drafted since
        BOOST_TEST(passes.take_refund() == 0.0);
        return back;
    };
    BOOST_TEST(refund(1, 1, 1) == 0.0);
    BOOST_TEST(refund(0, 1, 1) == 0.0);
    BOOST_TEST(refund(0.5, 1, 1) == -3.0, is);  // quicker: 3 - 1 seemed lost, 3 / 0.5 - 1 were
    BOOST_TEST(refund(0.5, 9, 3) == -9 * 3.0, is);
    BOOST_TEST(refund(0.5, 1, 6) == 0.0);
    BOOST_TEST(refund(1.5, 1, 1) == 1.0, is);  // 3 - 1 were lost, 3 / 1.5 - 1 are
    BOOST_TEST(refund(1.5, 2, 1) == 2.0, is);
    BOOST_TEST(refund(2, 1, 1) == 1.5, is);
    BOOST_TEST(refund(9, 1, 1) == 1.5, is);  // as twice the usual
    BOOST_TEST(refund(2, 1, 2) == 1.0, is);  // no more than was lost
    BOOST_TEST(refund(2, 1, 3) == 0.0);
    BOOST_TEST(refund(2, 8, 1) == 12.0, is);
    BOOST_TEST(refund(2, 9, 1) == 0.0);  // too long ago
}

/// The only plain pass may have been slow. Drafts that would have lost a pass if it took half are reason to time
/// another, once; one
/// that is quicker is believed.
BOOST_AUTO_TEST_CASE(a_plain_pass_is_timed_again_where_drafts_pay_only_if_it_was_slow) {
    const auto after = [](std::size_t tokens, double seconds) {
        pass_seconds passes(3, 0.5);
        passes.learn(1, 2.0);
        BOOST_TEST(!passes.owes());
        passes.spend(tokens, seconds);  // on a row that was looked at: the pass was a plain one
        BOOST_TEST(!passes.owes());
        passes.learn(2, 2.0);
        return passes;
    };
    BOOST_TEST(!after(2, 2.5).owes());
    BOOST_TEST(!after(1, 1.9).owes());
    pass_seconds passes = after(1, 2.0);
    BOOST_TEST(passes.owes());
    passes.learn(1, 1.0);
    BOOST_TEST(passes(1) == 1.0);
    BOOST_TEST(passes.take_refund() == -1.0, is);
    passes.spend(1, 9.0);
    BOOST_TEST(!passes.owes());
    passes.learn(1, 0.5);  // from the third on, the average
    BOOST_TEST(passes(1) > 0.5);
    pass_seconds elsewhere(3, 0.5, std::vector<double>{8, 9, 10});
    elsewhere.spend(1, 80);
    BOOST_TEST(!elsewhere.owes());  // none was timed here, and no pass took another time than was said
    elsewhere.learn(1, 1.0);
    BOOST_TEST(elsewhere(1) == 1.0);
    BOOST_TEST(elsewhere(3) < 1.3);  // and so are the others
}

BOOST_AUTO_TEST_SUITE_END()
