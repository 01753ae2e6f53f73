#include "augur/policy/time_account.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "augur/types/error.hpp"

using namespace augur;
using policy::account_terms;
using policy::time_account;

BOOST_AUTO_TEST_SUITE(policy_time_account)

const auto is = boost::test_tools::tolerance(1e-12);
const std::vector<double> flat{1, 1, 1};

/// Of a policy "p", over 3 rows; a pass takes a second.
account_terms terms() {
    return {.policy = "p", .most_rows = 3, .memory = 0.5, .budget = 0, .credit = 2, .most = 4, .plain_after = 3};
}
time_account account(double budget = 0) {
    account_terms of = terms();
    of.budget = budget;
    return {of, flat};
}

BOOST_AUTO_TEST_CASE(what_a_draft_gains_is_saved_and_what_it_loses_is_spent) {
    time_account of = account();
    BOOST_TEST(of.allowance() == 2.0);
    BOOST_TEST(of.affordable(2));
    BOOST_TEST(!of.affordable(2.001));
    of.settle(1, 2.5, true);
    BOOST_TEST(of.allowance() == 0.5, is);
    of.settle(3, 1.5, true);
    BOOST_TEST(of.allowance() == 2.0, is);
    of.settle(1, 7.0, false);  // somebody else's, or plain: no loss of a draft
    BOOST_TEST(of.allowance() == 2.0, is);
    of.settle(9, 1.0, true);
    BOOST_TEST(of.allowance() == 4.0, is);  // no more is saved
    of.settle(1, 31, true);
    BOOST_TEST(of.allowance() == -26.0, is);  // what was lost is owed, all of it
    BOOST_TEST(!of.affordable(0));
}

BOOST_AUTO_TEST_CASE(what_came_to_nothing_is_spent) {
    time_account of(terms(), std::vector<double>{2, 2, 2});
    of.lose(0.5);
    BOOST_TEST(of.allowance() == 1.75, is);
    time_account unknown(terms(), {});
    unknown.lose(0.5);  // of a pass that nobody has timed
    BOOST_TEST(unknown.allowance() == 2.0, is);
}

BOOST_AUTO_TEST_CASE(a_share_of_all_time_is_saved) {
    time_account of = account(0.25);
    of.settle(1, 1, false);
    BOOST_TEST(of.allowance() == 2.25, is);
    of.settle(2, 2, true);
    BOOST_TEST(of.allowance() == 2.75, is);
}

BOOST_AUTO_TEST_CASE(nothing_is_booked_before_a_plain_pass_was_timed) {
    account_terms of = terms();
    of.budget = 0.5;
    time_account account(of, {});
    account.settle(1, 5, true);
    BOOST_TEST(account.allowance() == 2.0);
    account.passes().learn(1, 2.0);
    account.settle(1, 2, false);
    BOOST_TEST(account.allowance() == 2.5);
}

BOOST_AUTO_TEST_CASE(the_pace_is_of_late_and_no_less_than_plain_decodings) {
    const std::vector<double> slow{2, 2, 2};
    time_account of(terms(), slow);
    of.settle(4, 4, true);
    BOOST_TEST(of.pace() == 1.0, is);  // 4 tokens in two passes of two seconds
    of.settle(2, 4, true);
    BOOST_TEST(of.pace() == (0.5 * 4 + 2) / (0.5 * 2 + 2) / 2, is);
    for (int i = 0; i < 100; ++i) of.settle(1, 8, true);
    BOOST_TEST(of.pace() == 0.5, is);
}

BOOST_AUTO_TEST_CASE(plain_decoding_is_measured_at_first_and_again_after_so_many_rounds) {
    BOOST_TEST(time_account(terms(), {}).measures_plain());
    time_account of = account();
    for (int i = 0; i < 3; ++i) {
        BOOST_TEST(!of.measures_plain());
        of.end_round({.decided_on = {}, .drafted = 1});
    }
    BOOST_TEST(of.rounds() == 3u);
    BOOST_TEST(of.measures_plain());
    of.end_round({.decided_on = {}});
    BOOST_TEST(!of.measures_plain());  // the fourth was plain
    of.passes().learn(2, 9.0);         // far more than was said: a plain pass is to tell what it is worth
    BOOST_TEST(of.measures_plain());
}

BOOST_AUTO_TEST_CASE(what_a_pass_took_beyond_what_was_said_is_due_when_a_plain_one_was_timed) {
    time_account of = account();
    of.settle(3, of.passes().learn(2, 9.0), true);
    const double before = of.allowance();
    of.settle(1, of.passes().learn(1, 1.0), false);
    BOOST_TEST(of.allowance() == before - 7, is);  // of 9 seconds 2 had been counted
}

/// Seconds that a draft is charged for, which counted as one, when a plain pass of a second was timed.
double paid(time_account& of) {
    const double before = of.allowance();
    of.passes().learn(1, 1.0);
    of.settle(1, 1, false, 1);
    return before - of.allowance();
}

BOOST_AUTO_TEST_CASE(what_takes_too_long_once_is_forgiven_and_paid_for_where_it_does_so_again) {
    time_account of = account();
    of.settle(1, 1, true, 5);
    BOOST_TEST(!of.measures_plain());
    BOOST_TEST(paid(of) == 0.0);
    for (int i = 1; i < 32; ++i) of.settle(1, 1, true, 1);
    of.settle(1, 1, true, 4);
    BOOST_TEST(of.measures_plain());
    BOOST_TEST(paid(of) == 7.0, is);  // both
    of.settle(1, 1, true, 3);
    BOOST_TEST(paid(of) == 2.0, is);
    for (int i = 0; i < 32; ++i) of.settle(1, 1, true, 1);
    of.settle(1, 1, true, 4);
    BOOST_TEST(paid(of) == 0.0);  // too long ago
    of.settle(1, 1, false, 9);    // no draft
    of.settle(1, 1, true, 0.5);   // quicker than it counts as
    BOOST_TEST(paid(of) == 0.0);
}

BOOST_AUTO_TEST_CASE(what_is_owed_for_a_pass_is_not_owed_twice) {
    time_account of = account(), unaware = account();
    const double counts = of.passes().learn(2, 9.0);
    of.settle(1, counts, true, 9.0);
    unaware.settle(1, unaware.passes().learn(2, 9.0), true);
    BOOST_TEST(paid(of) == paid(unaware), is);
    of.settle(1, 1, true, 4);
    BOOST_TEST(paid(of) == 0.0);  // the first that was forgiven
}

BOOST_AUTO_TEST_CASE(what_slow_drafts_were_charged_too_much_is_given_back_after_a_slow_plain_pass) {
    time_account of = account();
    of.settle(1, 2, true);
    BOOST_TEST(of.allowance() == 1.0, is);
    of.settle(1, of.passes().learn(1, 2.0), false);
    BOOST_TEST(of.allowance() == 2.0, is);  // a pass took twice as long for both
}

BOOST_AUTO_TEST_CASE(of_a_round_in_which_somebody_else_drafted_passes_and_pace_are_learned) {
    time_account of(terms(), {});
    of.learn_pass({.decided_on = {}, .verify_seconds = 0.75, .accept_seconds = 0.25});
    BOOST_TEST(of.passes()(1) == 1.0, is);
    of.learn_pass({.decided_on = {}, .drafted = 2, .accepted = 2, .draft_seconds = 0.5, .verify_seconds = 1});
    BOOST_TEST(of.passes().most_measured() == 3u);
    BOOST_TEST(of.pace() == (0.5 * 1 + 3) / (0.5 * 1 + 1.5), is);
    BOOST_TEST(of.allowance() == 2.0, is);
    BOOST_TEST(!of.measures_plain());                                      // nobody owes for it
    of.learn_pass({.decided_on = {}, .drafted = 3, .verify_seconds = 1});  // more than is told apart
    BOOST_TEST(of.rounds() == 3u);
    of.learn_pass({.decided_on = {}, .drafted = 1, .verify_seconds = 1});
    BOOST_TEST(of.measures_plain());  // since the first, three rounds ago
}

BOOST_AUTO_TEST_CASE(what_somebody_elses_pass_took_beyond_what_was_said_is_not_owed) {
    time_account of = account();
    of.learn_pass({.decided_on = {}, .drafted = 1, .verify_seconds = 9});
    of.learn_pass({.decided_on = {}, .verify_seconds = 1});
    BOOST_TEST(of.allowance() == 2.0, is);
}

BOOST_AUTO_TEST_CASE(what_passes_took_goes_into_the_next_text) {
    time_account of(terms(), {});
    BOOST_TEST(of.verify_seconds(1) == 0.0);
    of.passes().learn(2, 3.0);
    BOOST_TEST((of.learned_passes() == std::vector<policy::timed>{{}, {3, 1}, {}}));
    time_account quick(terms(), {});
    quick.passes().learn(1, 1e-12);  // which no clock can have measured
    BOOST_TEST((quick.learned_passes() == std::vector<policy::timed>(3)));
    time_account next = account();
    next.recall_passes({});
    BOOST_TEST(next.verify_seconds(1) == 1.0, is);  // as was said
    BOOST_TEST(!next.measures_plain());
    next.recall_passes(std::vector<policy::timed>{{5, 9}, {6, 1}});
    BOOST_TEST(next.verify_seconds(1) == 5.0, is);
    BOOST_TEST((next.learned_passes() == std::vector<policy::timed>{{5, 4}, {6, 1}, {}}));
}

/// At first it counts as it is, beside what was known of an earlier text; then as twice the usual at most.
BOOST_AUTO_TEST_CASE(the_first_draft_here_is_believed_and_later_ones_may_be_disturbed) {
    policy::drafting_time of;
    BOOST_TEST(of.learn(2, 0.5) == 2.0);
    BOOST_TEST(of.learn(100, 0.5) == 4.0);
    BOOST_TEST(of.figure.mean == 2 + (4 - 2) / 1.5, is);
    of.recall({1, 9});
    BOOST_TEST((of.figure == policy::timed{1, 4}));
    BOOST_TEST(of.learn(100, 0.5) == 2.0);
    BOOST_TEST(of.figure.mean == 1 + (100 - 1) / 3.0, is);
    const double usual = of.figure.mean;
    BOOST_TEST(of.learn(1e9, 0.5) == 2 * usual, is);
    BOOST_TEST(of.figure.mean == usual + (2 * usual - usual) / 2.5, is);
}

BOOST_AUTO_TEST_CASE(terms_that_make_no_account_are_refused_with_their_values) {
    const auto refuses = [](auto change, const std::vector<double>& curve, const std::string& expected) {
        account_terms of = terms();
        change(of);
        BOOST_CHECK_EXCEPTION(time_account(of, curve), error, [&](const error& e) {
            BOOST_TEST(std::string(e.what()) == expected);
            return true;
        });
    };
    for (const double memory : {0.0, 1.0}) {
        refuses([&](account_terms& of) { of.memory = memory; }, {},
                "p: memory is " + std::to_string(static_cast<int>(memory)) + "; it must be between 0 and 1");
    }
    refuses([](account_terms& of) { of.memory = NAN; }, {}, "p: memory is nan; it must be between 0 and 1");
    refuses([](account_terms& of) { of.budget = 1; }, {}, "p: budget is 1; it must be at least 0 and less than 1");
    refuses([](account_terms& of) { of.budget = -0.5; }, {},
            "p: budget is -0.5; it must be at least 0 and less than 1");
    refuses([](account_terms& of) { of.credit = 4.5; }, {}, "p: credit is 4.5; it must be finite and at most 4");
    refuses([](account_terms& of) { of.credit = -INFINITY; }, {}, "p: credit is -inf; it must be finite and at most 4");
    refuses([](account_terms& of) { of.credit = NAN; }, {}, "p: credit is nan; it must be finite and at most 4");
    for (const double seconds : {0.0, -1.0}) {
        refuses([](account_terms&) {}, {1, seconds},
                "p: verify_seconds holds " + std::to_string(static_cast<int>(seconds)) +
                    "; it must be positive and finite");
    }
    refuses([](account_terms&) {}, {INFINITY}, "p: verify_seconds holds inf; it must be positive and finite");
    const auto takes = [](double credit) {
        account_terms of = terms();
        of.credit = credit;
        return time_account(of, {}).allowance();
    };
    BOOST_TEST(takes(-400) == -400.0);  // what a text ended with may be the next one's credit
    BOOST_TEST(takes(4) == 4.0);
}

BOOST_AUTO_TEST_SUITE_END()
