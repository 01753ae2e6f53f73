#include "augur/model/concepts.hpp"

#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>

#include "model/smallest.hpp"

using namespace augur;

BOOST_AUTO_TEST_SUITE(model_concepts)

static_assert(Model<smallest::model>);
static_assert(!ScoresLastRows<smallest::model> && !TreeModel<smallest::model> && !HiddenStateModel<smallest::model> &&
              !SplitModel<smallest::model> && !BatchModel<smallest::model>);
static_assert(TreeModel<smallest::tree_model>);
static_assert(HiddenStateModel<smallest::hidden_state_model> && !PrefillsStates<smallest::hidden_state_model>);
static_assert(PrefillsStates<smallest::prefilling_model>);
static_assert(SplitModel<smallest::split_model>);
static_assert(BatchModel<smallest::batch_model>);
static_assert(ScoresLastRows<testing::function_model>);
static_assert(!Model<int> && !Model<std::vector<float>>);

struct batch_dependent : smallest::model {
    static constexpr bool bitwise_rows = false;
};
static_assert(has_bitwise_rows<smallest::model> && !has_bitwise_rows<batch_dependent>);

BOOST_AUTO_TEST_CASE(a_kept_path_equals_a_sequence) {
    const smallest::tree_model model;
    auto tree = model.make_sequence();
    const std::vector<token> start{1, 2};
    model.extend(tree, start);
    auto chain = tree;
    const std::vector<token> nodes{3, 4, 5};
    const std::vector<std::int32_t> parents{-1, -1, 1};
    const scores rows = model.extend_tree(tree, nodes, parents);
    BOOST_TEST(rows[2][4] == 1.0f);  // two tokens and depth two
    const std::vector<std::size_t> path{1, 2};
    model.keep(tree, path);
    const std::vector<token> same{4, 5};
    model.extend(chain, same);
    BOOST_TEST(tree == chain);
}

BOOST_AUTO_TEST_SUITE_END()
