#include "augur/policy/tree_ladder.hpp"

#include <augur/testing/policy_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>

using namespace augur;
using policy::tree_feature;

BOOST_AUTO_TEST_SUITE(policy_tree_ladder)

using by_path = policy::tree_ladder<policy::tree_feature::path_value>;
using by_entropy = policy::tree_ladder<tree_feature::entropy>;
using by_accepted = policy::tree_ladder<tree_feature::accepted_length>;

static_assert(shape_of<by_path> == draft_shape::tree && LearnsFromOutcomes<by_path>);

const tree::bank bank{topology(), topology{-1}, topology{-1, -1, 0}, topology{-1, -1, 0, 0, 1}};

std::size_t round_on(auto& policy, const observation& seen) {
    const std::size_t nodes = policy.plan(seen).tree->size();
    policy.learn({seen, nodes, 0});
    return nodes;
}
observation of_path(double path) {
    return {.target_confidence = 1, .path_value = path};
}

BOOST_AUTO_TEST_CASE(thresholds_are_edges_of_bins_and_belong_to_the_larger_tree) {
    by_path policy(bank, {0.25, 0.5, 0.75});
    const auto below = [](double edge) { return std::nextafter(edge, 0); };
    BOOST_TEST(round_on(policy, of_path(0)) == 0u);
    BOOST_TEST(round_on(policy, of_path(below(0.25))) == 0u);
    BOOST_TEST(round_on(policy, of_path(0.25)) == 1u);
    BOOST_TEST(round_on(policy, of_path(below(0.5))) == 1u);
    BOOST_TEST(round_on(policy, of_path(0.5)) == 3u);
    BOOST_TEST(round_on(policy, of_path(below(0.75))) == 3u);
    BOOST_TEST(round_on(policy, of_path(0.75)) == 5u);
    BOOST_TEST(round_on(policy, of_path(1)) == 5u);
    BOOST_TEST(policy.switches() == 3u);
    BOOST_TEST(policy.rounds() == (std::vector<std::size_t>{2, 2, 2, 2}), boost::test_tools::per_element());
    BOOST_TEST(policy.tree() == 3u);
}

BOOST_AUTO_TEST_CASE(low_entropy_is_the_large_tree) {
    by_entropy policy(bank, {3, 2, 1}, {.starts_at = 1, .feature = {.entropy_alpha = 1}});
    const auto on = [&](double nats) { return round_on(policy, {.target_entropy_nats = nats}); };
    BOOST_TEST(on(std::numeric_limits<double>::quiet_NaN()) == 1u);
    BOOST_TEST(on(0) == 5u);
    BOOST_TEST(on(1) == 5u);
    BOOST_TEST(on(std::nextafter(1, 2)) == 3u);
    BOOST_TEST(on(2) == 3u);
    BOOST_TEST(on(3) == 1u);
    BOOST_TEST(on(3.5) == 0u);
}

BOOST_AUTO_TEST_CASE(what_is_not_known_leaves_the_tree) {
    by_path policy(bank, {0.25, 0.5, 0.75}, {.starts_at = 2});
    BOOST_TEST(round_on(policy, {}) == 3u);
    BOOST_TEST(round_on(policy, of_path(1)) == 5u);
    BOOST_TEST(round_on(policy, {}) == 5u);
    BOOST_TEST(policy.switches() == 1u);
}

BOOST_AUTO_TEST_CASE(a_bank_of_one_has_no_threshold) {
    by_path policy({topology{-1}}, {});
    BOOST_TEST(round_on(policy, of_path(0)) == 1u);
    BOOST_TEST(round_on(policy, of_path(1)) == 1u);
}

BOOST_AUTO_TEST_CASE(the_laws_of_policies_hold) {
    const auto keeps = [](const auto& policy) {
        const auto r = testing::policy_laws(policy);
        BOOST_TEST(r.kept(), r);
    };
    keeps(by_path(bank, {0.25, 0.5, 0.75}));
    keeps(by_entropy(bank, {3, 2, 1}));
    keeps(by_accepted(bank.only({1, 2, 3}), {1.5, 2}));
}

std::string refusal(std::vector<double> thresholds, policy::tree_ladder_options chosen = {}) {
    try {
        by_path refused(bank, std::move(thresholds), chosen);
        return "";
    } catch (const error& problem) {
        return problem.what();
    }
}

BOOST_AUTO_TEST_CASE(impossible_settings_are_refused_with_their_values) {
    BOOST_TEST(refusal({0.5}) == "tree_ladder: 1 thresholds make 2 bins, but the bank has 4 trees");
    BOOST_TEST(refusal({0.5, 0.25, 0.75}) ==
               "tree_ladder: the threshold of path_value 0.25 follows 0.5; they have to rise, from the smallest tree "
               "to the largest");
    BOOST_TEST(refusal({0.5, 0.5, 0.75}) != "");
    BOOST_TEST(refusal({0.25, 0.5, 2}) == "tree_ladder: a threshold of path_value is 2; it must be in [0, 1]");
    BOOST_TEST(refusal({0.25, 0.5, 0.75}, {.starts_at = 4}) == "tree_ladder: it starts at tree 4 of 4");
    BOOST_CHECK_THROW(by_entropy(bank, {1, 2, 3}), error);
}

BOOST_AUTO_TEST_CASE(a_length_that_the_tree_below_cannot_reach_is_refused) {
    const auto refused = [](const tree::bank& trees, std::vector<double> thresholds) -> std::string {
        try {
            by_accepted ladder(trees, std::move(thresholds));
            return "";
        } catch (const error& problem) {
            return problem.what();
        }
    };
    const tree::bank drafting = bank.only({1, 2, 3});
    BOOST_TEST(refused(drafting, {1.9, 2.9}) == "");
    BOOST_TEST(refused(drafting, {2, 2.9}) ==
               "tree_ladder: by tree 0 at most 2 tokens are committed in a round, so that accepted_length could never "
               "reach the threshold 2");
    BOOST_TEST(refused(drafting, {1.5, 3.5}) ==
               "tree_ladder: by tree 1 at most 3 tokens are committed in a round, so that accepted_length could never "
               "reach the threshold 3.5");
    BOOST_TEST(refused(bank, {1, 1.5, 2}) ==
               "tree_ladder: by tree 0 at most 1 token is committed in a round, so that accepted_length could never "
               "reach the threshold 1");
}

BOOST_AUTO_TEST_CASE(prints_itself) {
    std::ostringstream out;
    out << by_path(bank, {0.25, 0.5, 0.75});
    BOOST_TEST(out.str() == "tree_ladder{.by=path_value, .thresholds={0.25, 0.5, 0.75}, 4 trees}");
}

BOOST_AUTO_TEST_SUITE_END()
