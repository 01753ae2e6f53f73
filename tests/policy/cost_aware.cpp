#include "augur/policy/cost_aware.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/testing/law_of.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <sstream>

using namespace augur;

BOOST_AUTO_TEST_SUITE(policy_cost_aware)

static_assert(SpeculationPolicy<policy::cost_aware>);
static_assert(LearnsFromOutcomes<policy::cost_aware>);
static_assert(needs_of<policy::cost_aware> == signals::match_length);

/// A world in which a pass over n rows takes 1 + slope (n - 1), and tokens stand with fixed odds.
struct world {
    double slope;
    double odds;
    std::size_t match = 4;
    std::mt19937 random{1};
    double seconds = 0;
    std::size_t committed = 0;

    /// One round: the policy decides, the world answers, the policy learns. Returns the length.
    std::size_t round(policy::cost_aware& policy) {
        const observation seen{.match_length = match};
        const std::size_t length = policy.length(seen);
        std::size_t accepted = 0;
        while (accepted < length && static_cast<double>(random()) < odds * 0x1.0p32) ++accepted;
        const double took = 1 + slope * static_cast<double>(length);
        seconds += took;
        committed += accepted + 1;
        policy.learn({seen, length, accepted, 0, took});
        return length;
    }

    double rate() const { return static_cast<double>(committed) / seconds; }
};

double run(world& of, policy::cost_aware& policy, int rounds) {
    of.seconds = 0;
    of.committed = 0;
    for (int i = 0; i < rounds; ++i) of.round(policy);
    return of.rate();
}

BOOST_AUTO_TEST_CASE(plain_decoding_is_measured_first) {
    policy::cost_aware policy;
    BOOST_TEST(policy.length({.match_length = 8}) == 0u);
    policy.learn({{}, 0, 0, 0, 1.0});
    BOOST_TEST(policy.length({.match_length = 8}) > 0u);
}

BOOST_AUTO_TEST_CASE(free_rows_that_stand_are_drafted_to_the_full) {
    policy::cost_aware policy;
    world generous{.slope = 0, .odds = 1};
    run(generous, policy, 50);
    BOOST_TEST(generous.round(policy) == 10u);
}

BOOST_AUTO_TEST_CASE(what_never_stands_costs_no_more_than_its_probes) {
    for (double slope : {0.1, 0.3, 1.0}) {
        policy::cost_aware policy;
        world hopeless{.slope = slope, .odds = 0};
        run(hopeless, policy, 60);
        BOOST_TEST(run(hopeless, policy, 512) > 1 / (1 + slope / 16));
        BOOST_TEST(run(hopeless, policy, 512) > 1 / (1 + slope / 100));
    }
}

BOOST_AUTO_TEST_CASE(rows_that_cost_as_much_as_rounds_are_not_drafted) {
    policy::cost_aware policy;
    world steep{.slope = 1, .odds = 0.9};
    run(steep, policy, 60);
    BOOST_TEST(run(steep, policy, 512) > 0.98);
}

BOOST_AUTO_TEST_CASE(the_length_is_near_the_best_fixed_one) {
    for (double slope : {0.02, 0.1, 0.25}) {
        for (double odds : {0.5, 0.7, 0.9}) {
            double best = 1;
            for (std::size_t length = 1; length <= 10; ++length) {
                double expected = 1;
                for (std::size_t i = 1; i <= length; ++i) expected += std::pow(odds, static_cast<double>(i));
                best = std::max(best, expected / (1 + slope * static_cast<double>(length)));
            }
            policy::cost_aware policy;
            world steady{.slope = slope, .odds = odds};
            run(steady, policy, 200);
            BOOST_TEST(run(steady, policy, 2000) > 0.93 * best);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_text_that_becomes_predictable_is_drafted_for_again) {
    policy::cost_aware policy;
    world changing{.slope = 0.2, .odds = 0};
    run(changing, policy, 300);
    BOOST_TEST(changing.round(policy) <= 1u);
    changing.odds = 1;
    run(changing, policy, 300);
    BOOST_TEST(changing.round(policy) >= 6u);
    changing.odds = 0;
    run(changing, policy, 60);
    BOOST_TEST(changing.round(policy) <= 1u);
}

BOOST_AUTO_TEST_CASE(short_and_long_matches_are_told_apart) {
    policy::cost_aware policy;
    world weak{.slope = 0.3, .odds = 0, .match = 2};
    world strong{.slope = 0.3, .odds = 1, .match = 8};
    for (int i = 0; i < 100; ++i) {
        weak.round(policy);
        strong.round(policy);
    }
    BOOST_TEST(policy.length({.match_length = 8}) >= 6u);
    BOOST_TEST(policy.length({.match_length = 2}) <= 1u);
}

BOOST_AUTO_TEST_CASE(one_disturbed_pass_does_not_turn_it_off) {
    policy::cost_aware policy;
    world steady{.slope = 0.1, .odds = 0.9};
    run(steady, policy, 100);
    const observation seen{.match_length = 4};
    const std::size_t before = policy.length(seen);
    policy.learn({seen, before, before, 0, 100.0});
    BOOST_TEST(policy.length(seen) > 0u);
}

/// What is told of a round on a match of some length.
outcome told(std::size_t match, std::size_t drafted, std::size_t accepted, double verify, double draft = 0) {
    return {{.match_length = match}, drafted, accepted, draft, verify};
}

BOOST_AUTO_TEST_CASE(seconds_lie_on_a_line_between_what_was_measured) {
    policy::cost_aware policy;
    policy.learn(told(0, 0, 0, 1));
    BOOST_TEST(policy.verify_seconds(1) == 1.0);
    BOOST_TEST(policy.verify_seconds(4) == 1.3);  // a tenth per row, until more is known
    policy.learn(told(0, 4, 0, 3));
    BOOST_TEST(policy.verify_seconds(5) == 3.0);
    BOOST_TEST(policy.verify_seconds(3) == 2.0);
    BOOST_TEST(policy.verify_seconds(7) == 3.2);
    policy.learn(told(0, 20, 0, 9));  // as long as any draft of it
    BOOST_TEST(policy.verify_seconds(11) == 9.0);
    BOOST_TEST(policy.verify_seconds(8) == 6.0);
    policy.learn(told(0, 0, 0, 1.5));
    BOOST_TEST(policy.verify_seconds(1) == 1.025);
    policy.learn(told(0, 0, 0, 100));  // counts as twice the usual
    BOOST_TEST(policy.verify_seconds(1) == 0.95 * 1.025 + 0.05 * 2.05, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(a_position_is_judged_where_all_before_it_stood) {
    policy::cost_aware policy({.memory = 0.5});
    const auto is = boost::test_tools::tolerance(1e-12);
    BOOST_TEST(policy.acceptance(0, 0) == 1.0 / 3, is);
    BOOST_TEST(policy.acceptance(2, 0) == 3.0 / 5, is);
    policy.learn(told(2, 3, 1, 1));
    BOOST_TEST(policy.acceptance(2, 0) == (1 + 0.6) / 2, is);
    BOOST_TEST(policy.acceptance(2, 1) == (0 + 0.8) / 2, is);
    BOOST_TEST(policy.acceptance(2, 2) == 0.4, is);
    policy.learn(told(2, 1, 1, 1));
    BOOST_TEST(policy.acceptance(2, 0) == (1.5 + 0.6) / 2.5, is);
    BOOST_TEST(policy.acceptance(2, 1) == (0 + 0.84) / 1.5, is);
    policy.learn(told(2, 0, 0, 1));  // nothing was tried, nothing is forgotten
    BOOST_TEST(policy.acceptance(2, 0) == 0.84, is);
}

BOOST_AUTO_TEST_CASE(matches_are_told_apart_as_documented) {
    const std::size_t source[] = {0, 1, 2, 3, 4, 5, 5, 6, 6, 6};
    for (std::size_t learned = 0; learned < 10; ++learned) {
        policy::cost_aware policy;
        policy.learn(told(learned, 1, 0, 1));
        for (std::size_t match = 0; match < 10; ++match) {
            const bool changed = policy.acceptance(match, 0) != policy::cost_aware().acceptance(match, 0);
            BOOST_TEST(changed == (source[match] == source[learned]), learned << " and " << match);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_seconds_of_a_drafted_token_count_for_each) {
    policy::cost_aware policy({.max_length = 4, .memory = 0.5});
    policy.learn(told(0, 0, 0, 1));
    for (std::size_t drafted = 1; drafted <= 4; ++drafted) policy.learn(told(0, drafted, 0, 1));  // rows are free
    BOOST_TEST(policy.length({.match_length = 8}) == 4u);
    policy.learn(told(8, 4, 4, 1, 4 * 1.7));  // 0.85 per token: a second one takes longer than it is worth
    BOOST_TEST(policy.length({.match_length = 8}) == 1u);
    policy.learn(told(8, 4, 4, 1, 4 * 4.0));
    BOOST_TEST(policy.length({.match_length = 8}) == 0u);
    for (int i = 0; i < 5; ++i) policy.learn(told(8, 4, 4, 1, 0));
    BOOST_TEST(policy.length({.match_length = 8}) == 4u);
}

BOOST_AUTO_TEST_CASE(what_gains_nothing_is_not_drafted) {
    policy::cost_aware policy({.max_length = 1});
    policy.learn(told(0, 0, 0, 1));
    policy.learn(told(8, 1, 1, 1 + 1.0 / 3));  // as much longer as a token without a match is likely
    BOOST_TEST(policy.length({}) == 0u);
}

BOOST_AUTO_TEST_CASE(probes_become_rarer_while_they_fail) {
    policy::cost_aware policy({.max_length = 1, .probe_after = 2});
    world steep{.slope = 2, .odds = 0};  // a draft never pays, whether it stands or not
    const auto rounds_until_a_draft = [&] {
        std::size_t rounds = 0;
        while (rounds < 100 && steep.round(policy) == 0) ++rounds;
        return rounds;
    };
    for (const std::size_t gap : {1u, 2u, 4u, 8u, 16u, 16u, 16u}) BOOST_TEST(rounds_until_a_draft() == gap);
    steep.odds = 1;
    BOOST_TEST(rounds_until_a_draft() == 16u);
    steep.odds = 0;
    for (const std::size_t gap : {2u, 4u, 8u}) BOOST_TEST(rounds_until_a_draft() == gap);
}

BOOST_AUTO_TEST_CASE(where_nothing_matched_nothing_is_probed) {
    policy::cost_aware policy({.probe_after = 2});
    policy.learn(told(0, 0, 0, 1));
    policy.learn(told(0, 1, 0, 9));
    for (int i = 0; i < 10; ++i) policy.learn(told(0, 0, 0, 1));
    BOOST_TEST(policy.length({}) == 0u);
}

BOOST_AUTO_TEST_CASE(the_text_is_untouched) {
    const auto target = testing::hashed_model(3, 5);
    const std::vector<token> prompt{0, 1, 0, 1};
    decode::options chosen;
    chosen.stop.max_tokens = 40;
    const auto coupled = speculate(draft::prompt_lookup(1, 4), target, policy::cost_aware{}, accept::coupled{});
    BOOST_TEST(decode::generate(coupled, prompt, chosen).tokens ==
               decode::generate(plain(target), prompt, chosen).tokens);
}

BOOST_AUTO_TEST_CASE(impossible_options_are_refused_with_their_values) {
    BOOST_CHECK_THROW(policy::cost_aware({.max_length = 0}), error);
    BOOST_CHECK_EXCEPTION(policy::cost_aware({.memory = 1.5}), error, [](const error& e) {
        return std::string(e.what()) == "cost_aware: memory is 1.5; it must be between 0 and 1";
    });
    for (double memory : {0.0, 1.0}) BOOST_CHECK_THROW(policy::cost_aware({.memory = memory}), error);
    BOOST_CHECK_THROW(policy::cost_aware({.probe_after = 0}), error);
}

BOOST_AUTO_TEST_CASE(prints_itself) {
    std::ostringstream out;
    out << policy::cost_aware{};
    BOOST_TEST(out.str() == "cost_aware{.max_length=10, .memory=0.95, .probe_after=16}");
}

BOOST_AUTO_TEST_SUITE_END()
