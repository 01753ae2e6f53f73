#include "augur/draft/merged.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/draft/eagle.hpp>
#include <augur/draft/heads.hpp>
#include <augur/draft/ngram_store.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/tree_ladder.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/refined_models.hpp>
#include <augur/testing/scheme_laws.hpp>
#include <boost/test/unit_test.hpp>

#include "draft/heads_mock.hpp"
#include "up_to.hpp"

using namespace augur;
using testing::full_mock;
using testing::function_model;
using testing::heads_mock;
using testing::up_to;

BOOST_AUTO_TEST_SUITE(draft_merged)

using ids = std::vector<token>;
using trie = draft::prompt_lookup<draft::trie_limits>;
using lookups = draft::merged<draft::prompt_lookup<>, trie>;
static_assert(Drafter<lookups> && branches<lookups> && shows_matches<lookups> && !shows_rows<lookups>);
static_assert(HearsCommits<lookups> && !ReadsStates<lookups>);
static_assert(ReadsStates<draft::merged<draft::prompt_lookup<>, draft::heads<heads_mock, draft::argmax>>>);
static_assert(shows_rows<draft::merged<draft::draft_model<function_model, draft::argmax>,
                                       draft::eagle<testing::fused_mock, draft::argmax>>>);

/// Proposes these nodes, as far as the policy wants their depth; counts what it is told.
struct says {
    struct state_type {
        std::size_t prepared = 0, followed = 0, abandoned = 0;
    };
    using draft_distribution_type = point_mass;
    static constexpr bool branches = true;

    ids tokens;
    std::vector<std::int32_t> parents;

    state_type make_state() const { return {}; }
    void prepare(state_type& state, const prefix&) const { ++state.prepared; }
    void propose(state_type&, auto& context, proposal<point_mass>& proposed) const {
        for (std::size_t node = 0; node < tokens.size(); ++node) {
            const auto number = static_cast<std::int32_t>(node);
            if (context.wants_more(parents::depth_of(parents, number) - 1)) proposed.push(tokens[node], parents[node]);
        }
    }
    void on_commit(state_type& state, const prefix& committed) const { state.followed = committed.size(); }
    void abandon(state_type& state) const { ++state.abandoned; }
};

std::string drafted(const auto& drafter, const auto& policy, std::size_t room = 100) {
    prefix before(ids{1});
    const transform::pipeline transform({}, 100);
    random::philox_chooser chooser(0);
    draft::context context(before, transform, chooser, policy, observation{}, room);
    auto state = drafter.make_state();
    return testing::described_proposal(draft::propose(drafter, state, context));
}

const policy::fixed_length five{5};

BOOST_AUTO_TEST_CASE(the_firsts_nodes_then_the_seconds_that_it_lacks) {
    const says a{{5, 6, 7}, {-1, 0, -1}};              // 5 6 | 7
    const says b{{5, 8, 6, 9, 4}, {-1, 0, 0, 2, -1}};  // 5 8 | 5 6 9 | 4
    BOOST_TEST(drafted(draft::merged(a, b), five) == "{5, 6, 7, 8, 9, 4} with parents {-1, 0, -1, 0, 1, -1}");
    BOOST_TEST(drafted(draft::merged(b, a), five) == "{5, 8, 6, 9, 4, 7} with parents {-1, 0, 0, 2, -1, -1}");
    BOOST_TEST(drafted(draft::merged(a, a), five) == drafted(a, five));
    const says nothing{};
    BOOST_TEST(drafted(draft::merged(a, nothing), five) == drafted(a, five));
    BOOST_TEST(drafted(draft::merged(nothing, a), five) == drafted(a, five));
}

BOOST_AUTO_TEST_CASE(more_nodes_than_are_wanted_are_left_out_with_what_is_beneath) {
    const says a{{5, 6, 7}, {-1, 0, -1}};
    const says b{{8, 9, 5, 6, 3}, {-1, 0, -1, 2, 3}};  // 8 9 | 5 6 3
    BOOST_TEST(drafted(draft::merged(a, b, 3), five) == drafted(a, five));
    BOOST_TEST(drafted(draft::merged(a, b, 4), five) == "{5, 6, 7, 8} with parents {-1, 0, -1, -1}");
    BOOST_TEST(drafted(draft::merged(a, b, 1), five) == "{5}");
    BOOST_TEST(drafted(draft::merged(b, a, 4), five) == "{8, 9, 5, 6} with parents {-1, 0, -1, 2}");
    // A tree of four nodes and depth two; of one node less.
    const policy::tree_static four(topology{-1, -1, -1, 0}), three(topology{-1, -1, 0});
    BOOST_TEST(drafted(draft::merged(a, b), four) == "{5, 6, 7, 8} with parents {-1, 0, -1, -1}");
    BOOST_TEST(drafted(draft::merged(a, b, 2), four) == "{5, 6}");
    BOOST_TEST(drafted(draft::merged(a, b), three) == drafted(a, five));
    BOOST_TEST(drafted(draft::merged(a, b), five, 1) == "{5, 7, 8} with parents {-1, -1, -1}");
    BOOST_TEST(drafted(draft::merged(a, b), policy::tree_static()) == "{}");
}

/// Wants so many tokens of each source.
struct of_each {
    std::size_t of_first, of_second;
    std::size_t length(const observation& seen) const { return seen.source == 0 ? of_first : of_second; }
};

BOOST_AUTO_TEST_CASE(the_policy_decides_for_each) {
    const says a{{5, 6}, {-1, 0}}, b{{7, 8}, {-1, 0}};
    BOOST_TEST(drafted(draft::merged(a, b), of_each{0, 2}) == "{7, 8}");
    BOOST_TEST(drafted(draft::merged(a, b), of_each{2, 1}) == "{5, 6, 7} with parents {-1, 0, -1}");
}

BOOST_AUTO_TEST_CASE(both_are_told_what_happens) {
    const draft::merged drafter(says{{5}, {-1}}, says{{6}, {-1}});
    auto state = drafter.make_state();
    const prefix text(ids{1, 2, 3});
    draft::prepare(drafter, state, text);
    drafter.on_commit(state, text);
    draft::abandon(drafter, state);
    const auto told = [](const says::state_type& of) {
        return of.prepared == 1 && of.followed == 3 && of.abandoned == 1;
    };
    BOOST_TEST((told(std::get<0>(state.drafters)) && told(std::get<1>(state.drafters))));
}

const draft::ngram_table counted = draft::ngram_table::count(
    std::vector<ids>{{0, 1, 2, 0, 1, 1, 0, 2, 2, 1}, {1, 2, 2, 0, 0, 1}}, {.longest = 2, .vocabulary_size = 3});

BOOST_AUTO_TEST_CASE(it_keeps_the_laws_of_drafters) {
    const auto keeps = [](const testing::report& r) { BOOST_TEST(r.kept(), r); };
    const function_model model = testing::hashed_model(3, 2, 2, 8);
    keeps(testing::drafter_laws(lookups(draft::prompt_lookup(2), trie(1, 3, {4, 2})), 3));
    keeps(testing::drafter_laws(draft::merged(trie(), draft::draft_model(testing::tree_mock(model), draft::argmax{})),
                                {.cases = 60}));
    keeps(testing::drafter_laws(draft::merged(trie(), draft::ngram_store(counted)), {.cases = 60}));
    const full_mock target(testing::hashed_model(3, 1));
    const heads_mock heads{testing::hashed_model(3, 2), true, 2};
    keeps(testing::drafter_laws(draft::merged(draft::prompt_lookup(), draft::heads(heads, draft::argmax{})), target,
                                {.cases = 60}));
}

BOOST_AUTO_TEST_CASE(trees_keep_every_promise) {
    const full_mock target(testing::hashed_model(3, 1));
    const heads_mock heads{testing::hashed_model(3, 2), true, 2};
    const function_model small = testing::hashed_model(3, 3);
    const ids prompt{0, 1, 0, 2, 0, 1, 1, 0};
    const policy::tree_static planned(topology{-1, -1, 0, 0, 1});
    const policy::fixed_length two{2};
    const auto promised = [&](auto drafter, const auto& policy, auto criterion, float temperature) {
        return testing::broken_promise(speculate(std::move(drafter), target, policy, criterion), prompt,
                                       up_to(3, temperature));
    };
    const draft::merged of_heads(draft::prompt_lookup(2, 3), draft::heads(heads, draft::argmax{}));
    BOOST_TEST(promised(of_heads, planned, accept::rejection_sampling{}, 1) == "");
    BOOST_TEST(promised(of_heads, planned, accept::coupled{}, 1) == "");
    BOOST_TEST(promised(of_heads, two, accept::exact{}, 0) == "");
    const draft::merged of_models(trie(1, 2, {3, 2}), draft::draft_model(small, draft::dynamic_tree{2, 2, 3}), 5);
    BOOST_TEST(promised(of_models, two, accept::rejection_sampling{}, 1) == "");
    BOOST_TEST(promised(of_models, planned, accept::coupled{}, 1) == "");
    // One that awaits its token selector draws with the noise that coupled shares.
    BOOST_TEST(promised(draft::merged(draft::draft_model(small), draft::prompt_lookup()), planned, accept::coupled{},
                        1) == "");
    BOOST_TEST(promised(draft::merged(small, draft::prompt_lookup()), two, accept::coupled{}, 1) == "");
    const auto r = testing::scheme_laws(speculate(of_heads, target, planned, accept::rejection_sampling{}), up_to(3),
                                        {.cases = 4});
    BOOST_TEST(r.kept(), r);
}

BOOST_AUTO_TEST_CASE(nodes_of_both_are_accepted) {
    const full_mock target(testing::hashed_model(5, 1));
    const function_model small = testing::noisy_model(testing::hashed_model(5, 1), .4);
    const trie lookup(1, 3, {4, 2});
    const draft::merged both(lookup, draft::draft_model(small, draft::argmax{}));
    const policy::tree_static planned(topology{-1, -1, -1, 0, 0, 1});
    const auto scheme = speculate(both, target, planned, accept::coupled{});
    decode::session session(scheme, ids{0, 1, 0, 2, 0, 1}, {}, {.max_tokens = 1000}, random::philox_chooser(0));
    std::size_t of_first = 0, of_second = 0;
    for (int round = 0; round < 100; ++round) {
        prefix before(session.committed.tokens());
        draft::context context(before, session.transform, session.chooser, planned, observation{}, 100);
        auto state = lookup.make_state();
        const auto firsts = draft::propose(lookup, state, context);
        const auto& record = decode::step(scheme, session);
        BOOST_TEST(record.proposed.size() <= 6u);
        for (std::size_t node = 0; node < firsts.size(); ++node) {
            BOOST_TEST(record.proposed.tokens()[node] == firsts.tokens()[node]);
            BOOST_TEST(record.proposed.parent(node) == firsts.parent(node));
        }
        for (std::size_t i = 0; i < record.decided.accepted; ++i) {
            ++(record.decided.node(i) < firsts.size() ? of_first : of_second);
        }
    }
    BOOST_TEST((of_first > 3 && of_second > 3), of_first << " and " << of_second);
}

BOOST_AUTO_TEST_CASE(a_scheduler_moves_by_the_chain_of_whichever_shows_one) {
    const full_mock target(testing::hashed_model(6, 1));
    const testing::tree_mock small(testing::hashed_model(6, 2));
    const draft::draft_model model(small, draft::argmax{});
    const trie lookup(3, 4);
    const policy::tree_ladder<policy::tree_feature::path_value> ladder(
        tree::bank{topology{-1}, topology{-1, -1, 0, 0, 1}}, {0.05});
    const ids prompt{2, 1, 4};
    const auto check = [&](const auto& drafter) {
        const auto scheme = speculate(drafter, target, ladder, accept::exact{});
        decode::session session(scheme, prompt, {.temperature = {0}}, {.max_tokens = 60}, random::philox_chooser(0));
        std::size_t large = 0;
        while (session.finished == finish_reason::running) {
            prefix before(session.committed.tokens());
            draft::context context(before, session.transform, session.chooser, session.policy, session.seen, 100,
                                   shown_by<decltype(model)>);
            auto state = model.make_state();
            draft::propose(model, state, context);
            const bool room = session.stops.budget(session.committed.generated().size(), before.size()) > 2;
            const std::size_t wanted = context.plan().size() == 5 ? 1 : 0;
            decode::step(scheme, session);
            if (!room) continue;
            BOOST_TEST(session.policy.tree() == wanted);
            large += wanted;
        }
        BOOST_TEST(session.policy.rounds()[1] >= large);
        BOOST_TEST((large > 5 && session.policy.rounds()[0] > 5 && session.policy.switches() > 5));
    };
    check(model);
    check(draft::merged(model, lookup));
    check(draft::merged(lookup, model));
    check(draft::merged(draft::merged(model, lookup), lookup));
}

BOOST_AUTO_TEST_CASE(other_vocabularies_and_no_nodes_are_refused) {
    const auto refused = [](const auto& make) {
        try {
            make();
        } catch (const error& why) {
            return std::string(why.what());
        }
        return std::string();
    };
    const function_model three = testing::hashed_model(3, 1), four = testing::hashed_model(4, 1);
    BOOST_TEST(refused([&] {
                   draft::merged(draft::draft_model(three, draft::argmax{}), draft::draft_model(four, draft::argmax{}));
               }).find("merged: its drafters must share a vocabulary") == 0u);
    BOOST_TEST(refused([] { draft::merged(draft::prompt_lookup(), trie(), 0); }) ==
               "merged: nodes is 0; a tree has at least one");
    BOOST_TEST(draft::merged(draft::prompt_lookup(), trie()).nodes() == 256u);
}

BOOST_AUTO_TEST_SUITE_END()
