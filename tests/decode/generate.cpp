#include "augur/decode/generate.hpp"

#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/cost_aware.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <numeric>

using namespace augur;

BOOST_AUTO_TEST_SUITE(decode_generate)

using ids = std::vector<token>;

/// Token t is the letter 'a' + t.
std::string letter(token t) {
    return std::string(1, static_cast<char>('a' + t));
}

struct fixture {
    // The prompt is "a"; greedy decoding goes on with these letters, again and again.
    std::string story = "abcdefgabcdefgabcdefgabcdefg";
    testing::function_model target{8, 64, [this](std::span<const token> before, std::span<float> row) {
                                       std::fill(row.begin(), row.end(), 0.0f);
                                       row[static_cast<std::size_t>(story[before.size() % story.size()] - 'a')] = 30;
                                   }};
    ids prompt{0};
    decode::options chosen;

    fixture() {
        chosen = decode::greedy();
        chosen.stop.text_of = letter;
        chosen.stop.max_tokens = 20;
    }

    /// Decodes plainly and by schemes that cut the text into blocks in different ways; all must agree on everything.
    auto everywhere() {
        const auto expected = decode::generate(plain(target), prompt, chosen);
        for (std::size_t length : {1u, 2u, 3u, 4u, 5u, 9u, 30u}) {
            const auto by_model = decode::generate(
                speculate(target, target, policy::fixed_length{length}, accept::exact{}), prompt, chosen);
            const auto by_lookup = decode::generate(
                speculate(draft::prompt_lookup(1, 3), target, policy::fixed_length{length}, accept::coupled{}), prompt,
                chosen);
            compare(by_model, expected);
            compare(by_lookup, expected);
        }
        return expected;
    }

    static void compare(const auto& got, const auto& expected) {
        BOOST_TEST(got.tokens == expected.tokens);
        BOOST_TEST((got.written == expected.written));
        BOOST_TEST(name_of(got.finish) == name_of(expected.finish));
        BOOST_TEST(got.detail == expected.detail);
        BOOST_TEST(got.counts.committed() == got.tokens.size());
        std::size_t accepted = 0;
        std::size_t drafted = 0;
        for (const auto& position : got.counts.stages[0].positions) {
            accepted += position.accepted;
            drafted += position.drafted;
        }
        BOOST_TEST(accepted == got.counts.stages[0].accepted);
        BOOST_TEST(drafted == got.counts.stages[0].drafted);
        BOOST_TEST(got.counts.count(origin::accepted) == accepted);
        BOOST_TEST(got.counts.acceptance() <= 1.0);
    }
};

BOOST_FIXTURE_TEST_CASE(the_token_limit_is_exact, fixture) {
    for (std::size_t limit : {1u, 2u, 7u, 20u}) {
        chosen.stop.max_tokens = limit;
        const auto decoded = everywhere();
        BOOST_TEST(decoded.tokens.size() == limit);
        BOOST_TEST((decoded.finish == finish_reason::max_tokens));
    }
    chosen.stop.max_tokens = 0;
    const auto decoded = everywhere();
    BOOST_TEST(decoded.tokens.empty());
    BOOST_TEST((decoded.finish == finish_reason::max_tokens));
}

BOOST_FIXTURE_TEST_CASE(a_stop_token_ends_the_block, fixture) {
    chosen.stop.stop_tokens = {5};
    const auto decoded = everywhere();
    BOOST_TEST(decoded.tokens == (ids{1, 2, 3, 4, 5}));
    BOOST_TEST((decoded.finish == finish_reason::stop_token));
    BOOST_TEST(decoded.text() == "bcde");
}

BOOST_FIXTURE_TEST_CASE(stop_strings_are_found_across_block_borders, fixture) {
    for (const std::string stop : {"f", "ef", "defg", "gab", "abcdefga"}) {
        chosen.stop.stop_strings = {stop};
        const auto decoded = everywhere();
        BOOST_TEST((decoded.finish == finish_reason::stop_string));
        BOOST_TEST(decoded.detail == stop);
        const std::string whole = story.substr(1);
        BOOST_TEST(decoded.text() == whole.substr(0, whole.find(stop)));
        BOOST_TEST(decoded.tokens.size() == whole.find(stop) + stop.size());
    }
}

BOOST_FIXTURE_TEST_CASE(the_earliest_reason_wins, fixture) {
    chosen.stop.stop_tokens = {4};
    chosen.stop.stop_strings = {"cd", "g"};
    BOOST_TEST(everywhere().text() == "b");
    chosen.stop.stop_strings = {"g"};
    const auto decoded = everywhere();
    BOOST_TEST((decoded.finish == finish_reason::stop_token));
    BOOST_TEST(decoded.text() == "bcd");
    chosen.stop.max_tokens = 2;
    BOOST_TEST((everywhere().finish == finish_reason::max_tokens));
}

BOOST_FIXTURE_TEST_CASE(the_context_is_filled_and_not_exceeded, fixture) {
    chosen.stop.max_tokens = 1000;
    const auto decoded = everywhere();
    BOOST_TEST(decoded.tokens.size() == 63u);
    BOOST_TEST((decoded.finish == finish_reason::context));
}

BOOST_FIXTURE_TEST_CASE(a_stream_shows_every_token_once_and_all_of_the_text, fixture) {
    chosen.stop.stop_strings = {"efgabd", "gabcdefgabcdx"};
    ids seen;
    std::string text;
    chosen.on_token = [&](const commit::committed_token& t) {
        seen.push_back(t.id);
        text += t.text;
        return true;
    };
    const auto decoded =
        decode::generate(speculate(target, target, policy::fixed_length{4}, accept::exact{}), prompt, chosen);
    BOOST_TEST(seen == decoded.tokens);
    BOOST_TEST(text == decoded.text());
    BOOST_TEST(text.size() == 20u);
}

BOOST_FIXTURE_TEST_CASE(the_stream_can_stop_in_the_middle_of_a_block, fixture) {
    for (std::size_t enough : {1u, 3u, 6u}) {
        std::size_t seen = 0;
        chosen.on_token = [&](const commit::committed_token&) { return ++seen < enough; };
        const auto decoded =
            decode::generate(speculate(target, target, policy::fixed_length{4}, accept::exact{}), prompt, chosen);
        BOOST_TEST(decoded.tokens.size() == enough);
        BOOST_TEST(seen == enough);
        BOOST_TEST((decoded.finish == finish_reason::cancelled));
        BOOST_TEST(decoded.text() == story.substr(1, enough));
    }
}

BOOST_FIXTURE_TEST_CASE(what_was_held_back_from_a_cancelled_stream_is_in_the_text, fixture) {
    chosen.stop.stop_strings = {"cx"};
    for (std::size_t length : {0u, 1u, 4u}) {
        std::string text;
        std::size_t seen = 0;
        chosen.on_token = [&](const commit::committed_token& t) {
            text += t.text;
            return ++seen < 2;
        };
        const auto decoded =
            decode::generate(speculate(target, target, policy::fixed_length{length}, accept::exact{}), prompt, chosen);
        BOOST_TEST((decoded.finish == finish_reason::cancelled));
        BOOST_TEST(text == "b");
        BOOST_TEST(decoded.text() == "bc");
    }
}

BOOST_FIXTURE_TEST_CASE(a_code_point_that_a_cancelled_stream_cuts_is_replaced, fixture) {
    chosen.stop.text_of = [](token t) { return t == 2 ? std::string("\xE2\x82") : letter(t); };
    std::size_t seen = 0;
    chosen.on_token = [&](const commit::committed_token&) { return ++seen < 2; };
    BOOST_TEST(decode::generate(plain(target), prompt, chosen).text() == "b\uFFFD");
}

BOOST_FIXTURE_TEST_CASE(greedy_and_sampled_are_options_by_another_name, fixture) {
    const auto wild = testing::hashed_model(8, 5);
    decode::options written;
    written.sampling.temperature.value = 0;
    BOOST_TEST(decode::generate(plain(wild), prompt, decode::greedy()).tokens ==
               decode::generate(plain(wild), prompt, written).tokens);
    written.seed = 9;
    written.sampling.temperature.value = 0.5f;
    const auto drawn = decode::generate(plain(wild), prompt, decode::sampled(9, 0.5f)).tokens;
    BOOST_TEST(drawn == decode::generate(plain(wild), prompt, written).tokens);
    BOOST_TEST(drawn != decode::generate(plain(wild), prompt, decode::sampled(8, 0.5f)).tokens);
    BOOST_TEST(decode::generate(plain(wild), prompt, decode::sampled(3)).tokens ==
               decode::generate(plain(wild), prompt, {.seed = 3}).tokens);
}

BOOST_FIXTURE_TEST_CASE(log_probabilities_belong_to_the_tokens_returned, fixture) {
    const auto wild = testing::hashed_model(8, 5);
    chosen.log_probabilities = true;
    chosen.sampling.temperature.value = 0.6f;
    chosen.stop.stop_tokens = {5};
    const auto expected = decode::generate(plain(wild), prompt, chosen);
    const auto decoded =
        decode::generate(speculate(wild, wild, policy::fixed_length{7}, accept::coupled{}), prompt, chosen);
    BOOST_TEST(decoded.tokens == expected.tokens);
    BOOST_TEST(decoded.log_probabilities == expected.log_probabilities);
    BOOST_REQUIRE(decoded.log_probabilities.size() == decoded.tokens.size());
    auto sequence = wild.make_sequence();
    logit_row row = wild.extend(sequence, prompt)[0];
    for (std::size_t i = 0; i < decoded.tokens.size(); ++i) {
        double sum = 0;
        for (float x : row) sum += std::exp(static_cast<double>(x));
        const double literal = static_cast<double>(row[static_cast<std::size_t>(decoded.tokens[i])]) - std::log(sum);
        BOOST_TEST(decoded.log_probabilities[i] == literal, boost::test_tools::tolerance(1e-5));
        row = wild.extend(sequence, std::span(decoded.tokens).subspan(i, 1))[0];
    }
}

BOOST_FIXTURE_TEST_CASE(text_that_was_not_asked_for_is_not_empty_but_refused, fixture) {
    chosen.stop.max_tokens = 3;
    BOOST_TEST(decode::generate(plain(target), prompt, chosen).text() == "bcd");
    chosen.stop.text_of = {};
    const auto decoded = decode::generate(plain(target), prompt, chosen);
    BOOST_TEST(decoded.tokens == (ids{1, 2, 3}));
    BOOST_CHECK_EXCEPTION(decoded.text(), augur::error, [](const augur::error& e) {
        return e.what() == std::string("there is no text of these 3 tokens: no text_of was given");
    });
    chosen.stop.text_of = letter;
    chosen.stop.max_tokens = 0;  // text, but none yet
    BOOST_TEST(decode::generate(plain(target), prompt, chosen).text() == "");
}

BOOST_FIXTURE_TEST_CASE(stop_tokens_that_no_row_holds_are_refused, fixture) {
    chosen.stop.stop_tokens = {static_cast<token>(target.vocabulary_size())};
    BOOST_CHECK_EXCEPTION(decode::generate(plain(target), prompt, chosen), augur::error, [&](const augur::error& e) {
        return e.what() == augur::detail::message("stop token 0 is ", target.vocabulary_size(),
                                                  ", but the vocabulary has ", target.vocabulary_size(), " tokens");
    });
}

BOOST_FIXTURE_TEST_CASE(bad_prompts_are_refused_with_their_values, fixture) {
    const auto scheme = plain(target);
    const auto message_of = [&](const ids& bad) -> std::string {
        try {
            decode::generate(scheme, bad, chosen);
        } catch (const error& e) {
            return e.what();
        }
        return "none";
    };
    BOOST_TEST(message_of({}) == "the prompt is empty: decoding needs at least one token to continue");
    BOOST_TEST(message_of({0, 8}) == "prompt token 1 is 8, but the vocabulary has 8 tokens");
    BOOST_TEST(message_of({-1}) == "prompt token 0 is -1, but the vocabulary has 8 tokens");
    BOOST_TEST(message_of(ids(64, 1)) == "the prompt has 64 tokens, which leaves no room in a context of 64");
}

BOOST_FIXTURE_TEST_CASE(vocabularies_must_match, fixture) {
    for (std::size_t size : {7u, 9u}) {
        const auto other = testing::hashed_model(size, 1);
        BOOST_CHECK_EXCEPTION(speculate(other, target, policy::fixed_length{}, accept::exact{}), error,
                              [&](const error& e) {
                                  return e.what() == "draft and target must share a vocabulary, but the draft has " +
                                                         std::to_string(size) + " tokens and the target 8";
                              });
    }
}

BOOST_FIXTURE_TEST_CASE(stop_strings_need_text, fixture) {
    chosen.stop.text_of = nullptr;
    chosen.stop.stop_strings = {"x"};
    BOOST_CHECK_THROW(decode::generate(plain(target), prompt, chosen), error);
}

BOOST_FIXTURE_TEST_CASE(one_seed_one_text, fixture) {
    chosen.sampling.temperature.value = 1;
    const auto wild = testing::hashed_model(30, 5, 1);
    const auto scheme =
        speculate(testing::hashed_model(30, 6, 1), wild, policy::fixed_length{3}, accept::rejection_sampling{});
    chosen.stop.text_of = nullptr;
    chosen.seed = 7;
    const auto decoded = decode::generate(scheme, prompt, chosen);
    BOOST_TEST(decoded.seed == 7u);
    const auto first = decoded.tokens;
    BOOST_TEST(first == decode::generate(scheme, prompt, chosen).tokens);
    chosen.seed = 8;
    BOOST_TEST(first != decode::generate(scheme, prompt, chosen).tokens);
}

BOOST_FIXTURE_TEST_CASE(without_a_clock_lengths_that_time_decides_repeat, fixture) {
    chosen.timed = false;
    chosen.stop = {.max_tokens = 60};
    const auto wild = testing::markov_model({{0.1, 0.9}, {0.8, 0.2}});
    chosen.sampling.temperature.value = 1;
    const std::vector<token> start{0, 1, 0, 1};
    const auto scheme = speculate(draft::prompt_lookup(1, 2), wild, policy::cost_aware{}, accept::rejection_sampling{});
    const auto first = decode::generate(scheme, start, chosen);
    const auto second = decode::generate(scheme, start, chosen);
    BOOST_TEST(first.counts.stages[0].drafted > 0u);
    BOOST_TEST(first.counts.stages[0].drafted == second.counts.stages[0].drafted);
    BOOST_TEST(first.tokens == second.tokens, boost::test_tools::per_element());
    const double milliseconds = 4 * static_cast<double>(first.counts.rounds());  // draft, verify, accept, other
    BOOST_TEST(first.counts.seconds.decoding() == milliseconds / 1000, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_SUITE_END()
