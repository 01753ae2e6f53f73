#include "augur/draft/suffix_lookup.hpp"

#include <algorithm>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/session.hpp>
#include <augur/decode/step.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/enumerate.hpp>
#include <augur/testing/refined_models.hpp>
#include <augur/testing/scheme_laws.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <boost/test/unit_test.hpp>
#include <map>
#include <random>
#include <sstream>
#include <string>

#include "sanitized.hpp"
#include "up_to.hpp"

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_suffix_lookup)

using ids = std::vector<token>;
using draft::suffix_lookup;
using draft::suffix_memory;

static_assert(Drafter<suffix_lookup> && shows_matches<suffix_lookup> && fills_trees<suffix_lookup>);

/// What is drafted after a text.
proposal<point_mass> drafted(const suffix_memory& memory, const ids& text, const auto& policy, std::size_t least = 1) {
    const suffix_lookup drafter(memory, least);
    auto state = drafter.make_state();
    prefix before(text);
    const transform::pipeline transform({}, memory.vocabulary_size());
    random::philox_chooser chooser(0);
    draft::context context(before, transform, chooser, policy, observation{}, 1000);
    return draft::propose(drafter, state, context);
}

ids chain(const suffix_memory& memory, const ids& text, std::size_t length, std::size_t least = 1) {
    const auto made = drafted(memory, text, policy::fixed_length{length}, least);
    return ids(made.tokens().begin(), made.tokens().end());
}

BOOST_AUTO_TEST_CASE(it_drafts_what_most_often_followed_the_longest_suffix) {
    suffix_memory memory(20);
    memory.read(ids{1, 2, 3, 4, 5});
    memory.read(ids{9, 2, 3, 6, 7});
    memory.read(ids{8, 2, 3, 6, 1});
    BOOST_TEST(chain(memory, {1, 2, 3}, 4) == (ids{4, 5}));  // and nothing followed
    BOOST_TEST(chain(memory, {5, 2, 3}, 2) == (ids{6, 1}));  // twice; then the latest of equals
    BOOST_TEST(chain(memory, {19, 3}, 1) == (ids{6}));
    BOOST_TEST(chain(memory, {19}, 3).empty());
    BOOST_TEST(chain(memory, {19, 3}, 1, 2).empty());  // a suffix of one token is too short
    BOOST_TEST(chain(memory, {19, 2, 3}, 1, 2) == (ids{6}));
}

BOOST_AUTO_TEST_CASE(a_loop_is_continued_past_the_end_of_the_text) {
    suffix_memory memory(20, 1000, 4);
    draft::suffix_watcher learns(memory);
    const ids text{7, 1, 2, 3, 1, 2, 3, 1};
    learns.read(std::span(text).first(5));
    learns.read(text);
    BOOST_TEST(memory.tokens() == text.size());
    BOOST_TEST(chain(memory, text, 7) == (ids{2, 3, 1, 2, 3, 1, 2}));
}

BOOST_AUTO_TEST_CASE(a_tree_has_the_most_frequent_paths_then_those_of_shorter_suffixes) {
    suffix_memory memory(20);
    for (int i = 0; i < 3; ++i) memory.read(ids{1, 2, 3, 4});
    for (int i = 0; i < 2; ++i) memory.read(ids{1, 2, 5, 6});
    memory.read(ids{9, 2, 8});
    const policy::tree_static five(topology{-1, -1, 0, 1, 2});
    // After 1 2 it is 3 with 3/5, 4 behind it, 5 with 2/5 and 6 behind that; then 8, which followed 2 alone.
    BOOST_TEST(testing::described_proposal(drafted(memory, {1, 2}, five)) ==
               "{3, 4, 5, 6, 8} with parents {-1, 0, -1, 2, -1}");
    const policy::tree_static flat(topology{-1, -1, -1, -1});
    BOOST_TEST(testing::described_proposal(drafted(memory, {1, 2}, flat)) == "{3, 5, 8} with parents {-1, -1, -1}");
    const policy::tree_static two(topology{-1, -1});
    BOOST_TEST(testing::described_proposal(drafted(memory, {9, 2}, two)) == "{8, 3} with parents {-1, -1}");
}

BOOST_AUTO_TEST_CASE(both_ages_count_where_they_know_as_much) {
    suffix_memory memory(20, 14, 4);
    memory.read(ids{1, 2, 3, 1, 2, 3, 9});
    memory.read(ids{1, 2, 4, 8, 2, 5});
    BOOST_TEST(memory.ages()[1].tokens() == 7U);
    BOOST_TEST(chain(memory, {1, 2}, 1) == (ids{3}));     // twice there, once here
    BOOST_TEST(chain(memory, {8, 2}, 1) == (ids{5}));     // a longer suffix is the younger one's alone
    BOOST_TEST(chain(memory, {3, 1, 2}, 1) == (ids{3}));  // and the older one's
    const policy::tree_static flat(topology{-1, -1, -1});
    BOOST_TEST(testing::described_proposal(drafted(memory, {7, 2}, flat)) == "{3, 5, 4} with parents {-1, -1, -1}");
}

/// The most frequent follower of the longest suffix, by looking through the texts.
token followed_most(const std::vector<ids>& texts, const ids& text, std::size_t longest) {
    for (std::size_t n = std::min(longest, text.size()); n > 0; --n) {
        std::map<token, std::size_t> counts;
        const auto suffix = std::span(text).last(n);
        for (const ids& each : texts) {
            for (std::size_t i = 0; i + n < each.size(); ++i) {
                if (std::ranges::equal(std::span(each).subspan(i, n), suffix)) ++counts[each[i + n]];
            }
        }
        if (counts.empty()) continue;
        const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
        const std::size_t most = std::ranges::max_element(counts, fewer)->second;
        const auto equals = std::ranges::count_if(counts, [&](const auto& each) { return each.second == most; });
        return equals == 1 ? std::ranges::max_element(counts, fewer)->first : no_token;
    }
    return no_token;
}

BOOST_AUTO_TEST_CASE(it_agrees_with_looking_through_the_texts) {
    std::mt19937 random(7);
    std::size_t compared = 0;
    for (int tried = 0; tried < 40; ++tried) {
        const std::size_t longest = 1 + random() % 5, alphabet = 2 + random() % 3;
        suffix_memory memory(4, 1000, longest);
        std::vector<ids> texts(2);
        std::vector<suffix_memory::cursor> cursors(2);
        for (int i = 0; i < 50; ++i) {
            const std::size_t which = random() % 2;
            const auto t = static_cast<token>(random() % alphabet);
            texts[which].push_back(t);
            memory.read(cursors[which], std::span(&t, 1));
            const token expected = followed_most(texts, texts[which], longest);
            if (expected == no_token) continue;  // nothing is known, or several are as frequent
            BOOST_TEST(chain(memory, texts[which], 1) == (ids{expected}), "seed " << tried << ", token " << i);
            ++compared;
        }
    }
    BOOST_TEST(compared > 500U);
}

BOOST_AUTO_TEST_CASE(laws) {
    suffix_memory memory(4);
    memory.read(ids{0, 1, 2, 3, 1, 2, 0, 0, 1, 3});
    const auto r = testing::drafter_laws(suffix_lookup(memory));
    BOOST_TEST(r.kept(), r);
}

BOOST_AUTO_TEST_CASE(a_planned_tree_keeps_the_law) {
    suffix_memory memory(3);
    memory.read(ids{0, 1, 0, 2, 0, 1, 1, 0});
    const testing::tree_mock target(testing::hashed_model(3, 1));
    const auto scheme = speculate(suffix_lookup(memory), target, policy::tree_static(topology{-1, -1, 0, 1}),
                                  accept::rejection_sampling{});
    BOOST_TEST(testing::broken_promise(scheme, ids{0, 1, 0}, testing::up_to(3, 1)) == "");
}

/// The distribution of texts while a memory, made anew for each path, reads the path's own rounds.
BOOST_AUTO_TEST_CASE(the_law_is_kept_while_it_reads) {
    const auto target = testing::hashed_model(3, 5);
    const ids prompt{0, 1, 0};
    decode::options chosen;
    chosen.stop.max_tokens = testing::unless_sanitized<std::size_t>(5, 4);
    std::size_t accepted = 0;
    const auto found = testing::enumerate([&](const testing::enumerating_chooser& chooser) {
        suffix_memory memory(3, 6, 3);  // and forgets
        const auto scheme =
            speculate(suffix_lookup(memory), target, policy::fixed_length{2}, accept::rejection_sampling{});
        decode::session<std::remove_const_t<decltype(scheme)>, testing::enumerating_chooser> s(
            scheme, prompt, chosen.sampling, chosen.stop, chooser);
        draft::suffix_watcher learns(memory);
        learns.read(prompt);
        while (s.finished == finish_reason::running) decode::step(scheme, s, {.timed = false}, learns);
        accepted += s.counts.stages.back().accepted;
        const auto text = s.committed.generated();
        return ids(text.begin(), text.end());
    });
    const auto expected = testing::text_distribution_of(testing::plain_sampling(target), prompt, chosen);
    BOOST_TEST(testing::total_variation(expected, found) < 1e-12);
    BOOST_TEST(accepted > 0U);
}

BOOST_AUTO_TEST_CASE(a_text_that_comes_again_is_drafted) {
    const auto target = testing::scripted_model(10, {1, 2, 3, 4, 5, 6, 7, 8});
    suffix_memory memory(10);
    const auto scheme = speculate(suffix_lookup(memory), target, policy::fixed_length{3}, accept::exact{});
    std::vector<std::size_t> rounds;
    for (int text = 0; text < 2; ++text) {
        decode::session s(scheme, ids{1}, transform::settings{.temperature = {0}}, {.max_tokens = 7},
                          random::philox_chooser(0));
        draft::suffix_watcher learns(memory);
        while (s.finished == finish_reason::running) decode::step(scheme, s, {}, learns);
        rounds.push_back(s.counts.rounds());
    }
    BOOST_TEST(rounds == (std::vector<std::size_t>{7, 2}), boost::test_tools::per_element());
    BOOST_TEST(memory.tokens() == 16U);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused_with_its_values) {
    const auto says = [](const char* what) { return [what](const error& e) { return e.what() == std::string(what); }; };
    suffix_memory memory(10, 100, 4);
    BOOST_CHECK_EXCEPTION(suffix_lookup(memory, 5), error,
                          says("suffix_lookup: least is 5; it must be between 1 and the memory's longest, 4"));
    const auto target = testing::hashed_model(11, 5);
    BOOST_CHECK_THROW(speculate(suffix_lookup(memory), target, policy::fixed_length{2}, accept::exact{}), error);
}

BOOST_AUTO_TEST_CASE(prints_itself) {
    const suffix_memory memory(10, 100, 4);
    std::ostringstream out;
    out << suffix_lookup(memory, 2);
    BOOST_TEST(out.str() == "suffix_lookup{.memory=suffix_memory{.most_tokens=100, .longest=4}, .least=2}");
}

BOOST_AUTO_TEST_SUITE_END()
