#include "augur/policy/tree_hysteresis.hpp"

#include <augur/testing/policy_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <type_traits>

using namespace augur;
using policy::band;
using policy::tree_feature;

BOOST_AUTO_TEST_SUITE(policy_tree_hysteresis)

using by_path = policy::tree_hysteresis<policy::tree_feature::path_value>;
using by_sum = policy::tree_hysteresis<tree_feature::path_value_sum>;
using by_target = policy::tree_hysteresis<tree_feature::target_confidence>;
using by_entropy = policy::tree_hysteresis<tree_feature::entropy>;
using by_accepted = policy::tree_hysteresis<tree_feature::accepted_length>;

static_assert(shape_of<by_path> == draft_shape::tree && LearnsFromOutcomes<by_path>);
static_assert(required_signals<by_path> == signals::target_confidence);
static_assert(signals_of<by_path> == (signals::target_confidence | signals::draft_confidence));
static_assert(required_signals<by_entropy> == signals::target_entropy && signals_of<by_accepted> == signals::none);

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

const topology small{-1, 0}, middle{-1, -1, 0}, large{-1, -1, 0, 0, 1, 2};
const tree::bank bank{small, middle, large};

observation of_path(double target, double path) {
    return {.target_confidence = target, .draft_confidence = 0.01, .path_value = path, .path_value_sum = 99};
}

/// The nodes of a round on this, which is then over.
std::size_t round_on(auto& policy, const observation& seen, std::size_t accepted = 0) {
    const std::size_t nodes = policy.plan(seen).tree->size();
    policy.learn({seen, nodes, accepted});
    return nodes;
}

BOOST_AUTO_TEST_CASE(it_is_on_at_the_upper_threshold_and_off_below_the_lower_one) {
    by_path policy(bank, {.on = 0.5, .off = 0.25});
    BOOST_TEST(round_on(policy, of_path(1, 0.3)) == 2u);
    BOOST_TEST(round_on(policy, of_path(1, std::nextafter(0.5, 0))) == 2u);
    BOOST_TEST(round_on(policy, of_path(1, 0.5)) == 6u);
    BOOST_TEST(round_on(policy, of_path(0.5, 0.5)) == 6u);
    BOOST_TEST(round_on(policy, of_path(1, std::nextafter(0.25, 0))) == 2u);
    BOOST_TEST(round_on(policy, of_path(0.5, 0.5)) == 2u);
    BOOST_TEST(policy.switches() == 2u);
    BOOST_TEST(policy.rounds() == (std::vector<std::size_t>{4, 0, 2}), boost::test_tools::per_element());
    BOOST_TEST(policy.tree() == 0u);
}

BOOST_AUTO_TEST_CASE(one_threshold_leaves_nothing_between) {
    by_path policy(bank, {.on = 0.5});
    for (int time = 0; time < 3; ++time) {
        BOOST_TEST(round_on(policy, of_path(0.5, 1)) == 6u);
        BOOST_TEST(round_on(policy, of_path(0.5, 0.99)) == 2u);
    }
}

BOOST_AUTO_TEST_CASE(what_is_not_known_switches_nothing) {
    for (const bool starts : {false, true}) {
        by_path policy(bank, {.on = 0.5}, {.starts_aggressive = starts});
        const std::size_t nodes = starts ? 6 : 2;
        BOOST_TEST(round_on(policy, {}) == nodes);
        BOOST_TEST(round_on(policy, of_path(nan, starts ? 0 : 1)) == nodes);  // the first round
        BOOST_TEST(round_on(policy, of_path(1, nan)) == nodes);               // a draft without rows
        BOOST_TEST(policy.switches() == 0u);
    }
}

BOOST_AUTO_TEST_CASE(while_rows_are_to_come_the_draft_goes_on) {
    const tree::bank with_plain{topology(), large};
    by_path policy(with_plain, {.on = 0.5});
    observation seen = of_path(1, 0.1);
    BOOST_TEST(policy.plan(seen).tree->size() == 0u);
    seen.pending = signals::draft_confidence;
    BOOST_TEST(policy.plan(seen).tree->size() == 6u);
    policy.learn({seen, 0, 0});
    BOOST_TEST(policy.tree() == 0u);      // that answer was none
    observation early = of_path(1, 0.9);  // of the rows so far
    early.pending = signals::draft_confidence;
    policy.learn({early, 0, 0});
    BOOST_TEST(policy.tree() == 0u);
}

BOOST_AUTO_TEST_CASE(features_are_what_they_say) {
    by_sum sum(bank, {.on = 1.5});
    observation seen{.target_confidence = 0.5, .path_value = 0, .path_value_sum = 3};
    BOOST_TEST(round_on(sum, seen) == 6u);
    seen.path_value_sum = 2.9;
    BOOST_TEST(round_on(sum, seen) == 2u);
    by_target top(bank, {.on = 0.5});
    BOOST_TEST(round_on(top, {.target_confidence = 0.5, .path_value = 0}) == 6u);
    BOOST_TEST(round_on(top, {.target_confidence = 0.49, .path_value = 1}) == 2u);
    BOOST_TEST(top.looks_ahead() == 0u);
}

BOOST_AUTO_TEST_CASE(entropy_is_smoothed_and_low_is_aggressive) {
    by_entropy policy(bank, {.on = 1, .off = 2}, {.feature = {.entropy_alpha = 0.5}});
    const auto on = [&](double nats) { return round_on(policy, {.target_entropy_nats = nats}); };
    BOOST_TEST(on(nan) == 2u);
    BOOST_TEST(on(1) == 6u);    // the first is not smoothed
    BOOST_TEST(on(3) == 6u);    // 2
    BOOST_TEST(on(2.5) == 2u);  // 2.25
    BOOST_TEST(on(nan) == 2u);
    BOOST_TEST(on(std::numeric_limits<double>::infinity()) == 2u);
    BOOST_TEST(on(0) == 2u);      // 1.125
    BOOST_TEST(on(0.875) == 6u);  // 1
}

BOOST_AUTO_TEST_CASE(accepted_lengths_are_averaged_with_the_token_that_follows) {
    by_accepted policy(bank, {.on = 2}, {.feature = {.accepted_alpha = 0.5}});
    BOOST_TEST(round_on(policy, {}, 1) == 2u);  // nothing known; then 2
    BOOST_TEST(round_on(policy, {}, 0) == 6u);  // then 1.5
    BOOST_TEST(round_on(policy, {}, 2) == 2u);  // then 2.25
    BOOST_TEST(round_on(policy, {}, 2) == 6u);
    policy.learn({{}, 0, 0});  // no draft: nothing was judged
    BOOST_TEST(round_on(policy, {}, 2) == 6u);
}

BOOST_AUTO_TEST_CASE(it_never_switches_inside_the_band) {
    std::mt19937 random(7);
    const double low = 0.25, high = std::nextafter(0.5, 0);
    std::uniform_real_distribution<double> inside(low, high);
    for (int sequence = 0; sequence < 200; ++sequence) {
        const bool starts = sequence % 2 == 0;
        by_path path(bank, {.on = 0.5, .off = 0.25}, {.starts_aggressive = starts});
        by_entropy entropy(bank, {.on = 0.25, .off = 0.5},
                           {.starts_aggressive = starts, .feature = {.entropy_alpha = 1}});
        for (int round = 0; round < 50; ++round) {
            const double value = round % 10 == 3 ? low : round % 10 == 7 ? high : inside(random);
            BOOST_REQUIRE(round_on(path, of_path(1, value)) == (starts ? 6u : 2u));
            const double nats = value == low ? 0.5 : value;  // the other edge
            BOOST_REQUIRE(round_on(entropy, {.target_entropy_nats = nats}) == (starts ? 6u : 2u));
        }
        BOOST_TEST(path.switches() + entropy.switches() == 0u);
    }
}

BOOST_AUTO_TEST_CASE(it_looks_as_deep_as_its_trees_or_as_it_is_told) {
    BOOST_TEST(by_path(bank, {.on = 0.5}).looks_ahead() == 3u);
    BOOST_TEST(by_path(bank, {.on = 0.5}, {.feature = {.depth = 5}}).looks_ahead() == 5u);
    BOOST_TEST(by_accepted(bank, {.on = 1}).looks_ahead() == 0u);
}

BOOST_AUTO_TEST_CASE(any_pair_of_the_bank) {
    by_path policy(bank, {.on = 0.5}, {.conservative = 1, .aggressive = 2});
    BOOST_TEST(round_on(policy, of_path(1, 0)) == 3u);
    BOOST_TEST(round_on(policy, of_path(1, 1)) == 6u);
    BOOST_TEST(policy.rounds() == (std::vector<std::size_t>{0, 1, 1}), boost::test_tools::per_element());
    const by_path& same = policy;
    BOOST_TEST(same.plan(of_path(1, 0)).tree == &bank.shape(1));
}

BOOST_AUTO_TEST_CASE(the_laws_of_policies_hold) {
    const auto keeps = [](const auto& policy) {
        const auto r = testing::policy_laws(policy);
        BOOST_TEST(r.kept(), r);
    };
    keeps(by_path(bank, {.on = 0.5, .off = 0.25}));
    keeps(by_path({topology(), middle}, {.on = 0.25}));
    keeps(by_sum(bank, {.on = 1, .off = 0.25}));
    keeps(by_target(bank, {.on = 0.5}));
    keeps(by_entropy(bank, {.on = 0.5, .off = 1}));
    keeps(by_accepted(bank, {.on = 1.5, .off = 1.25}));
}

template <class Policy>
std::string refusal(tree::bank trees, band thresholds, policy::tree_hysteresis_options chosen = {}) {
    try {
        Policy refused(std::move(trees), thresholds, chosen);
        return "";
    } catch (const error& problem) {
        return problem.what();
    }
}

BOOST_AUTO_TEST_CASE(impossible_settings_are_refused_with_their_values) {
    BOOST_TEST(refusal<by_path>(bank, {.on = 0.4, .off = 0.6}) ==
               "tree_hysteresis: path_value switches the aggressive tree on at 0.4 and off at 0.6; off must not be "
               "above on");
    BOOST_TEST(refusal<by_entropy>(bank, {.on = 2, .off = 1}) ==
               "tree_hysteresis: entropy switches the aggressive tree on at 2 and off at 1; off must not be below on");
    BOOST_TEST(refusal<by_path>(bank, {.on = 1.5, .off = 0.5}) ==
               "tree_hysteresis: a threshold of path_value is 1.5; it must be in [0, 1]");
    BOOST_TEST(refusal<by_path>(bank, {.on = nan}) != "");
    BOOST_TEST(refusal<by_path>({small}, {.on = 0.5}) ==
               "tree_hysteresis: the conservative tree is number 0 and the aggressive one 0 of 1; the bank goes from "
               "few nodes to many");
    BOOST_TEST(refusal<by_path>(bank, {.on = 0.5}, {.aggressive = 3}) != "");
    BOOST_TEST(refusal<by_path>(bank, {.on = 0.5}, {.conservative = 7, .aggressive = 8}) != "");
    BOOST_TEST(refusal<by_path>(bank, {.on = 0.5}, {.conservative = 2, .aggressive = 1}) != "");
    BOOST_TEST(refusal<by_accepted>(bank, {.on = 3}) ==
               "tree_hysteresis: by the conservative tree at most 3 tokens are committed in a round, so that "
               "accepted_length could never come back to on, 3");
    BOOST_TEST(refusal<by_entropy>(bank, {.on = 1}, {.feature = {.entropy_alpha = 0}}) ==
               "the weight of the newest round is 0; it must be in (0, 1]");
}

BOOST_AUTO_TEST_CASE(prints_itself) {
    std::ostringstream out;
    out << by_path(bank, {.on = 0.5, .off = 0.25});
    BOOST_TEST(out.str() ==
               "tree_hysteresis{.by=path_value, .on=0.5, .off=0.25, .conservative=2 nodes, .aggressive=6 nodes}");
}

/// Of two chains with confidences (.9, .1) and (.4, .4) the first is accepted longer, 0.99 tokens to 0.56, though the
/// product of the second is greater: the default is the sum, which orders them right.
BOOST_AUTO_TEST_CASE(by_default_the_longer_accepted_of_two_chains_has_the_larger_tree) {
    policy::tree_hysteresis<> by_default(bank, {.on = 0.75});
    by_path by_product(bank, {.on = 0.125});
    const auto tree_after = [&](auto policy, double first, double second) {
        return round_on(
            policy, {.target_confidence = 1, .path_value = first * second, .path_value_sum = first + first * second});
    };
    BOOST_TEST(tree_after(by_default, 0.9, 0.1) == 6u);
    BOOST_TEST(tree_after(by_default, 0.4, 0.4) == 2u);
    BOOST_TEST(tree_after(by_product, 0.9, 0.1) == 2u);
    BOOST_TEST(tree_after(by_product, 0.4, 0.4) == 6u);
}

BOOST_AUTO_TEST_SUITE_END()
