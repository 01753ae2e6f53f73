#include "augur/model/concepts.hpp"

#include <augur/model/any_model.hpp>
#include <augur/testing/costed_model.hpp>
#include <augur/testing/counting_model.hpp>
#include <augur/testing/faulty_model.hpp>
#include <augur/testing/model_laws.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
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

// Nothing but the very line is the promise.
struct says_nothing {};
struct says_a_number {
    static constexpr int bitwise_rows = 1;
};
struct says_it_of_an_object {
    bool bitwise_rows = true;
};
class says_it_to_itself {
    static constexpr bool bitwise_rows = true;
};
struct misspelt {
    static constexpr bool bitwise_row = true;
};
static_assert(!has_bitwise_rows<says_nothing> && !has_bitwise_rows<says_a_number> &&
              !has_bitwise_rows<says_it_of_an_object> && !has_bitwise_rows<says_it_to_itself> &&
              !has_bitwise_rows<misspelt> && !has_bitwise_rows<int>);

// Wrappers say what is inside.
using plainly = testing::function_model;
struct unsaid : plainly {
    using plainly::plainly;
    static constexpr bool bitwise_rows = false;
};
static_assert(has_bitwise_rows<testing::counting_model<plainly>> && !has_bitwise_rows<testing::counting_model<unsaid>>);
static_assert(has_bitwise_rows<testing::costed_model<plainly>> && !has_bitwise_rows<testing::costed_model<unsaid>>);
static_assert(has_bitwise_rows<testing::faulty_model> && has_bitwise_rows<testing::tree_mock> &&
              has_bitwise_rows<testing::hidden_state_mock> && has_bitwise_rows<testing::split_mock> &&
              has_bitwise_rows<testing::batch_mock> && has_bitwise_rows<model::basic_any_model<>> &&
              !has_bitwise_rows<model::any_model>);
static_assert(
    std::is_same_v<guarantee_on_rows_of<plainly, guarantee::same_distribution>, guarantee::same_distribution>);
static_assert(std::is_same_v<guarantee_on_rows_of<unsaid, guarantee::same_distribution>,
                             guarantee::within_numerics<guarantee::same_distribution>>);
static_assert(std::is_same_v<guarantee_on_rows_of<unsaid, guarantee::none>, guarantee::none>);

BOOST_AUTO_TEST_CASE(a_kept_path_equals_a_sequence) {
    const smallest::tree_model model;
    auto tree = model.make_sequence();
    const std::vector<token> start{1, 2};
    model.extend(tree, start);
    auto chain = tree;
    const std::vector<token> nodes{3, 4, 5};
    const std::vector<std::int32_t> parents{-1, -1, 1};
    const scores rows =
        model.run(std::vector<pass<smallest::sequence>>{{.sequence = &tree, .tokens = nodes, .parents = parents}});
    BOOST_TEST(rows[2][4] == 1.0f);  // two tokens and depth two
    const std::vector<std::size_t> path{1, 2};
    model.keep(tree, path);
    const std::vector<token> same{4, 5};
    model.extend(chain, same);
    BOOST_TEST(tree.tokens == chain.tokens);
}

BOOST_AUTO_TEST_CASE(the_smallest_models_keep_the_laws) {
    const auto keeps = [](const auto& model, std::size_t laws) {
        const auto r = testing::model_laws(model);
        BOOST_TEST(r.kept(), r);
        BOOST_TEST(r.checked.size() == laws);
    };
    keeps(smallest::model{}, 14);
    keeps(smallest::tree_model{}, 15);
    keeps(smallest::hidden_state_model{}, 16);
    keeps(smallest::prefilling_model{}, 16);
    keeps(smallest::split_model{}, 18);
    keeps(smallest::batch_model{}, 14);
}

BOOST_AUTO_TEST_SUITE_END()
