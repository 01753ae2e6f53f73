#include "augur/draft/ngram_memory.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/session.hpp>
#include <augur/decode/step.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/enumerate.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <boost/test/unit_test.hpp>
#include <sstream>
#include <string>

#include "sanitized.hpp"

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_ngram_memory)

using ids = std::vector<token>;
using draft::learned_ngrams;
using draft::ngram_memory;

static_assert(Drafter<learned_ngrams> && shows_matches<learned_ngrams> && !shows_rows<learned_ngrams>);

BOOST_AUTO_TEST_CASE(it_says_what_followed_the_longest_context) {
    ngram_memory memory({1, 3, 10});
    memory.learn(ids{1, 2, 3, 4});
    BOOST_TEST(memory.size() == 6U);  // 1, 2, 3, 12, 23, 123
    BOOST_TEST(memory.after(ids{1, 2, 3}) == 4);
    BOOST_TEST(memory.after(ids{4}) == no_token);
    BOOST_TEST(memory.find(ids{9, 2, 3}).next == 4);
    BOOST_TEST(memory.find(ids{9, 2, 3}).matched == 2U);
    BOOST_TEST(memory.find(ids{9, 9, 3}, 2).matched == 0U);
}

BOOST_AUTO_TEST_CASE(the_majority_stays_and_what_is_as_frequent_replaces_it) {
    ngram_memory memory({1, 1, 10});
    for (int i = 0; i < 3; ++i) memory.learn(ids{1, 2});
    for (int i = 0; i < 2; ++i) {
        memory.learn(ids{1, 5});
        BOOST_TEST(memory.after(ids{1}) == 2);
    }
    memory.learn(ids{1, 5});
    BOOST_TEST(memory.after(ids{1}) == 5);
    memory.learn(ids{1, 5});
    memory.learn(ids{1, 6});
    BOOST_TEST(memory.after(ids{1}) == 5);
}

BOOST_AUTO_TEST_CASE(a_text_in_parts_is_learned_as_the_whole) {
    ids text;
    for (token i = 0; i < 200; ++i) text.push_back((i * i + i / 3) % 7);
    ngram_memory whole({1, 4, 7}), parts({1, 4, 7});
    whole.learn(text);
    for (std::size_t known = 0; known < text.size(); known = std::min(known + 1 + known % 5, text.size())) {
        parts.learn(std::span(text).first(std::min(known + 1 + known % 5, text.size())), known);
    }
    BOOST_TEST(parts.size() == whole.size());
    for (std::size_t n = 1; n <= 4; ++n) {
        for (std::size_t i = 0; i + n <= text.size(); ++i) {
            const auto context = std::span(text).subspan(i, n);
            BOOST_TEST(parts.after(context) == whole.after(context));
        }
    }
}

BOOST_AUTO_TEST_CASE(it_never_outgrows_its_slots_and_what_is_not_seen_again_goes) {
    ngram_memory memory({2, 2, 5000}, 64);
    BOOST_TEST(memory.slots() == 64U);
    BOOST_TEST(memory.memory_bytes() == 64U * 12);
    const ids often{4000, 4001, 4002};
    for (int i = 0; i < 50; ++i) memory.learn(often);
    ids many;
    for (token i = 0; i < 1000; ++i) many.push_back(i);
    memory.learn(many);
    BOOST_TEST(memory.size() == 64U);
    BOOST_TEST(memory.after(ids{4000, 4001}) == 4002);  // counted more often than what came since
    std::size_t known = 0, latest = 0;
    for (token i = 0; i + 2 < 1000; ++i) {
        const bool knows = memory.after(ids{i, i + 1}) == i + 2;
        known += knows ? 1 : 0;
        latest += knows && i > 800 ? 1 : 0;
    }
    BOOST_TEST(known == 63U);
    BOOST_TEST(latest > 40U);  // the oldest gave way
    BOOST_TEST(ngram_memory({1, 2, 10}, 1).slots() == 4U);
    BOOST_TEST(ngram_memory({1, 2, 10}, 65).slots() == 128U);
}

BOOST_AUTO_TEST_CASE(laws) {
    ngram_memory memory({1, 3, 4});
    memory.learn(ids{0, 1, 2, 3, 1, 2, 0, 0, 1, 3});
    const auto r = testing::drafter_laws(learned_ngrams(memory));
    BOOST_TEST(r.kept(), r);
}

/// The distribution of texts while a memory, made anew for each path, learns from the path's own rounds.
template <class Criterion>
testing::text_distribution law_while_it_learns(const testing::function_model& target, const Criterion& criterion,
                                               const ids& prompt, const decode::options& chosen,
                                               std::size_t& accepted) {
    return testing::enumerate([&](const testing::enumerating_chooser& chooser) {
        ngram_memory memory({1, 2, 3});
        const auto scheme = speculate(learned_ngrams(memory), target, policy::fixed_length{2}, criterion);
        decode::session<std::remove_const_t<decltype(scheme)>, testing::enumerating_chooser> s(
            scheme, prompt, chosen.sampling, chosen.stop, chooser);
        draft::ngram_watcher learns(memory);
        while (s.finished == finish_reason::running) decode::step(scheme, s, {.timed = false}, learns);
        accepted += s.counts.stages.back().accepted;
        BOOST_TEST(memory.size() > 0U);
        const auto text = s.committed.generated();
        return ids(text.begin(), text.end());
    });
}

BOOST_AUTO_TEST_CASE(the_law_is_kept_while_it_learns) {
    const auto target = testing::hashed_model(3, 5);
    const ids prompt{0, 1, 0};
    decode::options chosen;
    chosen.stop.max_tokens = testing::unless_sanitized<std::size_t>(5, 4);
    std::size_t accepted = 0;
    const auto far = [&](const auto& base, const testing::text_distribution& found) {
        return testing::total_variation(testing::text_distribution_of(base, prompt, chosen), found);
    };
    const auto sampled = law_while_it_learns(target, accept::rejection_sampling{}, prompt, chosen, accepted);
    BOOST_TEST(far(testing::plain_sampling(target), sampled) < 1e-12);
    BOOST_TEST(far(plain(target), law_while_it_learns(target, accept::coupled{}, prompt, chosen, accepted)) < 1e-12);
    BOOST_TEST(accepted > 0U);
    chosen.sampling.temperature.value = 0;
    BOOST_TEST(far(plain(target), law_while_it_learns(target, accept::exact{}, prompt, chosen, accepted)) < 1e-12);
}

BOOST_AUTO_TEST_CASE(a_text_that_comes_again_is_drafted) {
    const auto target = testing::scripted_model(10, {1, 2, 3, 4, 5, 6, 7, 8});
    ngram_memory memory({1, 2, 10});
    const auto scheme = speculate(learned_ngrams(memory), target, policy::fixed_length{3}, accept::exact{});
    std::vector<std::size_t> rounds;
    for (int text = 0; text < 2; ++text) {
        decode::session s(scheme, ids{1}, transform::settings{.temperature = {0}}, {.max_tokens = 7},
                          random::philox_chooser(0));
        draft::ngram_watcher learns(memory);
        while (s.finished == finish_reason::running) decode::step(scheme, s, {}, learns);
        rounds.push_back(s.counts.rounds());
    }
    BOOST_TEST(rounds == (std::vector<std::size_t>{7, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_session_is_learned_once_however_many_rounds_it_has) {
    const auto target = testing::scripted_model(10, {1, 2, 3, 4, 5, 6, 7, 8});
    ngram_memory memory({1, 1, 10});
    const auto scheme = speculate(learned_ngrams(memory), target, policy::fixed_length{3}, accept::exact{});
    decode::session s(scheme, ids{1}, transform::settings{.temperature = {0}}, {.max_tokens = 7},
                      random::philox_chooser(0));
    draft::ngram_watcher learns(memory);
    while (s.finished == finish_reason::running) decode::step(scheme, s, {}, learns);
    BOOST_TEST(memory.after(ids{2}) == 3);
    memory.learn(ids{2, 9});  // as often as what it knows
    BOOST_TEST(memory.after(ids{2}) == 9);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_learned_is_refused_with_its_values) {
    const auto says = [](const char* what) { return [what](const error& e) { return e.what() == std::string(what); }; };
    BOOST_CHECK_EXCEPTION(ngram_memory({1, 2, 10}, 0), error,
                          says("ngram_memory: there are 0 slots; it must be between 1 and 4294967296"));
    BOOST_CHECK_EXCEPTION(ngram_memory({3, 2, 10}), error,
                          says("ngram_memory: the shortest context has 3 tokens, the longest 2"));
    BOOST_CHECK_EXCEPTION(ngram_memory({1, 2, 0}), error, says("ngram_memory: the vocabulary size is 0"));
    ngram_memory memory({1, 2, 10});
    BOOST_CHECK_EXCEPTION(memory.learn(ids{1, 2, 10}), error,
                          says("ngram_memory: a text holds token 10, but the vocabulary has 10"));
    BOOST_CHECK_EXCEPTION(memory.learn(ids{-1, 2, 3}, 1), error,
                          says("ngram_memory: a text holds token -1, but the vocabulary has 10"));
    BOOST_TEST(memory.size() == 0U);
    const auto target = testing::hashed_model(11, 5);
    BOOST_CHECK_THROW(speculate(learned_ngrams(memory), target, policy::fixed_length{2}, accept::exact{}), error);
}

BOOST_AUTO_TEST_CASE(prints_itself_and_its_slots) {
    std::ostringstream out;
    out << ngram_memory({1, 3, 10}, 8);
    BOOST_TEST(out.str() == "ngram_memory{.shortest=1, .longest=3, .slots=8}");
}

BOOST_AUTO_TEST_SUITE_END()
