#include "augur/types/prefix.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <map>
#include <random>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

using augur::prefix;
using augur::speculative_suffix;
using augur::token;

namespace {

/// The prefix is what its tokens say, counts included.
void check_is(const prefix& text, const std::vector<token>& tokens, std::size_t prompt_length) {
    BOOST_TEST(text.tokens() == std::span<const token>(tokens), boost::test_tools::per_element());
    BOOST_TEST(text.size() == tokens.size());
    BOOST_TEST(text.prompt_length() == prompt_length);
    BOOST_TEST(text.generated().size() == tokens.size() - prompt_length);
    std::map<token, std::size_t> anywhere;
    std::map<token, std::size_t> generated;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        ++anywhere[tokens[i]];
        if (i >= prompt_length) ++generated[tokens[i]];
    }
    BOOST_TEST(text.counts().size() == anywhere.size());
    for (const auto& [t, count] : anywhere) {
        BOOST_TEST_REQUIRE(text.counts().contains(t));
        BOOST_TEST(text.counts().at(t).anywhere == count);
        BOOST_TEST(text.counts().at(t).generated == generated[t]);
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(types_prefix)

BOOST_AUTO_TEST_CASE(counts_are_those_of_a_recount_after_every_push_and_pop) {
    std::mt19937 random(1);
    for (std::size_t run = 0; run < 30; ++run) {
        std::vector<token> tokens(random() % 6);
        for (token& t : tokens) t = static_cast<token>(random() % 5);
        const std::size_t prompt_length = tokens.size();
        prefix text(tokens);
        check_is(text, tokens, prompt_length);
        for (std::size_t i = 0; i < 60; ++i) {
            if (tokens.size() > prompt_length && random() % 3 == 0) {
                text.pop();
                tokens.pop_back();
            } else {
                tokens.push_back(static_cast<token>(random() % 5));
                text.push(tokens.back());
            }
            check_is(text, tokens, prompt_length);
        }
    }
}

BOOST_AUTO_TEST_CASE(an_empty_prefix_holds_nothing) {
    check_is(prefix(), {}, 0);
    check_is(prefix(std::span<const token>()), {}, 0);
}

BOOST_AUTO_TEST_CASE(generated_is_what_follows_the_prompt) {
    const std::vector<token> prompt = {4, 5};
    prefix text(prompt);
    text.push(6);
    BOOST_TEST(text.generated().size() == 1u);
    BOOST_TEST(text.generated()[0] == 6);
    const prefix copy = text;
    text.pop();
    check_is(copy, {4, 5, 6}, 2);
    check_is(text, {4, 5}, 2);
}

BOOST_AUTO_TEST_CASE(a_speculative_suffix_leaves_no_trace) {
    const std::vector<token> prompt = {1, 2, 1};
    prefix text(prompt);
    text.push(3);
    {
        speculative_suffix outer(text);
        outer.push(1);
        outer.push(9);
        {
            speculative_suffix inner(text);
            inner.push(9);
            check_is(text, {1, 2, 1, 3, 1, 9, 9}, 3);
        }
        check_is(text, {1, 2, 1, 3, 1, 9}, 3);
    }
    check_is(text, {1, 2, 1, 3}, 3);
    { const speculative_suffix unused(text); }
    check_is(text, {1, 2, 1, 3}, 3);
}

BOOST_AUTO_TEST_CASE(nor_when_an_exception_passes) {
    const std::vector<token> prompt = {1};
    prefix text(prompt);
    const auto drafting = [&] {
        speculative_suffix drafted(text);
        drafted.push(1);
        drafted.push(2);
        throw std::runtime_error("the drafter failed");
    };
    BOOST_CHECK_THROW(drafting(), std::runtime_error);
    check_is(text, {1}, 1);
}

BOOST_AUTO_TEST_CASE(what_is_settled_is_said_and_a_token_taken_back_makes_it_another_text) {
    const std::vector<token> prompt = {1, 2};
    prefix written(prompt);
    written.push(3);
    const auto text = written.tokens().text();
    BOOST_TEST(written.tokens().settled() == 3u);
    BOOST_TEST(written.tokens().first(2).settled() == 2u);
    BOOST_TEST(written.tokens().first(2).text() == text);
    {
        speculative_suffix outer(written);
        outer.push(4);
        const speculative_suffix inner(written, std::vector<token>{5});
        BOOST_TEST(written.tokens().settled() == 3u);
        BOOST_TEST(written.tokens().first(4).settled() == 3u);
    }
    BOOST_TEST(written.tokens().text() == text);
    written.push(6);
    BOOST_TEST(written.tokens().settled() == 4u);
    BOOST_TEST(written.tokens().text() == text);
    written.pop();
    BOOST_TEST(written.tokens().text() != text);
    BOOST_TEST(prefix(written).tokens().text() != written.tokens().text());
    const std::vector<token> others = {1, 2, 3};
    const augur::prefix_tokens unknown = others;
    BOOST_TEST(unknown.text() == 0u);
    BOOST_TEST(unknown.settled() == 0u);
}

static_assert(!std::is_copy_constructible_v<speculative_suffix> && !std::is_copy_assignable_v<speculative_suffix>);

BOOST_AUTO_TEST_SUITE_END()
