#include "augur/draft/fallback.hpp"

#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/draft/ngram_store.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/promise.hpp>
#include <augur/testing/refined_models.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <boost/test/unit_test.hpp>
#include <string>

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_fallback)

using ids = std::vector<token>;

/// Proposes one token, at most so often, on a match of some length; counts what it is told.
struct says {
    struct state_type {
        std::size_t prepared = 0;
        std::size_t followed = 0;
    };
    using draft_distribution_type = point_mass;
    static constexpr bool shows_matches = true;

    token what = 0;
    std::size_t most = 0;
    std::size_t match = 1;

    state_type make_state() const { return {}; }
    void prepare(state_type& state, const prefix&) const { ++state.prepared; }
    void propose(state_type&, auto& context, proposal<point_mass>& proposed) const {
        if (most > 0) context.matched(match);
        while (proposed.size() < most && context.wants_more(proposed.size())) proposed.push(what);
    }
    void on_commit(state_type& state, const prefix& committed) const { state.followed = committed.size(); }
};

using model_drafter = draft::draft_model<testing::function_model, draft::argmax>;
using sampling_drafter = draft::draft_model<testing::function_model, draft::sampled>;

static_assert(Drafter<draft::fallback<says, draft::prompt_lookup<>>>);
static_assert(shows_matches<draft::fallback<says, draft::prompt_lookup<>>>);
static_assert(!shows_matches<draft::fallback<says, model_drafter>> &&
              !shows_rows<draft::fallback<says, model_drafter>>);
static_assert(shows_rows<draft::fallback<model_drafter, model_drafter>>);
static_assert(!HasVocabularySize<draft::fallback<says, says>> &&
              HasVocabularySize<draft::fallback<model_drafter, says>>);
static_assert(std::is_same_v<draft::fallback<says, model_drafter>::draft_distribution_type, point_mass>);
static_assert(std::is_same_v<draft::fallback<says, sampling_drafter>::draft_distribution_type, distribution>);

/// Wants a number of tokens of each source, and writes down what it was asked.
struct by_source {
    static constexpr signals_read reads{.available = signals::match_length | signals::draft_entropy};
    std::vector<std::size_t> wanted;
    std::vector<observation>* asked;
    draft_plan plan(const observation& seen) const {
        asked->push_back(seen);
        return {.length = wanted[seen.source]};
    }
};

template <class Drafter>
ids guess(const Drafter& drafter, const std::vector<std::size_t>& wanted, std::vector<observation>& asked,
          transform::settings sampling = {}) {
    prefix before(ids{1, 2, 3});
    const transform::pipeline transform(std::move(sampling), 7);
    random::philox_chooser chooser(0);
    const by_source policy{wanted, &asked};
    draft::context context(before, transform, chooser, policy, observation{.round = 3}, 100, shown_by<Drafter>);
    auto state = drafter.make_state();
    const auto proposed = draft::propose(drafter, state, context);
    BOOST_TEST(before.size() == 3u);
    return {proposed.tokens().begin(), proposed.tokens().end()};
}
template <class Drafter>
ids guess(const Drafter& drafter, const std::vector<std::size_t>& wanted) {
    std::vector<observation> asked;
    return guess(drafter, wanted, asked);
}

BOOST_AUTO_TEST_CASE(the_first_that_has_something_to_say_speaks) {
    BOOST_TEST(guess(draft::fallback(says{4, 2}, says{5, 2}), {9, 9}) == (ids{4, 4}));
    BOOST_TEST(guess(draft::fallback(says{4, 0}, says{5, 2}), {9, 9}) == (ids{5, 5}));
    BOOST_TEST(guess(draft::fallback(says{4, 0}, says{5, 0}, says{6, 3}), {9, 9, 2}) == (ids{6, 6}));
    BOOST_TEST(guess(draft::fallback(says{4, 0}, says{5, 0}), {9, 9}).empty());
}

BOOST_AUTO_TEST_CASE(where_the_policy_wants_none_of_its_tokens_the_next_is_asked) {
    BOOST_TEST(guess(draft::fallback(says{4, 2}, says{5, 3}), {0, 1}) == (ids{5}));
    BOOST_TEST(guess(draft::fallback(says{4, 2}, says{5, 3}), {0, 0}).empty());
}

BOOST_AUTO_TEST_CASE(the_policy_sees_who_asks_and_what_that_one_shows) {
    const draft::fallback drafter(says{4, 0}, says{5, 2, 6}, sampling_drafter(testing::hashed_model(7, 1)));
    std::vector<observation> asked;
    BOOST_TEST(guess(drafter, {9, 0, 2}, asked).size() == 2u);
    const auto is = [](const observation& seen, std::size_t source, std::size_t match, signals pending) {
        BOOST_TEST(seen.round == 3u);
        BOOST_TEST(seen.source == source);
        BOOST_TEST(seen.match_length == match);
        BOOST_TEST((seen.pending == pending));
    };
    // Before anything is asked, the context does not know yet that there are several.
    BOOST_TEST_REQUIRE(asked.size() == 6u);
    is(asked[1], 0, 0, signals::match_length);
    is(asked[2], 1, 0, signals::match_length);
    is(asked[3], 1, 6, signals::none);
    is(asked[4], 2, 0, signals::draft_entropy);
    is(asked[5], 2, 0, signals::none);
    BOOST_TEST(std::isnan(asked[4].first_draft_entropy_nats));
    BOOST_TEST(asked[5].first_draft_entropy_nats > 0);
}

BOOST_AUTO_TEST_CASE(point_masses_beside_draws_are_chains) {
    const policy::tree_static tree(topology{-1, -1, 0, 0});
    const auto proposed_by = [&](const auto& drafter) {
        prefix before(ids{1, 2, 3, 1, 2, 4, 1, 2});
        const transform::pipeline transform({}, 7);
        random::philox_chooser chooser(0);
        draft::context context(before, transform, chooser, tree, observation{}, 100, shown_by<decltype(drafter)>);
        auto state = drafter.make_state();
        return draft::propose(drafter, state, context);
    };
    const draft::prompt_lookup lookup(2);
    BOOST_TEST(proposed_by(draft::fallback(says{0, 0}, lookup)).parents().size() == 4u);  // two tokens went on
    const auto drawn = proposed_by(draft::fallback(lookup, sampling_drafter(testing::hashed_model(7, 1))));
    BOOST_TEST(drawn.is_chain());
    BOOST_TEST(drawn.tokens() == (ids{4, 1}), boost::test_tools::per_element());
    BOOST_TEST(drawn[0].row->is_point());
}

/// Draws a token, and says nothing.
struct thinks_again {
    struct state_type {};
    using draft_distribution_type = point_mass;
    state_type make_state() const { return {}; }
    void propose(state_type&, auto& context, proposal<point_mass>&) const {
        auto draws = context.draws();
        draws.choose(distribution::weighted({1, 1}), purpose::draft);
    }
    void on_commit(state_type&, const prefix&) const {}
};

/// Notes which numbers it is asked for.
struct noting {
    std::vector<random::philox_counter>* names;
    std::size_t choose(const Weights auto&, draw_key key) { return note(key); }
    bool flip(double, draw_key key) { return note(key) == 0; }
    std::size_t exponential_race(const Weights auto&, std::size_t) { return 0; }
    std::size_t note(draw_key key) {
        names->push_back(random::counter_of(key, 0));
        return 0;
    }
};

BOOST_AUTO_TEST_CASE(who_had_nothing_to_say_fixes_no_number) {
    const draft::fallback drafter(thinks_again{}, thinks_again{}, sampling_drafter(testing::hashed_model(7, 1)));
    prefix before(ids{1, 2, 3});
    const transform::pipeline transform({}, 7);
    std::vector<random::philox_counter> names;
    noting chooser{&names};
    const policy::fixed_length one{1};
    auto state = drafter.make_state();
    for (std::size_t round = 0; round < 3; ++round) {
        draft::context context(before, transform, chooser, one, observation{.round = round}, 100);
        BOOST_TEST(draft::propose(drafter, state, context).size() == 1u);
    }
    BOOST_TEST(names.size() == 9u);
    std::sort(names.begin(), names.end());
    BOOST_TEST((std::adjacent_find(names.begin(), names.end()) == names.end()));
}

BOOST_AUTO_TEST_CASE(all_prepare_and_follow) {
    const draft::fallback drafter(says{4, 1}, says{5, 1});
    auto state = drafter.make_state();
    const prefix before(ids{1, 2, 3});
    drafter.prepare(state, before);
    drafter.on_commit(state, before);
    BOOST_TEST(std::get<0>(state.drafters).prepared + std::get<1>(state.drafters).prepared == 2u);
    BOOST_TEST(std::get<0>(state.drafters).followed + std::get<1>(state.drafters).followed == 6u);
    BOOST_TEST(std::get<1>(drafter.drafters()).what == 5);
}

BOOST_AUTO_TEST_CASE(a_point_mass_beside_rows_is_a_row_of_one_token) {
    const draft::fallback drafter(says{4, 2}, sampling_drafter(testing::hashed_model(7, 1)));
    prefix before(ids{1, 2, 3});
    const transform::pipeline transform({.temperature = {0.5f}, .top_k = {3}}, 7);
    random::philox_chooser chooser(0);
    const policy::fixed_length five{5};
    draft::context context(before, transform, chooser, five, observation{}, 100);
    auto state = drafter.make_state();
    const auto proposed = draft::propose(drafter, state, context);
    BOOST_TEST_REQUIRE(proposed.size() == 2u);
    for (std::size_t i = 0; i < 2; ++i) {
        BOOST_TEST(proposed[i].row->is_point());
        BOOST_TEST(proposed[i].row->size() == 7u);
        BOOST_TEST(proposed[i].probability(4) == 1.0);
    }
}

BOOST_AUTO_TEST_CASE(what_the_transform_bans_is_no_row) {
    const draft::fallback drafter(says{4, 2}, sampling_drafter(testing::hashed_model(7, 1)));
    transform::settings banned;
    banned.bias.added = {{4, -std::numeric_limits<float>::infinity()}};
    std::vector<observation> asked;
    const ids drawn = guess(drafter, {9, 3}, asked, banned);
    BOOST_TEST(drawn.size() == 3u);  // the model's
    BOOST_TEST(std::ranges::count(drawn, 4) == 0);
}

BOOST_AUTO_TEST_CASE(a_mask_sees_the_tokens_of_the_same_proposal) {
    const draft::fallback drafter(says{4, 3}, sampling_drafter(testing::hashed_model(7, 1)));
    std::vector<observation> asked;
    const auto with_mask = [&](transform::mask mask) {
        return guess(drafter, {9, 3}, asked, {.mask = std::move(mask)});
    };
    BOOST_TEST(with_mask([](std::span<float> logits, const prefix& before) {
                   logits[static_cast<std::size_t>(before.tokens().back())] = -std::numeric_limits<float>::infinity();
               }) == ids{4});  // never twice in a row
    std::vector<std::size_t> lengths;
    BOOST_TEST(with_mask([&](std::span<float>, const prefix& before) { lengths.push_back(before.size()); }).size() ==
               3u);
    BOOST_TEST(lengths == (std::vector<std::size_t>{3, 4, 5}));
}

const auto table = draft::ngram_table::count(std::vector<ids>{{0, 1, 2, 2, 1, 0, 0, 2}}, {1, 2, 3});

BOOST_AUTO_TEST_CASE(laws) {
    const draft::ngram_store store(table, 2);
    const auto check = [](const auto& drafter) {
        const auto r = testing::drafter_laws(drafter);
        BOOST_TEST(r.kept(), r);
    };
    check(draft::fallback(draft::prompt_lookup(2, 4), store));
    check(draft::fallback(draft::prompt_lookup(2, 4), store, model_drafter(testing::hashed_model(3, 2))));
    check(draft::fallback(draft::prompt_lookup(2, 4), sampling_drafter(testing::hashed_model(3, 2))));
    check(draft::fallback(model_drafter(testing::hashed_model(3, 2)), draft::prompt_lookup(1, 4)));
}

BOOST_AUTO_TEST_CASE(keeps_the_law_and_the_text) {
    const auto target = testing::hashed_model(3, 5);
    const draft::ngram_store store(table, 2);
    const draft::fallback points(draft::prompt_lookup(2, 4), store, model_drafter(testing::hashed_model(3, 2)));
    const draft::fallback rows(draft::prompt_lookup(2, 4), sampling_drafter(testing::hashed_model(3, 2)));
    const policy::fixed_length two{2};
    decode::options chosen;
    chosen.stop.max_tokens = 3;
    decode::options greedy = chosen;
    greedy.sampling.temperature.value = 0;
    for (const ids& prompt : {ids{0, 1, 0, 1}, ids{2}, ids{1, 1, 2}}) {
        const auto broken = [&](const auto& drafter, auto criterion, const decode::options& options) {
            return testing::broken_promise(speculate(drafter, target, two, criterion), prompt, options);
        };
        BOOST_TEST(broken(points, accept::rejection_sampling{}, chosen) == "");
        BOOST_TEST(broken(rows, accept::rejection_sampling{}, chosen) == "");
        BOOST_TEST(broken(rows, accept::block{}, chosen) == "");
        BOOST_TEST(broken(points, accept::coupled{}, chosen) == "");
        BOOST_TEST(broken(points, accept::exact{}, greedy) == "");
    }
}

/// A drafter on the target's states that says what it saw last.
struct reads_states {
    using state_type = std::size_t;
    using draft_distribution_type = point_mass;
    state_type make_state() const { return 0; }
    std::size_t hidden_size() const { return size; }
    void propose(state_type&, auto&, proposal<point_mass>&) const {}
    void on_commit(state_type& seen, const prefix&, const auto& states) const { seen = states.first() + states.size(); }
    void prepare(state_type& seen, const prefix& prompt) const { seen += 10 * prompt.size(); }
    std::size_t size = 7;
};

BOOST_AUTO_TEST_CASE(states_reach_those_that_follow_them) {
    using mixed = draft::fallback<says, reads_states>;
    static_assert(ReadsStates<mixed> && !HearsCommits<mixed> && !ReadsStates<draft::fallback<says, says>>);
    const mixed drafter(says{4, 1}, reads_states{});
    BOOST_TEST(drafter.hidden_size() == 7u);
    auto state = drafter.make_state();
    const std::vector<float> numbers(6);
    drafter.on_commit(state, prefix(ids{1, 2, 3}), hidden_states<>(1, scores(numbers.data(), 2, 3), 2));
    BOOST_TEST(std::get<0>(state.drafters).followed == 3u);
    BOOST_TEST(std::get<1>(state.drafters) == 3u);
    drafter.prepare(state, prefix(ids{1, 2, 3}));
    BOOST_TEST(std::get<1>(state.drafters) == 33u);
}

BOOST_AUTO_TEST_CASE(two_that_follow_states_follow_those_of_one_size) {
    const draft::fallback<reads_states, reads_states> both(reads_states{}, reads_states{});
    BOOST_TEST(both.hidden_size() == 7u);
}

BOOST_AUTO_TEST_CASE(different_vocabularies_are_refused) {
    const auto refused = [] {
        draft::fallback(model_drafter(testing::hashed_model(7, 1)), says{}, model_drafter(testing::hashed_model(8, 1)));
    };
    BOOST_CHECK_EXCEPTION(refused(), error, [](const error& e) {
        return std::string(e.what()) ==
               "fallback: its drafters must share a vocabulary, but one has 7 tokens and another 8";
    });
    const draft::fallback agreeing(says{}, model_drafter(testing::hashed_model(7, 1)));
    BOOST_TEST(agreeing.vocabulary_size() == 7u);
}

BOOST_AUTO_TEST_SUITE_END()
