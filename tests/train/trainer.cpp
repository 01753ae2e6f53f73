#include "augur/train/trainer.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "augur/train/draft_heads.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/round_view.hpp"
#include "augur/types/scores.hpp"
#include "train/files.hpp"
#include "train/identity.hpp"
#include "train/refuses.hpp"
#include "train/teacher.hpp"

BOOST_AUTO_TEST_SUITE(train_trainer)
using namespace augur;
using namespace augur::train;
using testing::linear_teacher;

const linear_teacher teacher;
constexpr double unbounded = std::numeric_limits<double>::infinity();

trainer_options small() {
    trainer_options chosen;
    chosen.replay = {.capacity = 64, .top = 4};
    chosen.batch = 8;
    chosen.least = 4;
    chosen.every = 4;
    chosen.share = unbounded;
    chosen.steps.rate = 0.01;
    return chosen;
}
/// A twentieth of the time, by a clock of which every look takes `took` seconds.
trainer_options timed(const double& took) {
    auto chosen = small();
    chosen.share = 0.05;
    chosen.clock = [now = 0.0, &took]() mutable { return now += took; };
    return chosen;
}
template <class Trainer>
void show(Trainer& to, std::size_t n, accept_bit bit = accept_bit::accepted) {
    const auto hidden = teacher.state(n), logits = teacher.logits(hidden);
    to.add({hidden, logits, static_cast<token>(n % linear_teacher::classes), bit, n});
}

BOOST_AUTO_TEST_CASE(both_spreads_are_of_the_heads_tokens) {
    constexpr std::size_t classes = linear_teacher::classes, vocabulary = 2 * classes;
    std::vector<token> even(classes);
    for (std::size_t i = 0; i < classes; ++i) even[i] = static_cast<token>(2 * i);
    std::vector<float> rows(teacher.base.data(), teacher.base.data() + teacher.base.size());
    state_head head(dense_weight_matrix<float>(std::move(rows), classes, linear_teacher::width),
                    {.layer = 1, .vocabulary_size = vocabulary, .tokens = even}, {.rank = 2});
    trainer online(head, small());
    double spread = 0;
    for (std::size_t n = 0; n < 4; ++n) {
        const auto hidden = teacher.state(7), known = teacher.logits(hidden);  // the same each time
        std::vector<float> logits(vocabulary, 1000.0f);
        double sum = 0, squares = 0;
        for (std::size_t i = 0; i < classes; ++i) {
            logits[2 * i] = known[i];
            sum += known[i];
            squares += known[i] * known[i];
        }
        spread = std::sqrt(squares / classes - sum / classes * (sum / classes));
        logits[1] = 0;  // of other tokens the spread is large
        online.add({hidden, logits, 0, accept_bit::accepted, n});
    }
    BOOST_TEST(online.update());
    BOOST_TEST(online.report().std_t == spread, boost::test_tools::tolerance(1e-4));
}

BOOST_AUTO_TEST_CASE(updates_come_every_so_many_tokens_once_there_are_samples) {
    auto head = teacher.head();
    const auto before = head.values();
    trainer online(head, small());
    online.committed(100, 1);  // nothing to learn from
    BOOST_TEST(online.report().updates == 0U);
    BOOST_TEST(!online.update());
    for (std::size_t n = 0; n < 4; ++n) show(online, n);
    BOOST_TEST(online.report().updates == 0U);
    online.committed(0, 0);
    BOOST_TEST(online.report().updates == 1U);
    BOOST_TEST(head.values() != before);
    for (const auto& [tokens, updates] : {std::pair{3, 1U}, {1, 2U}, {9, 3U}, {3, 3U}, {1, 4U}}) {
        online.committed(static_cast<std::size_t>(tokens), 0);
        BOOST_TEST(online.report().updates == updates);
    }
    BOOST_TEST(online.report().tokens == 117U);
    BOOST_TEST(online.report().samples == 4U);
}

BOOST_AUTO_TEST_CASE(idle_updates_wait_until_they_are_caught_up) {
    auto head = teacher.head();
    const auto before = head.values();
    auto chosen = small();
    chosen.idle = true;
    chosen.share = 0;  // which bounds no update here
    trainer online(head, chosen);
    online.committed(3, 0);
    BOOST_TEST(online.catch_up() == 0U);
    online.committed(11, 0);
    BOOST_TEST(online.catch_up() == 0U);  // nothing to learn from
    for (std::size_t n = 0; n < 4; ++n) show(online, n);
    online.committed(0, 1);
    BOOST_TEST(online.report().updates == 0U);
    BOOST_TEST(head.values() == before);
    BOOST_TEST(online.catch_up([] { return true; }) == 0U);
    std::size_t asked = 0;
    BOOST_TEST(online.catch_up([&] { return ++asked == 3; }) == 2U);
    BOOST_TEST(head.values() != before);  // published
    BOOST_TEST(online.catch_up() == 1U);  // of 14 tokens 12 are paid for
    BOOST_TEST(online.catch_up() == 0U);
    online.committed(2, 0);
    BOOST_TEST(online.catch_up() == 1U);
    BOOST_TEST(online.report().updates == 4U);
    BOOST_TEST(online.state().waiting == 0U);
    auto other = teacher.head();
    trainer in_rounds(other, small());
    BOOST_CHECK_EXCEPTION(in_rounds.catch_up(), error, [](auto& e) { return testing::says(e, "none is pending"); });
    chosen.background = true;
    BOOST_CHECK_THROW(trainer(other, chosen), error);
}

BOOST_AUTO_TEST_CASE(learning_keeps_its_share_of_the_time) {
    double now = 0;  // each look takes a second
    for (const double share : {0.0, 0.05, 0.5}) {
        auto head = teacher.head();
        auto chosen = small();
        chosen.share = share;
        chosen.clock = [&] { return now += 1; };
        trainer online(head, chosen);
        double decoded = 0, longest = 0;
        for (std::size_t n = 0; n < 400; ++n) {
            show(online, n);
            online.committed(4, 10);
            decoded += 10;
            const diagnostics seen = online.report();
            longest = std::max(longest, seen.update_seconds);
            BOOST_TEST(seen.decoding_seconds == decoded);
        }
        const diagnostics seen = online.report();
        const double of_samples = 400;
        BOOST_TEST(seen.training_seconds == of_samples + static_cast<double>(seen.updates));
        BOOST_TEST((share == 0 || share * decoded < of_samples ? seen.updates == 0U
                                                               : seen.training_seconds > 0.15 * share * decoded));
        BOOST_TEST(seen.training_seconds <= std::max(of_samples, share * decoded + longest));
    }
}

BOOST_AUTO_TEST_CASE(an_unbounded_share_learns_where_decoding_takes_no_time) {
    auto head = teacher.head();
    trainer online(head, small());
    BOOST_TEST(online.affords(0));
    for (std::size_t n = 0; n < 8; ++n) {
        show(online, n);
        online.committed(1, 0);
    }
    BOOST_TEST(online.report().updates == 2U);
    BOOST_TEST(online.affords(0));
}

BOOST_AUTO_TEST_CASE(a_share_that_is_used_up_is_waited_for) {
    double took = 0;
    auto head = teacher.head();
    trainer online(head, timed(took));
    for (std::size_t n = 0; n < 8; ++n) show(online, n);
    took = 1;  // from here on an update takes a second
    online.committed(4, 1);
    BOOST_TEST(online.report().updates == 1U);  // nothing was known of what it takes
    online.committed(4, 37);                    // .05 of 38 seconds are 1.9
    BOOST_TEST(online.report().updates == 1U);
    online.committed(4, 2);
    BOOST_TEST(online.report().updates == 2U);
    BOOST_TEST(online.report().training_seconds == 2);
}

BOOST_AUTO_TEST_CASE(weights_change_when_they_are_published) {
    auto head = teacher.head();
    trainer online(head, small());
    for (std::size_t n = 0; n < 8; ++n) show(online, n);
    const auto before = head.values();
    BOOST_TEST(!online.publish());
    BOOST_TEST(online.update());
    BOOST_TEST(head.values() == before);
    BOOST_TEST(online.publish());
    const auto first = head.values();
    BOOST_TEST(first != before);
    BOOST_TEST(!online.publish());
    BOOST_TEST(head.values() == first);
    online.update();
    online.update();
    BOOST_TEST(online.publish());
    BOOST_TEST(head.values() == online.state().values);
}

BOOST_AUTO_TEST_CASE(a_gradient_that_overflows_is_dropped_and_decoding_goes_on) {
    auto head = teacher.head({.norm = norm_kind::none, .rank = 4});
    trainer online(head, small());
    const auto before = head.values();
    const std::vector<float> hidden(linear_teacher::width, 3e38F), logits(linear_teacher::classes, 1.0F);
    for (std::size_t n = 0; n < 8; ++n) online.add({hidden, logits, 1, accept_bit::rejected, n});
    online.committed(8, 1);
    BOOST_TEST(online.report().dropped == 1U);
    BOOST_TEST(online.report().updates == 0U);
    BOOST_TEST(head.values() == before);
    for (std::size_t n = 0; n < 64; ++n) show(online, n);  // they give way
    online.committed(8, 1);
    BOOST_TEST(online.report().updates == 1U);
    BOOST_TEST(head.values().allFinite());
    BOOST_TEST(head.values() != before);
}

BOOST_AUTO_TEST_CASE(after_a_dropped_update_there_is_nothing_to_publish) {
    auto head = teacher.head({.norm = norm_kind::none, .rank = 4});
    trainer online(head, small());
    const std::vector<float> hidden(linear_teacher::width, 3e38F), logits(linear_teacher::classes, 1.0F);
    for (std::size_t n = 0; n < 8; ++n) online.add({hidden, logits, 1, accept_bit::rejected, n});
    BOOST_TEST(!online.update());
    BOOST_TEST(online.report().dropped == 1U);
    BOOST_TEST(!online.publish());
}

/// A round that drafts 3, 5, 6, of which the first is accepted, in ten seconds.
struct shown_round {
    std::vector<token> prompt{1, 2, 3, 4};
    prefix committed{std::span<const token>(prompt)};
    proposal<point_mass> proposed;
    std::vector<float> states, rows;
    verdict decided{.drafted = 3, .accepted = 1, .next = 7};
    std::vector<commit::committed_token> text{{3, origin::accepted}, {7, origin::correction}};

    shown_round() {
        for (const token each : {3, 5, 6}) proposed.push(each);
        for (std::size_t i = 0; i < 4; ++i) {
            const auto hidden = teacher.state(i), logits = teacher.logits(hidden);
            states.insert(states.end(), hidden.begin(), hidden.end());
            rows.insert(rows.end(), logits.begin(), logits.end());
        }
    }
    void show_to(auto& online, std::size_t count) const {
        const augur::scores verified(rows.data(), 4, linear_teacher::classes);
        const observation seen;
        const time_spent took{.draft = 1, .verify = 2, .accept = 3, .other = 4};
        const no_states nothing;
        const round_view view{committed,
                              prompt.size(),
                              proposed,
                              verified,
                              nothing,
                              decided,
                              std::span<const commit::committed_token>(text),
                              seen,
                              took};
        online.show(view, std::span(states).first(count * linear_teacher::width));
    }
};

BOOST_AUTO_TEST_CASE(a_round_shows_what_became_of_each_token) {
    auto head = teacher.head();
    trainer online(head, small());
    const shown_round round;
    round.show_to(online, 4);
    const testing::scratch_folder folder;
    const state_identity whose{"m", 1, linear_teacher::width, linear_teacher::classes};
    online.save_replay(folder / "r", whose);
    replay ring(linear_teacher::width, linear_teacher::classes, small().replay);
    replay_file::restore(ring, folder / "r", whose);
    const std::vector<accept_bit> bits{accept_bit::accepted, accept_bit::rejected, accept_bit::unknown,
                                       accept_bit::unknown};
    const std::vector<token> drafted{3, 5, 6, no_token};
    BOOST_REQUIRE(ring.size() == 4U);
    for (std::size_t i = 0; i < 4; ++i) {
        const kept_sample kept = ring[i];
        BOOST_TEST((kept.bit == bits[i]));
        BOOST_TEST(kept.drafted == drafted[i]);
        BOOST_TEST(kept.position == 4 + i);
        BOOST_TEST(kept.hidden[0] == round.states[i * linear_teacher::width]);
        const auto row = std::span(round.rows).subspan(i * linear_teacher::classes, linear_teacher::classes);
        BOOST_TEST(kept.row.top() == std::max_element(row.begin(), row.end()) - row.begin());
    }
    BOOST_TEST(online.report().decoding_seconds == 10);
    BOOST_TEST(online.report().tokens == 2U);
    BOOST_TEST(online.report().replay_bytes == ring.memory_bytes());
    round.show_to(online, 2);  // as many as there are states
    BOOST_TEST(online.report().samples == 6U);
}

BOOST_AUTO_TEST_CASE(rounds_are_passed_over_where_keeping_them_takes_half_of_the_share) {
    double now = 0;
    auto head = teacher.head();
    auto chosen = small();
    chosen.share = 0.5;
    chosen.every = 1000;
    chosen.clock = [&] { return now += 1; };  // a second for each position
    trainer online(head, chosen);
    const shown_round round;
    std::vector<std::size_t> kept;
    for (int i = 0; i < 6; ++i) {
        round.show_to(online, 4);
        kept.push_back(online.report().samples);
    }
    // 4 seconds a round, of 2.5 that a round allows
    BOOST_TEST(kept == (std::vector<std::size_t>{4, 8, 8, 12, 16, 16}), boost::test_tools::per_element());
    BOOST_TEST(online.report().tokens == 12U);
}

BOOST_AUTO_TEST_CASE(it_goes_on_where_it_was) {
    auto head = teacher.head(), other = teacher.head();
    trainer online(head, small()), later(other, small());
    for (std::size_t n = 0; n < 32; ++n) {
        show(online, n, n % 3 == 0 ? accept_bit::accepted : accept_bit::rejected);
        online.committed(1, 1);
    }
    const testing::scratch_folder folder;
    const state_identity whose{"m", 1, linear_teacher::width, linear_teacher::classes};
    checkpoint_file::save(online.state(), folder / "c", whose);
    online.save_replay(folder / "r", whose);
    later.restore(checkpoint_file::load<float>(folder / "c", whose));
    later.restore_replay(folder / "r", whose);
    BOOST_TEST(other.values() == head.values());
    BOOST_TEST(later.report().acceptance == online.report().acceptance);
    for (decltype(online)* each : {&online, &later}) {
        each->update();
        each->publish();
    }
    BOOST_TEST(other.values() == head.values());
    BOOST_TEST(later.report().updates == online.report().updates);
}

/// The heads that one run makes of so many positions, and one that ends after `first` of them and goes on elsewhere.
void check_a_run_in_parts(std::size_t first, const trainer_options& chosen) {
    const testing::scratch_folder folder;
    const state_identity whose{"m", 1, linear_teacher::width, linear_teacher::classes};
    const auto run = [](auto& online, std::size_t from, std::size_t end) {
        for (std::size_t n = from; n < end; ++n) {
            show(online, n, n * 7 % 5 < 2 ? accept_bit::accepted : accept_bit::rejected);
            online.committed(1, 1);
        }
    };
    auto head = teacher.head(), one = teacher.head(), two = teacher.head();
    trainer whole(head, chosen), before(one, chosen), after(two, chosen);
    run(whole, 0, 120);
    run(before, 0, first);
    checkpoint_file::save(before.state(), folder / "c", whose);
    before.save_replay(folder / "r", whose);
    after.restore(checkpoint_file::load<float>(folder / "c", whose));
    after.restore_replay(folder / "r", whose);
    run(after, first, 120);
    BOOST_TEST(after.report().updates == whole.report().updates);
    BOOST_TEST(two.values() == head.values());
}

BOOST_AUTO_TEST_CASE(a_run_in_parts_learns_what_one_run_does_wherever_it_ends) {
    for (std::size_t first = 1; first < 120; first += 11) {
        auto chosen = small();
        chosen.every = 7;
        BOOST_TEST_CONTEXT("ended after " << first) {
            check_a_run_in_parts(first, chosen);
            chosen.replay.accepted_only = true;
            chosen.replay.least_accepted = 1;
            chosen.losses.schedule.warm_up = 0;
            check_a_run_in_parts(first, chosen);
            chosen.losses.baseline_decay = 0.8;  // so that acceptance goes up and down within the band
            chosen.losses.schedule.band = {.low = 0.2, .high = 0.5};
            chosen.losses.schedule.accepted_by_acceptance = true;
            chosen.losses.schedule.tau = 40;
            check_a_run_in_parts(first, chosen);
            chosen.losses.schedule.lambda = lambda_kind::acceptance;
            check_a_run_in_parts(first, chosen);
        }
    }
}

BOOST_AUTO_TEST_CASE(accepted_positions_alone_are_sampled_once_acceptance_is_above_its_band) {
    auto by_acceptance = small();
    by_acceptance.replay.accepted_only = true;
    by_acceptance.replay.least_accepted = 1;
    by_acceptance.replay.whole_every = 0;
    by_acceptance.losses.baseline_decay = 0.5;
    by_acceptance.losses.schedule.warm_up = 0;
    auto by_samples = by_acceptance, all = by_acceptance;
    by_acceptance.losses.schedule.accepted_by_acceptance = true;
    all.replay.accepted_only = false;
    auto first = teacher.head(), second = teacher.head(), third = teacher.head();
    trainer waits(first, by_acceptance), at_once(second, by_samples), never(third, all);
    const auto learn = [&](std::size_t from, std::size_t end, accept_bit bit) {
        for (decltype(waits)* each : {&waits, &at_once, &never}) {
            for (std::size_t n = from; n < end; ++n) show(*each, n, bit);
            each->update();
            each->publish();
        }
    };
    for (decltype(waits)* each : {&waits, &at_once, &never}) show(*each, 0);
    learn(1, 9, accept_bit::rejected);  // one position is accepted, and acceptance 0.002
    BOOST_TEST(first.values() == third.values());
    BOOST_TEST(first.values() != second.values());
    learn(9, 13, accept_bit::accepted);  // now it is above 0.9
    BOOST_TEST(first.values() != third.values());
}

BOOST_AUTO_TEST_CASE(lambda_follows_the_tokens_that_were_committed_and_a_restore_knows_them) {
    auto head = teacher.head(), other = teacher.head();
    auto chosen = small();
    chosen.losses.schedule.tau = 20;
    trainer online(head, chosen), later(other, chosen);
    for (std::size_t n = 0; n < 10; ++n) {
        show(online, n);
        online.committed(1, 1);  // an update after 4 and 8 tokens
    }
    BOOST_TEST(online.report().lambda == std::exp(-8 / 20.0), boost::test_tools::tolerance(1e-12));
    later.restore(online.state());
    BOOST_TEST(later.report().lambda == online.report().lambda);
    BOOST_TEST(later.report().tokens == 10U);
}

BOOST_AUTO_TEST_CASE(what_is_reported_after_a_restore_is_true) {
    const head_options kind{.scale = scale_kind::global, .update = update_kind::full};
    auto head = teacher.head(kind), other = teacher.head(kind);
    auto chosen = small();
    chosen.losses.schedule.lambda = lambda_kind::decay_by_updates;
    chosen.losses.schedule.tau_updates = 10;
    chosen.losses.schedule.anchor = {0.5, 0.1, 100};
    chosen.steps.rate = 0.05;
    trainer online(head, chosen), later(other, chosen);
    for (std::size_t n = 0; n < 64; ++n) show(online, n);
    for (int i = 0; i < 64; ++i) online.update();  // an exit norm comes with the 64th
    later.restore(online.state());
    const diagnostics before = online.report(), after = later.report();
    BOOST_TEST(before.alpha != 1);
    BOOST_TEST(before.lambda < 0.1);
    BOOST_TEST(std::abs(before.exit_norm - 1) > 1e-3);
    BOOST_TEST(after.updates == before.updates);
    BOOST_TEST(after.alpha == before.alpha);
    BOOST_TEST(after.lambda == before.lambda);
    BOOST_TEST(after.anchor == before.anchor);
    BOOST_TEST(after.exit_norm == before.exit_norm);
}

BOOST_AUTO_TEST_CASE(a_replay_of_more_heads_is_refused_before_anything_is_learned) {
    constexpr std::size_t size = 5;
    const testing::scratch_folder folder;
    const state_identity whose{"m", 1, size, size};
    draft_heads few(testing::identity_base(size), {.vocabulary_size = size}, {.heads = 2});
    draft_heads more(testing::identity_base(size), {.vocabulary_size = size}, {.heads = 4});
    trainer to(few, small()), from(more, small());
    const std::vector<float> row(size, 1);
    for (std::size_t n = 0; n < 8; ++n) from.add({.hidden = row, .logits = row, .position = n, .head = n % 4});
    from.save_replay(folder / "r", whose);
    BOOST_TEST(testing::refuses([&] { to.restore_replay(folder / "r", whose); }, "is of head 2, but here heads are 2"));
    BOOST_TEST(to.report().samples == 0U);
    BOOST_TEST(!to.update());
    trainer(more, small()).restore_replay(folder / "r", whose);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
    auto head = teacher.head();
    const auto refused = [&](auto&& change) {
        auto chosen = small();
        change(chosen);
        BOOST_CHECK_THROW(trainer(head, chosen), error);
    };
    refused([](auto& o) { o.batch = 0; });
    refused([](auto& o) { o.least = 0; });
    refused([](auto& o) { o.least = 65; });
    refused([](auto& o) { o.batch = 65; });
    refused([](auto& o) { o.every = 0; });
    refused([](auto& o) { o.share = -0.1; });
    refused([](auto& o) { o.share = std::numeric_limits<double>::quiet_NaN(); });
    refused([](auto& o) { o.losses.margin = -1; });
    refused([](auto& o) { o.steps.rate = 0; });
    refused([](auto& o) { o.replay.top = 17; });
    auto chosen = small();
    chosen.least = 64;  // all that the ring holds
    chosen.replay.past = 100;
    const trainer sound(head, chosen);
    BOOST_TEST(sound.options().replay.past == 0U);  // the head does not attend
}

/// Positions with these bits, of a head that says nothing, so that a drafted token has half of what there is.
BOOST_AUTO_TEST_CASE(rewards_are_taken_from_a_moving_average_of_the_bits_before_them) {
    state_head<dense_weight_matrix<float>> head(
        testing::identity_base(2), {.layer = 1, .vocabulary_size = 2},
        {.norm = norm_kind::none, .scale = scale_kind::none, .update = update_kind::none, .bias = true});
    auto chosen = small();
    chosen.replay = {.capacity = 8, .top = 0, .newest = 1};
    chosen.batch = chosen.least = 1;
    chosen.steps.rate = 1e-30;  // the head stays
    chosen.losses.policy = policy_kind::reinforce;
    chosen.losses.baseline_decay = 0.75;
    chosen.losses.schedule.lambda = lambda_kind::constant;
    chosen.losses.schedule.floor = 0;
    trainer online(head, chosen);
    const auto close = boost::test_tools::tolerance(1e-5);
    const std::vector<float> zeros(2, 0.0F), none(2, std::numeric_limits<float>::quiet_NaN());
    const auto judged = [&](accept_bit bit) { online.add({zeros, zeros, 0, bit, 1}); };
    judged(accept_bit::accepted);
    BOOST_TEST(online.report().acceptance == 0.25, close);
    judged(accept_bit::unknown);
    online.add({zeros, none, 0, accept_bit::rejected, 1});  // is no row, so that nobody judged
    BOOST_TEST(online.report().acceptance == 0.25, close);
    BOOST_TEST(online.report().refused == 1U);
    judged(accept_bit::rejected);
    BOOST_TEST(online.report().acceptance == 0.1875, close);
    online.update();
    BOOST_TEST(online.report().losses.policy == 0, close);  // its own bit and those beside it are in no baseline
    online.publish();
    judged(accept_bit::rejected);
    online.update();
    BOOST_TEST(online.report().losses.policy == -0.1875 * std::log(2.0), close);
    const auto kept = online.state();
    BOOST_TEST(kept.rewards.baseline == 0.140625, close);
    trainer later(head, chosen);
    later.restore(kept);
    for (trainer<state_head<dense_weight_matrix<float>>>* each : {&online, &later}) {
        each->publish();
        each->add({zeros, zeros, 0, accept_bit::accepted, 1});
        each->update();
        BOOST_TEST(each->report().losses.policy == (1 - 0.140625) * std::log(2.0), close);
    }
}

/// What an earlier head drew was drawn by other chances.
BOOST_AUTO_TEST_CASE(rewards_are_of_what_this_head_drew) {
    auto chosen = small();
    chosen.replay = {.capacity = 8, .top = 0};
    chosen.least = 1;
    chosen.losses.policy = policy_kind::reinforce;
    chosen.losses.schedule.lambda = lambda_kind::constant;
    chosen.losses.schedule.floor = 0;
    auto head = teacher.head();
    trainer online(head, chosen);
    show(online, 1);
    online.update();
    BOOST_TEST(online.report().losses.policy > 0);
    online.update();
    BOOST_TEST(online.report().losses.policy == 0);  // not published: numbers of before drafted
    BOOST_TEST(online.state().rewards.drawn == 0U);
    show(online, 3);
    online.update();
    BOOST_TEST(online.report().losses.policy == 0);
    BOOST_TEST(online.publish());
    online.update();
    BOOST_TEST(online.report().losses.policy == 0);
    BOOST_TEST(online.publish());
    const auto kept = online.state();
    show(online, 2);
    BOOST_TEST(kept.rewards.drawn == 0U);
    BOOST_TEST(online.state().rewards.drawn == 1U);
    BOOST_TEST(online.update());
    BOOST_TEST(online.report().losses.policy > 0);
    online.restore(kept);
    online.update();
    BOOST_TEST(online.report().losses.policy == 0);
}

BOOST_AUTO_TEST_CASE(what_was_not_published_before_a_restore_is_gone) {
    auto head = teacher.head();
    trainer online(head, small());
    for (std::size_t n = 0; n < 8; ++n) show(online, n);
    const auto kept = online.state();
    BOOST_TEST(online.update());
    online.restore(kept);
    BOOST_TEST(!online.publish());
    BOOST_TEST(head.values() == kept.values);
}

BOOST_AUTO_TEST_CASE(a_dropped_update_takes_no_published_one_back) {
    auto head = teacher.head({.norm = norm_kind::none, .rank = 4});
    const auto before = head.values();
    trainer online(head, small());
    for (std::size_t n = 0; n < 8; ++n) show(online, n);
    BOOST_TEST(online.update());
    const std::vector<float> far(linear_teacher::width, 3e38F), flat(linear_teacher::classes, 1.0F);
    for (std::size_t n = 0; n < 64; ++n) online.add({far, flat, 1, accept_bit::rejected, n});
    BOOST_TEST(!online.update());
    BOOST_TEST(online.publish());
    BOOST_TEST(head.values() != before);
    BOOST_TEST(head.values() == online.state().values);
}

BOOST_AUTO_TEST_CASE(after_a_restore_updates_that_were_dropped_count_as_drawn) {
    const head_options kind{.norm = norm_kind::none, .rank = 4};
    auto head = teacher.head(kind), other = teacher.head(kind);
    trainer online(head, small()), later(other, small());
    const std::vector<float> far(linear_teacher::width, 3e38F), flat(linear_teacher::classes, 1.0F);
    for (std::size_t n = 0; n < 64; ++n) online.add({far, flat, 1, accept_bit::rejected, n});
    for (int i = 0; i < 3; ++i) BOOST_TEST(!online.update());
    for (std::size_t n = 0; n < 64; ++n) show(online, n);  // they give way
    const testing::scratch_folder folder;
    const state_identity whose{"m", 1, linear_teacher::width, linear_teacher::classes};
    later.restore(online.state());
    online.save_replay(folder / "r", whose);
    later.restore_replay(folder / "r", whose);
    for (decltype(online)* each : {&online, &later}) {
        BOOST_TEST(each->update());
        each->publish();
    }
    BOOST_TEST(other.values() == head.values());
}

BOOST_AUTO_TEST_CASE(the_teachers_temperature_is_that_of_the_update) {
    std::vector<double> found;
    for (const annealed temperature : {annealed{2, 1, 1}, annealed{1, 1, 0}, annealed{2, 2, 0}}) {
        auto head = teacher.head();
        auto chosen = small();
        chosen.least = 1;
        chosen.replay.top = 0;
        chosen.steps.rate = 1e-30;  // the head stays
        chosen.losses.schedule.temperature = temperature;
        trainer online(head, chosen);
        show(online, 1);
        for (int i = 0; i < 2; ++i) {
            online.update();
            found.push_back(online.report().losses.divergence);
        }
    }
    BOOST_TEST(found[0] == found[4], boost::test_tools::tolerance(1e-5));  // 2 at first
    BOOST_TEST(found[1] == found[2], boost::test_tools::tolerance(1e-5));  // then 1
    BOOST_TEST(std::abs(found[0] - found[1]) > 1e-3);
}

BOOST_AUTO_TEST_CASE(what_an_update_is_expected_to_take_follows_what_they_took) {
    double took = 0;
    auto head = teacher.head();
    trainer online(head, timed(took));
    for (std::size_t n = 0; n < 8; ++n) show(online, n);
    took = 1;
    online.committed(4, 40);
    took = 3;
    online.committed(4, 40);
    BOOST_TEST(online.report().updates == 2U);
    BOOST_TEST(online.report().training_seconds == 4);
    online.committed(4, 25);  // 5.25 are allowed, and 4 + 1.5 expected
    BOOST_TEST(online.report().updates == 2U);
    online.committed(4, 6);
    BOOST_TEST(online.report().updates == 3U);
}

BOOST_AUTO_TEST_CASE(an_adapter_of_another_head_is_refused_by_its_name) {
    auto head = teacher.head(), other = teacher.head({.norm = norm_kind::none, .rank = 4});
    trainer online(head, small()), of_other(other, small());
    BOOST_CHECK_EXCEPTION(online.restore(of_other.state(), "some/adapter"), error,
                          [](auto& e) { return testing::says(e, "some/adapter"); });
}

BOOST_AUTO_TEST_SUITE_END()
