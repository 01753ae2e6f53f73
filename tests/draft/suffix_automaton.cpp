#include "augur/draft/suffix_automaton.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_suffix_automaton)

using ids = std::vector<token>;
using draft::suffix_automaton;

/// How often each part of up to `longest` tokens, the empty one aside, occurs in the texts.
std::map<ids, std::uint32_t> parts_of(const std::vector<ids>& texts, std::size_t longest) {
    std::map<ids, std::uint32_t> all;
    for (const ids& text : texts) {
        for (std::size_t i = 0; i < text.size(); ++i) {
            for (std::size_t n = 1; n <= std::min(longest, text.size() - i); ++n) {
                ++all[ids(text.begin() + static_cast<std::ptrdiff_t>(i),
                          text.begin() + static_cast<std::ptrdiff_t>(i + n))];
            }
        }
    }
    return all;
}

/// The counts that an automaton gives all parts of up to `longest` tokens that it knows.
std::map<ids, std::uint32_t> parts_in(const suffix_automaton& of, std::size_t longest) {
    std::map<ids, std::uint32_t> all;
    std::vector<std::pair<ids, suffix_automaton::state>> open{{{}, suffix_automaton::root}};
    while (!open.empty()) {
        const auto [part, state] = open.back();
        open.pop_back();
        if (!part.empty()) all[part] = of.count(state);
        if (part.size() == longest) continue;
        of.each_after(state, [&, &part = part, &state = state](token t, std::uint32_t count) {
            ids longer = part;
            longer.push_back(t);
            BOOST_TEST(of.count(of.after(state, t)) == count);
            open.push_back({longer, of.after(state, t)});
        });
    }
    return all;
}

BOOST_AUTO_TEST_CASE(an_automaton_counts_every_part_of_texts_that_grow_in_turn) {
    std::mt19937 random(5);
    for (int tried = 0; tried < 30; ++tried) {
        const std::size_t longest = 1 + random() % 6, alphabet = 1 + random() % 4, count = 1 + random() % 3;
        suffix_automaton automaton(static_cast<std::uint32_t>(longest));
        std::vector<ids> texts(count);
        std::vector<suffix_automaton::cursor> cursors(count);
        for (int i = 0; i < 60; ++i) {
            const std::size_t which = random() % count;
            const auto t = static_cast<token>(random() % alphabet);
            texts[which].push_back(t);
            automaton.read(cursors[which], t);
        }
        BOOST_TEST((parts_in(automaton, longest) == parts_of(texts, longest)), "seed " << tried);
        BOOST_TEST(automaton.tokens() == 60U);
        BOOST_TEST(automaton.states() <= 2 * 60U + 1);
    }
}

BOOST_AUTO_TEST_CASE(parts_of_more_tokens_are_known_but_not_counted) {
    suffix_automaton automaton(2);
    for (const ids& text : {ids{1, 2, 3}, ids{9, 2, 3}}) {
        suffix_automaton::cursor at;
        for (const token t : text) automaton.read(at, t);
    }
    const auto state_of = [&](const ids& part) {
        auto state = suffix_automaton::root;
        for (const token t : part) state = automaton.after(state, t);
        return state;
    };
    BOOST_TEST(automaton.count(state_of({2, 3})) == 2U);
    BOOST_TEST(automaton.length(state_of({1, 2, 3})) == 3U);
    BOOST_TEST(automaton.count(state_of({9, 2, 3})) == 0U);
    BOOST_TEST((automaton.shorter(state_of({1, 2, 3})) == state_of({2, 3})));
    BOOST_TEST(!automaton.goes_on(state_of({2, 3})));
}

BOOST_AUTO_TEST_SUITE_END()
