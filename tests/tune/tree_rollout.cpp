#include "augur/tune/tree_rollout.hpp"

#include <algorithm>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/draft/eagle.hpp>
#include <augur/draft/heads.hpp>
#include <augur/testing/refined_models.hpp>
#include <boost/test/unit_test.hpp>
#include <limits>

#include "draft/heads_mock.hpp"
#include "up_to.hpp"

using namespace augur;

BOOST_AUTO_TEST_SUITE(tune_tree_rollout)

const std::vector<std::vector<token>> prompts = {{2, 1, 4, 0}, {1, 1, 3}, {0, 4, 4}};

/// The same, one augmentation at a time: at every round of the current tree, what a round of the larger tree there
/// would have had.
template <class Criterion>
tree::tally one_by_one(const auto& drafter, const auto& target, const Criterion& criterion,
                       const std::vector<tree::path>& nodes, const tree::augmentations& trees,
                       const decode::options& chosen) {
    tree::tally sums;
    sums.gained.assign(trees.added.size(), 0);
    const auto scheme_of = [&](const topology& shape) {
        return speculate(drafter, target, policy::tree_static(shape), criterion);
    };
    const auto current = scheme_of(topology::of_paths(nodes));
    for (const auto& prompt : prompts) {
        decode::session session(current, prompt, chosen.sampling, chosen.stop, random::philox_chooser(chosen.seed));
        while (tune::has_budget(session, trees.joint.depth())) {
            const std::vector<token> before(session.committed.tokens().begin(), session.committed.tokens().end());
            const std::size_t accepted = decode::step(current, session).decided.accepted;
            ++sums.rounds;
            sums.committed += accepted + 1;
            for (std::size_t i = 0; i < trees.added.size(); ++i) {
                auto larger = nodes;
                larger.push_back(trees.added[i]);
                const auto scheme = scheme_of(topology::of_paths(larger));
                decode::session alone(scheme, before, chosen.sampling, chosen.stop,
                                      random::philox_chooser(chosen.seed));
                sums.gained[i] += decode::step(scheme, alone).decided.accepted - accepted;
            }
        }
    }
    return sums;
}

BOOST_AUTO_TEST_CASE(a_joint_rollout_scores_each_augmentation_as_by_itself) {
    const testing::full_mock target(testing::hashed_model(5, 1));
    for (const bool sees_tokens : {false, true}) {
        const testing::heads_mock heads{testing::hashed_model(5, 2), sees_tokens};
        const draft::heads drafter(heads, draft::argmax{});
        const auto same = [&](const auto& criterion, float temperature, std::vector<tree::path> nodes) {
            const decode::options chosen = testing::up_to(25, temperature);
            const auto trees = tree::augment(nodes, 3);
            const auto joint = tune::joint_rollout(drafter, target, criterion, trees, prompts, chosen);
            const auto apart = one_by_one(drafter, target, criterion, nodes, trees, chosen);
            BOOST_TEST(joint.rounds == apart.rounds);
            BOOST_TEST(joint.committed == apart.committed);
            BOOST_TEST(joint.gained == apart.gained, boost::test_tools::per_element());
            BOOST_TEST(joint.rounds > 20u);
        };
        for (const auto& nodes :
             std::vector<std::vector<tree::path>>{{}, {{0}}, {{0}, {1}, {0, 0}, {0, 1}, {1, 0}, {0, 0, 0}}}) {
            same(accept::exact{}, 0, nodes);
        }
        same(accept::exact{}, 0, {{0}, {0, 0}, {0, 0, 0}, {1}});
    }
}

/// Of layers and models, and above temperature 0 by the noise of the position.
BOOST_AUTO_TEST_CASE(it_scores_layers_models_and_draws_likewise) {
    const testing::full_mock target(testing::hashed_model(5, 1));
    const std::vector<tree::path> nodes = {{0}, {1}, {0, 0}, {0, 1}, {1, 0}, {0, 0, 0}};
    const auto trees = tree::augment(nodes, 3);
    const auto same = [&](const auto& drafter, float temperature) {
        const decode::options chosen = testing::up_to(25, temperature);
        const auto joint = tune::joint_rollout(drafter, target, accept::coupled{}, trees, prompts, chosen);
        BOOST_CHECK((joint == one_by_one(drafter, target, accept::coupled{}, nodes, trees, chosen)));
        BOOST_TEST(joint.rounds > 20u);
        BOOST_TEST(*std::max_element(joint.gained.begin(), joint.gained.end()) > 0u);
    };
    const testing::heads_mock heads{testing::hashed_model(5, 2)};
    const testing::fused_tree_mock layer(testing::hashed_model(5, 2), 5);
    const testing::tree_mock model(testing::hashed_model(5, 2));
    for (const float temperature : {0.0f, 1.0f}) {
        same(draft::heads(heads, draft::argmax{}), temperature);
        same(draft::eagle(layer, draft::dynamic_tree{}), temperature);
        same(draft::draft_model(model, draft::shared_noise{}), temperature);
    }
}

BOOST_AUTO_TEST_CASE(rounds_in_which_the_drafter_had_no_room_for_all_of_the_tree_are_not_counted) {
    const testing::full_mock target(testing::hashed_model(5, 1));
    const auto trees = tree::augment({{0}, {1}, {0, 0}}, 2);
    const auto rolled_out = [&](std::size_t context, std::size_t tokens) {
        const testing::function_model model = testing::hashed_model(5, 2, 1, context);
        return tune::joint_rollout(draft::draft_model(model, draft::argmax{}), target, accept::exact{}, trees,
                                   std::span(prompts).first(1), testing::up_to(tokens, 0));
    };
    // After four tokens a context of 12 holds what is above a node of depth two until nine are there.
    BOOST_TEST(rolled_out(2000, 10).rounds > 2u);
    BOOST_CHECK((rolled_out(12, 25) == rolled_out(2000, 10)));
}

/// Counts up, modulo 3; after `end` tokens its rows exclude everything.
testing::function_model counting_up_to(std::size_t end) {
    return testing::function_model(4, 1024, [end](std::span<const token> before, std::span<float> row) {
        const bool ends = before.size() >= end;
        std::fill(row.begin(), row.end(), ends ? -std::numeric_limits<float>::infinity() : 0);
        if (!ends) row[static_cast<std::size_t>((before.back() + 1) % 3)] = 5;
    });
}

/// The walk ends there after nodes that it accepted, and the next prompt's begins at the first node again.
BOOST_AUTO_TEST_CASE(a_row_that_nothing_can_be_drawn_from_leaves_no_trace_on_the_next_prompt) {
    const testing::full_mock target(counting_up_to(6));
    const testing::heads_mock heads{counting_up_to(1000), true};
    const decode::options chosen = testing::up_to(20, 0);
    const auto trees = tree::augment({{0}, {0, 0}}, 3);
    const auto rolled_out = [&](const auto& texts) {
        return tune::joint_rollout(draft::heads(heads, draft::argmax{}), target, accept::exact{}, trees, texts, chosen);
    };
    const std::vector<std::vector<token>> texts = {{2, 0}, {1, 2, 0}, {0, 1}, {1, 2}};
    tree::tally apart;
    std::size_t left = 0;
    for (const auto& text : texts) {
        const auto each = rolled_out(std::span(&text, 1));
        apart.add(each);
        left += 6 - text.size();
        BOOST_TEST(each.committed == 6 - text.size());
    }
    const auto together = rolled_out(std::span<const std::vector<token>>(texts));
    BOOST_TEST(together.rounds == apart.rounds);
    BOOST_TEST(together.committed == left);
    BOOST_TEST(together.gained == apart.gained, boost::test_tools::per_element());
    // By itself a rollout counts the same.
    const auto own = tune::own_rollout(
        speculate(draft::heads(heads, draft::argmax{}), target, policy::tree_static(trees.joint), accept::exact{}),
        trees.joint.depth(), texts, chosen);
    BOOST_TEST(own.committed == left);
}

/// The draft is always right. Of a round in which the text ends no larger tree has more: what is accepted after the
/// token that ends it is not committed.
BOOST_AUTO_TEST_CASE(nothing_is_gained_past_the_end_of_a_text) {
    const testing::full_mock target(testing::hashed_model(5, 1));
    const testing::tree_mock model(testing::hashed_model(5, 1));
    const draft::draft_model drafter(model, draft::argmax{});
    const std::vector<tree::path> nodes = {{0}};
    const auto trees = tree::augment(nodes, 4);
    decode::options chosen = testing::up_to(100, 0);
    chosen.stop.stop_tokens = {3};
    std::size_t ended = 0;
    for (token first = 0; first < 25; ++first) {
        const std::vector<std::vector<token>> texts = {{first % 5, first / 5, 2}};
        const auto joint = tune::joint_rollout(drafter, target, accept::exact{}, trees, texts, chosen);
        const auto alone = [&](const topology& shape) {
            return decode::generate(speculate(drafter, target, policy::tree_static(shape), accept::exact{}), texts[0],
                                    chosen);
        };
        const auto decoded = alone(topology::of_paths(nodes));
        if (decoded.finish != finish_reason::stop_token) continue;
        ++ended;
        BOOST_TEST(joint.committed == decoded.tokens.size());
        BOOST_TEST(joint.gained[0] == joint.rounds - 1);  // every round but the last one
    }
    BOOST_TEST(ended > 5u);
}

BOOST_AUTO_TEST_CASE(rounds_without_a_draft_say_nothing_about_a_tree) {
    const testing::full_mock target(testing::hashed_model(5, 1));
    const auto scheme = plain(target);
    BOOST_TEST(tune::own_rollout(scheme, 2, prompts, testing::up_to(25, 0)).rounds == 0u);
    BOOST_TEST(tune::own_rollout(scheme, 0, prompts, testing::up_to(25, 0)).rounds == 75u);
}

BOOST_AUTO_TEST_CASE(a_rollout_of_ones_own_counts_what_was_committed) {
    const testing::full_mock target(testing::hashed_model(5, 1));
    const testing::heads_mock heads{testing::hashed_model(5, 2)};
    const auto scheme = speculate(draft::heads(heads, draft::argmax{}), target,
                                  policy::tree_static(topology{-1, -1, 0}), accept::exact{});
    const auto rollout = tune::own_rollout(scheme, 2, prompts, testing::up_to(25, 0));
    BOOST_TEST(rollout.tokens == 75u);
    BOOST_TEST(rollout.seconds > 0);
    BOOST_TEST(rollout.tokens_per_second() > 0);
    BOOST_TEST(rollout.accepted_length() >= 1);
    const auto joint = tune::joint_rollout(draft::heads(heads, draft::argmax{}), target, accept::exact{},
                                           tree::augment({{0}, {1}, {0, 0}}, 2), prompts, testing::up_to(25, 0));
    BOOST_TEST(rollout.rounds == joint.rounds);
    BOOST_TEST(rollout.committed == joint.committed);
}

BOOST_AUTO_TEST_SUITE_END()
