#include "augur/decode/resume.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/eagle.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/switching/rolling_entropy.hpp>
#include <augur/switching/step.hpp>
#include <augur/testing/counting_model.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <boost/test/unit_test.hpp>
#include <limits>

using namespace augur;

BOOST_AUTO_TEST_SUITE(decode_resume)

/// Turns of a conversation, each after the text before.
const std::vector<std::vector<token>> turns{{1, 2, 3, 1, 2}, {4}, {0, 3, 1, 2, 3, 4, 4, 1}, {}, {2, 2}};

commit::stop_conditions at_most(std::size_t tokens) {
    return {.max_tokens = tokens, .stop_tokens = {5}};
}

/// What a fresh session writes after this prompt.
std::vector<token> fresh(const auto& scheme, std::span<const token> prompt, const transform::settings& sampling) {
    decode::session<std::remove_cvref_t<decltype(scheme)>> s(scheme, prompt, sampling, at_most(9),
                                                             random::philox_chooser(3));
    while (s.finished == finish_reason::running) decode::step(scheme, s);
    const auto text = s.committed.generated();
    return {text.begin(), text.end()};
}

/// Every turn has the text that a fresh session has, and if it `drafts` tokens were drafted in it; returns how many
/// were accepted.
std::size_t check_turns(const auto& scheme, const transform::settings& sampling, bool drafts = false) {
    decode::session<std::remove_cvref_t<decltype(scheme)>> s(scheme, turns[0], sampling, at_most(9),
                                                             random::philox_chooser(3));
    for (std::size_t turn = 0; turn < turns.size(); ++turn) {
        if (turn > 0) decode::resume(scheme, s, turns[turn], at_most(9));
        const auto prompt = s.committed.tokens();
        const std::size_t drafted = s.counts.stages.back().drafted;
        const std::vector<token> whole(prompt.begin(), prompt.end());
        BOOST_TEST(s.committed.generated().empty());
        BOOST_TEST(s.committed.prompt_length() == whole.size());
        while (s.finished == finish_reason::running) decode::step(scheme, s);
        const auto expected = fresh(scheme, whole, sampling);
        BOOST_TEST(s.committed.generated() == std::span<const token>(expected), boost::test_tools::per_element());
        if (drafts) BOOST_TEST(s.counts.stages.back().drafted > drafted);
    }
    return s.counts.stages.back().accepted;
}

BOOST_AUTO_TEST_CASE(every_turn_is_the_text_of_a_fresh_session_with_the_whole_prompt) {
    const auto target = testing::hashed_model(6, 1);
    const auto draft = testing::noisy_model(target, 0.3);
    const policy::fixed_length three{3};
    for (const float temperature : {1.0f, 0.6f}) {
        const transform::settings sampling{.penalties = {.presence = 0.7f}, .temperature = {temperature}};
        check_turns(plain(target), sampling);
        BOOST_TEST(check_turns(speculate(draft, target, three, accept::coupled{}), sampling, true) > 5u);
        check_turns(speculate(draft::prompt_lookup{}, target, three, accept::coupled{}), sampling);
        check_turns(switched(draft, target, switching::rolling_entropy({{1000}, 3, 2})), sampling);
    }
    const transform::settings greedy{.temperature = {0}};
    BOOST_TEST(check_turns(speculate(draft, target, three, accept::exact{}), greedy) > 5u);
}

BOOST_AUTO_TEST_CASE(a_drafter_on_states_is_shown_every_position_once) {
    const testing::hidden_state_mock target(testing::hashed_model(6, 1, 1, 900));
    const testing::fused_mock layer(testing::hashed_model(6, 1, 1, 900), 6);
    const auto scheme = speculate(draft::eagle(layer), target, policy::fixed_length{4}, accept::coupled{});
    check_turns(scheme, {});
    check_turns(speculate(draft::eagle(layer), target, policy::fixed_length{4}, accept::exact{}), {.temperature = {0}});
}

/// The token at place n is n modulo 6.
testing::function_model counting_up(std::size_t ahead) {
    return {6, 900,
            [ahead](std::span<const token> before, std::span<float> row) { row[(before.size() + ahead) % 6] = 9; }};
}

BOOST_AUTO_TEST_CASE(nor_is_one_left_out_where_a_stop_token_was_drafted) {
    const testing::hidden_state_mock target(counting_up(0));
    const testing::fused_mock layer(counting_up(1), 6);  // it is shown all tokens but the first
    const auto scheme = speculate(draft::eagle(layer), target, policy::fixed_length{4}, accept::exact{});
    decode::session s(scheme, std::vector<token>{0, 1}, {.temperature = {0}}, at_most(9), random::philox_chooser(0));
    BOOST_TEST(decode::step(scheme, s).decided.accepted == 4u);  // 5, which stops, among them
    BOOST_TEST((s.finished == finish_reason::stop_token));
    decode::resume(scheme, s, std::vector<token>{0}, at_most(9));
    const auto whole = s.committed.tokens();
    decode::session other(scheme, std::vector<token>(whole.begin(), whole.end()), {.temperature = {0}}, at_most(9),
                          random::philox_chooser(0));
    const auto& expected = decode::step(scheme, other).proposed;
    BOOST_TEST(expected.size() == 4u);
    BOOST_TEST(decode::step(scheme, s).proposed.tokens() == expected.tokens(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(of_models_that_take_turns_the_last_writer_goes_on) {
    const auto small = testing::hashed_model(6, 2), large = testing::hashed_model(6, 1);
    const auto scheme = switched(small, large, switching::rolling_entropy({{0.0}, 3, 2}));
    decode::session s(scheme, turns[0], {.temperature = {0}}, {.max_tokens = 6}, random::philox_chooser(0));
    while (s.finished == finish_reason::running) decode::step(scheme, s);
    BOOST_TEST(s.writer == 1u);
    decode::resume(scheme, s, turns[1], {.max_tokens = 5});
    BOOST_TEST(s.counts.models[1].written == 4u);
    while (s.finished == finish_reason::running) decode::step(scheme, s);
    BOOST_TEST(s.counts.models[1].written == 9u);
}

BOOST_AUTO_TEST_CASE(only_what_was_added_is_computed) {
    const testing::counting_model target(testing::hashed_model(6, 1));
    const auto scheme = plain(target);
    const std::vector<token> prompt(200, 1), added{2, 3, 4};
    decode::session s(scheme, prompt, {.temperature = {0}}, {.max_tokens = 4}, random::philox_chooser(0));
    while (s.finished == finish_reason::running) decode::step(scheme, s);
    target.reset();
    decode::resume(scheme, s, added, {.max_tokens = 4});
    BOOST_TEST(target.counts().tokens == added.size());  // the last of the text, and all but the last of these
    BOOST_TEST(s.target.tokens().size() == 200u + 4 + 3 - 1);
    decode::resume(scheme, s, {}, {.max_tokens = 4});
    BOOST_TEST(target.counts().tokens == added.size());
}

BOOST_AUTO_TEST_CASE(conditions_are_those_of_the_next_text) {
    const testing::function_model target(
        4, 40, [](std::span<const token> before, std::span<float> row) { row[before.size() % 4] = 9; });
    const auto scheme = plain(target);
    const auto text_of = [](token t) { return std::string(1, static_cast<char>('a' + t)); };
    decode::session s(scheme, std::vector<token>{0}, {.temperature = {0}}, {.max_tokens = 3, .text_of = text_of},
                      random::philox_chooser(0));
    while (s.finished == finish_reason::running) decode::step(scheme, s);
    BOOST_TEST((s.finished == finish_reason::max_tokens));
    decode::resume(scheme, s, {}, {.max_tokens = 9, .stop_strings = {"bc"}, .text_of = text_of});
    while (s.finished == finish_reason::running) decode::step(scheme, s);
    BOOST_TEST((s.finished == finish_reason::stop_string));
    BOOST_TEST(s.stops.text().text() == "a");
    decode::resume(scheme, s, {}, {.max_tokens = 0});
    BOOST_TEST((s.finished == finish_reason::max_tokens));
    decode::resume(scheme, s, {}, {.max_tokens = 1000});
    while (s.finished == finish_reason::running) decode::step(scheme, s);
    BOOST_TEST((s.finished == finish_reason::context));
    BOOST_TEST(s.committed.size() == 40u);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused_and_changes_nothing) {
    const auto target = testing::hashed_model(4, 1, 1, 10);
    const auto scheme = plain(target);
    decode::session s(scheme, std::vector<token>{0, 1}, {}, {.max_tokens = 3}, random::philox_chooser(0));
    while (s.finished == finish_reason::running) decode::step(scheme, s);
    const auto refuses = [&](std::vector<token> added, const std::string& says) {
        BOOST_CHECK_EXCEPTION(decode::resume(scheme, s, added, {}), error, [&](const error& problem) {
            return std::string(problem.what()).find(says) != std::string::npos;
        });
        BOOST_TEST(s.committed.size() == 5u);
        BOOST_TEST(s.committed.generated().size() == 3u);
        BOOST_TEST((s.finished == finish_reason::max_tokens));
    };
    refuses({1, 2, 3, 0, 1}, "10 tokens, which leaves no room");
    refuses({1, 4}, "prompt token 6 is 4");
    BOOST_CHECK_THROW(decode::resume(scheme, s, {}, {.stop_tokens = {7}}), error);
    BOOST_TEST(s.committed.generated().size() == 3u);
}

BOOST_AUTO_TEST_CASE(what_is_left_of_the_text_before_is_its_rounds_and_its_times) {
    const testing::function_model target(4, 40, [](std::span<const token> before, std::span<float> row) {
        row[before.size() % 4] = before.size() == 9 ? std::numeric_limits<float>::quiet_NaN() : 9;
    });
    const auto scheme = speculate(target, target, policy::fixed_length{3}, accept::exact{});
    decode::session s(scheme, std::vector<token>{0}, {.temperature = {0}}, {}, random::philox_chooser(0));
    while (s.finished == finish_reason::running) decode::step(scheme, s);
    BOOST_TEST((s.finished == finish_reason::invalid_logits));
    BOOST_TEST(s.fault != "");
    BOOST_TEST(s.seen.round > 0u);
    s.seen.last_drafted = s.seen.last_accepted = 3;
    s.counts.seconds.prefill = 100;
    const std::size_t rounds = s.seen.round;
    decode::resume(scheme, s, std::vector<token>{1, 2}, {.max_tokens = 5});
    BOOST_TEST(s.fault == "");
    BOOST_TEST(s.seen.round == rounds);
    BOOST_TEST(s.seen.last_drafted == 0u);
    BOOST_TEST(s.seen.last_accepted == 0u);
    BOOST_TEST(s.counts.seconds.prefill >= 100);
}

BOOST_AUTO_TEST_CASE(of_models_that_take_turns_the_writer_reads_what_was_added_at_once) {
    const auto small = testing::hashed_model(6, 2), large = testing::hashed_model(6, 1);
    const auto scheme = switched(small, large, switching::rolling_entropy({{0.0}, 3, 2}));
    for (const bool warm : {false, true}) {
        const auto chosen = scheme.with({.keep_warm = warm});
        decode::session s(chosen, turns[0], {.temperature = {0}}, {.max_tokens = 6}, random::philox_chooser(0));
        while (s.finished == finish_reason::running) decode::step(chosen, s);
        BOOST_TEST_REQUIRE(s.writer == 1u);
        decode::resume(chosen, s, turns[2], {.max_tokens = 5});
        s.with_voice(1, [&](const auto& voice) { BOOST_TEST(voice.cache.tokens().size() == s.committed.size() - 1); });
        s.with_voice(
            0, [&](const auto& voice) { BOOST_TEST((voice.cache.tokens().size() == s.committed.size() - 1) == warm); });
    }
}

BOOST_AUTO_TEST_SUITE_END()
