#include "augur/tune/tree_rollout.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/draft/head_tree.hpp>
#include <augur/testing/refined_models.hpp>
#include <boost/test/unit_test.hpp>

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
    tree::tally made;
    made.gained.assign(trees.added.size(), 0);
    const auto scheme_of = [&](const topology& shape) {
        return speculate(drafter, target, policy::tree_static(shape), criterion);
    };
    const auto current = scheme_of(topology::of_paths(nodes));
    for (const auto& prompt : prompts) {
        decode::session session(current, prompt, chosen.sampling, chosen.stop, random::philox_chooser(chosen.seed));
        while (tune::has_room(session, trees.joint.depth())) {
            const std::vector<token> before(session.committed.tokens().begin(), session.committed.tokens().end());
            const std::size_t accepted = decode::step(current, session).decided.accepted;
            ++made.rounds;
            made.committed += accepted + 1;
            for (std::size_t i = 0; i < trees.added.size(); ++i) {
                auto larger = nodes;
                larger.push_back(trees.added[i]);
                const auto scheme = scheme_of(topology::of_paths(larger));
                decode::session alone(scheme, before, chosen.sampling, chosen.stop,
                                      random::philox_chooser(chosen.seed));
                made.gained[i] += decode::step(scheme, alone).decided.accepted - accepted;
            }
        }
    }
    return made;
}

BOOST_AUTO_TEST_CASE(a_joint_rollout_scores_each_augmentation_as_by_itself) {
    const testing::full_mock target(testing::hashed_model(5, 1));
    for (const bool sees_tokens : {false, true}) {
        const testing::heads_mock heads{testing::hashed_model(5, 2), sees_tokens};
        const draft::head_tree drafter(heads);
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

BOOST_AUTO_TEST_CASE(a_rollout_of_ones_own_counts_what_was_committed) {
    const testing::full_mock target(testing::hashed_model(5, 1));
    const testing::heads_mock heads{testing::hashed_model(5, 2)};
    const auto scheme =
        speculate(draft::head_tree(heads), target, policy::tree_static(topology{-1, -1, 0}), accept::exact{});
    const auto made = tune::own_rollout(scheme, 2, prompts, testing::up_to(25, 0));
    BOOST_TEST(made.tokens == 75u);
    BOOST_TEST(made.seconds > 0);
    BOOST_TEST(made.tokens_per_second() > 0);
    BOOST_TEST(made.accepted_length() >= 1);
    const auto joint = tune::joint_rollout(draft::head_tree(heads), target, accept::exact{},
                                           tree::augment({{0}, {1}, {0, 0}}, 2), prompts, testing::up_to(25, 0));
    BOOST_TEST(made.rounds == joint.rounds);
    BOOST_TEST(made.committed == joint.committed);
}

BOOST_AUTO_TEST_SUITE_END()
