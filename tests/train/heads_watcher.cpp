#include "augur/train/heads_watcher.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <vector>

#include "augur/accept/block.hpp"
#include "augur/accept/coupled.hpp"
#include "augur/accept/exact.hpp"
#include "augur/accept/rejection_sampling.hpp"
#include "augur/draft/heads.hpp"
#include "augur/policy/fixed_length.hpp"
#include "augur/policy/tree_static.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/testing/refined_models.hpp"
#include "augur/train/draft_heads.hpp"
#include "train/identity.hpp"
#include "train/while_learning.hpp"

BOOST_AUTO_TEST_SUITE(train_heads_watcher)
using namespace augur;
using namespace augur::train;
using testing::few_tokens;
using testing::wild_steps;
using heads_type = draft_heads<dense_weight_matrix<float>>;

const std::vector<token> prompt{2, 0, 1};

heads_type new_heads(std::size_t size, bool see_tokens, std::size_t count = 2) {
    const auto embed = [](token id, std::span<float> out) {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::size_t>(id) == i ? 1.0F : 0.0F;
    };
    return {testing::identity_base(size), {.vocabulary_size = size}, {.heads = count, .see_tokens = see_tokens}, embed};
}
/// The distribution of texts while heads, made anew for each path, learn from the path's own rounds.
template <class Target, class Compose>
testing::seen_while_learning law_of_heads(const Target& target, bool see_tokens, const Compose& compose,
                                          const decode::options& chosen) {
    return testing::law_while_learning(
        prompt, chosen, [&] { return new_heads(target.vocabulary_size(), see_tokens); }, compose,
        [](auto& online, const heads_type& heads) { return heads_watcher(online, heads.head_count()); });
}

const auto chains = [](const auto& target, auto criterion) {
    return [&target, criterion](const heads_type& heads) {
        return speculate(heads, target, policy::fixed_length{2}, criterion);
    };
};

BOOST_AUTO_TEST_CASE(the_targets_distribution_is_kept_with_heads_that_change_after_every_round) {
    const testing::hidden_state_mock target(testing::hashed_model(3, 5));
    const auto keeps = [&](const auto& criterion, const decode::options& chosen, bool see_tokens) {
        const auto found = law_of_heads(target, see_tokens, chains(target, criterion), chosen);
        BOOST_TEST(found.changed == found.rounds);
        BOOST_TEST(testing::total_variation(
                       testing::text_distribution_of(testing::plain_sampling(target), prompt, chosen), found.texts) <
                   1e-12);
        BOOST_TEST(found.texts.total() == 1, boost::test_tools::tolerance(1e-12));
    };
    for (const bool see_tokens : {false, true}) {
        keeps(accept::rejection_sampling{}, few_tokens(), see_tokens);
        keeps(accept::block{}, few_tokens(), see_tokens);
    }
    keeps(accept::rejection_sampling{}, few_tokens({.temperature = {0.7F}, .top_k = {2}}), true);
}

BOOST_AUTO_TEST_CASE(the_seeded_and_the_greedy_text_are_kept_with_heads_that_change) {
    const testing::hidden_state_mock target(testing::hashed_model(3, 5));
    const auto chosen = few_tokens();
    const auto coupled = law_of_heads(target, true, chains(target, accept::coupled{}), chosen);
    BOOST_TEST(coupled.changed == coupled.rounds);
    BOOST_TEST(testing::total_variation(testing::text_distribution_of(plain(target), prompt, chosen), coupled.texts) <
               1e-12);
    const auto greedy = few_tokens({.temperature = {0}}, 40);
    const auto exact = law_of_heads(target, true, chains(target, accept::exact{}), greedy);
    BOOST_TEST(exact.texts.probability.size() == 1U);
    BOOST_TEST(testing::total_variation(testing::text_distribution_of(plain(target), prompt, greedy), exact.texts) <
               1e-12);
    BOOST_TEST(exact.changed == exact.rounds);
}

BOOST_AUTO_TEST_CASE(heads_that_draft_trees_learn_too) {
    const testing::full_mock target(testing::hashed_model(3, 5));
    const auto trees = [&](const heads_type& heads) {
        return speculate(draft::heads(heads, draft::argmax{}), target, policy::tree_static{topology{-1, -1, 0}},
                         accept::rejection_sampling{});
    };
    const auto chosen = few_tokens();
    const auto found = law_of_heads(target, true, trees, chosen);
    BOOST_TEST(found.changed == found.rounds);
    BOOST_TEST(testing::total_variation(testing::text_distribution_of(testing::plain_sampling(target), prompt, chosen),
                                        found.texts) < 1e-12);
}

/// Keeps what a watcher shows.
struct shown_samples {
    struct kept {
        std::vector<float> hidden, logits;
        std::vector<token> after;
        sample of;
    };
    trainer_options chosen{};
    std::vector<kept> samples{};
    std::size_t tokens = 0;
    bool open = true;

    const trainer_options& options() const { return chosen; }
    bool affords(double) const { return open; }
    void add(const sample& of) {
        samples.push_back({{of.hidden.begin(), of.hidden.end()},
                           {of.logits.begin(), of.logits.end()},
                           {of.after.begin(), of.after.end()},
                           of});
    }
    void committed(std::size_t count, double) { tokens += count; }
};

BOOST_AUTO_TEST_CASE(each_committed_token_teaches_each_head_from_the_state_it_is_guessed_from) {
    constexpr std::size_t size = 5, count = 3;
    const testing::hidden_state_mock target(testing::hashed_model(size, 1));
    const std::vector<token> longer{2, 1, 4, 0};
    const heads_type heads = new_heads(size, true, count);
    const auto scheme = speculate(heads, target, policy::fixed_length{count}, accept::exact{});
    decode::session s(scheme, longer, transform::settings{.temperature = {0}}, {.max_tokens = 20},
                      random::philox_chooser(0));
    shown_samples shown;
    shown.chosen.replay.context = count;
    heads_watcher learns(shown, count);
    learns.attach(s);
    std::size_t judged = 0, accepted = 0, drafted = 0;
    while (s.finished == finish_reason::running) {
        const std::size_t length = s.committed.size(), from = shown.samples.size();
        const auto& round = decode::step(scheme, s, {}, learns);
        const auto& decided = round.decided;
        accepted += std::min(decided.accepted, round.committed.size());
        drafted += decided.accepted < decided.drafted && decided.accepted < round.committed.size() ? 1 : 0;
        for (std::size_t i = from; i < shown.samples.size(); ++i) {
            const auto& each = shown.samples[i];
            const std::size_t position = each.of.position, head = each.of.head;
            const auto text = s.committed.tokens();
            BOOST_TEST_REQUIRE(position >= length);
            BOOST_TEST_REQUIRE(position < s.committed.size());
            auto fresh = target.make_sequence();
            const auto rows = target.extend(fresh, text.first(position));
            BOOST_TEST(logit_row(each.logits) == rows[position - 1], boost::test_tools::per_element());
            BOOST_TEST(logit_row(each.hidden) == rows[position - head - 2], boost::test_tools::per_element());
            BOOST_TEST(each.after == std::vector<token>(text.begin() + static_cast<std::ptrdiff_t>(position - head - 1),
                                                        text.begin() + static_cast<std::ptrdiff_t>(position)),
                       boost::test_tools::per_element());
            BOOST_TEST(each.of.same_row == (i > from && shown.samples[i - 1].of.position == position));
            if (each.of.bit == accept_bit::unknown) {
                BOOST_TEST(each.of.drafted == no_token);
                continue;
            }
            ++judged;
            BOOST_TEST(position == length + head);
            BOOST_TEST(each.of.drafted == round.proposed.tokens()[head]);
            BOOST_TEST((each.of.bit == accept_bit::accepted) == (head < decided.accepted));
        }
    }
    BOOST_TEST(judged == accepted + drafted);
    BOOST_TEST(drafted > 0U);
    BOOST_TEST(shown.tokens == 20U);
    // From the prompt there is the last state alone: of the first tokens, heads that look further back learn nothing.
    BOOST_TEST(shown.samples.size() == 20 * count - 3);
}

BOOST_AUTO_TEST_CASE(a_tree_shows_where_its_walk_stopped) {
    constexpr std::size_t size = 5;
    const testing::full_mock target(testing::hashed_model(size, 5));
    const heads_type heads = new_heads(size, false);
    const auto scheme = speculate(draft::heads(heads, draft::argmax{}), target,
                                  policy::tree_static{topology{-1, -1, 0}}, accept::exact{});
    std::vector<std::size_t> stopped(3), ended(3);  // after so many accepted: above nodes that were rejected, at a leaf
    for (token first = 0; first < 5; ++first) {
        decode::session s(scheme, std::vector<token>{2, first, 1}, transform::settings{.temperature = {0}},
                          {.max_tokens = 40}, random::philox_chooser(1));
        shown_samples shown;
        heads_watcher learns(shown, 2);
        learns.attach(s);
        while (s.finished == finish_reason::running) {
            const std::size_t length = s.committed.size(), from = shown.samples.size();
            const auto& round = decode::step(scheme, s, {}, learns);
            const auto& decided = round.decided;
            const bool is_whole = round.committed.size() == decided.accepted + 1;
            const bool rejects = !decided.at_leaf && decided.drafted > 0 && decided.accepted < 2 && is_whole;
            (decided.at_leaf ? ended : stopped)[decided.accepted] += 1;
            std::size_t rejected = 0;
            for (std::size_t i = from; i < shown.samples.size(); ++i) {
                const sample& each = shown.samples[i].of;
                if (each.bit != accept_bit::rejected) continue;
                ++rejected;
                BOOST_TEST(each.head == decided.accepted);
                BOOST_TEST(each.position == length + each.head);
                BOOST_TEST(each.drafted == round.proposed.tokens()[each.head == 0 ? 0 : 2]);
                BOOST_TEST(each.drafted != round.committed.back().id);
            }
            BOOST_TEST(rejected == (rejects ? 1U : 0U));
        }
    }
    BOOST_TEST(stopped[0] > 0U);
    BOOST_TEST(stopped[1] > 0U);
    BOOST_TEST(ended[1] > 0U);
}

BOOST_AUTO_TEST_CASE(a_round_that_is_passed_over_teaches_nothing_and_is_remembered) {
    constexpr std::size_t size = 5;
    const testing::hidden_state_mock target(testing::hashed_model(size, 1));
    const heads_type heads = new_heads(size, false);
    const auto scheme = speculate(heads, target, policy::fixed_length{2}, accept::exact{});
    decode::session s(scheme, std::vector<token>{2, 1}, transform::settings{.temperature = {0}}, {.max_tokens = 20},
                      random::philox_chooser(0));
    shown_samples shown;
    heads_watcher learns(shown, 2);
    learns.attach(s);
    shown.open = false;
    for (int i = 0; i < 3; ++i) decode::step(scheme, s, {}, learns);
    BOOST_TEST(shown.samples.size() == 0U);
    BOOST_TEST(shown.tokens == s.committed.generated().size());
    shown.open = true;
    const std::size_t before = s.committed.size();
    decode::step(scheme, s, {}, learns);
    BOOST_TEST(shown.samples.size() == 2 * (s.committed.size() - before));  // both heads: no state is missing
    for (const auto& each : shown.samples) BOOST_TEST(each.after.empty());
}

BOOST_AUTO_TEST_CASE(states_before_a_round_that_was_not_watched_are_of_no_use) {
    constexpr std::size_t size = 5, count = 2;
    const testing::hidden_state_mock target(testing::hashed_model(size, 1));
    const heads_type heads = new_heads(size, false);
    const auto scheme = speculate(heads, target, policy::fixed_length{2}, accept::exact{});
    decode::session s(scheme, std::vector<token>{2, 1}, transform::settings{.temperature = {0}}, {.max_tokens = 30},
                      random::philox_chooser(0));
    shown_samples shown;
    heads_watcher learns(shown, count);
    learns.attach(s);
    for (int round = 0; s.finished == finish_reason::running; ++round) {
        const std::size_t length = s.committed.size(), from = shown.samples.size();
        if (round % 3 == 2) {
            decode::step(scheme, s);
            continue;
        }
        decode::step(scheme, s, {}, learns);
        if (round % 3 == 0) continue;
        const auto is_of_first = [](const auto& each) { return each.of.head == 0; };
        const auto first = shown.samples.begin() + static_cast<std::ptrdiff_t>(from);
        const auto training_batch = std::count_if(first, shown.samples.end(), is_of_first);
        BOOST_TEST(training_batch == static_cast<std::ptrdiff_t>(s.committed.size() - length));  // no state is missing
    }
    BOOST_TEST(shown.samples.size() > 10U);
    auto fresh = target.make_sequence();
    const auto text = s.committed.tokens();
    const auto rows = target.extend(fresh, text);
    for (const auto& each : shown.samples) {
        BOOST_TEST(logit_row(each.hidden) == rows[each.of.position - each.of.head - 2],
                   boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(heads_learn_what_they_were_shown) {
    // The same text again and again: what was rejected at first is accepted in the end.
    constexpr std::size_t size = 5;
    const testing::hidden_state_mock target(testing::hashed_model(size, 5));
    heads_type heads = new_heads(size, true);
    trainer online(heads, testing::small_steps());
    const auto scheme = speculate(heads, target, policy::fixed_length{2}, accept::exact{});
    const auto accepted =
        testing::acceptance_of_repeats(scheme, prompt, [&] { return heads_watcher(online, heads.head_count()); });
    BOOST_TEST_MESSAGE("accepted " << accepted.front() << " -> " << accepted.back());
    BOOST_TEST(accepted.back() > accepted.front() + 0.3);
    BOOST_TEST(online.report().samples == 64U);
    BOOST_TEST(online.report().dropped == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
