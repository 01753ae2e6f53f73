#include "augur/train/trained_layer.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "augur/accept/block.hpp"
#include "augur/accept/coupled.hpp"
#include "augur/accept/exact.hpp"
#include "augur/accept/rejection_sampling.hpp"
#include "augur/draft/eagle.hpp"
#include "augur/policy/fixed_length.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/testing/refined_models.hpp"
#include "augur/train/state_head.hpp"
#include "augur/train/watcher.hpp"
#include "train/identity.hpp"
#include "train/refuses.hpp"
#include "train/while_learning.hpp"

BOOST_AUTO_TEST_SUITE(train_trained_layer)
using namespace augur;
using namespace augur::train;
using testing::few_tokens;
using testing::fused_mock;

constexpr std::size_t size = 3;
const std::vector<token> prompt{2, 0, 1};
using head_type = state_head<dense_weight_matrix<float>>;
using training_batch = trained_layer<fused_mock, head_type>;
static_assert(FusedModel<training_batch> && !FusedTreeModel<training_batch> && !MakesFusedStates<fused_mock>);

/// Its rows, where nothing was learned, are the layer's states: the mock's own rows.
head_type new_head() {
    return {testing::identity_base(size), {.layer = 1, .vocabulary_size = size}, {.norm = norm_kind::none, .rank = 2}};
}
fused_mock new_layer(std::size_t vocabulary = size, std::size_t width = size) {
    return {testing::hashed_model(vocabulary, 2, 1), width};
}

/// The same without rows.
struct states_mock : fused_mock {
    using fused_mock::fused_mock;
    void extend_states(sequence_type& s, std::span<const token> tokens, std::span<const float> states) const {
        fused_mock::extend(s, tokens, states, tokens.size());
    }
    scores extend(sequence_type&, std::span<const token>, std::span<const float>, std::size_t) const {
        detail::fail("its own rows were asked for");
    }
};
static_assert(MakesFusedStates<states_mock>);

BOOST_AUTO_TEST_CASE(its_rows_are_the_heads_of_the_layers_states) {
    const fused_mock layer = new_layer();
    const states_mock without_rows(testing::hashed_model(size, 2, 1), size);
    head_type head = new_head();
    const training_batch with_rows(layer, head);
    const trained_layer without(without_rows, head);
    const std::vector<float> states{1, 0, 2, -1, 3, 0.5F, 0, 1, 1};
    for (const float by : {0.0F, 1.0F}) {
        head.assign(head.values() + by * vector<float>::LinSpaced(head.values().size(), -1, 2));
        auto own = layer.make_sequence();
        const auto expected = layer.extend(own, prompt, states, size);
        for (const std::size_t last : {0U, 1U, 3U}) {
            auto s = with_rows.make_sequence();
            auto t = without.make_sequence();
            const auto rows = with_rows.extend(s, prompt, states, last), same = without.extend(t, prompt, states, last);
            BOOST_TEST_REQUIRE(rows.size() == last);
            BOOST_TEST_REQUIRE(same.size() == last);
            for (std::size_t i = 0; i < last; ++i) {
                std::vector<float> row(size);
                head.row(expected[size - last + i], row);
                BOOST_TEST(rows[i] == logit_row(row), boost::test_tools::per_element());
                BOOST_TEST(same[i] == logit_row(row), boost::test_tools::per_element());
                if (by == 0) BOOST_TEST(rows[i] == expected[size - last + i], boost::test_tools::per_element());
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(it_is_truncated_as_the_layer_is) {
    const fused_mock layer = new_layer();
    const head_type head = new_head();
    const training_batch of(layer, head);
    auto s = of.make_sequence();
    of.extend(s, prompt, std::vector<float>(9, 1), 1);
    of.truncate(s, 1);
    BOOST_TEST(of.length(s) == 1U);
    BOOST_TEST(
        testing::refuses([&] { of.extend(s, prompt, std::vector<float>(9), 4); }, "4 rows are wanted of 3 tokens"));
}

/// The distribution of texts while a head, made anew for each path, learns from the path's own rounds.
template <class Criterion>
testing::seen_while_learning learned_law(const testing::hidden_state_mock& target, Criterion criterion,
                                         const decode::options& chosen) {
    const fused_mock layer = new_layer();
    std::optional<training_batch> drafts;
    return testing::law_while_learning(
        prompt, chosen, new_head,
        [&](head_type& head) {
            return speculate(draft::eagle(drafts.emplace(layer, head)), target, policy::fixed_length{2}, criterion);
        },
        [](auto& online, const head_type&) { return watcher(online); });
}

BOOST_AUTO_TEST_CASE(the_targets_distribution_is_kept_with_a_head_that_changes_after_every_round) {
    const testing::hidden_state_mock target(testing::hashed_model(size, 5));
    const auto keeps = [&](const auto& criterion, const decode::options& chosen) {
        const auto found = learned_law(target, criterion, chosen);
        BOOST_TEST(found.changed > found.rounds / 2);
        BOOST_TEST(testing::total_variation(
                       testing::text_distribution_of(testing::plain_sampling(target), prompt, chosen), found.texts) <
                   1e-12);
        BOOST_TEST(found.texts.total() == 1, boost::test_tools::tolerance(1e-12));
    };
    keeps(accept::rejection_sampling{}, few_tokens());
    keeps(accept::rejection_sampling{}, few_tokens({.temperature = {0.7F}, .top_k = {2}}));
    keeps(accept::block{}, few_tokens());
}

BOOST_AUTO_TEST_CASE(the_seeded_and_the_greedy_text_are_kept) {
    const testing::hidden_state_mock target(testing::hashed_model(size, 5));
    const auto chosen = few_tokens(), greedy = few_tokens({.temperature = {0}}, 40);
    const auto coupled = learned_law(target, accept::coupled{}, chosen);
    BOOST_TEST(coupled.changed > coupled.rounds / 2);
    BOOST_TEST(testing::total_variation(testing::text_distribution_of(plain(target), prompt, chosen), coupled.texts) <
               1e-12);
    const auto exact = learned_law(target, accept::exact{}, greedy);
    BOOST_TEST(exact.changed > exact.rounds / 2);
    BOOST_TEST(exact.texts.probability.size() == 1U);
    BOOST_TEST(testing::total_variation(testing::text_distribution_of(plain(target), prompt, greedy), exact.texts) <
               1e-12);
}

/// Keeps what a watcher shows.
struct shown_rounds {
    std::vector<float> states{};
    void show(const auto&, std::span<const float> of) { states.assign(of.begin(), of.end()); }
};

BOOST_AUTO_TEST_CASE(each_state_shown_is_the_one_that_its_token_was_guessed_from) {
    const testing::hidden_state_mock target(testing::hashed_model(size, 5));
    const fused_mock layer = new_layer();
    const head_type head = new_head();
    const training_batch of(layer, head);
    const auto scheme = speculate(draft::eagle(of), target, policy::fixed_length{3}, accept::exact{});
    decode::session s(scheme, prompt, transform::settings{.temperature = {0}}, {.max_tokens = 20},
                      random::philox_chooser(1));
    shown_rounds shown;
    watcher shows(shown);
    shows.attach(s);
    std::size_t drafted = 0;
    while (s.finished == finish_reason::running) {
        const auto& round = decode::step(scheme, s, {}, shows);
        const auto tokens = round.proposed.tokens();
        BOOST_TEST_REQUIRE(shown.states.size() >= tokens.size() * size);
        for (std::size_t i = 0; i < tokens.size(); ++i, ++drafted) {
            std::vector<float> row(size);
            head.row(std::span(shown.states).subspan(i * size, size), row);
            const auto largest = std::max_element(row.begin(), row.end()) - row.begin();
            BOOST_TEST(tokens[i] == static_cast<token>(largest));
        }
    }
    BOOST_TEST(drafted > 10U);
}

BOOST_AUTO_TEST_CASE(it_learns_what_it_was_shown) {
    // The same text again and again: what was rejected at first is accepted in the end.
    constexpr std::size_t vocabulary = 12;  // and numbers of a state: enough for a linear head to tell positions apart
    const testing::hidden_state_mock target(testing::hashed_model(vocabulary, 5));
    const fused_mock layer = new_layer(vocabulary, vocabulary);
    head_type head(testing::identity_base(vocabulary), {.layer = 1, .vocabulary_size = vocabulary},
                   {.norm = norm_kind::none, .rank = vocabulary});
    const training_batch of(layer, head);
    trainer online(head, testing::small_steps());
    const auto scheme = speculate(draft::eagle(of), target, policy::fixed_length{2}, accept::exact{});
    const auto accepted = testing::acceptance_of_repeats(scheme, prompt, [&] { return watcher(online); });
    BOOST_TEST_MESSAGE("accepted " << accepted.front() << " -> " << accepted.back());
    BOOST_TEST(accepted.back() > accepted.front() + 0.3);
    BOOST_TEST(online.report().samples == 64U);
    BOOST_TEST(online.report().dropped == 0U);
}

BOOST_AUTO_TEST_CASE(a_head_of_other_sizes_is_refused_with_both) {
    const fused_mock layer = new_layer(4, 2);
    const head_type head = new_head();
    BOOST_TEST(testing::refuses([&] { training_batch(layer, head); },
                                "trained_layer: the head makes 3 logits of 3 numbers, but the layer has 4 tokens and "
                                "states of 2"));
}

BOOST_AUTO_TEST_SUITE_END()
