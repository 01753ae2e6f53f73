#include "augur/draft/ngram_store.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/promise.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <boost/test/unit_test.hpp>
#include <sstream>
#include <string>

namespace augur::draft {
static_assert(Drafter<ngram_store>);
}  // namespace augur::draft

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_ngram_store)

using ids = std::vector<token>;
using texts = std::vector<ids>;
using draft::ngram_table;

static_assert(Drafter<draft::ngram_store> && shows_matches<draft::ngram_store> && !shows_rows<draft::ngram_store>);
static_assert(std::is_same_v<draft::ngram_store::draft_distribution_type, point_mass>);

/// Writes down the match lengths that it is shown.
struct match_recorder {
    static constexpr signals_read reads{.required = signals::match_length};
    std::vector<std::size_t>* shown;
    std::size_t tokens;
    std::size_t length(const observation& seen) const {
        shown->push_back(seen.match_length);
        return tokens;
    }
};

ids guess(const draft::ngram_store& store, const ids& tokens, std::size_t length,
          std::vector<std::size_t> expected_matches) {
    prefix before(tokens);
    const transform::pipeline transform({}, store.vocabulary_size());
    random::philox_chooser chooser(0);
    std::vector<std::size_t> shown;
    const match_recorder policy{&shown, length};
    draft::context context(before, transform, chooser, policy, observation{}, 100);
    auto state = store.make_state();
    const auto proposed = draft::propose(store, state, context);
    BOOST_TEST(shown == expected_matches, boost::test_tools::per_element());
    BOOST_TEST(before.size() == tokens.size());
    return {proposed.tokens().begin(), proposed.tokens().end()};
}

const auto counted = ngram_table::count(texts{{1, 2, 3, 4, 5, 6}, {2, 3, 7}, {0, 3, 7, 8}}, {1, 3, 10});

BOOST_AUTO_TEST_CASE(goes_on_as_the_table_says) {
    const draft::ngram_store store(counted);
    BOOST_TEST(guess(store, {1, 2, 3}, 2, {3}) == (ids{4, 5}));
    BOOST_TEST(guess(store, {9, 9, 3}, 2, {1}) == (ids{7, 8}));
    BOOST_TEST(guess(store, {0, 1, 2}, 9, {2}) ==
               (ids{3, 4, 5, 6}));  // reads on into the proposal, until none is known
    BOOST_TEST(guess(store, {1, 2, 3}, 0, {3}).empty());
    BOOST_TEST(guess(store, {9, 9, 9}, 2, {}).empty());
}

BOOST_AUTO_TEST_CASE(shorter_contexts_than_the_least_end_the_draft) {
    const draft::ngram_store store(counted, 2);
    BOOST_TEST(guess(store, {9, 9, 3}, 2, {}).empty());
    BOOST_TEST(guess(store, {9, 2, 3}, 9, {2}) == (ids{4, 5, 6}));
    BOOST_TEST(guess(store, {3}, 2, {}).empty());
}

BOOST_AUTO_TEST_CASE(the_least_context_holds_for_every_token_of_the_draft) {
    const auto table = ngram_table::count(texts{{1, 2, 3}, {3, 4}}, {1, 3, 10});
    BOOST_TEST(guess(draft::ngram_store(table, 1), {1, 2}, 5, {2}) == (ids{3, 4}));
    BOOST_TEST(guess(draft::ngram_store(table, 2), {1, 2}, 5, {2}) == (ids{3}));
}

BOOST_AUTO_TEST_CASE(laws) {
    const auto table = ngram_table::count(texts{{0, 1, 2, 3, 1, 2, 0, 0, 1, 3}}, {1, 3, 4});
    for (std::size_t least : {1u, 2u}) {
        const auto r = testing::drafter_laws(draft::ngram_store(table, least));
        BOOST_TEST(r.kept(), r);
    }
}

BOOST_AUTO_TEST_CASE(keeps_the_law_and_the_text) {
    const auto target = testing::hashed_model(3, 5);
    const auto table = ngram_table::count(texts{{0, 1, 2, 0, 2, 1, 1}}, {1, 2, 3});
    decode::options chosen;
    chosen.stop.max_tokens = 4;
    const policy::fixed_length two{2};
    for (const ids& prompt : {ids{0, 1}, ids{2}, ids{1, 1, 1}}) {
        const draft::ngram_store store(table);
        const auto sampling = speculate(store, target, two, accept::rejection_sampling{});
        BOOST_TEST(
            testing::total_variation(testing::text_distribution_of(testing::plain_sampling(target), prompt, chosen),
                                     testing::text_distribution_of(sampling, prompt, chosen)) < 1e-12);
        BOOST_TEST(testing::broken_promise(speculate(store, target, two, accept::coupled{}), prompt, chosen) == "");
        decode::options greedy = chosen;
        greedy.sampling.temperature.value = 0;
        BOOST_TEST(testing::broken_promise(speculate(store, target, two, accept::exact{}), prompt, greedy) == "");
    }
}

BOOST_AUTO_TEST_CASE(a_table_of_the_targets_own_text_is_accepted) {
    const auto target = testing::scripted_model(10, {1, 2, 3, 4, 5, 6, 7, 8});
    const auto table = ngram_table::count(texts{{1, 2, 3, 4, 5, 6, 7, 8}}, {1, 2, 10});
    decode::options greedy;
    greedy.sampling.temperature.value = 0;
    greedy.stop.max_tokens = 7;
    const auto scheme = speculate(draft::ngram_store(table), target, policy::fixed_length{3}, accept::exact{});
    const auto decoded = decode::generate(scheme, ids{1}, greedy);
    BOOST_TEST(decoded.tokens == (ids{2, 3, 4, 5, 6, 7, 8}));
    BOOST_TEST(decoded.counts.rounds() == 2u);
}

BOOST_AUTO_TEST_CASE(another_vocabulary_is_refused) {
    const auto target = testing::hashed_model(11, 5);
    BOOST_CHECK_EXCEPTION(
        speculate(draft::ngram_store(counted), target, policy::fixed_length{2}, accept::exact{}), error,
        [](const error& e) {
            return std::string(e.what()) ==
                   "draft and target must share a vocabulary, but the draft has 10 tokens and the target 11";
        });
}

BOOST_AUTO_TEST_CASE(impossible_lengths_are_refused) {
    BOOST_CHECK_EXCEPTION(draft::ngram_store(counted, 0), error, [](const error& e) {
        return std::string(e.what()) == "ngram_store: least is 0; a context has at least one token";
    });
    BOOST_CHECK_EXCEPTION(draft::ngram_store(counted, 4), error, [](const error& e) {
        return std::string(e.what()) == "ngram_store: least is 4, but the table's longest contexts have 3 tokens";
    });
}

BOOST_AUTO_TEST_CASE(prints_itself) {
    std::ostringstream out;
    out << draft::ngram_store(counted, 2);
    BOOST_TEST(out.str() == "ngram_store{.table=ngram_table{.shortest=1, .longest=3, .size=17}, .least=2}");
}

BOOST_AUTO_TEST_SUITE_END()
