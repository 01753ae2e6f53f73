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
    BOOST_CHECK_THROW(policy::cost_aware({.probe_after = 0}), error);
}

BOOST_AUTO_TEST_CASE(prints_itself) {
    std::ostringstream out;
    out << policy::cost_aware{};
    BOOST_TEST(out.str() == "cost_aware{.max_length=10, .memory=0.95, .probe_after=16}");
}

BOOST_AUTO_TEST_SUITE_END()
