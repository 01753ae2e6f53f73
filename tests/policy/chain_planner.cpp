#include "augur/policy/chain_planner.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/fallback.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>

using namespace augur;

BOOST_AUTO_TEST_SUITE(policy_chain_planner)

static_assert(SpeculationPolicy<policy::chain_planner<>>);
static_assert(LearnsFromOutcomes<policy::chain_planner<>>);
static_assert(required_signals<policy::chain_planner<>> == signals::none);
static_assert(signals_of<policy::chain_planner<>> == (signals::match_length | signals::draft_entropy));

/// A world in which a pass over n rows takes 1 + slope (n - 1) or as `pass` says, and tokens are accepted with fixed
/// odds. With `draft` > 0 a token of draft takes that long, and its row's entropy is shown.
struct world {
    double slope;
    double odds;
    std::size_t match = 4;
    double draft = 0;
    double entropy = 0.5;
    std::size_t source = 0;
    std::function<double(std::size_t)> pass{};
    std::mt19937 random{1};
    double seconds = 0;
    std::size_t committed = 0;

    double pass_seconds(std::size_t rows) const {
        return pass ? pass(rows) : 1 + slope * static_cast<double>(rows - 1);
    }

    /// What a decoding would ask; how many rows it looked at without drafting is added to `looks`.
    std::size_t ask(const policy::chain_planner<>& policy, observation& seen, std::size_t& looks) const {
        if (!(draft > 0)) return policy.plan(seen).length;
        seen.match_length = 0;
        seen.pending = signals::draft_entropy;
        if (policy.plan(seen).length == 0) return 0;
        seen.pending = signals::none;
        seen.draft_entropy_nats = seen.first_draft_entropy_nats = entropy;
        const std::size_t length = policy.plan(seen).length;
        if (length == 0) ++looks;
        return length;
    }

    /// One round: the policy decides, the world answers, the policy learns. Returns the length.
    std::size_t round(policy::chain_planner<>& policy) {
        observation seen{.source = source, .match_length = match};
        std::size_t looks = 0;
        const std::size_t length = ask(policy, seen, looks);
        std::size_t accepted = 0;
        while (accepted < length && static_cast<double>(random()) < odds * 0x1.0p32) ++accepted;
        const double drafting = draft * static_cast<double>(length + looks);
        const double took = pass_seconds(length + 1);
        seconds += drafting + took;
        committed += accepted + 1;
        policy.learn({seen, length, accepted, drafting, took});
        return length;
    }

    double rate() const { return static_cast<double>(committed) / seconds; }
};

BOOST_AUTO_TEST_CASE(a_pass_is_timed_with_what_is_judged_of_its_rows) {
    policy::chain_planner<> own, others;
    own.learn({.decided_on = {}, .verify_seconds = 1, .accept_seconds = 0.5});
    others.learn_pass({.decided_on = {}, .verify_seconds = 1, .accept_seconds = 0.25});
    BOOST_TEST(own.verify_seconds(1) == 1.5);
    BOOST_TEST(others.verify_seconds(1) == 1.25);
}

double run(world& of, policy::chain_planner<>& policy, int rounds) {
    of.seconds = 0;
    of.committed = 0;
    for (int i = 0; i < rounds; ++i) of.round(policy);
    return of.rate();
}

/// The most tokens per second that a fixed length reaches.
double best_rate(const world& of) {
    double best = 1 / of.pass_seconds(1);
    for (std::size_t length = 1; length <= 10; ++length) {
        double expected = 1;
        for (std::size_t i = 1; i <= length; ++i) expected += std::pow(of.odds, static_cast<double>(i));
        best = std::max(best, expected / (of.pass_seconds(length + 1) + of.draft * static_cast<double>(length)));
    }
    return best;
}

/// As llama.cpp's curve: the second row is dear.
double steep_at_first(std::size_t rows) {
    return rows == 1 ? 1 : 1.4 + 0.1 * static_cast<double>(rows);
}

BOOST_AUTO_TEST_CASE(plain_decoding_is_measured_first) {
    policy::chain_planner<> policy;
    BOOST_TEST(policy.plan({.match_length = 8}).length == 0u);
    policy.learn({{}, 0, 0, 0, 1.0});
    BOOST_TEST(policy.plan({.match_length = 8}).length > 0u);
}

BOOST_AUTO_TEST_CASE(a_curve_that_was_measured_before_is_used_at_once) {
    const policy::chain_planner<> flat({.verify_seconds = {1, 1, 1, 1, 1, 1}});
    BOOST_TEST(flat.verify_seconds(6) == 1.01);  // its own, and a fifth of what rows cost where nothing is known
    BOOST_TEST(flat.plan({.match_length = 8}).length == 11u);
    const policy::chain_planner<> steep({.verify_seconds = {1, 2, 3, 4, 5, 6}});
    BOOST_TEST(steep.plan({.match_length = 8}).length == 0u);
}

BOOST_AUTO_TEST_CASE(a_curve_that_is_too_cheap_costs_the_pass_that_disproves_it) {
    for (const double slope : {0.3, 1.0, 3.0}) {
        policy::chain_planner<> policy({.verify_seconds = std::vector<double>(17, 1.0)});
        world of{.slope = slope, .odds = 0, .match = 8};
        for (int i = 0; i < 512; ++i) of.round(policy);
        BOOST_TEST(0.99 * of.seconds <= 512 + 4 + 16 * slope + 1, "at " << slope << ": " << of.seconds);
    }
    // A machine that is slower as a whole has not made drafts dearer.
    policy::chain_planner<> policy({.verify_seconds = std::vector<double>(17, 1.0)});
    world slow{.slope = 0, .odds = 1, .pass = [](std::size_t) { return 20.0; }};
    run(slow, policy, 300);
    BOOST_TEST(run(slow, policy, 100) > 5 / 20.0);
}

BOOST_AUTO_TEST_CASE(free_rows_that_stand_are_drafted_to_the_full) {
    policy::chain_planner<> policy;
    world generous{.slope = 0, .odds = 1};
    run(generous, policy, 50);
    BOOST_TEST(generous.round(policy) == 16u);
}

BOOST_AUTO_TEST_CASE(no_more_than_the_promised_time_is_lost) {
    // The credit at first, a hundredth of the time; and a pass, by which the last draft may cost more than was
    // estimated. Of a short text, too, a fiftieth at most where that draft does not come.
    for (const double slope : {0.0, 0.02, 0.1, 0.25, 1.0, -1.0}) {
        for (const double draft : {0.0, 0.07}) {
            for (const double first : {0.0, 0.2, 0.5, 0.9}) {
                for (const double second : {0.0, 0.2, 0.5, 0.9}) {
                    policy::chain_planner<> policy;
                    world of{.slope = slope, .odds = first, .draft = draft};
                    if (slope < 0) of.pass = steep_at_first;
                    while (of.committed < 512) {
                        of.odds = of.committed < 256 ? first : second;
                        of.round(policy);
                        BOOST_TEST_REQUIRE(0.99 * of.seconds <= static_cast<double>(of.committed) + 2.2);
                    }
                    BOOST_TEST(of.rate() > 0.985, slope << ' ' << draft << ' ' << first << ' ' << second);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(rows_that_cost_as_much_as_rounds_are_not_drafted) {
    policy::chain_planner<> policy;
    world steep{.slope = 1, .odds = 0.9};
    run(steep, policy, 60);
    BOOST_TEST(run(steep, policy, 512) > 0.98);
}

BOOST_AUTO_TEST_CASE(the_length_is_near_the_best_fixed_one) {
    for (const double slope : {0.02, 0.1, 0.25}) {
        for (const double odds : {0.5, 0.7, 0.9}) {
            for (const double draft : {0.0, 0.05}) {
                policy::chain_planner<> policy;
                world steady{.slope = slope, .odds = odds, .draft = draft};
                run(steady, policy, 200);
                BOOST_TEST(run(steady, policy, 2000) > 0.93 * best_rate(steady), slope << ' ' << odds << ' ' << draft);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_dear_second_row_does_not_hide_the_cheap_ones_after_it) {
    policy::chain_planner<> policy;
    world steady{.slope = 0, .odds = 0.9, .pass = steep_at_first};
    run(steady, policy, 200);
    BOOST_TEST(run(steady, policy, 1000) > 0.93 * best_rate(steady));
}

BOOST_AUTO_TEST_CASE(a_text_that_becomes_predictable_is_drafted_for_again) {
    policy::chain_planner<> policy;
    world changing{.slope = 0.2, .odds = 0};
    run(changing, policy, 300);
    BOOST_TEST(changing.round(policy) <= 1u);
    changing.odds = 1;
    run(changing, policy, 150);
    BOOST_TEST(changing.round(policy) + changing.round(policy) >= 6u);  // one may be plain, to measure that
    changing.odds = 0;
    run(changing, policy, 60);
    BOOST_TEST(changing.round(policy) <= 1u);
}

BOOST_AUTO_TEST_CASE(one_disturbed_pass_does_not_turn_it_off) {
    policy::chain_planner<> policy;
    world steady{.slope = 0.1, .odds = 0.9};
    run(steady, policy, 100);
    const observation seen{.match_length = 4};
    const std::size_t before = policy.plan(seen).length;
    policy.learn({seen, before, before, 0, 100.0});
    BOOST_TEST(policy.plan(seen).length > 0u);
}

BOOST_AUTO_TEST_CASE(slow_first_passes_are_forgotten) {
    policy::chain_planner<> policy;
    world steady{.slope = 0.05, .odds = 0.8};
    std::vector<bool> ran(12);
    steady.pass = [&](std::size_t rows) {
        const double first = ran[rows] ? 1 : 3;
        ran[rows] = true;
        return first * (1 + 0.05 * static_cast<double>(rows - 1));
    };
    run(steady, policy, 200);
    steady.pass = {};
    BOOST_TEST(run(steady, policy, 500) > 0.93 * best_rate(steady));
}

/// What is told of a round on a match of some length.
outcome told(std::size_t match, std::size_t drafted, std::size_t accepted, double verify, double draft = 0) {
    return {{.match_length = match}, drafted, accepted, draft, verify};
}
/// The same of a row of some entropy, of some drafter.
outcome told_of_row(double entropy, std::size_t drafted, std::size_t accepted, double draft, std::size_t source = 0) {
    observation seen{.source = source};
    seen.draft_entropy_nats = seen.first_draft_entropy_nats = entropy;
    return {seen, drafted, accepted, draft, 1};
}

BOOST_AUTO_TEST_CASE(a_position_is_judged_where_all_before_it_stood) {
    policy::chain_planner<> policy({.memory = 0.5});
    const auto is = boost::test_tools::tolerance(1e-12);
    const observation none, two{.match_length = 2};
    BOOST_TEST(policy.acceptance(none, 0) == 1.0 / 3, is);
    BOOST_TEST(policy.acceptance(two, 0) == 0.5, is);
    policy.learn(told(2, 3, 1, 1));
    BOOST_TEST(policy.acceptance(two, 0) == (1 + 3 * 0.5) / 4, is);  // what is expected counts as three tokens
    BOOST_TEST(policy.acceptance(two, 1) == (0 + 3 * 0.625) / 4, is);
    BOOST_TEST(policy.acceptance({.match_length = 3}, 0) == policy.acceptance(two, 1), is);  // a match that grew
    BOOST_TEST(policy.acceptance(two, 2) == 3.5 / 5, is);
    policy.learn(told(2, 1, 1, 1));
    BOOST_TEST(policy.acceptance(two, 0) == (1.5 + 3 * 0.5) / 4.5, is);
    BOOST_TEST(policy.acceptance(two, 1) == (0 + 3 * 0.625) / 3.5, is);
    policy.learn(told(2, 0, 0, 1));  // a round in which nothing was tried is forgotten, too
    BOOST_TEST(policy.acceptance(two, 0) == (0.75 + 3 * 0.5) / 3.75, is);
}

/// Matches of rounds in which nothing is drafted, of one drafter; then what is expected of the next token.
double expected_after(const std::vector<std::size_t>& matches, std::size_t asked) {
    policy::chain_planner<> policy({.memory = 0.999999999, .verify_seconds = {1, 1}});
    for (const std::size_t match : matches) policy.learn(told(match, 0, 0, 1));
    return policy.acceptance({.match_length = asked}, 0);
}

BOOST_AUTO_TEST_CASE(matches_that_grow_tell_what_drafts_would_have_gained) {
    const auto is = boost::test_tools::tolerance(1e-6);
    BOOST_TEST(expected_after({}, 2) == 0.5, is);
    BOOST_TEST(expected_after({2, 3}, 2) == (1 + 3 * 0.5) / 4, is);
    BOOST_TEST(expected_after({2, 3, 2, 0}, 2) == (1 + 3 * 0.5) / 5, is);  // the second ended
    BOOST_TEST(expected_after({2, 2}, 2) == 0.5, is);                      // it may be the longest that is looked for
    BOOST_TEST(expected_after({8, 8, 8}, 8) == (2 + 3 * 7.5 / 9) / 5, is);
    BOOST_TEST(expected_after({8, 8, 1}, 8) == (1 + 3 * 7.5 / 9) / 4, is);  // as long as the longest: not known
}

/// After a draft that was accepted as a whole the next match says what became of the token after it; after another
/// draft it says nothing. A drafter that comes later says that this one found nothing.
BOOST_AUTO_TEST_CASE(a_match_after_a_draft_tells_of_the_token_after_it) {
    const auto is = boost::test_tools::tolerance(1e-6);
    const auto after = [](std::size_t accepted, const observation& next, std::size_t asked) {
        policy::chain_planner<> policy({.memory = 0.999999999, .verify_seconds = {1, 1, 1, 1}});
        policy.learn(told(4, 0, 0, 1));
        policy.learn(told(1, 2, accepted, 1));
        policy.learn({.decided_on = next, .verify_seconds = 1});
        return policy.acceptance({.match_length = asked}, 0);
    };
    BOOST_TEST(after(2, {.match_length = 4}, 3) == (1 + 3 * 0.625) / 4, is);
    BOOST_TEST(after(2, {.match_length = 1}, 3) == (0 + 3 * 0.625) / 4, is);
    BOOST_TEST(after(2, {.source = 1, .match_length = 4}, 3) == (0 + 3 * 0.625) / 4, is);
    BOOST_TEST(after(1, {.match_length = 4}, 3) == 0.625, is);
}

/// The likeliest gain alone would draft there.
BOOST_AUTO_TEST_CASE(a_draft_that_may_lose_most_of_what_is_left_has_to_be_sure) {
    const auto length = [](double credit) {
        const policy::chain_planner<> policy({.max_length = 1, .credit = credit, .verify_seconds = {1, 1.95}});
        return policy.plan({.match_length = 8}).length;
    };
    BOOST_TEST(length(0.85) == 0u);
    BOOST_TEST(length(8) == 1u);
}

/// Rows are dear, the first drafts were rejected, and then the text repeats: what it would have gained is spent.
BOOST_AUTO_TEST_CASE(a_text_that_repeats_is_drafted_for_though_the_credit_was_lost) {
    policy::chain_planner<> policy({.budget = 0, .verify_seconds = {1, 1.8, 2.2, 2.5, 2.9}});
    policy.learn(told(8, 1, 0, 1.8));
    BOOST_TEST(policy.plan({.match_length = 8}).length == 0u);
    std::size_t rounds = 0;
    for (; rounds < 100 && policy.plan({.match_length = 8}).length == 0; ++rounds) policy.learn(told(8, 0, 0, 1));
    BOOST_TEST((rounds > 4u && rounds < 20u), rounds);
    for (int i = 0; i < 50; ++i) policy.learn(told(8, 0, 0, 1));
    BOOST_TEST(policy.allowance() == 0.2 + 1, boost::test_tools::tolerance(1e-6));  // a pass in all
}

BOOST_AUTO_TEST_CASE(matches_are_told_apart_as_documented) {
    const std::size_t kind[] = {0, 1, 2, 3, 4, 5, 5, 6, 6, 6};
    for (std::size_t learned = 0; learned < 10; ++learned) {
        policy::chain_planner<> policy;
        policy.learn(told(learned, 1, 0, 1));
        for (std::size_t match = 0; match < 10; ++match) {
            const observation seen{.match_length = match};
            const bool changed = policy.acceptance(seen, 0) != policy::chain_planner<>().acceptance(seen, 0);
            BOOST_TEST(changed == (kind[match] == kind[learned]), learned << " and " << match);
        }
    }
}

BOOST_AUTO_TEST_CASE(entropies_and_sources_are_told_apart_as_documented) {
    const std::vector<double> values = {0, 0.4, 0.5, 1.4, 1.5, 2.4, 2.5, 3.4, 3.5, 9};
    const std::size_t kind[] = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4};
    for (std::size_t learned = 0; learned < values.size(); ++learned) {
        policy::chain_planner<> policy;
        policy.learn(told_of_row(values[learned], 1, 0, 0, 1));
        for (std::size_t i = 0; i < values.size(); ++i) {
            for (std::size_t source = 0; source < 3; ++source) {
                const observation seen{.source = source, .first_draft_entropy_nats = values[i]};
                const double expected = policy::chain_planner<>().acceptance(seen, 0);
                BOOST_TEST(expected == 1 / (1 + values[i]), boost::test_tools::tolerance(1e-12));
                BOOST_TEST((policy.acceptance(seen, 0) != expected) == (kind[i] == kind[learned] && source == 1));
            }
        }
    }
    policy::chain_planner<> policy;
    policy.learn(told_of_row(1, 1, 0, 0, 3));
    const observation far{.source = 9, .first_draft_entropy_nats = 1};
    BOOST_TEST(policy.acceptance(far, 0) == 0.375);  // as the fourth; what its entropy says counts as three tokens
}

/// Of a row that is no row, or by rounding.
BOOST_AUTO_TEST_CASE(an_entropy_below_zero_is_as_sure_as_none) {
    const policy::chain_planner<> policy;
    BOOST_TEST(policy.acceptance({.first_draft_entropy_nats = -0.5}, 0) == 1);
    BOOST_TEST(policy.acceptance({.first_draft_entropy_nats = -1e-9}, 2) == 1);
}

BOOST_AUTO_TEST_CASE(what_drafting_took_long_ago_is_forgotten) {
    policy::chain_planner<> policy({.memory = 0.9});
    for (int i = 0; i < 300; ++i) policy.learn(told(4, 2, 2, 1, 2 * 0.010));
    for (int i = 0; i < 300; ++i) policy.learn(told(4, 2, 2, 1, 2 * 0.015));
    BOOST_TEST(policy.learned().drafting[0].mean == 0.015, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(the_seconds_of_a_drafted_token_count_for_each) {
    policy::chain_planner<> policy({.max_length = 4, .memory = 0.5, .credit = 4, .verify_seconds = {1, 1, 1, 1, 1}});
    const observation seen{.match_length = 8};
    BOOST_TEST(policy.plan(seen).length == 4u);
    policy.learn(told(8, 4, 4, 1, 4 * 0.2));
    BOOST_TEST(policy.plan(seen).length == 4u);
    policy::chain_planner<> dear({.max_length = 4, .memory = 0.5, .credit = 4, .verify_seconds = {1, 1, 1, 1, 1}});
    dear.learn(told(8, 4, 4, 1, 4 * 1.5));  // one token takes longer than a plain pass
    BOOST_TEST(dear.plan(seen).length == 0u);
    BOOST_TEST(dear.plan({.source = 1, .match_length = 8}).length == 4u);  // another drafter
}

BOOST_AUTO_TEST_CASE(time_is_worth_what_it_yields_elsewhere) {
    // Half of the rounds get four tokens for little; then a row that stands once in four is not worth a fifth of a
    // pass.
    const auto length_of_weak = [](std::size_t strong_rounds) {
        policy::chain_planner<> policy(
            {.max_length = 4, .probe_after = 1000, .verify_seconds = {1, 1.2, 1.2, 1.2, 1.2}});
        for (std::size_t i = 0; i < 200; ++i) policy.learn(told(1, 1, i % 4 == 0 ? 1 : 0, 1.2));
        for (std::size_t i = 0; i < strong_rounds; ++i) policy.learn(told(8, 4, 4, 1.2));
        policy.learn(told(0, 0, 0, 1));
        return policy.plan({.match_length = 1}).length;
    };
    BOOST_TEST(length_of_weak(0) == 1u);
    BOOST_TEST(length_of_weak(20) == 0u);
}

BOOST_AUTO_TEST_CASE(what_gains_nothing_is_not_drafted) {
    // As much longer as a token without a match is likely.
    const policy::chain_planner<> even({.max_length = 1, .verify_seconds = {3, 4.2}});
    const policy::chain_planner<> better({.max_length = 1, .credit = 8, .verify_seconds = {3, 4.1}});
    BOOST_TEST(even.plan({}).length == 0u);
    BOOST_TEST(better.plan({}).length == 1u);
    // A match of one token is expected to stand once in two, for half a pass.
    const policy::chain_planner<> exactly_even({.max_length = 2, .verify_seconds = {1, 1.5, 2}});
    BOOST_TEST(exactly_even.verify_seconds(2) == 1.5);
    BOOST_TEST(exactly_even.plan({.match_length = 1}).length == 0u);
}

BOOST_AUTO_TEST_CASE(what_does_not_pay_is_tried_again_now_and_then) {
    policy::chain_planner<> policy({.max_length = 1, .probe_after = 5, .budget = 0.9});
    world steep{.slope = 0.5, .odds = 0};
    run(steep, policy, 50);
    std::vector<std::size_t> lengths;
    while (steep.round(policy) == 0) {
    }
    for (int i = 0; i < 10; ++i) lengths.push_back(steep.round(policy));
    BOOST_TEST(lengths == std::vector<std::size_t>({0, 0, 0, 0, 1, 0, 0, 0, 0, 1}), boost::test_tools::per_element());
    BOOST_TEST(policy.plan({.match_length = 7}).length == 1u);  // another kind's clock
}

BOOST_AUTO_TEST_CASE(what_it_could_not_pay_for_is_not_tried) {
    policy::chain_planner<> policy({.budget = 0, .credit = 4, .verify_seconds = {1, 1.5, 2, 2.5, 3, 3.5, 4}});
    const observation seen{.match_length = 8};
    BOOST_TEST(policy.allowance() == 4.0);
    const auto lose = [&](std::size_t drafted, double seconds) { policy.learn(told(1, drafted, 0, seconds)); };
    lose(4, 3);
    BOOST_TEST(policy.allowance() == 2.0);
    lose(3, 2.5);
    BOOST_TEST(policy.allowance() == 0.5);
    BOOST_TEST(policy.plan(seen).length <= 1u);  // another kind, of which much is expected
    lose(1, 1.5);
    BOOST_TEST(policy.allowance() == 0.0);
    BOOST_TEST(policy.plan(seen).length == 0u);
    policy.learn(told(8, 4, 4, 3));
    BOOST_TEST(policy.allowance() == 2.0);
    for (int i = 0; i < 9; ++i) policy.learn(told(8, 4, 4, 3));
    BOOST_TEST(policy.allowance() == 8.0);  // no more is saved
    policy.learn(told(8, 0, 0, 1.2));       // a plain pass neither wins nor loses
    BOOST_TEST(policy.allowance() == 8.0);
}

BOOST_AUTO_TEST_CASE(the_allowance_grows_with_time) {
    policy::chain_planner<> policy({.budget = 0.25, .credit = 4, .verify_seconds = {1, 1}});
    policy.learn(told(0, 0, 0, 1));
    BOOST_TEST(policy.allowance() == 4.25);
}

BOOST_AUTO_TEST_CASE(plain_passes_are_measured_again_after_a_while) {
    policy::chain_planner<> policy;
    world generous{.slope = 0, .odds = 1};
    std::size_t plain = 0;
    for (int i = 0; i < 650; ++i) plain += generous.round(policy) == 0 ? 1 : 0;
    BOOST_TEST(plain == 1 + 649 / 32);
}

BOOST_AUTO_TEST_CASE(a_match_is_looked_for_and_a_row_only_where_it_may_pay) {
    const observation match{.pending = signals::match_length}, row{.pending = signals::draft_entropy};
    policy::chain_planner<> policy({.credit = 4, .verify_seconds = {1, 1.1}});
    BOOST_TEST(policy.plan(match).length == 16u);
    BOOST_TEST(policy.plan(row).length == 16u);                           // nothing is known
    BOOST_TEST(policy.plan({}).length > 0u);                              // a third of a token for a tenth of a pass
    for (int i = 0; i < 9; ++i) policy.learn(told_of_row(3, 0, 0, 0.3));  // looked in vain
    BOOST_TEST(policy.plan(row).length == 0u);
    BOOST_TEST(policy.plan(match).length == 16u);
    BOOST_TEST(policy.plan({.source = 1, .pending = signals::draft_entropy}).length == 16u);
    for (int i = 0; i < 14; ++i) policy.learn(told(0, 0, 0, 1));
    BOOST_TEST(policy.plan(row).length == 0u);
    policy.learn(told(0, 0, 0, 1));
    BOOST_TEST(policy.plan(row).length == 16u);  // tried again
}

BOOST_AUTO_TEST_CASE(rounds_that_only_looked_measure_the_plain_pass_and_pay_for_the_look) {
    const observation row{.pending = signals::draft_entropy};
    const auto plain_after = policy::cost_aware_options<>::plain_after;
    policy::chain_planner<> policy({.budget = 0, .credit = 4, .verify_seconds = {1, 1}});
    for (std::size_t i = 0; i < 2 * plain_after; ++i) {
        policy.learn(told_of_row(0.1, 0, 0, 0x1p-8));  // a look that costs little
        BOOST_TEST(policy.plan(row).length == 16u, i);
        BOOST_TEST(policy.allowance() == 4 - 0x1p-8 * static_cast<double>(i + 1), boost::test_tools::tolerance(1e-9));
    }
    // Rounds that draft do not measure a plain pass.
    for (std::size_t i = 1; i < plain_after; ++i) {
        BOOST_TEST(policy.plan(row).length == 16u, i);
        policy.learn(told_of_row(0.1, 1, 1, 0x1p-8));
    }
    BOOST_TEST(policy.plan(row).length == 0u);
}

BOOST_AUTO_TEST_CASE(a_look_pays_by_what_rows_like_it_gained) {
    const observation row{.pending = signals::draft_entropy};
    const auto after = [&](double entropy, std::size_t often, double other, std::size_t others) {
        policy::chain_planner<> policy({.credit = 4, .verify_seconds = {1, 1.2, 1.4, 1.6, 1.8}});
        for (std::size_t i = 0; i < often; ++i) policy.learn(told_of_row(entropy, 0, 0, 0.25));
        for (std::size_t i = 0; i < others; ++i) policy.learn(told_of_row(other, 0, 0, 0.25));
        return policy.plan(row).length > 0;
    };
    BOOST_TEST(after(0.1, 9, 5, 3));
    BOOST_TEST(!after(0.1, 1, 5, 12));
}

BOOST_AUTO_TEST_CASE(the_first_rows_are_looked_at_whatever_became_of_them) {
    const observation row{.pending = signals::draft_entropy};
    policy::chain_planner<> policy({.verify_seconds = {1, 1}});
    for (int i = 0; i < 8; ++i) {
        policy.learn(told_of_row(9, 1, 0, 0.1));
        BOOST_TEST(policy.plan(row).length == 16u, i);
    }
    policy.learn(told_of_row(9, 1, 0, 0.1));
    BOOST_TEST(policy.plan(row).length == 0u);
}

BOOST_AUTO_TEST_CASE(short_texts_gain_most_of_what_a_known_acceptance_would) {
    // Rows of 3 nats whose tokens are accepted a little more often than expected; 96 tokens from nothing.
    double gained = 0, best = 0;
    for (unsigned seed = 1; seed <= 200; ++seed) {
        policy::chain_planner<> policy({.verify_seconds = {1, 1.05, 1.1, 1.15, 1.2}});
        world text{.slope = 0.05, .odds = 0.4, .draft = 0.1, .entropy = 3, .random = std::mt19937(seed)};
        while (text.committed < 96) text.round(policy);
        gained += text.rate() - 1;
        best += best_rate(text) - 1;
    }
    BOOST_TEST(gained > 0.8 * best);
}

BOOST_AUTO_TEST_CASE(dear_drafts_are_given_up_and_cheap_ones_kept) {
    policy::chain_planner<> policy;
    world useless{.slope = 0.1, .odds = 0.1, .draft = 0.4, .entropy = 2};
    run(useless, policy, 300);
    BOOST_TEST(run(useless, policy, 300) > 0.985);
    policy::chain_planner<> other;
    world useful{.slope = 0.1, .odds = 0.8, .draft = 0.1, .entropy = 0.3};
    run(useful, other, 200);
    BOOST_TEST(run(useful, other, 1000) > 0.93 * best_rate(useful));
}

BOOST_AUTO_TEST_CASE(each_source_is_learnt_apart) {
    policy::chain_planner<> policy;
    world weak{.slope = 0.3, .odds = 0, .match = 4};
    world strong{.slope = 0.3, .odds = 1, .match = 4, .source = 1};
    for (int i = 0; i < 100; ++i) {
        weak.round(policy);
        strong.round(policy);
    }
    BOOST_TEST(policy.plan({.source = 1, .match_length = 4}).length >= 6u);
    BOOST_TEST(policy.plan({.match_length = 4}).length <= 1u);
}

/// A model's row is looked at, mostly nothing is drafted from it, and the lookup after it finds nothing either.
BOOST_AUTO_TEST_CASE(looks_of_a_drafter_before_the_last_are_paid_for) {
    for (const double look : {0.02, 0.1, 1.0}) {
        policy::chain_planner<> policy;
        double seconds = 0;
        std::size_t looks = 0;
        for (int round = 0; round < 512; ++round) {
            const observation row{.draft_entropy_nats = 9, .first_draft_entropy_nats = 9};
            const bool looked = policy.plan({.pending = signals::draft_entropy}).length > 0;
            const std::size_t length = looked ? policy.plan(row).length : 0;
            const double drafting = looked ? look * static_cast<double>(std::max<std::size_t>(length, 1)) : 0;
            const double verifying = 1 + 0.2 * static_cast<double>(length);
            policy.learn({length > 0 ? row : observation{.source = 1}, length, 0, drafting, verifying});
            looks += looked ? 1 : 0;
            seconds += drafting + verifying;
        }
        BOOST_TEST(looks > 0U);
        BOOST_TEST(seconds * 0.99 <= 512 + 4 + look + 0.2, "looks of " << look << ": " << seconds);
    }
}

/// Nothing is known of a pass over more rows, and nothing of it is kept for long: what two of them took longer than was
/// guessed is lost in any text, and no more in a long one.
BOOST_AUTO_TEST_CASE(rows_of_several_passes_are_not_tried_for_nothing_again_and_again) {
    for (const double slope : {2.0, 5.0, 10.0}) {
        for (const bool curve : {false, true}) {
            world dear{.slope = slope, .odds = 0};
            policy::chain_planner<> policy;
            if (curve) policy = policy::chain_planner<>({.verify_seconds = {1, 1 + slope, 1 + 2 * slope}});
            std::size_t drafts = 0;
            for (int i = 0; i < 5000; ++i) drafts += dear.round(policy) > 0 ? 1 : 0;
            BOOST_TEST(drafts > 3u);
            BOOST_TEST(0.99 * dear.seconds <= 5000 + 4 + 2 * slope, "at " << slope << ": " << dear.seconds);
        }
    }
}

/// Of passes over drafts, or of drafts, every so many take far longer than usual, as where something is built anew.
BOOST_AUTO_TEST_CASE(drafts_that_are_slow_again_and_again_are_paid_for) {
    for (const std::size_t every : {3u, 5u, 10u}) {
        for (const bool drafting : {false, true}) {
            world of{.slope = 0.1, .odds = 0.5, .draft = 0.05};
            policy::chain_planner<> policy;
            std::size_t drafts = 1;
            const auto slow = [&] { return drafts % every == 0; };
            of.pass = [&](std::size_t rows) {
                return rows > 1 && slow() && !drafting ? 12.0 : 1 + 0.1 * static_cast<double>(rows - 1);
            };
            while (of.committed < 5000) {
                of.draft = slow() && drafting ? 12 : 0.05;
                drafts += of.round(policy) > 0 ? 1 : 0;
            }
            BOOST_TEST(drafts > every);
            // Two drafts of up to ten tokens each, of which each may be so slow.
            const double slowest = drafting ? 120 : 12;
            BOOST_TEST(0.99 * of.seconds <= static_cast<double>(of.committed) + 4 + 2 * slowest,
                       every << ' ' << drafting << ": " << of.seconds);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_drafter_that_takes_its_time_and_finds_nothing_is_asked_ever_more_seldom) {
    for (const signals shown : {signals::none, signals::match_length}) {
        policy::chain_planner<> policy;
        double seconds = 0;
        std::size_t asked = 0;
        for (int round = 0; round < 512; ++round) {
            const observation seen{.pending = shown};
            const double drafting = policy.plan(seen).length > 0 ? 0.5 : 0;
            asked += drafting > 0 ? 1 : 0;
            policy.learn({seen, 0, 0, drafting, 1});
            seconds += drafting + 1;
        }
        BOOST_TEST(asked > 8u);
        BOOST_TEST(0.99 * seconds <= 512 + 4 + 0.5);
    }
}

BOOST_AUTO_TEST_CASE(the_text_is_untouched_whoever_drafts) {
    const auto target = testing::hashed_model(3, 5);
    const auto other = testing::noisy_model(target, 0.3);
    const std::vector<token> prompt{0, 1, 0, 1};
    decode::options chosen;
    chosen.stop.max_tokens = 40;
    chosen.timed = false;
    const auto plainly = decode::generate(plain(target), prompt, chosen).tokens;
    const auto drafted_by = [&](auto&& drafter) {
        const auto scheme =
            speculate(std::forward<decltype(drafter)>(drafter), target,
                      policy::chain_planner<>({.verify_seconds = {1e-3, 1e-3, 1e-3}}), accept::coupled{});
        const auto decoded = decode::generate(scheme, prompt, chosen);
        BOOST_TEST(decoded.tokens == plainly);
        BOOST_TEST(decoded.counts.stages[0].drafted > 0u);
    };
    drafted_by(draft::prompt_lookup(1, 4));
    drafted_by(other);
    drafted_by(draft::fallback(draft::prompt_lookup(2, 4), draft::draft_model(testing::noisy_model(target, 0.3))));
}

/// Short texts in which nothing is accepted: what one has lost, or owes, the next begins with.
BOOST_AUTO_TEST_CASE(texts_with_one_account_lose_what_one_text_may) {
    const double credit = 1, budget = 0.01;
    world none{.slope = 1, .odds = 0};
    policy::learned_state known;
    double account = credit;
    std::size_t drafts = 0, without = 0;
    for (int text = 0; text < 60; ++text) {
        policy::chain_planner<> policy({.budget = budget, .credit = account}, known);
        const std::size_t before = drafts;
        for (int round = 0; round < 60; ++round) drafts += none.round(policy) > 0 ? 1 : 0;
        without += drafts == before ? 1 : 0;
        account = std::min(credit, policy.allowance());
        known = policy.learned();
    }
    const double tokens = static_cast<double>(none.committed);
    BOOST_TEST(none.seconds * (1 - budget) <= tokens + credit + 1);  // and one draft that cost more than was thought
    BOOST_TEST(drafts >= 10u);
    BOOST_TEST(without > 0u);
    policy::chain_planner<> owes({.budget = budget, .credit = -0.5, .verify_seconds = {1, 1.1}});
    std::size_t first = 0;
    while (first < 1000 && none.round(owes) == 0) ++first;
    BOOST_TEST((first >= 50u && first < 1000u));  // half a pass, of a hundredth of each
}

/// Two lines that repeat, 96 tokens of them, replayed where rows cost little: matches that go on for long.
BOOST_AUTO_TEST_CASE(a_short_text_that_repeats_gains_what_the_best_fixed_length_does) {
    const auto passes_of = [](double slope, auto&& length_of, auto&& learn) {
        double seconds = 0;
        for (std::size_t at = 0; at < 96;) {
            const std::size_t left = 32 - at % 32;  // of a line, after which the match is a short one, and wrong
            const observation seen{.match_length = left == 32 ? std::size_t{1} : std::min<std::size_t>(8, at % 32 + 1)};
            const std::size_t length = std::min(length_of(seen), std::size_t{95} - at);
            const std::size_t accepted = left == 32 ? 0 : std::min(length, left - 1);
            const double took = 1 + slope * static_cast<double>(length);
            learn(outcome{seen, length, accepted, 0, took});
            seconds += took;
            at += accepted + 1;
        }
        return seconds;
    };
    for (const double slope : {0.01, 0.03}) {
        double best = 96;
        for (std::size_t fixed = 1; fixed <= 16; ++fixed) {
            best = std::min(best, passes_of(
                                      slope, [&](const observation&) { return fixed; }, [](const outcome&) {}));
        }
        policy::chain_planner<> policy;
        const double own = passes_of(
            slope, [&](const observation& seen) { return policy.plan(seen).length; },
            [&](const outcome& happened) { policy.learn(happened); });
        BOOST_TEST(own <= best + 4, slope << ": " << own << " and " << best);  // passes by which lengths grow to it
    }
}

/// Of an engine whose clock is coarse.
BOOST_AUTO_TEST_CASE(a_pass_that_took_no_time_ends_no_drafting) {
    policy::chain_planner<> policy;
    outcome happened;
    policy.learn(happened);
    happened.verify_seconds = 1e-3;
    for (int i = 0; i < 50; ++i) policy.learn(happened);
    BOOST_TEST(std::isfinite(policy.allowance()));
    BOOST_TEST(policy.plan({.match_length = 5}).length > 0u);
}

/// After a prompt everything takes up to twice as long for a while, as it does until weights are in a near cache, and
/// the first drafts are rejected: that is no reason to draft no more.
BOOST_AUTO_TEST_CASE(a_slow_beginning_does_not_end_drafting) {
    for (const double start : {1.5, 1.8, 2.0, 2.2}) {
        for (const std::size_t rejected : {2u, 3u, 5u}) {
            for (const std::size_t match : {2u, 3u, 5u}) {
                policy::chain_planner<> policy(
                    {.credit = 3, .verify_seconds = {1, 1.07, 1.15, 1.23, 1.35, 1.47, 1.59, 1.71, 1.87}});
                std::size_t drafted = 0, longer = match;
                for (std::size_t round = 0; round < 60; ++round) {
                    const double slow = std::max(1.0, start - 0.06 * static_cast<double>(round));
                    outcome happened;
                    happened.decided_on.match_length = longer;
                    happened.drafted = policy.plan(happened.decided_on).length;
                    happened.accepted = round < rejected ? 0 : happened.drafted;
                    happened.verify_seconds = slow * (1 + 0.09 * static_cast<double>(happened.drafted));
                    policy.learn(happened);
                    if (round < rejected) continue;
                    drafted += happened.drafted;
                    longer = std::min<std::size_t>(8, longer + happened.drafted + 1);  // of a text that repeats
                }
                BOOST_TEST(drafted > 300u, "from " << start << ", after " << rejected << ", match " << match);
            }
        }
    }
}

/// Passes more than plain decoding that 512 tokens take where nothing is accepted, a row costs `slope` and the first
/// plain pass took so many times as long, which is not counted.
double lost_after_a_slow_plain_pass(policy::chain_planner<> policy, double slope, double slow) {
    world of{.slope = slope, .odds = 0};
    bool was_plain = false;
    of.pass = [&](std::size_t rows) {
        const bool is_slow = rows == 1 && !std::exchange(was_plain, true);
        return is_slow ? slow : 1 + slope * static_cast<double>(rows - 1);
    };
    for (int i = 0; i < 512; ++i) of.round(policy);
    return of.seconds - (was_plain ? slow - 1 : 0) - 512;
}

/// One plain pass is all that is known of plain decoding at first, and it may have been slow: then drafts look cheap.
BOOST_AUTO_TEST_CASE(a_slow_first_plain_pass_costs_no_more_than_two_passes_and_a_draft) {
    for (const double slope : {0.1, 0.3, 1.0}) {
        std::vector<double> curve;
        for (int rows = 1; rows <= 11; ++rows) curve.push_back(1 + slope * (rows - 1));
        for (const double slow : {1.0, 1.5, 2.0, 3.0, 10.0, 1000.0}) {
            const double bound = 4 + 0.01 * 512 + 2 + 1 + slope;
            const auto at = " at " + std::to_string(slope) + " after " + std::to_string(slow);
            BOOST_TEST(lost_after_a_slow_plain_pass(policy::chain_planner<>(), slope, slow) <= bound, at);
            BOOST_TEST(
                lost_after_a_slow_plain_pass(policy::chain_planner<>({.verify_seconds = curve}), slope, slow) <= bound,
                "with a curve" << at);
            policy::chain_planner<> before;
            before.learn({{}, 0, 0, 0, slow});  // a text of one token
            BOOST_TEST(lost_after_a_slow_plain_pass(policy::chain_planner<>({}, before.learned()), slope, 1) <= bound,
                       "recalled" << at);
        }
    }
}

/// Of a row of NaN, which is no row but took its time.
BOOST_AUTO_TEST_CASE(a_look_at_what_is_no_row_is_charged) {
    const observation row{.pending = signals::draft_entropy};
    policy::chain_planner<> policy({.budget = 0, .verify_seconds = {1, 1}});
    for (int i = 0; i < 100 && policy.plan(row).length > 0; ++i) policy.learn(told_of_row(INFINITY, 0, 0, 0.25));
    BOOST_TEST(policy.plan(row).length == 0u);
    BOOST_TEST(policy.allowance() < 4);
}

BOOST_AUTO_TEST_SUITE_END()
