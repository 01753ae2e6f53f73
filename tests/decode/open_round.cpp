#include <augur/decode/step.hpp>
//
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/policy/learned_bins.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <augur/testing/trace.hpp>
#include <boost/test/unit_test.hpp>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(decode_open_round)

using namespace augur;
using model_type = testing::function_model;
using awaited = model::pass_work<model_type>;

const std::vector<token> prompt{3, 1, 4};

struct fixture {
    model_type target = testing::hashed_model(30, 1), middle = testing::hashed_model(30, 2),
               small = testing::hashed_model(30, 3);

    /// Learns at every link, so that a round that was cancelled would show.
    auto scheme() const {
        return cascaded(small, scheme::model_link{policy::learned_bins{}, accept::rejection_sampling{}}, middle,
                        scheme::model_link{policy::learned_bins{}, accept::rejection_sampling{}}, target);
    }
    template <class Scheme>
    static auto session_of(const Scheme& scheme, std::uint64_t seed = 7) {
        return decode::session<Scheme>(scheme, prompt, transform::settings{}, commit::stop_conditions{.max_tokens = 60},
                                       random::philox_chooser(seed));
    }
};

/// What there is to compare after a round.
std::string told(const auto& s) {
    std::string text = testing::trace(s.last);
    for (token t : s.committed.tokens()) text += ' ' + std::to_string(t);
    for (const auto& stage : s.counts.stages) {
        text += " | " + std::to_string(stage.rounds) + ' ' + std::to_string(stage.drafted) + ' ' +
                std::to_string(stage.accepted);
    }
    return text;
}

void check_cancelled_rounds(const auto& scheme) {
    auto alone = fixture::session_of(scheme), broken = fixture::session_of(scheme);
    const decode::step_options untimed{.timed = false};
    std::mt19937 random(1);
    std::size_t cancelled = 0;
    while (alone.finished == finish_reason::running) {
        decode::step(scheme, alone, untimed);
        for (std::size_t stops = random() % 9; stops > 0; --stops) {
            const std::size_t before = broken.committed.size();
            {
                decode::open_round round(scheme, broken, untimed);
                for (std::size_t i = 0; i < stops && !round.done(); ++i) {
                    round.wanted()->run();
                    if (i + 1 < stops && !round.wanted()->done()) BOOST_ERROR("not done");
                    if (i + 2 < stops) round.resume();
                    if (round.done()) break;
                }
                if (round.done()) {
                    stops = 0;
                    break;
                }
            }
            ++cancelled;
            BOOST_TEST_REQUIRE(broken.committed.size() == before);
        }
        if (told(broken) != told(alone)) decode::step(scheme, broken, untimed);
        BOOST_TEST_REQUIRE(told(broken) == told(alone));
    }
    BOOST_TEST(cancelled > 20u);
}

BOOST_FIXTURE_TEST_CASE(a_cancelled_round_can_be_repeated_with_the_same_result, fixture) {
    check_cancelled_rounds(scheme());
    const auto learning = [] { return scheme::model_link{policy::learned_bins{}, accept::rejection_sampling{}}; };
    const auto smallest = testing::hashed_model(30, 4);
    check_cancelled_rounds(cascaded(smallest, learning(), small, learning(), middle, learning(), target));
}

BOOST_FIXTURE_TEST_CASE(stops_once_for_every_pass, fixture) {
    const auto scheme = speculate(small, target, policy::fixed_length{3}, accept::rejection_sampling{});
    auto s = session_of(scheme);
    const decode::step_options chosen{};
    decode::open_round round(scheme, s, chosen);
    std::string passes;
    while (!round.done()) {
        passes += awaited::of(round.wanted(), small) != nullptr ? 's' : '-';
        passes += awaited::of(round.wanted(), target) != nullptr ? 't' : '-';
        BOOST_TEST((awaited::of(round.wanted(), middle) == nullptr));
        round.wanted()->run();
        round.resume();
    }
    BOOST_TEST(passes == "s-s-s--t");
    BOOST_TEST((awaited::of(round.wanted(), target) == nullptr));
    BOOST_TEST(s.counts.rounds() == 1u);
}

bool says(const error& thrown, const std::string& expected) {
    BOOST_TEST(thrown.what() == expected);
    return thrown.what() == expected;
}

BOOST_FIXTURE_TEST_CASE(wrong_answers_are_refused_and_the_right_one_still_taken, fixture) {
    const auto scheme = plain(target);
    auto s = session_of(scheme), same = session_of(scheme);
    const decode::step_options chosen{};
    decode::open_round round(scheme, s, chosen);
    awaited& pass = *awaited::of(round.wanted(), target);
    const auto is = [](const char* expected) { return [expected](const error& e) { return says(e, expected); }; };
    BOOST_CHECK_EXCEPTION(round.resume(), error, is("a round was resumed before what it waits for was done"));
    std::vector<float> row(30);
    BOOST_CHECK_EXCEPTION(pass.answer(scores(row.data(), 1, 30)), error,
                          is("a pass of 1 tokens after 2 was answered, but its sequence holds 2 tokens, not 3"));
    const auto& asked = pass.asked_pass();
    const scores rows = target.extend(*asked.sequence, asked.tokens);
    BOOST_CHECK_EXCEPTION(pass.answer(scores(row.data(), 0, 30)), error,
                          is("run: the model made 0 rows where 1 were wanted"));
    const std::vector<float> two(60);
    BOOST_CHECK_EXCEPTION(pass.answer(scores(two.data(), 2, 30)), error,
                          is("run: the model made 2 rows where 1 were wanted"));
    BOOST_CHECK_EXCEPTION(pass.answer(scores(row.data(), 1, 29)), error,
                          is("run: row 0 has 29 logits, but the vocabulary has 30 tokens"));
    pass.answer(rows);
    round.resume();
    BOOST_TEST(round.done());
    decode::step(scheme, same);
    BOOST_TEST(told(s) == told(same));
}

BOOST_AUTO_TEST_CASE(a_tree_can_be_answered_too) {
    const testing::full_mock target(testing::hashed_model(5, 1));
    const auto scheme = speculate(draft::draft_model(testing::hashed_model(5, 2)), target,
                                  policy::tree_static{topology{-1, -1, 0}}, accept::coupled{});
    auto s = fixture::session_of(scheme), same = fixture::session_of(scheme);
    const decode::step_options chosen{.timed = false};
    std::size_t trees = 0;
    for (int rounds = 0; rounds < 5; ++rounds) {
        decode::open_round round(scheme, s, chosen);
        while (!round.done()) {
            if (auto* const pass = model::pass_work<testing::full_mock>::of(round.wanted(), target)) {
                trees += pass->asked_pass().parents.empty() ? 0 : 1;
                pass->answer(target.run(std::span(&pass->asked_pass(), 1)));
            } else {
                round.wanted()->run();
            }
            round.resume();
        }
        decode::step(scheme, same, chosen);
        BOOST_TEST(told(s) == told(same));
    }
    BOOST_TEST(trees == 5u);
}

BOOST_FIXTURE_TEST_CASE(a_session_that_has_ended_begins_no_round, fixture) {
    const auto scheme = plain(target);
    decode::session<std::remove_const_t<decltype(scheme)>> s(scheme, prompt, {}, {.max_tokens = 1},
                                                             random::philox_chooser(1));
    decode::step(scheme, s);
    const decode::step_options chosen{};
    BOOST_CHECK_EXCEPTION(decode::open_round(scheme, s, chosen), error, [](const error& e) {
        return says(e, "a round was begun in a session that has ended: max_tokens");
    });
}

BOOST_AUTO_TEST_CASE(a_round_that_is_done_is_not_undone_where_it_wrote_nothing) {
    const model_type broken(8, 64, [](std::span<const token>, std::span<float> row) {
        std::fill(row.begin(), row.end(), std::numeric_limits<float>::quiet_NaN());
    });
    const auto scheme = plain(broken);
    auto s = fixture::session_of(scheme);
    decode::step(scheme, s);
    BOOST_TEST((s.finished == finish_reason::invalid_logits));
    BOOST_TEST(s.committed.size() == prompt.size());
    BOOST_TEST(s.seen.round == 1u);
}

/// Cannot bear what it is shown.
struct throwing {
    void watch(const auto&) const { throw std::runtime_error("seen enough"); }
};

BOOST_FIXTURE_TEST_CASE(what_a_watcher_throws_undoes_nothing_that_was_written, fixture) {
    const auto scheme = this->scheme();
    auto s = session_of(scheme), undisturbed = session_of(scheme);
    const decode::step_options untimed{.timed = false};
    while (undisturbed.finished == finish_reason::running) {
        decode::step(scheme, undisturbed, untimed);
        BOOST_CHECK_THROW(decode::step(scheme, s, untimed, throwing{}), std::runtime_error);
        BOOST_TEST(s.seen.round == undisturbed.seen.round);
        BOOST_TEST_REQUIRE(told(s) == told(undisturbed));
    }
}

/// Notes what it is shown, and where.
struct diary {
    std::vector<token> tokens{};
    std::vector<std::size_t> accepted{};
    bool rows_follow = true, states_are_rows = true;
    const testing::hidden_state_mock* model = nullptr;

    void watch(const auto& view) {
        for (const auto& t : view.committed) tokens.push_back(t.id);
        accepted.push_back(view.decided.accepted);
        const auto written = view.prefix.tokens();
        for (std::size_t i = 0; i <= view.decided.accepted; ++i) {
            std::vector<float> row(view.rows[i].size());
            model->fill_row(written.first(view.length_before + i), row);
            rows_follow = rows_follow && std::equal(row.begin(), row.end(), view.rows[i].begin());
        }
        for (std::size_t i = 0; i < view.states.size(); ++i) {  // of this mock the states are the rows
            std::vector<float> row(view.states[i].size());
            model->fill_row(written.first(view.states.first() + i + 1), row);
            states_are_rows = states_are_rows && std::equal(row.begin(), row.end(), view.states[i].begin());
        }
        states += view.states.size();
    }
    std::size_t states = 0;
};

/// That the round in numbers has the times of its parts.
struct times_of_parts {
    bool same = true;
    double accepting = 0;
    void watch(const auto& view) {
        const outcome happened = view.result();
        same = same && happened.draft_seconds == view.seconds.draft && happened.accept_seconds == view.seconds.accept &&
               happened.row_seconds() == view.seconds.verify + view.seconds.accept;
        accepting += happened.accept_seconds;
    }
};

BOOST_AUTO_TEST_CASE(a_round_in_numbers_has_the_times_of_its_parts) {
    const auto target = testing::hashed_model(30, 1), small = testing::hashed_model(30, 2);
    const auto scheme = speculate(small, target, policy::fixed_length{3}, accept::coupled{});
    times_of_parts seen;
    decode::options chosen;
    chosen.stop.max_tokens = 200;
    const auto decoded = decode::generate(scheme, prompt, chosen, seen);
    BOOST_TEST(seen.same);
    BOOST_TEST(seen.accepting > 0);
    BOOST_TEST(seen.accepting == decoded.counts.seconds.accept);
}

BOOST_AUTO_TEST_CASE(watchers_are_shown_every_round) {
    const testing::hidden_state_mock target(testing::hashed_model(30, 1));
    const auto small = testing::hashed_model(30, 2);
    const auto scheme = speculate(small, target, policy::fixed_length{3}, accept::coupled{});
    diary one{.model = &target}, other{.model = &target};
    decode::options chosen{.seed = 4};
    chosen.stop.max_tokens = 50;
    const auto decoded = decode::generate(scheme, prompt, chosen, one, other);
    BOOST_TEST(one.tokens == decoded.tokens, boost::test_tools::per_element());
    BOOST_TEST(other.tokens == decoded.tokens, boost::test_tools::per_element());
    BOOST_TEST(one.accepted.size() == decoded.counts.rounds());
    BOOST_TEST(one.rows_follow);
    BOOST_TEST(one.states_are_rows);
    BOOST_TEST(one.states >= decoded.tokens.size() - 1);
    BOOST_TEST(decoded.tokens == decode::generate(scheme, prompt, chosen).tokens, boost::test_tools::per_element());
}

/// A policy that is shown rounds instead of numbers.
struct watching {
    std::size_t rounds = 0, tokens = 0;
    std::size_t length(const observation&) const { return 1 + rounds % 3; }
    void watch(const auto& view) {
        ++rounds;
        tokens += view.decided.accepted + 1;
    }
};

BOOST_FIXTURE_TEST_CASE(a_policy_may_watch, fixture) {
    decode::options chosen{.seed = 4};
    chosen.stop.max_tokens = 50;
    const auto scheme = speculate(small, target, watching{}, accept::coupled{});
    const auto decoded = decode::generate(scheme, prompt, chosen);
    BOOST_TEST(decoded.policy.rounds == decoded.counts.rounds());
    BOOST_TEST(decoded.policy.tokens >= decoded.tokens.size());
    const auto nested = cascaded(small, scheme::model_link{watching{}, accept::coupled{}}, middle,
                                 scheme::model_link{watching{}, accept::coupled{}}, target);
    auto s = session_of(nested);
    while (s.finished == finish_reason::running) decode::step(nested, s);
    BOOST_TEST(s.drafter_state.now.policy.rounds == s.counts.stages.front().rounds);
    BOOST_TEST(s.counts.stages.front().rounds > s.counts.rounds());
}

BOOST_FIXTURE_TEST_CASE(two_sessions_of_one_model_run_at_once, fixture) {
    const auto scheme = this->scheme();
    std::vector<std::string> texts(4);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        threads.emplace_back([&, i] {
            auto s = session_of(scheme, i / 2);
            while (s.finished == finish_reason::running) decode::step(scheme, s, {.timed = false});
            texts[i] = told(s);
        });
    }
    for (auto& each : threads) each.join();
    BOOST_TEST(texts[0] == texts[1]);
    BOOST_TEST(texts[2] == texts[3]);
    BOOST_TEST(texts[0] != texts[2]);
}

BOOST_AUTO_TEST_SUITE_END()
