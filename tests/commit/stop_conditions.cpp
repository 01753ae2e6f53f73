#include "augur/commit/stop_conditions.hpp"

#include <augur/types/error.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using augur::finish_reason;
using augur::name_of;
using augur::token;
using augur::commit::stop_conditions;
using augur::commit::stop_watcher;

namespace {

/// Tokens are letters: 0 is "a".
std::string letter(token t) {
    return std::string(1, static_cast<char>('a' + t));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(commit_stop_conditions)

BOOST_AUTO_TEST_CASE(of_several_reasons_the_first_is_reported) {
    for (unsigned holds = 0; holds < 16; ++holds) {
        const bool stop_token = holds & 1;
        const bool stop_string = holds & 2;
        const bool max_tokens = holds & 4;
        const bool context = holds & 8;
        stop_conditions conditions{.max_tokens = max_tokens ? 5u : 6u, .text_of = letter};
        conditions.stop_tokens = {9, stop_token ? 2 : 8};
        conditions.stop_strings = {stop_string ? "c" : "cd"};
        stop_watcher watcher(conditions, 26, context ? 20 : 21);
        const finish_reason expected = stop_token    ? finish_reason::stop_token
                                       : stop_string ? finish_reason::stop_string
                                       : max_tokens  ? finish_reason::max_tokens
                                       : context     ? finish_reason::context
                                                     : finish_reason::running;
        BOOST_TEST(name_of(watcher.admit(2, 5, 20)) == name_of(expected), "conditions " << holds);
    }
}

BOOST_AUTO_TEST_CASE(reasons_are_listed_in_the_order_in_which_they_are_reported) {
    const finish_reason order[] = {finish_reason::running,    finish_reason::stop_token, finish_reason::stop_string,
                                   finish_reason::max_tokens, finish_reason::context,    finish_reason::invalid_logits,
                                   finish_reason::cancelled};
    const std::string_view names[] = {"running", "stop_token",     "stop_string", "max_tokens",
                                      "context", "invalid_logits", "cancelled"};
    for (std::size_t i = 0; i < 7; ++i) {
        BOOST_TEST(static_cast<std::size_t>(order[i]) == i);
        BOOST_TEST(name_of(order[i]) == names[i]);
    }
}

BOOST_AUTO_TEST_CASE(a_stop_string_spans_tokens_and_its_text_is_never_released) {
    stop_watcher watcher({.stop_strings = {"bcd"}, .text_of = letter}, 26, 100);
    std::string released;
    std::size_t generated = 0;
    finish_reason why = finish_reason::running;
    for (const token t : {0, 1, 2, 1, 2, 3, 4}) {
        ++generated;
        why = watcher.admit(t, generated, 10 + generated);
        released += watcher.released();
        if (why != finish_reason::running) break;
    }
    BOOST_TEST(name_of(why) == "stop_string");
    BOOST_TEST(generated == 6u);
    BOOST_TEST(released == "abc");
    BOOST_TEST(watcher.text().text() == "abc");
    BOOST_TEST(watcher.text().matched() == "bcd");
}

BOOST_AUTO_TEST_CASE(at_the_end_nothing_is_held_back) {
    stop_watcher watcher({.max_tokens = 2, .stop_strings = {"abc"}, .text_of = letter}, 26, 100);
    BOOST_TEST(name_of(watcher.admit(0, 1, 11)) == "running");
    BOOST_TEST(watcher.released() == "");
    BOOST_TEST(name_of(watcher.admit(1, 2, 12)) == "max_tokens");
    BOOST_TEST(watcher.released() == "ab");
}

BOOST_AUTO_TEST_CASE(text_is_asked_for_once_per_token_and_never_for_a_stop_token) {
    std::vector<token> asked;
    stop_conditions conditions{.stop_tokens = {5}};
    conditions.text_of = [&](token t) {
        asked.push_back(t);
        return letter(t);
    };
    stop_watcher watcher(conditions, 26, 100);
    for (const token t : {3, 3, 1}) BOOST_TEST(name_of(watcher.admit(t, 1, 10)) == "running");
    BOOST_TEST(name_of(watcher.admit(5, 4, 14)) == "stop_token");
    const std::vector<token> expected = {3, 3, 1};
    BOOST_TEST(asked == expected, boost::test_tools::per_element());
    BOOST_TEST(watcher.text().text() == "ddb");
}

BOOST_AUTO_TEST_CASE(without_text_tokens_and_limits_still_stop) {
    stop_watcher watcher({.max_tokens = 3, .stop_tokens = {7}}, 26, 100);
    BOOST_TEST(name_of(watcher.admit(1, 1, 11)) == "running");
    BOOST_TEST(name_of(watcher.admit(7, 2, 12)) == "stop_token");
    BOOST_TEST(name_of(watcher.admit(1, 3, 13)) == "max_tokens");
    BOOST_TEST(watcher.released() == "");
}

BOOST_AUTO_TEST_CASE(room_is_what_both_limits_leave) {
    for (std::size_t max_tokens = 0; max_tokens < 8; ++max_tokens) {
        for (std::size_t context = 0; context < 12; ++context) {
            const stop_watcher watcher({.max_tokens = max_tokens}, 26, context);
            for (std::size_t generated = 0; generated < 10; ++generated) {
                const std::size_t length = 4 + generated;
                std::size_t budget = 0;
                while (generated + budget < max_tokens && length + budget < context) ++budget;
                BOOST_TEST(watcher.budget(generated, length) == budget);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(the_last_token_of_the_room_ends_the_decoding) {
    for (const std::size_t max_tokens : {1u, 3u, 9u}) {
        for (const std::size_t context : {5u, 7u, 30u}) {
            stop_watcher watcher({.max_tokens = max_tokens}, 26, context);
            const std::size_t budget = watcher.budget(0, 4);
            BOOST_TEST_REQUIRE(budget > 0u);
            for (std::size_t n = 1; n <= budget; ++n) {
                const bool running = watcher.admit(0, n, 4 + n) == finish_reason::running;
                BOOST_TEST(running == (n < budget));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(stop_strings_without_text_are_refused) {
    try {
        const stop_watcher watcher({.stop_strings = {"a", "b"}}, 26, 10);
        BOOST_TEST(false, "stop strings without text_of were accepted");
    } catch (const augur::error& e) {
        BOOST_TEST(e.what() == std::string("there are 2 stop strings, but no text_of to find them with"));
    }
}

BOOST_AUTO_TEST_CASE(stop_tokens_outside_the_vocabulary_are_refused) {
    const auto says = [](const std::string& what) {
        return [what](const augur::error& e) { return e.what() == what; };
    };
    BOOST_CHECK_EXCEPTION(stop_watcher({.stop_tokens = {25, 26}}, 26, 10), augur::error,
                          says("stop token 1 is 26, but the vocabulary has 26 tokens"));
    BOOST_CHECK_EXCEPTION(stop_watcher({.stop_tokens = {-1}}, 26, 10), augur::error,
                          says("stop token 0 is -1, but the vocabulary has 26 tokens"));
    BOOST_CHECK_EXCEPTION(stop_watcher({.stop_marks = {{26, "<|end|>"}}}, 26, 10), augur::error,
                          says("the stop string '<|end|>' is token 26, but the vocabulary has 26 tokens"));
    stop_watcher least({.stop_tokens = {0, 25}}, 26, 10);
    BOOST_TEST(name_of(least.admit(25, 1, 5)) == "stop_token");
}

BOOST_AUTO_TEST_CASE(a_mark_ends_the_text_as_its_name_would) {
    std::vector<token> asked;
    const auto text_of = [&](token t) {
        asked.push_back(t);
        return t == 20 ? std::string() : letter(t);
    };
    const stop_conditions conditions{.max_tokens = 3,
                                     .stop_tokens = {21},
                                     .stop_strings = {"bc"},
                                     .text_of = text_of,
                                     .stop_marks = {{20, "<|end|>"}, {21, "<|both|>"}}};
    stop_watcher marked(conditions, 26, 100);
    BOOST_TEST(name_of(marked.admit(1, 1, 5)) == "running");
    BOOST_TEST(marked.released() == "");                           // "b" may become a stop string
    BOOST_TEST(name_of(marked.admit(20, 3, 7)) == "stop_string");  // before max_tokens
    BOOST_TEST(marked.matched() == "<|end|>");
    BOOST_TEST(marked.released() == "b");
    BOOST_TEST((asked == std::vector<token>{1}));
    stop_watcher spelled(conditions, 26, 100);
    BOOST_TEST(name_of(spelled.admit(1, 1, 5)) == "running");
    BOOST_TEST(name_of(spelled.admit(2, 2, 6)) == "stop_string");
    BOOST_TEST(spelled.matched() == "bc");
    stop_watcher both(conditions, 26, 100);
    BOOST_TEST(name_of(both.admit(21, 1, 5)) == "stop_token");
    BOOST_TEST(both.matched() == "");
}

/// Token 1 is "b" in one and the end in the other, token 2 the other way round.
BOOST_AUTO_TEST_CASE(a_text_in_several_vocabularies_has_the_stops_and_the_bytes_of_the_one_that_is_written) {
    const auto capital = [](token t) { return std::string(1, static_cast<char>('A' + t)); };
    const std::vector<augur::commit::vocabulary> both{{{2}, letter}, {{1}, capital}};
    const auto after = [&](const std::vector<std::pair<std::size_t, token>>& tokens, std::string stop = "bC") {
        stop_watcher watcher({.max_tokens = 4, .stop_strings = {std::move(stop)}}, both);
        BOOST_TEST(watcher.has_text());
        finish_reason why = finish_reason::running;
        std::size_t written = 0;
        for (const auto& [in, id] : tokens) {
            BOOST_TEST((why == finish_reason::running));
            watcher.write_in(in);
            augur::commit::committed_token block[] = {{id}};
            BOOST_TEST(watcher.foresee(block, written, written) == 1u);
            ++written;
            why = watcher.admit(id, written, written);
        }
        return std::string(name_of(why)) + ' ' + watcher.text().text();
    };
    BOOST_TEST(after({{0, 0}, {0, 1}, {1, 0}}) == "running abA");
    BOOST_TEST(after({{0, 0}, {0, 1}, {1, 2}}) == "stop_string a");
    BOOST_TEST(after({{1, 2}, {0, 2}}) == "stop_token C");
    BOOST_TEST(after({{0, 1}, {1, 1}}) == "stop_token b");
    BOOST_TEST(after({{0, 1}, {1, 3}, {1, 3}, {0, 1}}) == "max_tokens bDDb");
    const stop_watcher roomy({}, both);
    BOOST_TEST(roomy.budget(3, 1 << 20) == 125u);
    BOOST_CHECK_EXCEPTION(stop_watcher({.stop_tokens = {0}, .text_of = letter}, both), augur::error, [](const auto& e) {
        return std::string(e.what()).starts_with(
            "the stop conditions have 1 stop tokens, 0 stop marks and a text_of, which are of one vocabulary");
    });
}

BOOST_AUTO_TEST_SUITE_END()
