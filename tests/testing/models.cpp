#include "augur/testing/models.hpp"

#include <augur/testing/text_distribution_of.hpp>
#include <boost/test/unit_test.hpp>

namespace augur::testing {
static_assert(Model<function_model> && ScoresLastRows<function_model>);
}  // namespace augur::testing

using namespace augur;

BOOST_AUTO_TEST_SUITE(testing_models)

BOOST_AUTO_TEST_CASE(rows_do_not_depend_on_how_many_are_computed) {
    const auto model = testing::hashed_model(6, 2);
    const std::vector<token> tokens{1, 2, 3, 4};
    auto at_once = model.make_sequence();
    const scores all = model.extend(at_once, tokens);
    auto one_by_one = model.make_sequence();
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const scores row = model.extend(one_by_one, std::span(tokens).subspan(i, 1));
        BOOST_TEST(std::equal(row[0].begin(), row[0].end(), all[i].begin()));
    }
    auto last = model.make_sequence();
    const scores two = model.extend(last, tokens, 2);
    BOOST_TEST(two.size() == 2u);
    BOOST_TEST(std::equal(two[0].begin(), two[0].end(), all[2].begin()));
}

BOOST_AUTO_TEST_CASE(truncated_equals_fresh) {
    const auto model = testing::hashed_model(6, 2);
    auto sequence = model.make_sequence();
    model.extend(sequence, std::vector<token>{1, 2, 3});
    model.truncate(sequence, 1);
    const std::vector<token> more{5};
    const scores again = model.extend(sequence, more);
    auto fresh = model.make_sequence();
    const scores expected = model.extend(fresh, std::vector<token>{1, 5}, 1);
    BOOST_TEST(std::equal(again[0].begin(), again[0].end(), expected[0].begin()));
}

BOOST_AUTO_TEST_CASE(misuse_throws_and_changes_nothing) {
    const auto model = testing::hashed_model(6, 2, 2, 3);
    auto sequence = model.make_sequence();
    model.extend(sequence, std::vector<token>{1, 2});
    BOOST_CHECK_THROW(model.extend(sequence, std::vector<token>{1, 2}), error);
    BOOST_CHECK_THROW(model.truncate(sequence, 3), error);
    BOOST_TEST(model.length(sequence) == 2u);
    BOOST_CHECK_THROW(testing::markov_model({{1, 0}, {1}}), error);
}

BOOST_AUTO_TEST_CASE(a_scripted_model_wants_its_script_then_token_zero) {
    const auto model = testing::scripted_model(5, {1, 4, 2});
    auto sequence = model.make_sequence();
    const scores rows = model.extend(sequence, std::vector<token>{1, 1, 1, 1});
    const std::vector<std::size_t> wanted{4, 2, 0, 0};
    for (std::size_t i = 0; i < 4; ++i) {
        for (std::size_t t = 0; t < 5; ++t) BOOST_TEST(rows[i][t] == (t == wanted[i] ? 0.0f : -20.0f));
    }
}

BOOST_AUTO_TEST_CASE(a_markov_model_gives_the_logarithms_of_its_rows) {
    const auto model = testing::markov_model({{0.25, 0.75}, {1, 0}});
    auto sequence = model.make_sequence();
    const scores rows = model.extend(sequence, std::vector<token>{0, 1});
    BOOST_TEST(rows[0][0] == std::log(0.25f));
    BOOST_TEST(rows[1][1] == -std::numeric_limits<float>::infinity());
}

BOOST_AUTO_TEST_CASE(a_table_model_gives_its_rows_and_names_what_is_missing) {
    const auto model = testing::table_model(2, {{{1}, {0.25, 0.75}}, {{1, 0}, {0, 1}}});
    auto sequence = model.make_sequence();
    const scores rows = model.extend(sequence, std::vector<token>{1, 0});
    BOOST_TEST(rows[0][1] == std::log(0.75f));
    BOOST_TEST(rows[1][0] == -std::numeric_limits<float>::infinity());
    BOOST_CHECK_EXCEPTION(model.extend(sequence, std::vector<token>{1}), error, [](const error& e) {
        return std::string_view(e.what()) == "table_model: there is no row after {1, 0, 1}";
    });
    BOOST_TEST(model.length(sequence) == 2u);
    BOOST_CHECK_EXCEPTION(testing::table_model(2, {{{1, 1}, {1}}}), error, [](const error& e) {
        return std::string_view(e.what()) == "table_model: the row after {1, 1} has 1 entries for a vocabulary of 2";
    });
}

/// Softmax of what follows `before`.
std::vector<double> probabilities(const testing::function_model& model, const std::vector<token>& before) {
    std::vector<float> row(model.vocabulary_size());
    model.fill_row(before, row);
    std::vector<double> shares;
    double sum = 0;
    for (float logit : row) sum += shares.emplace_back(std::exp(static_cast<double>(logit)));
    for (double& p : shares) p /= sum;
    return shares;
}

BOOST_AUTO_TEST_CASE(a_noisy_model_is_at_the_chosen_distance_after_every_prefix) {
    const auto model = testing::hashed_model(5, 3);
    for (double distance : {0.0, 0.1, 0.5, 0.8}) {
        const auto noisy = testing::noisy_model(model, distance);
        for (token t = 0; t < 5; ++t) {
            const auto expected = probabilities(model, {0, t});
            const auto got = probabilities(noisy, {0, t});
            double sum = 0;
            for (std::size_t i = 0; i < 5; ++i) sum += std::abs(expected[i] - got[i]);
            BOOST_TEST(std::abs(sum / 2 - distance) < 1e-6);
        }
    }
    BOOST_CHECK_THROW(testing::noisy_model(model, 0.81), error);
    BOOST_CHECK_THROW(testing::noisy_model(model, -0.1), error);
    BOOST_CHECK_THROW(testing::noisy_model(model, std::numeric_limits<double>::quiet_NaN()), error);
}

BOOST_AUTO_TEST_CASE(a_noisy_draft_is_accepted_as_often_as_its_distance_says) {
    const auto target = testing::hashed_model(4, 1);
    const auto draft = testing::noisy_model(target, 0.25);
    const std::vector<token> prompt{0, 1};
    decode::options chosen;
    chosen.stop.max_tokens = 2;
    const auto accepted = testing::enumerate([&](const testing::enumerating_chooser& chooser) {
        const auto scheme = speculate(draft, target, policy::fixed_length{1}, accept::rejection_sampling{});
        const auto decoded = decode::generate_with(chooser, scheme, prompt, chosen);
        return std::vector<token>{decoded.counts.count(origin::accepted) > 0 ? 1 : 0};
    });
    BOOST_TEST(std::abs(accepted.probability.at({1}) - 0.75) < 1e-6);
}

BOOST_AUTO_TEST_SUITE_END()
