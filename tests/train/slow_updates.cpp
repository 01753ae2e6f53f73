#include "augur/train/slow_updates.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <vector>

#include "augur/accept/coupled.hpp"
#include "augur/accept/exact.hpp"
#include "augur/accept/rejection_sampling.hpp"
#include "augur/decode/session.hpp"
#include "augur/decode/step.hpp"
#include "augur/policy/fixed_length.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/testing/refined_models.hpp"
#include "augur/testing/text_distribution_of.hpp"
#include "augur/train/state_head.hpp"
#include "augur/train/updated_verifier.hpp"
#include "train/identity.hpp"
#include "train/while_learning.hpp"

BOOST_AUTO_TEST_SUITE(train_slow_updates)
using namespace augur;
using namespace augur::train;

constexpr std::size_t size = 3;
using own_head = state_head<dense_weight_matrix<float>>;
using updated = updated_verifier<testing::hidden_state_mock, own_head>;

/// The mock's own: its states are its rows.
own_head new_head() {
    return {testing::identity_base(size),
            {.layer = 4, .vocabulary_size = size},
            {.norm = norm_kind::none, .scale = scale_kind::none, .update = update_kind::output, .rank = 2}};
}
slow_options quick() {
    slow_options chosen;
    chosen.target = slow_target::committed;
    chosen.steps = {.rate = 0.02, .weight_decay = 0, .warm_up = 0};
    chosen.replay = {.capacity = 256, .top = 0};
    chosen.least = 8;
    chosen.updates = 8;
    chosen.period = 16;
    chosen.most_kl = 10;
    chosen.most_perplexity = 100;
    return chosen;
}
/// Positions at which this token was committed, whatever the verifier says.
void show(auto& slow, std::size_t count, token committed, std::size_t from = 0, float around = 0) {
    for (std::size_t n = from; n < from + count; ++n) {
        std::vector<float> state(size);
        for (std::size_t i = 0; i < size; ++i) state[i] = around + std::sin(static_cast<float>(5 * n + 3 * i));
        slow.add({.hidden = state, .logits = state, .drafted = committed, .position = n});
    }
}
/// Of every second position, which are held back, another token than of those that are learned, from the same states.
void show_contrary(auto& slow) {
    for (std::size_t n = 0; n < 32; ++n) {
        show(slow, 1, 2, n, 2);
        show(slow, 1, 1, n, 2);
    }
}

BOOST_AUTO_TEST_CASE(texts_are_plain_decodings_by_the_updated_verifier) {
    const testing::hidden_state_mock model(testing::hashed_model(size, 5)), draft(testing::hashed_model(size, 6));
    own_head head = new_head();
    const updated target(model, head);
    slow_updates slow(head, quick());
    const std::vector<token> prompt{2, 0, 1};
    decode::options chosen;
    chosen.stop.max_tokens = 4;
    const auto far = [&](const auto& a, const auto& b) {
        return testing::total_variation(testing::text_distribution_of(a, prompt, chosen),
                                        testing::text_distribution_of(b, prompt, chosen));
    };
    const policy::fixed_length two{2};
    for (int text = 0; text < 3; ++text) {  // watched by rounds of the updated verifier, updated between texts
        const auto scheme = speculate(draft, target, two, accept::rejection_sampling{});
        decode::session s(scheme, prompt, {}, {.max_tokens = 40}, random::philox_chooser(7));
        const auto before = head.values();
        while (s.finished == finish_reason::running) decode::step(scheme, s, {}, slow);
        BOOST_TEST(head.values() == before);
        BOOST_TEST(slow.between_texts());
        BOOST_TEST(head.values() != before);
        BOOST_TEST(far(testing::plain_sampling(target), scheme) < 1e-12);
        BOOST_TEST(far(plain(target), speculate(draft, target, two, accept::coupled{})) < 1e-12);
    }
    BOOST_TEST(slow.report().samples + slow.report().held_back == 120U);
    BOOST_TEST(far(testing::plain_sampling(target), testing::plain_sampling(model)) > 1e-3);
    chosen.sampling.temperature.value = 0;
    BOOST_TEST(far(plain(target), speculate(draft, target, two, accept::exact{})) < 1e-12);
}

BOOST_AUTO_TEST_CASE(the_first_layers_draft_and_learn_beside_a_verifier_that_is_updated) {
    const testing::split_mock model(testing::hashed_model(size, 5));
    own_head head = new_head();
    const updated_verifier target(model, head);
    slow_updates slow(head, quick());
    const std::vector<token> prompt{2, 0, 1};
    using exit_type = state_head<dense_weight_matrix<float>>;
    const auto new_exit = [] {
        return exit_type(testing::identity_base(size), {.layer = 2, .vocabulary_size = size}, {.rank = 2});
    };
    const auto far = [&](const auto& plainly, const auto& criterion, const decode::options& chosen) {
        const auto found = testing::law_while_an_exit_learns(prompt, chosen, new_exit, target, criterion);
        BOOST_TEST(found.changed > found.rounds / 2);
        return testing::total_variation(testing::text_distribution_of(plainly, prompt, chosen), found.texts);
    };
    const auto chosen = testing::few_tokens(), greedy = testing::few_tokens({.temperature = {0}}, 20);
    for (int text = 0; text < 2; ++text) {  // both kinds of updates, each in its time
        exit_type exit = new_exit();
        trainer online(exit, testing::wild_steps());
        const auto scheme = speculate(draft::self_speculation<exit_type&, draft::sampled>(exit), target,
                                      policy::fixed_length{2}, accept::rejection_sampling{});
        decode::session s(scheme, prompt, {}, {.max_tokens = 40}, random::philox_chooser(7));
        watcher learns(online);
        learns.attach(s);
        const auto before = head.values(), exit_before = exit.values();
        while (s.finished == finish_reason::running) decode::step(scheme, s, {.timed = false}, learns, slow);
        BOOST_TEST(head.values() == before);
        BOOST_TEST(exit.values() != exit_before);
        BOOST_TEST(slow.between_texts());
        BOOST_TEST(head.values() != before);
        BOOST_TEST(far(testing::plain_sampling(target), accept::rejection_sampling{}, chosen) < 1e-12);
        BOOST_TEST(far(plain(target), accept::coupled{}, chosen) < 1e-12);
        BOOST_TEST(far(plain(target), accept::exact{}, greedy) < 1e-12);
        BOOST_TEST(far(testing::plain_sampling(model), accept::rejection_sampling{}, chosen) > 1e-3);
    }
    BOOST_TEST(slow.report().samples + slow.report().held_back == 80U);
}

BOOST_AUTO_TEST_CASE(a_token_is_kept_with_the_state_that_it_was_drawn_from) {
    const testing::split_mock model(testing::hashed_model(size, 5));
    own_head head = new_head();
    const updated_verifier target(model, head);
    auto options = quick();
    options.target = slow_target::soft;
    slow_updates slow(head, options);
    const std::vector<token> prompt{2, 0, 1, 1, 2};
    const state_head<dense_weight_matrix<float>> exit(testing::identity_base(size),
                                                      {.layer = 2, .vocabulary_size = size}, {.rank = 2});
    const auto scheme = speculate(exit, target, policy::fixed_length{2}, accept::coupled{});
    decode::session s(scheme, prompt, {}, {.max_tokens = 40}, random::philox_chooser(7));
    while (s.finished == finish_reason::running) {
        s.target.rewind(s.committed.tokens().first(2));  // states are shown from there on
        decode::step(scheme, s, {.timed = false}, slow);
    }
    BOOST_TEST(slow.report().samples + slow.report().held_back == 40U);
    slow.period();
    BOOST_TEST(slow.report().kl < 1e-4);  // of no other state its row is what it says
}

/// What watchers need of a round that drafted two siblings, of which the second was accepted.
struct round_of_a_tree {
    struct state_list {
        std::vector<float> numbers;
        std::size_t first() const { return 3; }
        std::size_t size() const { return numbers.size() / train_slow_updates::size; }
        std::span<const float> operator[](std::size_t i) const {
            return std::span(numbers).subspan(i * train_slow_updates::size, train_slow_updates::size);
        }
    };
    std::vector<std::vector<float>> rows;
    state_list states;
    std::size_t length_before = 4;
    std::vector<commit::committed_token> committed{{1, origin::accepted}, {2, origin::correction}};
    verdict decided{.drafted = 2, .accepted = 1, .next = 2, .path = {1}};
};

BOOST_AUTO_TEST_CASE(of_a_tree_the_rows_of_the_accepted_path_are_kept) {
    const std::vector<float> root{1, 0, -1}, right{0, 2, 0};
    round_of_a_tree round{.rows = {root, {9, -9, 9}, right}, .states = {{1, 0, -1, 0, 2, 0}}};
    own_head head = new_head();
    auto chosen = quick();
    chosen.target = slow_target::soft;
    slow_updates slow(head, chosen);
    for (int i = 0; i < 16; ++i) slow.watch(round);
    BOOST_TEST(slow.report().samples + slow.report().held_back == 32U);
    slow.period();
    BOOST_TEST(slow.report().kl < 1e-4);  // of states that are their rows nothing is learned
}

/// Of tokens 7, 5, 8 out of 9.
own_head pruned_head() {
    const std::vector<token> tokens{7, 5, 8};
    return {testing::identity_base(size),
            {.layer = 4, .vocabulary_size = 9, .tokens = tokens},
            {.norm = norm_kind::none, .scale = scale_kind::none, .update = update_kind::output, .rank = 2}};
}
std::vector<float> some_state(std::size_t n) {
    std::vector<float> state(size);
    for (std::size_t i = 0; i < size; ++i) state[i] = std::sin(static_cast<float>(5 * n + 3 * i));
    return state;
}

/// Tokens are told by their class.
BOOST_AUTO_TEST_CASE(a_pruned_head_follows_what_was_committed_of_its_tokens) {
    own_head head = pruned_head();
    slow_updates slow(head, quick());
    double held_back = 0;  // every eighth
    for (std::size_t n = 0; n < 64; ++n) {
        const std::vector<float> state = some_state(n), logits(9);
        slow.add({.hidden = state, .logits = logits, .drafted = 5, .position = n});
        double total = 0;
        for (const float each : state) total += std::exp(static_cast<double>(each));
        if (n % 8 == 0) held_back -= static_cast<double>(state[1]) - std::log(total);
    }
    for (int i = 0; i < 4; ++i) slow.period();
    BOOST_TEST(slow.report().frozen_perplexity == std::exp(held_back / 8), boost::test_tools::tolerance(1e-4));
    BOOST_TEST(slow.report().perplexity < 0.8 * slow.report().frozen_perplexity);
}

/// Its row moves all the same, as it does where a class was committed.
BOOST_AUTO_TEST_CASE(a_position_whose_token_has_no_class_counts_in_the_drift) {
    const auto drift = [](token committed) {
        own_head head = pruned_head();
        auto chosen = quick();
        chosen.held_back = 2;
        slow_updates slow(head, chosen);
        for (std::size_t n = 0; n < 64; ++n) {  // those that are learned from are the same
            const std::vector<float> state = some_state(n), logits(9);
            slow.add({.hidden = state, .logits = logits, .drafted = n % 4 == 0 ? committed : 5, .position = n});
        }
        slow.period();
        return slow.report().kl;
    };
    BOOST_TEST(drift(5) > 1e-4);
    BOOST_TEST(drift(1) == drift(5));
}

BOOST_AUTO_TEST_CASE(committed_tokens_become_more_probable_and_their_own_rows_move_nothing) {
    for (const slow_target target : {slow_target::committed, slow_target::soft}) {
        own_head head = new_head();
        const auto before = head.values();
        auto chosen = quick();
        chosen.target = target;
        slow_updates slow(head, chosen);
        show(slow, 64, 1);
        for (int i = 0; i < 4; ++i) slow.period();
        const slow_report seen = slow.report();
        BOOST_TEST(seen.kept == 4U);
        if (target == slow_target::committed) {
            BOOST_TEST(seen.perplexity < 0.8 * seen.frozen_perplexity);
            BOOST_TEST(seen.kl > 0.01);
        } else {  // float's rounding aside
            BOOST_TEST(seen.perplexity == seen.frozen_perplexity, boost::test_tools::tolerance(1e-3));
            BOOST_TEST(seen.kl < 1e-4);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_period_that_drifts_beyond_a_bound_is_undone) {
    const auto run = [](const auto& change) {
        own_head head = new_head();
        auto chosen = quick();
        change(chosen);
        slow_updates slow(head, chosen);
        show(slow, 64, 1);
        const auto before = head.values();
        const bool kept = slow.period();
        BOOST_TEST((head.values() == before) == !kept);
        const slow_report seen = slow.report();
        BOOST_TEST(seen.kept + seen.rolled_back == 1U);
        BOOST_TEST((seen.rolled_back == 1) == !kept);
        return kept;
    };
    BOOST_TEST(run([](auto&) {}));
    BOOST_TEST(!run([](auto& o) { o.most_kl = 1e-4; }));
    // What raises the committed tokens' probability lowers others'; where these are held back, perplexity says so.
    own_head head = new_head();
    auto chosen = quick();
    chosen.most_perplexity = 1.01;
    chosen.held_back = 2;
    slow_updates slow(head, chosen);
    show_contrary(slow);
    BOOST_TEST(!slow.period());
    BOOST_TEST(slow.report().perplexity > 1.01 * slow.report().frozen_perplexity);
    BOOST_TEST(head.values() == new_head().values());
}

BOOST_AUTO_TEST_CASE(the_weight_of_the_old_verifier_holds_it_back) {
    std::vector<double> drift;
    for (const double beta : {0.0, 1.0, 10.0}) {
        own_head head = new_head();
        auto chosen = quick();
        chosen.beta = beta;
        chosen.refresh = 0;
        slow_updates slow(head, chosen);
        show(slow, 64, 1);
        for (int i = 0; i < 8; ++i) slow.period();
        drift.push_back(slow.report().kl);
        BOOST_TEST(slow.old().values() == new_head().values());
    }
    BOOST_TEST(drift[0] > 1.5 * drift[1]);
    BOOST_TEST(drift[1] > 1.5 * drift[2]);
}

BOOST_AUTO_TEST_CASE(the_old_verifier_is_refreshed_after_so_many_kept_periods_and_the_frozen_never) {
    own_head head = new_head();
    auto chosen = quick();
    chosen.refresh = 2;
    slow_updates slow(head, chosen);
    show(slow, 64, 1);
    const auto first = head.values();
    slow.period();
    BOOST_TEST(slow.old().values() == first);
    slow.period();
    BOOST_TEST(slow.old().values() == head.values());
    BOOST_TEST(head.values() != first);
    BOOST_TEST(slow.frozen().values() == first);
}

BOOST_AUTO_TEST_CASE(periods_that_were_undone_do_not_count_for_the_old_verifier) {
    own_head head = new_head();
    auto chosen = quick();
    chosen.refresh = 2;
    chosen.most_perplexity = 1.01;
    chosen.held_back = 2;
    slow_updates slow(head, chosen);
    show_contrary(slow);
    BOOST_TEST(!slow.period());
    for (std::size_t n = 0; n < 512; ++n) show(slow, 1, 1, n);  // by now both say the same
    const auto first = slow.old().values();
    BOOST_TEST(slow.period());
    BOOST_TEST(slow.report().periods == 2U);
    BOOST_TEST(slow.old().values() == first);  // one was kept
    BOOST_TEST(slow.period());
    BOOST_TEST(slow.old().values() == head.values());
}

BOOST_AUTO_TEST_CASE(after_a_restart_drift_is_measured_from_what_was_frozen_at_first) {
    own_head head = new_head();
    const auto frozen = head.values();
    slow_updates first(head, quick());
    show(first, 64, 1);
    for (int i = 0; i < 4; ++i) BOOST_TEST(first.period());
    const double drifted = first.report().kl;
    auto bounded = quick();
    bounded.most_kl = drifted / 2;
    const auto moved = head.values();
    slow_updates again(head, frozen, bounded);
    BOOST_TEST(again.frozen().values() == frozen);
    BOOST_TEST(again.old().values() == moved);
    show(again, 64, 1);
    BOOST_TEST(!again.period());  // it is beyond the bound already
    BOOST_TEST(again.report().kl > drifted / 2);
    BOOST_TEST(head.values() == moved);
    slow_updates fresh(head, bounded);
    show(fresh, 64, 1);
    BOOST_TEST(fresh.period());  // measured from where it is
    BOOST_CHECK_THROW(slow_updates(head, vector<float>::Zero(3), quick()), error);
    const vector<float> broken = vector<float>::Constant(frozen.size(), std::numeric_limits<float>::quiet_NaN());
    BOOST_CHECK_THROW(slow_updates(head, broken, quick()), error);
}

BOOST_AUTO_TEST_CASE(periods_come_between_texts_once_there_are_tokens) {
    own_head head = new_head();
    auto chosen = quick();
    chosen.least = 20;
    slow_updates slow(head, chosen);
    BOOST_TEST(!slow.period());  // nothing to learn from
    show(slow, 15, 1);
    BOOST_TEST(!slow.between_texts());  // 15 of 16 tokens
    show(slow, 5, 1);
    BOOST_TEST(!slow.between_texts());  // 17 samples of 20
    show(slow, 5, 1);
    BOOST_TEST(slow.between_texts());
    BOOST_TEST(!slow.between_texts());
    BOOST_TEST(slow.report().periods == 1U);
    BOOST_TEST(slow.report().held_back == 4U);
    BOOST_TEST(slow.report().samples == 21U);
}

BOOST_AUTO_TEST_CASE(every_token_counts_for_a_period_and_every_eighth_is_held_back) {
    own_head head = new_head();
    auto chosen = quick();
    chosen.replay.capacity = 32;
    slow_updates slow(head, chosen);
    show(slow, 15, 1);
    BOOST_TEST(!slow.between_texts());
    show(slow, 1, 1);
    BOOST_TEST(slow.between_texts());  // 16 tokens, of which 14 are learned from
    show(slow, 100, 1);
    BOOST_TEST(slow.report().samples == 32U);
    BOOST_TEST(slow.report().held_back == 4U);
}

/// Tokens go on waiting for a period that there was nothing to judge by.
/// What is held back is measured whole, however few of its positions were accepted.
BOOST_AUTO_TEST_CASE(a_ring_of_what_is_held_back_may_be_smaller_than_least_accepted) {
    own_head head = new_head();
    slow_options chosen = quick();
    chosen.held_back = 8;
    chosen.replay.accepted_only = true;
    chosen.replay.least_accepted = chosen.replay.capacity;
    BOOST_CHECK_NO_THROW(slow_updates(head, chosen));
    ++chosen.replay.least_accepted;
    BOOST_CHECK_THROW(slow_updates(head, chosen), error);
}

BOOST_AUTO_TEST_CASE(a_period_waits_for_a_position_that_was_held_back) {
    own_head head = new_head();
    auto chosen = quick();
    chosen.period = 4;
    chosen.least = 1;
    chosen.held_back = 5;
    slow_updates slow(head, chosen);
    const std::vector<float> broken(size, std::numeric_limits<float>::quiet_NaN());
    slow.add({.hidden = broken, .logits = broken, .drafted = 1});
    show(slow, 4, 1);
    BOOST_TEST(slow.report().held_back == 0U);
    BOOST_TEST(!slow.between_texts());
    show(slow, 1, 1);
    BOOST_TEST(slow.report().held_back == 1U);
    BOOST_TEST(slow.between_texts());
}

BOOST_AUTO_TEST_CASE(a_token_that_the_head_has_no_class_for_is_no_part_of_a_perplexity) {
    own_head head = new_head();
    slow_updates slow(head, quick());
    show(slow, 32, no_token);
    slow.period();
    BOOST_TEST(slow.report().perplexity == 1);
    BOOST_TEST(slow.report().frozen_perplexity == 1);
}

BOOST_AUTO_TEST_CASE(a_gradient_that_is_no_number_is_dropped) {
    own_head head = new_head();
    const auto before = head.values();
    slow_updates slow(head, quick());
    const std::vector<float> state(size, 3e38F), logits(size, 1);
    for (std::size_t n = 0; n < 64; ++n) slow.add({.hidden = state, .logits = logits, .drafted = 1});
    slow.period();
    BOOST_TEST(slow.report().dropped == 8U);
    BOOST_TEST(head.values() == before);
}

BOOST_AUTO_TEST_CASE(options_and_heads_that_do_not_fit_are_refused) {
    own_head head = new_head();
    const auto refused = [&](auto&& change) {
        auto chosen = quick();
        change(chosen);
        BOOST_CHECK_THROW(slow_updates(head, chosen), error);
    };
    refused([](auto& o) { o.beta = -1; });
    refused([](auto& o) { o.beta = std::numeric_limits<double>::quiet_NaN(); });
    refused([](auto& o) { o.most_kl = -1; });
    refused([](auto& o) { o.most_perplexity = 0.9; });
    refused([](auto& o) { o.batch = 0; });
    refused([](auto& o) { o.least = 0; });
    refused([](auto& o) { o.least = 257; });
    refused([](auto& o) { o.updates = 0; });
    refused([](auto& o) { o.period = 0; });
    refused([](auto& o) { o.held_back = 1; });
    refused([](auto& o) { o.steps.rate = 0; });
}

const std::vector<float> one_state{0.5F, -0.25F, 1.0F};

BOOST_AUTO_TEST_CASE(a_period_that_is_undone_leaves_no_moments) {
    own_head head = new_head();
    auto chosen = quick();
    chosen.most_kl = 1e-9;
    slow_updates slow(head, chosen);
    for (int n = 0; n < 64; ++n) slow.add({.hidden = one_state, .logits = one_state, .drafted = 1});
    BOOST_TEST(!slow.period());
    const double first = slow.report().kl;
    BOOST_TEST(first > 1e-6);
    BOOST_TEST(!slow.period());  // all positions are alike: the same steps again
    BOOST_TEST(slow.report().kl == first);
}

BOOST_AUTO_TEST_CASE(drift_is_the_divergence_of_the_verifier_from_what_was_frozen) {
    own_head head = new_head();
    auto chosen = quick();
    chosen.steps.rate = 0.1;
    slow_updates slow(head, chosen);
    for (int n = 0; n < 64; ++n) slow.add({.hidden = one_state, .logits = one_state, .drafted = 1});
    for (int i = 0; i < 2; ++i) BOOST_TEST(slow.period());
    std::vector<float> is(3), was(3);
    head.row(one_state, is);
    slow.frozen().row(one_state, was);
    const auto total = [](const std::vector<float>& of) {
        double sum = 0;
        for (const float each : of) sum += std::exp(static_cast<double>(each));
        return std::log(sum);
    };
    double kl = 0, other = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        const double a = static_cast<double>(was[i]) - total(was), b = static_cast<double>(is[i]) - total(is);
        kl += std::exp(a) * (a - b);
        other += std::exp(b) * (b - a);
    }
    BOOST_TEST(slow.report().kl == kl, boost::test_tools::tolerance(1e-4));
    BOOST_TEST(std::abs(kl - other) > 0.01);
}

BOOST_AUTO_TEST_CASE(each_slow_update_draws_others) {
    own_head head = new_head();
    auto chosen = quick();
    chosen.steps.rate = 1e-30;
    chosen.updates = chosen.batch = 1;
    slow_updates slow(head, chosen);
    for (std::size_t n = 0; n < 64; ++n) {
        const std::vector<float> state{std::sin(static_cast<float>(n)), 0, 0};
        slow.add({.hidden = state, .logits = state, .drafted = 1});
    }
    std::set<double> seen;
    for (int i = 0; i < 16; ++i) {
        slow.period();
        seen.insert(slow.report().cross_entropy);
    }
    BOOST_TEST(seen.size() > 4U);
}

BOOST_AUTO_TEST_SUITE_END()
