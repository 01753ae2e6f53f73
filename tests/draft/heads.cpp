#include "augur/draft/heads.hpp"

#include <algorithm>
#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/refined_models.hpp>
#include <augur/testing/scheme_laws.hpp>
#include <boost/test/unit_test.hpp>

#include "draft/heads_mock.hpp"
#include "draft/looking_ahead.hpp"
#include "up_to.hpp"

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_heads)

using testing::heads_mock;
using testing::up_to;

static_assert(DraftHeads<heads_mock>);
static_assert(Drafter<draft::heads<const heads_mock&, draft::argmax>> &&
              ReadsStates<draft::heads<const heads_mock&, draft::argmax>>);
static_assert(shows_rows<draft::heads<heads_mock, draft::argmax>> && SaysWhatHeadsSee<heads_mock>);
static_assert(!drafts_trees<draft::heads<heads_mock, draft::argmax>, policy::fixed_length>);
static_assert(drafts_trees<draft::heads<heads_mock, draft::argmax>, policy::tree_static>);

template <class Scheme>
auto session_of(const Scheme& scheme, std::span<const token> prompt, std::size_t tokens = 1000) {
    return decode::session<Scheme>(scheme, prompt, {.temperature = {0}}, {.max_tokens = tokens},
                                   random::philox_chooser(0));
}

void drafts_from_one_state(bool sees_tokens) {
    const testing::hidden_state_mock target(testing::hashed_model(5, 1));
    const heads_mock source{testing::hashed_model(5, 2), sees_tokens};
    const auto scheme = speculate(draft::heads(source), target, policy::fixed_length{9}, accept::exact{});
    auto session = session_of(scheme, std::vector<token>{2, 1, 4, 0});
    for (int round = 0; round < 20; ++round) {
        std::vector<token> text(session.committed.tokens().begin(), session.committed.tokens().end());
        auto fresh = target.make_sequence();
        const auto state = target.extend(fresh, std::span(text).first(text.size() - 1)).back();
        std::vector<token> expected;
        auto workspace = source.make_workspace();
        for (std::size_t head = 0; head < 3; ++head) {  // as many as there are
            const auto row = source.row(workspace, state, std::span(text).last(head + 1), head);
            expected.push_back(static_cast<token>(std::max_element(row.begin(), row.end()) - row.begin()));
            text.push_back(expected.back());
        }
        BOOST_TEST(decode::step(scheme, session).proposed.tokens() == std::span<const token>(expected),
                   boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(each_head_guesses_one_token_further_from_the_state_before_the_last_token) {
    drafts_from_one_state(false);
    drafts_from_one_state(true);
}

void keeps_the_laws(bool sees_tokens) {
    const testing::hidden_state_mock target(testing::hashed_model(3, 1));
    const heads_mock source{testing::hashed_model(3, 2), sees_tokens, 2};
    const auto r = testing::drafter_laws(draft::heads(source, draft::sampled{}), target);
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(r.checked.size() == 12u + 13u, r);  // of chains and of trees

    decode::options chosen;
    chosen.stop.max_tokens = 3;
    const policy::fixed_length two{2};
    const auto scheme = speculate(source, target, two, accept::rejection_sampling{});
    static_assert(std::is_same_v<decltype(scheme)::drafter_type, draft::heads<const heads_mock&, draft::sampled>>);
    const auto found = testing::scheme_laws(scheme, chosen, {.cases = 6});
    BOOST_TEST(found.kept(), found);
    const auto promised = [&](const auto& other) {
        return testing::broken_promise(other, std::vector<token>{2, 0}, chosen);
    };
    BOOST_TEST(promised(speculate(source, target, two, accept::coupled{})) == "");
    chosen.sampling.temperature.value = 0;
    BOOST_TEST(promised(speculate(source, target, two, accept::exact{})) == "");
}

BOOST_AUTO_TEST_CASE(every_law_is_kept) {
    keeps_the_laws(false);
    keeps_the_laws(true);
}

BOOST_AUTO_TEST_CASE(after_one_token_there_is_no_state_to_draft_from) {
    const testing::hidden_state_mock target(testing::hashed_model(5, 1));
    const heads_mock source{testing::hashed_model(5, 2)};
    const auto scheme = speculate(draft::heads(source), target, policy::fixed_length{2}, accept::exact{});
    auto session = session_of(scheme, std::vector<token>{2});
    BOOST_TEST(decode::step(scheme, session).proposed.size() == 0u);
    BOOST_TEST(decode::step(scheme, session).proposed.size() == 2u);
}

/// The target's states at some positions, as on_commit() is given them.
struct some_states {
    std::vector<std::vector<float>> rows;
    std::size_t from;
    std::size_t size() const { return rows.size(); }
    std::size_t first() const { return from; }
    const std::vector<float>& operator[](std::size_t i) const { return rows[i]; }
};

BOOST_AUTO_TEST_CASE(a_stale_state_drafts_nothing) {
    const draft::heads<heads_mock, draft::argmax> drafter(heads_mock{testing::hashed_model(5, 2)});
    const transform::pipeline greedy({.temperature = {0}}, 5);
    random::philox_chooser chooser(0);
    const policy::fixed_length two{2};
    auto state = drafter.make_state();
    const auto drafted_after = [&](std::size_t tokens) {
        prefix before(std::vector<token>(tokens, 1));
        draft::context context(before, greedy, chooser, two, observation{}, 100, signals::draft_entropy);
        proposal<point_mass> proposed;
        drafter.propose(state, context, proposed);
        return proposed.size();
    };
    const std::vector<float> row(5, 0.5f);
    BOOST_TEST(drafted_after(1) == 0u);  // nothing was followed yet
    drafter.on_commit(state, prefix(), some_states{{row, row, row}, 0});
    BOOST_TEST(drafted_after(4) == 2u);
    for (const std::size_t tokens : {1u, 2u, 3u, 5u, 6u, 7u, 20u}) BOOST_TEST(drafted_after(tokens) == 0u, tokens);
    drafter.on_commit(state, prefix(), some_states{{}, 3});  // nothing came
    BOOST_TEST(drafted_after(4) == 2u);
    drafter.on_commit(state, prefix(), some_states{{row, row}, 3});
    BOOST_TEST(drafted_after(6) == 2u);
    BOOST_TEST(drafted_after(4) == 0u);
}

BOOST_AUTO_TEST_CASE(criteria_of_whole_chains_judge_its_chains) {
    const testing::hidden_state_mock target(testing::hashed_model(3, 1));
    const heads_mock source{testing::hashed_model(3, 2), true, 2};
    const auto scheme = speculate(source, target, policy::fixed_length{2}, accept::block{});
    BOOST_TEST(testing::broken_promise(scheme, std::vector<token>{2, 0}, up_to(3, 1)) == "");
}

BOOST_AUTO_TEST_SUITE(trees)

/// The place of the rank-th largest.
token ranked(logit_row row, std::size_t rank) {
    std::vector<token> order(row.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<token>(i);
    std::sort(order.begin(), order.end(), [&](token a, token b) {
        const float x = row[static_cast<std::size_t>(a)], y = row[static_cast<std::size_t>(b)];
        return x != y ? x > y : a < b;
    });
    return order[rank];
}

const topology tree = topology::of_paths({{0}, {1}, {2}, {0, 0}, {0, 1}, {1, 0}, {0, 0, 0}, {1, 0, 0}, {1, 0, 1}});

void nodes_are_the_ranks_of_their_rows(bool sees_tokens) {
    const testing::full_mock target(testing::hashed_model(5, 1));
    const heads_mock source{testing::hashed_model(5, 2), sees_tokens};
    const auto scheme =
        speculate(draft::heads(source, draft::argmax{}), target, policy::tree_static(tree), accept::exact{});
    auto session = session_of(scheme, std::vector<token>{2, 1, 4, 0});
    for (int round = 0; round < 20; ++round) {
        const std::vector<token> text(session.committed.tokens().begin(), session.committed.tokens().end());
        auto fresh = target.make_sequence();
        const auto state = target.extend(fresh, std::span(text).first(text.size() - 1)).back();
        const auto& proposed = decode::step(scheme, session).proposed;
        BOOST_TEST(proposed.parents() == tree.parents(), boost::test_tools::per_element());
        auto workspace = source.make_workspace();
        for (std::size_t node = 0; node < proposed.size(); ++node) {
            std::vector<token> path{text.back()};
            for (auto at = proposed.parent(node); at != after_prefix;
                 at = proposed.parent(static_cast<std::size_t>(at))) {
                path.insert(path.begin() + 1, proposed.tokens()[static_cast<std::size_t>(at)]);
            }
            std::size_t rank = 0;
            for (std::size_t before = 0; before < node; ++before)
                rank += proposed.parent(before) == proposed.parent(node);
            const auto row = source.row(workspace, state, path, path.size() - 1);
            BOOST_TEST(proposed.tokens()[node] == ranked(row, rank));
        }
    }
}

BOOST_AUTO_TEST_CASE(each_node_is_a_rank_of_the_row_after_its_path) {
    nodes_are_the_ranks_of_their_rows(true);
    nodes_are_the_ranks_of_their_rows(false);
}

/// Counts the rows that are made.
struct counted_heads : heads_mock {
    std::size_t* count;
    logit_row row(workspace_type& workspace, std::span<const float> state, std::span<const token> tokens,
                  std::size_t head) const {
        ++*count;
        return heads_mock::row(workspace, state, tokens, head);
    }
};

BOOST_AUTO_TEST_CASE(heads_that_see_no_tokens_are_asked_once_for_each_depth) {
    const testing::full_mock target(testing::hashed_model(5, 1));
    for (const bool sees_tokens : {false, true}) {
        std::size_t count = 0;
        const counted_heads source{{testing::hashed_model(5, 2), sees_tokens}, &count};
        const auto scheme =
            speculate(draft::heads(source, draft::argmax{}), target, policy::tree_static(tree), accept::exact{});
        auto session = session_of(scheme, std::vector<token>{2, 1, 4, 0});
        decode::step(scheme, session);
        // Inner nodes: the prefix, [0], [1], [0, 0], [1, 0].
        BOOST_TEST(count == (sees_tokens ? 5u : 3u));
    }
}

BOOST_AUTO_TEST_CASE(a_policy_that_looks_ahead_sees_the_greedy_chain_before_it_plans) {
    const testing::full_mock target(testing::hashed_model(5, 1));
    const topology aside = topology::of_paths({{0}, {1}, {1, 0}, {1, 0, 0}});
    for (const bool sees_tokens : {false, true}) {
        std::size_t count = 0;
        const counted_heads source{{testing::hashed_model(5, 2), sees_tokens}, &count};
        const auto scheme_of = [&](auto policy) {
            return speculate(draft::heads(source, draft::argmax{}), target, policy, accept::exact{});
        };
        const auto row_after = [&](const std::vector<token>& text, const std::vector<token>& path) {
            auto fresh = target.make_sequence();
            const auto state = target.extend(fresh, std::span(text).first(text.size() - 1)).back();
            std::vector<token> tokens{text.back()};
            tokens.insert(tokens.end(), path.begin(), path.end());
            auto workspace = source.make_workspace();
            const auto row = source.row(workspace, state, tokens, path.size());
            return std::vector<float>(row.begin(), row.end());
        };
        for (const topology* shape : {&tree, &aside}) {
            for (const std::size_t rows : {1u, 2u, 3u}) {
                testing::is_shown_the_greedy_chain(scheme_of, row_after, *shape, rows, 0);
            }
        }
        // The prefix, [0], [1], [0, 0], [1, 0]: what was looked at is one of these, and is not made again. There are
        // rows of three heads, however many the policy wants.
        for (const std::size_t rows : {1u, 3u, 7u}) {
            std::vector<observation> asked;
            const auto scheme = scheme_of(testing::looking_ahead{&tree, &asked, rows});
            auto session = session_of(scheme, std::vector<token>{2, 1, 4, 0});
            count = 0;
            decode::step(scheme, session);
            BOOST_TEST(count == (sees_tokens ? 5u : 3u));
            BOOST_TEST(asked.size() == (rows > 1 ? 2u : 1u));
            BOOST_TEST(asked.back().drafted == std::min<std::size_t>(rows, 3) - 1);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_a_row_says_of_possible_tokens_is_kept_with_it) {
    struct heads_of_one : heads_mock {  // whose rows have other logits, too, which who listens to them does not see
        std::vector<token> only{3};
        logit_row row(workspace_type& workspace, std::span<const float> state, std::span<const token> tokens,
                      std::size_t head) const {
            const logit_row logits = heads_mock::row(workspace, state, tokens, head);
            return {logits.data(), logits.size(), only};
        }
    };
    const testing::full_mock target(testing::hashed_model(5, 1));
    for (const bool sees_tokens : {false, true}) {
        const heads_of_one source{{testing::hashed_model(5, 2), sees_tokens}};
        for (const std::size_t rows : {0u, 1u, 3u}) {
            std::vector<observation> asked;
            const auto check = [&](const auto& policy) {
                const auto scheme = speculate(draft::heads(source, draft::argmax{}), target, policy, accept::exact{});
                auto session = session_of(scheme, std::vector<token>{2, 1, 4, 0});
                const std::vector<token> wanted{3, 3, 3};  // the first child of each is all that there is
                const auto& proposed = decode::step(scheme, session).proposed;
                BOOST_TEST(proposed.tokens() == wanted, boost::test_tools::per_element());
            };
            if (rows == 0) check(policy::tree_static(tree));
            if (rows > 0) check(testing::looking_ahead{&tree, &asked, rows});
            if (rows > 0) BOOST_TEST(asked.at(0).path_value == 1);
        }
    }
}

BOOST_AUTO_TEST_CASE(it_keeps_the_laws_of_drafters) {
    const testing::full_mock target(testing::hashed_model(3, 1));
    for (const bool sees_tokens : {false, true}) {
        const heads_mock source{testing::hashed_model(3, 2), sees_tokens, 2};
        const auto r = testing::drafter_laws(draft::heads(source, draft::argmax{}), target, {.cases = 60});
        BOOST_TEST(r.kept(), r);
        BOOST_TEST(r.checked.size() == 8u + 9u, r);  // of chains and of trees
    }
}

BOOST_AUTO_TEST_CASE(who_looks_ahead_is_answered_where_rows_or_room_end) {
    const testing::full_mock target(testing::hashed_model(5, 1));
    const heads_mock source{testing::hashed_model(5, 2)};
    const auto seen_with = [&](std::size_t budget, transform::settings chosen, const topology& answer) {
        std::vector<observation> asked;
        const auto scheme = speculate(draft::heads(source, draft::argmax{}), target,
                                      testing::looking_ahead{&answer, &asked}, accept::exact{});
        decode::session session(scheme, std::vector<token>{2, 1, 4}, chosen, {.max_tokens = budget},
                                random::philox_chooser(0));
        const std::size_t drafted = decode::step(scheme, session).proposed.size();
        BOOST_TEST_REQUIRE(asked.size() == (answer.size() > 0 ? 2u : 1u));
        return std::pair(asked.back().drafted, drafted);
    };
    const transform::settings greedy{.temperature = {0}};
    BOOST_CHECK((seen_with(100, greedy, tree) == std::pair<std::size_t, std::size_t>{2, 9}));
    // Room for three tokens, the last of which the target writes: two rows, and the nodes of two depths.
    BOOST_CHECK((seen_with(3, greedy, tree) == std::pair<std::size_t, std::size_t>{1, 6}));
    // No node is plain decoding, and nothing more is looked at.
    const topology none;
    BOOST_CHECK((seen_with(100, greedy, none) == std::pair<std::size_t, std::size_t>{0, 0}));
    // A mask that leaves nothing after one token ends the chain.
    transform::settings one = greedy;
    one.mask = [](std::span<float> logits, const prefix& before) {
        if (before.size() > 3) std::fill(logits.begin(), logits.end(), -INFINITY);
    };
    BOOST_CHECK((seen_with(100, one, tree).first == 1u));
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_left_out) {
    const testing::full_mock target(testing::hashed_model(5, 1));
    const heads_mock two_heads{testing::hashed_model(5, 2), true, 2};
    const auto parents_after = [&](const topology& wanted, std::size_t budget) {
        const auto scheme =
            speculate(draft::heads(two_heads, draft::argmax{}), target, policy::tree_static(wanted), accept::exact{});
        decode::session session(scheme, std::vector<token>{2, 1, 4}, {.temperature = {0}}, {.max_tokens = budget},
                                random::philox_chooser(0));
        const auto found = decode::step(scheme, session).proposed.parents();
        return std::vector<std::int32_t>(found.begin(), found.end());
    };
    // Heads end at depth 2; with room for two tokens, the last of which the target writes, there is one depth.
    BOOST_TEST(parents_after(tree, 100) == (std::vector<std::int32_t>{-1, -1, -1, 0, 0, 1}),
               boost::test_tools::per_element());
    BOOST_TEST(parents_after(tree, 2) == (std::vector<std::int32_t>{-1, -1, -1}), boost::test_tools::per_element());
    // A child of a node that was left out is, too, and takes nobody's place.
    BOOST_TEST(parents_after(topology{-1, 0, 1, 2, -1, 4}, 100) == (std::vector<std::int32_t>{-1, -1, 0, 1}),
               boost::test_tools::per_element());
    // Five tokens have five ranks.
    const topology wide(std::vector<std::int32_t>(7, after_prefix));
    BOOST_TEST(parents_after(wide, 100).size() == 5u);
    BOOST_TEST(parents_after(topology(), 100).size() == 0u);
}

BOOST_AUTO_TEST_CASE(a_length_is_a_chain_and_the_chain_of_heads) {
    const testing::full_mock target(testing::hashed_model(5, 1));
    const heads_mock source{testing::hashed_model(5, 2)};
    const auto text_by = [&](auto drafter, auto policy) {
        const auto decoded = decode::generate(speculate(std::move(drafter), target, policy, accept::exact{}),
                                              std::vector<token>{2, 1, 4}, up_to(40, 0));
        return std::pair(decoded.tokens, decoded.counts.rounds());
    };
    const policy::fixed_length two{2};
    const auto expected = text_by(draft::heads(source), two);
    BOOST_CHECK((text_by(draft::heads(source, draft::argmax{}), two) == expected));
    BOOST_CHECK((text_by(draft::heads(source, draft::argmax{}), policy::tree_static(topology::chain(2))) == expected));
}

BOOST_AUTO_TEST_CASE(trees_keep_every_promise) {
    const testing::full_mock target(testing::hashed_model(3, 1));
    const policy::tree_static branching(topology{-1, -1, 0, 0, 1});
    for (const bool sees_tokens : {false, true}) {
        const heads_mock source{testing::hashed_model(3, 2), sees_tokens, 2};
        const auto promised = [&](auto criterion, float temperature) {
            return testing::broken_promise(
                speculate(draft::heads(source, draft::argmax{}), target, branching, criterion),
                std::vector<token>{2, 0}, up_to(3, temperature));
        };
        BOOST_TEST(promised(accept::coupled{}, 1) == "");
        BOOST_TEST(promised(accept::rejection_sampling{}, 1) == "");
        BOOST_TEST(promised(accept::exact{}, 0) == "");
    }
}

BOOST_AUTO_TEST_CASE(ranks_are_taken_after_bias_and_mask) {
    const testing::full_mock target(testing::hashed_model(5, 1));
    const heads_mock source{testing::hashed_model(5, 2)};
    const auto scheme = speculate(draft::heads(source, draft::argmax{}), target,
                                  policy::tree_static(topology{-1, -1, -1, -1, -1}), accept::exact{});
    transform::settings chosen{.temperature = {0}};
    chosen.mask = [](std::span<float> logits, const prefix&) { logits[3] = -INFINITY; };
    decode::session session(scheme, std::vector<token>{2, 1, 4}, chosen, {.max_tokens = 9}, random::philox_chooser(0));
    const auto& proposed = decode::step(scheme, session).proposed;
    BOOST_TEST(proposed.size() == 4u);
    BOOST_TEST(std::count(proposed.tokens().begin(), proposed.tokens().end(), 3) == 0);
}

BOOST_AUTO_TEST_CASE(a_stale_state_drafts_nothing) {
    const draft::heads<heads_mock, draft::argmax> drafter(heads_mock{testing::hashed_model(5, 2)});
    const transform::pipeline greedy({.temperature = {0}}, 5);
    random::philox_chooser chooser(0);
    const policy::tree_static two{topology{-1, -1}};
    auto state = drafter.make_state();
    const auto drafted_after = [&](std::size_t tokens) {
        prefix before(std::vector<token>(tokens, 1));
        draft::context context(before, greedy, chooser, two, observation{}, 100, signals::draft_entropy);
        return draft::propose(drafter, state, context).size();
    };
    const std::vector<float> row(5, 0.5f);
    BOOST_TEST(drafted_after(1) == 0u);  // nothing was followed yet
    drafter.on_commit(state, prefix(), some_states{{row, row, row}, 0});
    BOOST_TEST(drafted_after(4) == 2u);
    for (const std::size_t tokens : {1u, 2u, 3u, 5u, 6u, 20u}) BOOST_TEST(drafted_after(tokens) == 0u, tokens);
    drafter.on_commit(state, prefix(), some_states{{}, 3});  // nothing came
    BOOST_TEST(drafted_after(4) == 2u);
}

/// Trees of tokens that are drawn, as the criterion asks.
BOOST_AUTO_TEST_CASE(drawn_trees_keep_the_law) {
    const testing::full_mock target(testing::hashed_model(3, 1));
    const policy::tree_static branching(topology{-1, -1, 0});
    for (const bool sees_tokens : {false, true}) {
        const heads_mock source{testing::hashed_model(3, 2), sees_tokens, 2};
        const auto scheme = speculate(source, target, branching, accept::rejection_sampling{});
        static_assert(
            std::is_same_v<decltype(scheme.drafter()), const draft::heads<const heads_mock&, draft::sampled>&>);
        BOOST_TEST(testing::broken_promise(scheme, std::vector<token>{2, 0}, up_to(3, 1)) == "");
        const auto r = testing::drafter_laws(scheme.drafter(), target, {.cases = 10});
        BOOST_TEST(r.kept(), r);
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
