// What the end of a text has been broken by: docs/conformance.md, 29 to 32.

#include <algorithm>
#include <string>

#include "conformance/schemes.hpp"

using namespace augur;
using namespace augur::conformance;

BOOST_AUTO_TEST_SUITE(conformance_stopping)

/// Tells one story over and over; drafts agree, or miss every fourth token.
struct story_tellers {
    static constexpr std::string_view story = "abcdefgabd";
    static std::string letter(token t) { return std::string(1, static_cast<char>('a' + t)); }
    static function_model telling(std::size_t wrong_every) {
        return {8, 64, [wrong_every](std::span<const token> before, std::span<float> row) {
                    std::fill(row.begin(), row.end(), 0.0f);
                    const bool wrong = before.size() % wrong_every == 0;
                    row[wrong ? 7 : static_cast<std::size_t>(story[before.size() % story.size()] - 'a')] = 30;
                }};
    }

    function_model target = telling(1000), right = telling(1000), often = telling(4);
    std::vector<token> beginning{0};
    decode::options chosen = greedy(20);

    story_tellers() { chosen.stop.text_of = letter; }

    /// Plain decoding's answer, which every scheme was found to give, too.
    auto everywhere() const {
        const auto expected = decode::generate(plain(target), beginning, chosen);
        for (const auto* drafting : {&right, &often}) {
            every_scheme(*drafting, target, [&](const auto& scheme) {
                const auto got = decode::generate(scheme, beginning, chosen);
                BOOST_TEST(got.tokens == expected.tokens);
                BOOST_TEST((got.written == expected.written));
                BOOST_TEST(got.log_probabilities == expected.log_probabilities);
                BOOST_TEST(got.detail == expected.detail);
                BOOST_TEST(name_of(got.finish) == name_of(expected.finish));
            });
        }
        return expected;
    }
};

// Tokens behind the end token, accepted in the same block, were returned; caches and statistics kept them.
BOOST_FIXTURE_TEST_CASE(invariant_29_nothing_follows_the_stop_token, story_tellers) {
    chosen.stop.stop_tokens = {5};
    const auto decoded = everywhere();
    BOOST_TEST(decoded.tokens == (std::vector<token>{1, 2, 3, 4, 5}));
    BOOST_TEST(decoded.text() == "bcde");
    every_scheme(right, target, [&](const auto& scheme) {
        decode::session session(scheme, beginning, chosen.sampling, chosen.stop, random::philox_chooser(0));
        while (session.finished == finish_reason::running) decode::step(scheme, session);
        BOOST_TEST(session.committed.tokens().back() == 5);
        BOOST_TEST(session.committed.size() == 6u);
        BOOST_TEST(!session.committed.counts().contains(6));
        BOOST_TEST(target.length(session.target.sequence()) <= 6u);
        BOOST_TEST(session.counts.committed() == 5u);
    });
}

// Ids, text and log-probabilities of a stop string in the middle of a block were cut at different places.
BOOST_FIXTURE_TEST_CASE(invariant_30_a_stop_string_cuts_everything_together, story_tellers) {
    chosen.log_probabilities = true;
    const std::string whole(story.substr(1));
    for (const std::string stop : {"c", "f", "ef", "defg", "gab", "bcdefga"}) {
        chosen.stop.stop_strings = {stop};
        const auto decoded = everywhere();
        BOOST_TEST((decoded.finish == finish_reason::stop_string));
        BOOST_TEST(decoded.text() == whole.substr(0, whole.find(stop)));
        BOOST_TEST(decoded.tokens.size() == whole.find(stop) + stop.size());
        BOOST_TEST(decoded.log_probabilities.size() == decoded.tokens.size());
    }
}

// The limit on the length was looked at first, though something earlier in the block had ended the text.
BOOST_FIXTURE_TEST_CASE(invariant_31_the_earliest_end_wins, story_tellers) {
    chosen.stop.stop_tokens = {4};
    chosen.stop.stop_strings = {"cd"};
    for (std::size_t limit = 1; limit <= 6; ++limit) {
        chosen.stop.max_tokens = limit;
        const auto decoded = everywhere();
        BOOST_TEST(decoded.tokens.size() == std::min<std::size_t>(limit, 3));
        BOOST_TEST((decoded.finish == (limit < 3 ? finish_reason::max_tokens : finish_reason::stop_string)));
        BOOST_TEST(decoded.text() == std::string("bcd").substr(0, limit < 3 ? limit : 1));
    }
    chosen.stop.stop_strings = {"g"};
    const auto decoded = everywhere();
    BOOST_TEST((decoded.finish == finish_reason::stop_token));
    BOOST_TEST(decoded.text() == "bcd");
}

// A self-speculating decoder ended some tokens before its limit, because a block no longer fitted.
BOOST_FIXTURE_TEST_CASE(invariant_32_the_limit_is_reached_exactly, story_tellers) {
    for (std::size_t limit = 0; limit <= 12; ++limit) {
        chosen.stop.max_tokens = limit;
        const auto decoded = everywhere();
        BOOST_TEST(decoded.tokens.size() == limit);
        BOOST_TEST((decoded.finish == finish_reason::max_tokens));
    }
    chosen.stop.max_tokens = 1000;
    BOOST_TEST(everywhere().tokens.size() == 63u);
    BOOST_TEST((everywhere().finish == finish_reason::context));
}

BOOST_AUTO_TEST_SUITE_END()
