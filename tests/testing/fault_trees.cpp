#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/accept/traversal.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/draft/eagle.hpp>
#include <augur/draft/fallback.hpp>
#include <augur/draft/heads.hpp>
#include <augur/draft/merged.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/cost_aware.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/scheme/speculator.hpp>
#include <boost/test/unit_test.hpp>

#include "testing/fault_schemes.hpp"

using namespace augur;
using testing::fault_choice;

BOOST_AUTO_TEST_SUITE(testing_fault_trees)

/// Rows that depend on the state and the head.
struct few_heads {
    struct workspace_type {
        std::vector<float> row;
    };
    testing::function_model rows = testing::fault_rows(4);

    std::size_t vocabulary_size() const { return rows.vocabulary_size(); }
    std::size_t hidden_size() const { return rows.vocabulary_size(); }
    std::size_t head_count() const { return 3; }
    workspace_type make_workspace() const { return {}; }
    logit_row row(workspace_type& workspace, std::span<const float> state, std::span<const token> tokens,
                  std::size_t) const {
        workspace.row.resize(vocabulary_size());
        rows.fill_row(tokens, workspace.row);
        for (std::size_t i = 0; i < state.size(); ++i) workspace.row[i] += state[state.size() - 1 - i] / 2;
        return workspace.row;
    }
};

const topology shape = topology::of_paths({{0}, {1}, {0, 0}, {0, 1}, {1, 0}, {0, 0, 0}});
const policy::tree_static wide(shape);
const policy::fixed_length three{3};

constexpr pass_features with_states = pass_features::trees | pass_features::states;

template <class Target>
void trees_keep_them(const char* what, const Target& target) {
    testing::fault_tally tally;
    const auto trees = testing::failing_passes<pass_features::trees>(2);
    const auto chains = testing::failing_chains(2);
    const auto heads = testing::failing(few_heads{}, testing::fault_places);
    const auto layer = testing::failing(testing::fused_tree_mock(testing::fault_rows(3), 5), testing::fault_places);
    const auto sampled = fault_choice(1), greedy = fault_choice(0);
    tally.keeps("model tree", speculate(draft::draft_model(trees), target, wide, accept::rejection_sampling{}),
                sampled);
    tally.keeps("traversal", speculate(draft::draft_model(trees), target, wide, accept::traversal{}), sampled);
    tally.keeps("path by path", speculate(draft::draft_model(chains), target, wide, accept::coupled{}), sampled);
    tally.keeps("lookup tree",
                speculate(draft::prompt_lookup(1, 8, draft::trie_limits{}), target, three, accept::exact{}), greedy);
    tally.keeps("heads", speculate(heads, target, three, accept::rejection_sampling{}), sampled);
    tally.keeps("head tree", speculate(draft::heads(heads, draft::argmax{}), target, wide, accept::exact{}), greedy);
    tally.keeps("eagle", speculate(layer, target, three, accept::rejection_sampling{}), sampled);
    tally.keeps("eagle tree", speculate(draft::eagle(layer, draft::dynamic_tree{}), target, three, accept::exact{}),
                greedy);
    const draft::merged both{draft::prompt_lookup(1, 8, draft::trie_limits{}),
                             draft::eagle(layer, draft::dynamic_tree{})};
    tally.keeps("merged", speculate(both, target, wide, accept::exact{}), greedy);
    tally.report(what, 3000);
}

BOOST_AUTO_TEST_CASE(of_targets_that_run_trees) {
    trees_keep_them("trees", testing::failing_passes<with_states>(1));
}

BOOST_AUTO_TEST_CASE(of_targets_that_run_them_path_by_path) {
    trees_keep_them("trees, path by path", testing::failing_passes<pass_features::states>(1));
}

BOOST_AUTO_TEST_CASE(policies_that_learn_shapes_keep_them) {
    const auto target = testing::failing_passes<with_states>(1), trees = testing::failing_passes<with_states>(2);
    testing::fault_tally tally;
    const policy::cost_aware<draft_shape::tree> learning;
    tally.keeps("cost_aware<tree>", speculate(draft::draft_model(trees), target, learning, accept::exact{}),
                fault_choice(0));
    const policy::cost_aware<draft_shape::chain, draft_shape::tree> hybrid(
        {.verify_seconds = std::vector<double>(33, 2e-3)});
    const draft::fallback both(draft::prompt_lookup(3), draft::draft_model(trees));
    tally.keeps("cost_aware<chain, tree>", speculate(both, target, hybrid, accept::exact{}), fault_choice(0));
    tally.report("trees that are learned", 600);
}

BOOST_AUTO_TEST_SUITE_END()
