#include "augur/testing/refined_models.hpp"

#include <augur/model/run.hpp>
#include <boost/test/unit_test.hpp>

#include "random_topologies.hpp"
#include "sanitized.hpp"

namespace augur::testing {
static_assert(TreeModel<tree_mock> && PrefillsStates<hidden_state_mock> && SplitModel<split_mock>);
static_assert(BatchModel<batch_mock> && !HiddenStateModel<batch_mock> && !TreeModel<batch_mock>);
static_assert(TreeModel<full_mock> && PrefillsStates<full_mock> && SplitModel<full_mock> && BatchModel<full_mock>);
static_assert(FusedModel<fused_mock>);
}  // namespace augur::testing

using namespace augur;

BOOST_AUTO_TEST_SUITE(testing_refined_models)

// That the mocks keep the laws of their concepts is tests/testing/model_laws.cpp; here is what goes beyond.

BOOST_AUTO_TEST_CASE(a_tree_is_kept_along_one_path_only) {
    const testing::tree_mock model(testing::hashed_model(5, 1, 2, 6));
    auto sequence = model.make_sequence();
    model.extend(sequence, std::vector<token>{1, 2});
    const std::vector<token> nodes{3, 4, 0};
    const std::vector<std::int32_t> parents{-1, 0, -1};
    model::run(model, {.sequence = &sequence, .tokens = nodes, .parents = parents});
    BOOST_TEST(model.length(sequence) == 2u);
    BOOST_CHECK_THROW(model.keep(sequence, std::vector<std::size_t>{1}), error);     // skips node 0
    BOOST_CHECK_THROW(model.keep(sequence, std::vector<std::size_t>{0, 2}), error);  // node 2 is a root
    BOOST_CHECK_THROW(model.keep(sequence, std::vector<std::size_t>{3}), error);
    BOOST_TEST(model.length(sequence) == 2u);
    model.keep(sequence, std::vector<std::size_t>{0, 1});
    BOOST_TEST((sequence.tokens == std::vector<token>{1, 2, 3, 4}));
    BOOST_CHECK_THROW(model.keep(sequence, std::vector<std::size_t>{0}), error);  // they are gone
}

BOOST_AUTO_TEST_CASE(random_topologies_are_their_paths) {
    const testing::tree_mock model(testing::hashed_model(5, 1, 2, 400));
    const auto trees = testing::topologies(testing::unless_sanitized<std::size_t>(10000, 1000));
    BOOST_TEST(testing::trees_that_differ_from_paths(model, trees) == "");
}

BOOST_AUTO_TEST_CASE(wrong_trees_are_refused) {
    const testing::tree_mock model(testing::hashed_model(5, 1, 2, 3));
    auto sequence = model.make_sequence();
    model.extend(sequence, std::vector<token>{1});
    using parents = std::vector<std::int32_t>;
    const auto tree = [&](const std::vector<token>& tokens, const parents& of) {
        return model::run(model, {.sequence = &sequence, .tokens = tokens, .parents = of});
    };
    BOOST_CHECK_THROW(tree(std::vector<token>{1, 2}, parents{-1}), error);
    BOOST_CHECK_THROW(tree(std::vector<token>{1, 2}, parents{-1, 1}), error);
    BOOST_CHECK_THROW(tree(std::vector<token>{1, 2}, parents{-2, 0}), error);
    BOOST_CHECK_THROW(tree(std::vector<token>{1, 2, 3}, parents{-1, 0, 1}), error);
    BOOST_TEST(tree(std::vector<token>{1, 2}, parents{-1, 0}).size() == 2u);
}

BOOST_AUTO_TEST_CASE(positions_wait_for_the_deep_layers_they_were_split_at) {
    const testing::split_mock model(testing::hashed_model(5, 1), 4);
    auto sequence = model.make_sequence();
    const auto shallow = [&](const std::vector<token>& tokens, std::size_t to) {
        model::run(model, {.sequence = &sequence, .tokens = tokens, .to_layer = to});
    };
    const auto deep = [&](std::size_t from, std::size_t to = all_layers) {
        return model::run(model, {.sequence = &sequence, .from_layer = from, .to_layer = to});
    };
    shallow({1, 2}, 1);
    deep(1, 3);
    BOOST_CHECK_THROW(shallow({1}, 2), error);
    BOOST_CHECK_THROW(deep(1), error);
    BOOST_CHECK_THROW(deep(5), error);
    BOOST_CHECK_THROW(deep(3, 3), error);
    BOOST_CHECK_THROW(model.extend(sequence, std::vector<token>{1}), error);
    model.truncate(sequence, 1);
    BOOST_TEST(model.waiting(sequence) == 1u);
    BOOST_TEST(deep(3).size() == 1u);
    BOOST_TEST(deep(3).size() == 0u);
}

BOOST_AUTO_TEST_CASE(shallow_states_are_not_the_rows_yet) {
    const testing::split_mock model(testing::hashed_model(5, 1), 4);
    auto split = model.make_sequence();
    auto whole = model.make_sequence();
    const std::vector<token> tokens{1};
    model::run(model, {.sequence = &split, .tokens = tokens, .to_layer = 3});
    const scores state = model.hidden(split);
    const scores row = model.extend(whole, tokens);
    BOOST_TEST(!std::equal(state[0].begin(), state[0].end(), row[0].begin()));
}

BOOST_AUTO_TEST_SUITE_END()
