#include "augur/draft/prompt_lookup.hpp"

#include <augur/testing/drafter_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <map>
#include <random>
#include <sstream>

namespace augur::draft {
static_assert(Drafter<prompt_lookup>);
}  // namespace augur::draft

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_prompt_lookup)

static_assert(std::is_same_v<draft::prompt_lookup::draft_distribution_type, point_mass>);

std::vector<token> guess(const draft::prompt_lookup& lookup, draft::prompt_lookup::state_type& state,
                         const std::vector<token>& tokens, std::size_t length) {
    prefix before(tokens);
    const transform::pipeline transform({}, 100);
    random::philox_chooser chooser(0);
    const policy::fixed_length policy{length};
    draft::context context(before, transform, chooser, policy, observation{}, 1000);
    const auto proposed = draft::propose(lookup, state, context);
    return {proposed.tokens().begin(), proposed.tokens().end()};
}

std::vector<token> guess(const draft::prompt_lookup& lookup, const std::vector<token>& tokens, std::size_t length) {
    auto state = lookup.make_state();
    return guess(lookup, state, tokens, length);
}

using ids = std::vector<token>;

BOOST_AUTO_TEST_CASE(goes_on_as_before) {
    BOOST_TEST(guess(draft::prompt_lookup(2, 3), {1, 2, 3, 4, 5, 1, 2}, 3) == (ids{3, 4, 5}));
}

BOOST_AUTO_TEST_CASE(the_longest_match_wins_over_the_most_recent) {
    BOOST_TEST(guess(draft::prompt_lookup(1, 3), {7, 1, 2, 3, 9, 1, 2, 4, 7, 1, 2}, 1) == (ids{3}));
}

BOOST_AUTO_TEST_CASE(a_tie_is_the_latest_ones) {
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

BOOST_AUTO_TEST_CASE(the_majority_of_the_longest_matches_wins) {
    BOOST_TEST(guess(draft::prompt_lookup(1, 2), {1, 2, 3, 1, 2, 3, 1, 2, 4, 1, 2}, 1) == (ids{3}));
}

BOOST_AUTO_TEST_CASE(who_went_on_differently_votes_no_more) {
    // after 1 2: 3 5, 3 6, 3 6, 4 5; the last two who stood for 3 outvote the first, and 4 5 is not asked again
    BOOST_TEST(guess(draft::prompt_lookup(2, 2), {1, 2, 3, 5, 1, 2, 3, 6, 1, 2, 3, 6, 1, 2, 4, 5, 1, 2}, 3) ==
               (ids{3, 6, 1}));
    BOOST_TEST(guess(draft::prompt_lookup(1, 1), {9, 5, 5, 9, 5, 6, 9, 4, 6, 9}, 2) == (ids{5, 6}));
}

BOOST_AUTO_TEST_CASE(the_latest_sixteen_vote) {
    ids tokens;
    for (int i = 0; i < 40; ++i) tokens.insert(tokens.end(), {1, 2});
    for (int i = 0; i < 8; ++i) tokens.insert(tokens.end(), {1, 3});
    tokens.push_back(1);
    BOOST_TEST(guess(draft::prompt_lookup(1, 1), tokens, 1) == (ids{3}));  // eight for each, and 3 is later
    tokens[40 * 2 + 1] = 2;
    BOOST_TEST(guess(draft::prompt_lookup(1, 1), tokens, 1) == (ids{2}));
}

/// The definition, read literally.
ids naive(const ids& tokens, std::size_t min_n, std::size_t max_n, std::size_t length) {
    std::vector<std::size_t> places;
    for (std::size_t n = std::min(max_n, tokens.size()); n >= min_n && places.empty(); --n) {
        for (std::size_t place = tokens.size() - 1; place >= n && places.size() < 16; --place) {
            if (std::equal(tokens.end() - static_cast<std::ptrdiff_t>(n), tokens.end(),
                           tokens.begin() + static_cast<std::ptrdiff_t>(place - n))) {
                places.push_back(place);
            }
        }
    }
    ids text = tokens;
    for (std::size_t i = 0; i < length && !places.empty(); ++i) {
        std::map<token, std::size_t> votes;
        for (std::size_t place : places) ++votes[text[place + i]];
        std::size_t winner = places[0];
        for (std::size_t place : places) {
            if (votes[text[place + i]] > votes[text[winner + i]]) winner = place;
        }
        const token best = text[winner + i];
        std::erase_if(places, [&](std::size_t place) { return text[place + i] != best; });
        text.push_back(best);
    }
    return {text.begin() + static_cast<std::ptrdiff_t>(tokens.size()), text.end()};
}

BOOST_AUTO_TEST_CASE(agrees_with_the_definition_on_random_texts) {
    std::mt19937 random(7);
    for (int trial = 0; trial < 3000; ++trial) {
        ids tokens(1 + random() % 60);
        for (token& t : tokens) t = static_cast<token>(random() % 3);
        const std::size_t min_n = 1 + random() % 3;
        const std::size_t max_n = min_n + random() % 5;
        const std::size_t length = random() % 9;
        BOOST_TEST(guess(draft::prompt_lookup(min_n, max_n), tokens, length) == naive(tokens, min_n, max_n, length),
                   boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(keeps_the_laws_of_drafters) {
    for (const draft::prompt_lookup& lookup : {draft::prompt_lookup(), draft::prompt_lookup(2, 3)}) {
        const auto report = testing::drafter_laws(lookup, 3);
        BOOST_TEST(report.kept(), report);
    }
}

BOOST_AUTO_TEST_CASE(a_text_that_was_another_leaves_no_trace) {
    const draft::prompt_lookup lookup(1, 4);
    auto state = lookup.make_state();
    lookup.prepare(state, prefix(ids{1, 2, 7, 1, 2, 7, 1}));
    BOOST_TEST(guess(lookup, state, {1, 2, 3, 1}, 2) == (ids{2, 3}));
    BOOST_TEST(guess(lookup, state, {1, 2}, 2).empty());
    BOOST_TEST(guess(lookup, state, {2, 2}, 2) == (ids{2, 2}));
}

/// Writes down the match lengths that it is shown.
struct match_recorder {
    static constexpr signals_read reads{.required = signals::match_length};
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
    BOOST_TEST(draft::propose(lookup, state, context).size() == 3u);
    BOOST_TEST(shown == std::vector<std::size_t>{3}, boost::test_tools::per_element());
    BOOST_TEST(context.seen().match_length == 3u);
}

BOOST_AUTO_TEST_CASE(impossible_sizes_are_refused) {
    BOOST_CHECK_THROW(draft::prompt_lookup(0, 3), error);
    BOOST_CHECK_EXCEPTION(draft::prompt_lookup(4, 3), error, [](const error& e) {
        return std::string(e.what()) == "prompt_lookup: min_n 4 exceeds max_n 3";
    });
    BOOST_CHECK_EXCEPTION(draft::prompt_lookup(1, 100'000), error, [](const error& e) {
        return std::string(e.what()) == "prompt_lookup: max_n 100000 exceeds 64";
    });
    BOOST_TEST(draft::prompt_lookup(1, 64).max_n() == 64u);
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
