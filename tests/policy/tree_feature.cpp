#include "augur/policy/tree_feature.hpp"

#include <algorithm>
#include <augur/accept/exact.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/heads.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/measure/entropy.hpp>
#include <augur/policy/tree_hysteresis.hpp>
#include <augur/policy/tree_ladder.hpp>
#include <augur/testing/refined_models.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "allocations.hpp"
#include "draft/heads_mock.hpp"
#include "up_to.hpp"

using namespace augur;
using policy::tree_feature;

BOOST_AUTO_TEST_SUITE(policy_tree_feature)

const topology small{-1, 0}, large{-1, -1, 0, 0, 1, 2};
const tree::bank bank{small, large};

BOOST_AUTO_TEST_CASE(features_are_listed_in_their_order) {
    for (const auto& each : policy::all_tree_features) {
        BOOST_TEST((&policy::traits_of(each.feature) == &each));
        BOOST_TEST(each.least < each.most);
    }
}

/// Notes what it is shown when a round is over.
using by_product = policy::tree_hysteresis<policy::tree_feature::path_value>;

struct noting : by_product {
    std::vector<double>* values;
    std::vector<std::size_t>* trees;
    noting(by_product of, std::vector<double>* v, std::vector<std::size_t>* t)
        : by_product(std::move(of)), values(v), trees(t) {}
    void learn(const outcome& happened) {
        by_product::learn(happened);
        values->push_back(happened.decided_on.target_confidence * happened.decided_on.path_value);
        trees->push_back(tree());
    }
};

BOOST_AUTO_TEST_CASE(in_a_decoding_the_value_decides_on_the_rounds_tree) {
    const testing::full_mock target(testing::hashed_model(5, 1));
    const testing::heads_mock heads{testing::hashed_model(5, 2), true};
    std::vector<double> values;
    std::vector<std::size_t> trees, drafted;
    const auto decode_at = [&](double threshold) {
        values.clear(), trees.clear(), drafted.clear();
        const auto scheme = speculate(draft::heads(heads, draft::argmax{}), target,
                                      noting(by_product(bank, {.on = threshold}), &values, &trees), accept::exact{});
        decode::session session(scheme, std::vector<token>{2, 1, 4}, {.temperature = {0}}, {.max_tokens = 60},
                                random::philox_chooser(0));
        while (session.stops.budget(session.committed.generated().size(), session.committed.size()) > 4) {
            drafted.push_back(decode::step(scheme, session).proposed.size());
        }
        return session.policy.switches();
    };
    decode_at(1);
    std::vector<double> sorted(values.begin() + 1, values.end());
    std::sort(sorted.begin(), sorted.end());
    const double threshold = sorted[sorted.size() / 2];
    const std::size_t switches = decode_at(threshold);
    BOOST_TEST_REQUIRE(drafted.size() > 15u);
    BOOST_TEST(std::isnan(values[0]));  // of the prompt no row was seen
    BOOST_TEST(trees[0] == 0u);
    std::size_t switched = 0;
    for (std::size_t round = 0; round < drafted.size(); ++round) {
        const bool is_large = values[round] >= threshold;
        if (round > 0) BOOST_TEST(trees[round] == (is_large ? 1u : 0u));
        BOOST_TEST(drafted[round] == bank.shape(trees[round]).size());
        switched += round > 0 && trees[round] != trees[round - 1] ? 1 : 0;
    }
    BOOST_TEST(switched > 3u);
    BOOST_TEST(switches == switched);
}

BOOST_AUTO_TEST_CASE(a_draft_without_rows_keeps_the_tree_that_it_starts_with) {
    const testing::full_mock target(testing::hashed_model(3, 1));
    const by_product policy(bank, {.on = 0.1}, {.starts_aggressive = true});
    const auto scheme = speculate(draft::prompt_lookup(), target, policy, accept::exact{});
    const auto decoded = decode::generate(scheme, std::vector<token>{2, 0, 1, 2, 0}, testing::up_to(30, 0));
    BOOST_TEST(decoded.policy.switches() == 0u);
    BOOST_TEST(decoded.policy.rounds()[1] == decoded.counts.rounds());
    BOOST_TEST(decoded.counts.stages.back().drafted > 0u);
}

BOOST_AUTO_TEST_CASE(switching_allocates_nothing) {
    by_product policy(bank, {.on = 0.5});
    policy::tree_ladder<policy::tree_feature::path_value> ladder(bank, {0.5});
    const std::size_t before = allocations::made;
    std::size_t nodes = 0;
    for (int round = 0; round < 1000; ++round) {
        const observation seen{.target_confidence = 1, .path_value = round % 2 == 0 ? 0.9 : 0.1};
        nodes += policy.plan(seen).tree->size() + ladder.plan(seen).tree->size();
        policy.learn({seen, 1, 0});
        ladder.learn({seen, 1, 0});
    }
    BOOST_TEST(allocations::made == before);
    BOOST_TEST(nodes == 8000u);
    BOOST_TEST(policy.switches() == 1000u);
}

BOOST_AUTO_TEST_SUITE_END()
