#include "augur/draft/exit_head.hpp"

#include <augur/testing/refined_models.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "draft/exit_mock.hpp"

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_exit_head)

using testing::exit_mock;

struct head_without_a_layer {
    std::size_t vocabulary_size() const { return 3; }
    std::size_t hidden_size() const { return 3; }
    void row(std::span<const float>, std::span<float>) const {}
};
static_assert(!draft::ExitHead<head_without_a_layer>);

BOOST_AUTO_TEST_CASE(without_noise_the_mock_has_the_rows_of_the_model) {
    const testing::split_mock model(testing::hashed_model(5, 1), 4);
    const std::vector<token> tokens{3, 1, 4};
    for (std::size_t layer = 1; layer < 4; ++layer) {
        auto whole = model.make_sequence(), split = model.make_sequence();
        const auto rows = model.extend(whole, tokens);
        const pass<testing::split_mock::sequence_type> shallow{.sequence = &split, .tokens = tokens, .to_layer = layer};
        model.run(std::span(&shallow, 1));
        const exit_mock head{.vocabulary = 5, .after = layer, .noise = 0, .kept = 4};
        std::vector<float> row(5);
        for (std::size_t i = 0; i < 3; ++i) {
            head.row(model.hidden(split)[i], row);
            BOOST_TEST(std::equal(row.begin(), row.begin() + 4, rows[i].begin()));
            BOOST_TEST(row[4] == -std::numeric_limits<float>::infinity());
        }
    }
}

BOOST_AUTO_TEST_CASE(the_state_of_a_pass_is_that_of_its_last_token) {
    const testing::split_mock model(testing::hashed_model(5, 1), 4);
    const std::vector<token> tokens{3, 1, 4};
    auto split = model.make_sequence();
    const pass<testing::split_mock::sequence_type> shallow{.sequence = &split, .tokens = tokens, .to_layer = 2};
    model.run(std::span(&shallow, 1));
    const logit_row state = draft::exit_state<exit_mock>(model, split);
    const auto states = model.hidden(split);
    BOOST_TEST(std::equal(state.begin(), state.end(), states[2].begin(), states[2].end()));
    BOOST_TEST(!std::equal(state.begin(), state.end(), states[0].begin(), states[0].end()));
}

void refused(const exit_mock& head, const testing::split_mock& target, const std::string& message) {
    BOOST_CHECK_EXCEPTION(draft::check_exit(head, target), error,
                          [&](const error& e) { return std::string(e.what()).find(message) != std::string::npos; });
}

BOOST_AUTO_TEST_CASE(a_head_must_fit_its_target) {
    const testing::split_mock target(testing::hashed_model(5, 1), 4);
    for (std::size_t layer = 1; layer < 4; ++layer)
        draft::check_exit(exit_mock{.vocabulary = 5, .after = layer}, target);
    refused({.vocabulary = 5, .after = 0}, target, "after 0 layers; of a target of 4 it must be those after 1 to 3");
    refused({.vocabulary = 5, .after = 4}, target, "after 4 layers; of a target of 4");
    refused({.vocabulary = 6, .after = 2}, target, "hidden states of 6 numbers, but the target's have 5");
}

BOOST_AUTO_TEST_SUITE_END()
