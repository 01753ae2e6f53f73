#include "augur/draft/prompt_lookup.hpp"

#include <boost/test/unit_test.hpp>
#include <random>
#include <sstream>

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_prompt_lookup)

static_assert(Drafter<draft::prompt_lookup>);
static_assert(std::is_same_v<draft::prompt_lookup::claim_type, point_mass>);

std::vector<token> guess(const draft::prompt_lookup& lookup, const std::vector<token>& tokens, std::size_t length) {
    prefix before(tokens);
    const transform::pipeline transform({}, 100);
    random::philox_chooser chooser(0);
    const policy::fixed_length policy{length};
    draft::context context(before, transform, chooser, policy, observation{}, 1000);
    auto state = lookup.make_state();
    const auto proposed = lookup.propose(state, context);
    return {proposed.tokens().begin(), proposed.tokens().end()};
}

using ids = std::vector<token>;

BOOST_AUTO_TEST_CASE(goes_on_as_last_time) {
    BOOST_TEST(guess(draft::prompt_lookup(2, 3), {1, 2, 3, 4, 5, 1, 2}, 3) == (ids{3, 4, 5}));
}

BOOST_AUTO_TEST_CASE(the_longest_match_wins_over_the_most_recent) {
    BOOST_TEST(guess(draft::prompt_lookup(1, 3), {7, 1, 2, 3, 9, 1, 2, 4, 7, 1, 2}, 1) == (ids{3}));
}

BOOST_AUTO_TEST_CASE(of_equal_matches_the_most_recent_wins) {
    BOOST_TEST(guess(draft::prompt_lookup(2, 2), {1, 2, 3, 9, 1, 2, 4, 8, 1, 2}, 1) == (ids{4}));
}

BOOST_AUTO_TEST_CASE(max_n_bounds_what_counts_as_longer) {
    BOOST_TEST(guess(draft::prompt_lookup(1, 2), {7, 1, 2, 3, 9, 1, 2, 4, 7, 1, 2}, 1) == (ids{4}));
}

BOOST_AUTO_TEST_CASE(shorter_than_min_n_is_no_match) {
    BOOST_TEST(guess(draft::prompt_lookup(2, 3), {1, 5, 2, 1}, 4).empty());
    BOOST_TEST(guess(draft::prompt_lookup(1, 3), {1, 5, 2, 1}, 2) == (ids{5, 2}));
}

BOOST_AUTO_TEST_CASE(a_loop_is_continued_past_the_end) {
    BOOST_TEST(guess(draft::prompt_lookup(2, 4), {1, 2, 3, 1, 2}, 7) == (ids{3, 1, 2, 3, 1, 2, 3}));
    BOOST_TEST(guess(draft::prompt_lookup(1, 1), {4, 4}, 3) == (ids{4, 4, 4}));
}

BOOST_AUTO_TEST_CASE(too_short_a_text_has_no_match) {
    BOOST_TEST(guess(draft::prompt_lookup(1, 4), {3}, 4).empty());
    BOOST_TEST(guess(draft::prompt_lookup(2, 4), {3, 3}, 4).empty());
    BOOST_TEST(guess(draft::prompt_lookup(1, 4), {}, 4).empty());
}

BOOST_AUTO_TEST_CASE(length_zero_drafts_nothing) {
    BOOST_TEST(guess(draft::prompt_lookup(1, 4), {1, 1, 1}, 0).empty());
}

/// The definition, read literally.
draft::prompt_lookup::match naive(const ids& tokens, std::size_t min_n, std::size_t max_n) {
    for (std::size_t n = std::min(max_n, tokens.size()); n >= min_n; --n) {
        for (std::size_t end = tokens.size() - 1; end >= n; --end) {
            if (std::equal(tokens.end() - static_cast<std::ptrdiff_t>(n), tokens.end(),
                           tokens.begin() + static_cast<std::ptrdiff_t>(end - n))) {
                return {n, end};
            }
        }
    }
    return {};
}

BOOST_AUTO_TEST_CASE(agrees_with_the_definition_on_random_texts) {
    std::mt19937 random(7);
    for (int trial = 0; trial < 3000; ++trial) {
        ids tokens(1 + random() % 30);
        for (token& t : tokens) t = static_cast<token>(random() % 3);
        const std::size_t min_n = 1 + random() % 3;
        const std::size_t max_n = min_n + random() % 5;
        const auto found = draft::prompt_lookup(min_n, max_n).find(tokens);
        const auto expected = naive(tokens, min_n, max_n);
        BOOST_TEST(found.length == expected.length);
        BOOST_TEST(found.follows == expected.follows);
    }
}

/// Writes down the match lengths that it is shown.
struct match_recorder {
    static constexpr signals needs = signals::match_length;
    std::vector<std::size_t>* shown;
    std::size_t length(const observation& seen) const {
        shown->push_back(seen.match_length);
        return seen.match_length;
    }
};

BOOST_AUTO_TEST_CASE(a_policy_is_told_the_length_of_the_match) {
    const ids tokens{5, 1, 2, 3, 9, 9, 1, 2, 3};
    prefix before(tokens);
    const transform::pipeline transform({}, 100);
    random::philox_chooser chooser(0);
    std::vector<std::size_t> shown;
    const match_recorder policy{&shown};
    draft::context context(before, transform, chooser, policy, observation{}, 1000);
    const draft::prompt_lookup lookup(2, 8);
    auto state = lookup.make_state();
    BOOST_TEST(lookup.propose(state, context).size() == 3u);
    BOOST_TEST(shown == std::vector<std::size_t>{3}, boost::test_tools::per_element());
    BOOST_TEST(context.seen().match_length == 3u);
}

BOOST_AUTO_TEST_CASE(impossible_sizes_are_refused) {
    BOOST_CHECK_THROW(draft::prompt_lookup(0, 3), error);
    BOOST_CHECK_EXCEPTION(draft::prompt_lookup(4, 3), error, [](const error& e) {
        return std::string(e.what()) == "prompt_lookup: min_n 4 exceeds max_n 3";
    });
}

BOOST_AUTO_TEST_CASE(prints_itself) {
    const draft::prompt_lookup lookup(3, 5);
    BOOST_TEST(lookup.min_n() == 3u);
    BOOST_TEST(lookup.max_n() == 5u);
    std::ostringstream out;
    out << lookup;
    BOOST_TEST(out.str() == "prompt_lookup{.min_n=3, .max_n=5}");
}

BOOST_AUTO_TEST_SUITE_END()
