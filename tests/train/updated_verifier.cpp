#include "augur/train/updated_verifier.hpp"

#include <boost/test/unit_test.hpp>
#include <limits>
#include <vector>

#include "augur/testing/refined_models.hpp"
#include "augur/train/state_head.hpp"
#include "train/identity.hpp"
#include "train/refuses.hpp"

BOOST_AUTO_TEST_SUITE(train_updated_verifier)
using namespace augur;
using namespace augur::train;

constexpr std::size_t size = 3;
using own_head = state_head<dense_weight_matrix<float>>;
using updated = updated_verifier<testing::hidden_state_mock, own_head>;
static_assert(HiddenStateModel<updated> && !TreeModel<updated> && !SplitModel<updated>);
static_assert(updated::bitwise_rows == testing::hidden_state_mock::bitwise_rows);

using split_updated = updated_verifier<testing::split_mock, own_head>;
static_assert(SplitModel<split_updated> && BatchModel<split_updated> && !TreeModel<split_updated>);

struct within_numerics : testing::hidden_state_mock {
    static constexpr bool bitwise_rows = false;
};
static_assert(!updated_verifier<within_numerics, own_head>::bitwise_rows);

/// The mock's own: its states are its rows.
own_head new_head() {
    return {testing::identity_base(size),
            {.layer = 4, .vocabulary_size = size},
            {.norm = norm_kind::none, .scale = scale_kind::none, .update = update_kind::output, .rank = 2}};
}
const std::vector<token> text{2, 0, 1, 1};

BOOST_AUTO_TEST_CASE(it_starts_as_the_model_itself) {
    const testing::hidden_state_mock model(testing::hashed_model(size, 5));
    const own_head head = new_head();
    const updated target(model, head);
    BOOST_TEST(target.vocabulary_size() == size);
    BOOST_TEST(target.hidden_size() == model.hidden_size());
    BOOST_TEST(target.context_length() == model.context_length());
    auto own = model.make_sequence();
    auto sequence = target.make_sequence();
    const auto rows = target.extend(sequence, text), expected = model.extend(own, text);
    BOOST_TEST_REQUIRE(rows.size() == text.size());
    for (std::size_t i = 0; i < text.size(); ++i) BOOST_TEST(rows[i] == expected[i], boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(its_rows_are_the_heads_of_the_models_states) {
    const testing::hidden_state_mock model(testing::hashed_model(size, 5));
    own_head head = new_head();
    const updated target(model, head);
    head.assign(vector<float>::LinSpaced(head.values().size(), -1, 2));
    auto sequence = target.make_sequence();
    auto own = model.make_sequence();
    const auto rows = target.extend(sequence, text), unlearned = model.extend(own, text);
    const auto states = target.hidden(sequence);
    std::vector<float> expected(size);
    BOOST_TEST(rows.possible().empty());
    for (std::size_t i = 0; i < text.size(); ++i) {
        BOOST_TEST(states[i] == model.hidden(own)[i], boost::test_tools::per_element());
        head.row(states[i], expected);
        BOOST_TEST(rows[i] == logit_row(expected), boost::test_tools::per_element());
        BOOST_TEST(rows[i][0] != unlearned[i][0]);
    }
}

BOOST_AUTO_TEST_CASE(what_is_truncated_is_forgotten) {
    const testing::hidden_state_mock model(testing::hashed_model(size, 5));
    const own_head head = new_head();
    const updated target(model, head);
    auto sequence = target.make_sequence();
    target.extend(sequence, text);
    target.truncate(sequence, 2);
    BOOST_TEST(target.length(sequence) == 2U);
    const std::vector<token> others{2}, whole{2, 0, 2};
    auto fresh = target.make_sequence();
    const auto after = target.extend(sequence, others), expected = target.extend(fresh, whole);
    BOOST_TEST(after[0] == expected[2], boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(its_first_layers_are_the_models_and_then_the_others_give_the_rows_of_an_extend) {
    const testing::split_mock model(testing::hashed_model(size, 5));
    own_head head = new_head();
    head.assign(vector<float>::LinSpaced(head.values().size(), -1, 2));
    const split_updated target(model, head);
    BOOST_TEST(target.layer_count() == model.layer_count());
    auto whole = target.make_sequence();
    const auto expected = target.extend(whole, text);
    for (const std::size_t layers : {1u, 2u, 3u}) {
        for (const std::size_t last : {1u, 3u, 4u}) {
            for (const bool states : {false, true}) {
                auto split = target.make_sequence();
                auto own = model.make_sequence();
                const pass<split_updated::sequence_type> first{.sequence = &split, .tokens = text, .to_layer = layers};
                BOOST_TEST(target.run(std::span(&first, 1)).size() == 0U);
                BOOST_TEST(target.waiting(split) == text.size());
                const pass<testing::split_mock::sequence_type> of_model{
                    .sequence = &own, .tokens = text, .to_layer = layers};
                model.run(std::span(&of_model, 1));
                for (std::size_t i = 0; i < text.size(); ++i) {
                    BOOST_TEST(target.hidden(split)[i] == model.hidden(own)[i], boost::test_tools::per_element());
                }
                const pass<split_updated::sequence_type> rest{
                    .sequence = &split, .rows = last, .from_layer = layers, .states = states};
                const auto rows = target.run(std::span(&rest, 1));
                BOOST_TEST(target.waiting(split) == 0U);
                BOOST_TEST_REQUIRE(rows.size() == last);
                for (std::size_t i = 0; i < last; ++i) {
                    BOOST_TEST(rows[i] == expected[text.size() - last + i], boost::test_tools::per_element());
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(rows_of_passes_that_are_run_together_are_those_that_each_gets_alone) {
    const testing::split_mock model(testing::hashed_model(size, 5));
    own_head head = new_head();
    head.assign(vector<float>::LinSpaced(head.values().size(), -1, 2));
    const split_updated target(model, head);
    const std::vector<token> other{1, 2}, third{0};
    auto a = target.make_sequence(), b = target.make_sequence(), c = target.make_sequence();
    const pass<split_updated::sequence_type> lower{.sequence = &b, .tokens = other, .to_layer = 2};
    target.run(std::span(&lower, 1));
    const std::vector<pass<split_updated::sequence_type>> all{{.sequence = &a, .tokens = text, .rows = 3},
                                                              {.sequence = &b, .from_layer = 2},
                                                              {.sequence = &c, .tokens = third, .rows = 0}};
    const auto rows = target.run(all);
    BOOST_TEST_REQUIRE(rows.size() == 5U);
    auto whole_a = target.make_sequence(), whole_b = target.make_sequence();
    const auto of_a = target.extend(whole_a, text), of_b = target.extend(whole_b, other);
    for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(rows[i] == of_a[i + 1], boost::test_tools::per_element());
    for (std::size_t i = 0; i < 2; ++i) BOOST_TEST(rows[3 + i] == of_b[i], boost::test_tools::per_element());
    BOOST_TEST(target.length(c) == 1U);
    const pass<split_updated::sequence_type> more{.sequence = &a, .tokens = third};
    BOOST_TEST(target.run(std::span(&more, 1)).size() == 1U);
    BOOST_TEST(target.run({}).size() == 0U);
}

BOOST_AUTO_TEST_CASE(all_states_are_shown_where_they_are_asked_for) {
    const testing::split_mock model(testing::hashed_model(size, 5));
    const own_head head = new_head();
    const split_updated target(model, head);
    for (const bool states : {false, true}) {
        auto sequence = target.make_sequence();
        const pass<split_updated::sequence_type> asked{
            .sequence = &sequence, .tokens = text, .rows = 2, .states = states};
        BOOST_TEST(target.run(std::span(&asked, 1)).size() == 2U);
        BOOST_TEST(target.hidden(sequence).size() == (states ? text.size() : 2U));
    }
}

BOOST_AUTO_TEST_CASE(tokens_that_the_head_has_no_class_for_are_impossible) {
    const testing::hidden_state_mock model(testing::hashed_model(size, 5));
    const std::vector<token> listed{0, 2};
    const own_head head(testing::identity_base(size).selected(listed),
                        {.layer = 4, .vocabulary_size = size, .tokens = listed},
                        {.norm = norm_kind::none, .scale = scale_kind::none, .update = update_kind::output, .rank = 1});
    const updated target(model, head);
    auto sequence = target.make_sequence();
    const auto rows = target.extend(sequence, text);
    BOOST_TEST(rows.possible() == listed, boost::test_tools::per_element());
    BOOST_TEST(rows[0][1] == -std::numeric_limits<float>::infinity());
}

BOOST_AUTO_TEST_CASE(a_head_of_other_sizes_is_refused_with_both) {
    const own_head head = new_head();
    const testing::hidden_state_mock other(testing::hashed_model(size + 1, 5));
    BOOST_TEST(testing::refuses(
        [&] { updated_verifier(other, head); },
        "updated_verifier: the head makes 3 logits of 3 numbers, but the model has 4 tokens and states of 4"));
}

BOOST_AUTO_TEST_SUITE_END()
