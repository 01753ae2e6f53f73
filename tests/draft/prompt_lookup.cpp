#include "augur/draft/prompt_lookup.hpp"

#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/refined_models.hpp>
#include <augur/testing/scheme_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <map>
#include <random>
#include <sstream>

#include "up_to.hpp"

using namespace augur;
using testing::up_to;

using chains = policy::fixed_length;
static_assert(Drafter<draft::prompt_lookup<>> && !branches<draft::prompt_lookup<>>);
static_assert(!drafts_trees<draft::prompt_lookup<>, chains> && !grows<draft::prompt_lookup<>>);
static_assert(drafts_trees<draft::prompt_lookup<>, policy::tree_static>);
static_assert(drafts_trees<draft::prompt_lookup<draft::trie_limits>, chains>);

BOOST_AUTO_TEST_SUITE(draft_prompt_lookup)

static_assert(std::is_same_v<draft::prompt_lookup<>::draft_distribution_type, point_mass>);

std::vector<token> guess(const draft::prompt_lookup<>& lookup, draft::prompt_lookup<>::state_type& state,
                         const std::vector<token>& tokens, std::size_t length) {
    prefix before(tokens);
    const transform::pipeline transform({}, 100);
    random::philox_chooser chooser(0);
    const policy::fixed_length policy{length};
    draft::context context(before, transform, chooser, policy, observation{}, 1000);
    const auto proposed = draft::propose(lookup, state, context);
    return {proposed.tokens().begin(), proposed.tokens().end()};
}

std::vector<token> guess(const draft::prompt_lookup<>& lookup, const std::vector<token>& tokens, std::size_t length) {
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
    for (const draft::prompt_lookup<>& lookup : {draft::prompt_lookup(), draft::prompt_lookup(2, 3)}) {
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

BOOST_AUTO_TEST_CASE(criteria_of_whole_chains_judge_its_chains) {
    const auto target = testing::hashed_model(3, 1);
    const auto scheme = speculate(draft::prompt_lookup(1, 2), target, policy::fixed_length{2}, accept::block{});
    BOOST_TEST(testing::broken_promise(scheme, ids{0, 1, 0, 2, 0, 1, 1, 0}, up_to(3, 1)) == "");
}

BOOST_AUTO_TEST_SUITE(trees)

/// Drafts nothing but trees.
using trie = draft::prompt_lookup<draft::trie_limits>;

static_assert(Drafter<trie> && branches<trie> && shows_matches<trie>);

proposal<point_mass> guess(const trie& lookup, trie::state_type& state, const ids& tokens, const auto& policy,
                           std::size_t budget = 1000) {
    prefix before(tokens);
    const transform::pipeline transform({}, 100);
    random::philox_chooser chooser(0);
    draft::context context(before, transform, chooser, policy, observation{}, budget);
    return draft::propose(lookup, state, context);
}

proposal<point_mass> guess(const trie& lookup, const ids& tokens, const auto& policy) {
    auto state = lookup.make_state();
    return guess(lookup, state, tokens, policy);
}

std::string drafted(const trie& lookup, const ids& tokens, const auto& policy) {
    return testing::described_proposal(guess(lookup, tokens, policy));
}

const policy::fixed_length eight{8};

BOOST_AUTO_TEST_CASE(continuations_are_one_tree_by_votes_then_depth_then_recency) {
    // After 1 2: 3 5, then 3 6, then 4 7. Two vote for 3; of the others, with one vote each, 4 is the shallowest; and 4
    // 7 is later than 3 6, which is later than 3 5.
    const ids text{1, 2, 3, 5, 1, 2, 3, 6, 1, 2, 4, 7, 1, 2};
    BOOST_TEST(drafted(trie(2, 2, {4, 2}), text, eight) == "{3, 4, 7, 6} with parents {-1, -1, 1, 0}");
    BOOST_TEST(drafted(trie(2, 2, {3, 2}), text, eight) == "{3, 4, 7} with parents {-1, -1, 1}");
    BOOST_TEST(drafted(trie(2, 2, {9, 1}), text, eight) == "{3, 4} with parents {-1, -1}");
    BOOST_TEST(drafted(trie(2, 2, {9, 9}), text, policy::fixed_length{1}) == "{3, 4} with parents {-1, -1}");
}

BOOST_AUTO_TEST_CASE(a_tie_at_one_depth_is_the_latest_ones) {
    BOOST_TEST(drafted(trie(2, 2, {2, 1}), {1, 2, 3, 9, 1, 2, 4, 8, 1, 2}, eight) == "{4, 3} with parents {-1, -1}");
}

BOOST_AUTO_TEST_CASE(shorter_matches_fill_what_the_longest_leave) {
    // 7 1 2 was followed by 3 alone, and 1 2 by 4, too, which is later.
    const ids text{7, 1, 2, 3, 9, 1, 2, 4, 7, 1, 2};
    BOOST_TEST(drafted(trie(1, 3, {3, 1}), text, eight) == "{3, 4} with parents {-1, -1}");
    BOOST_TEST(drafted(trie(3, 3, {3, 1}), text, eight) == "{3}");
    BOOST_TEST(drafted(trie(1, 3, {4, 2}), text, eight) == "{3, 9, 4, 7} with parents {-1, 0, -1, 2}");
    BOOST_TEST(drafted(trie(1, 3, {2, 2}), text, eight) == "{3, 9}");
}

BOOST_AUTO_TEST_CASE(a_loop_is_continued_past_the_end) {
    BOOST_TEST(drafted(trie(2, 4), {1, 2, 3, 1, 2}, eight) == "{3, 1, 2, 3, 1, 2, 3, 1}");
    BOOST_TEST(drafted(trie(1, 1, {3, 3}), {4, 4}, eight) == "{4, 4, 4}");
}

BOOST_AUTO_TEST_CASE(a_plan_bounds_nodes_and_depth) {
    const ids text{1, 2, 3, 5, 1, 2, 3, 6, 1, 2, 4, 7, 1, 2};
    const trie lookup(2, 2, {1, 1});  // a plan says otherwise
    BOOST_TEST(drafted(lookup, text, policy::tree_static(topology{-1, -1, -1, 0})) ==
               "{3, 4, 7, 6} with parents {-1, -1, 1, 0}");
    BOOST_TEST(drafted(lookup, text, policy::tree_static(topology{-1, -1, -1})) == "{3, 4} with parents {-1, -1}");
    BOOST_TEST(guess(lookup, text, policy::tree_static()).empty());
    auto state = lookup.make_state();
    const auto cut = guess(lookup, state, text, policy::tree_static(topology{-1, 0, 1}), 1);  // room for one token
    BOOST_TEST(testing::described_proposal(cut) == "{3}");
}

BOOST_AUTO_TEST_CASE(without_a_match_there_is_nothing) {
    for (const ids& text : {ids{3}, ids{}, ids{1, 5, 2, 1}}) {
        BOOST_TEST(guess(trie(2, 4), text, eight).empty());
    }
    BOOST_TEST(guess(trie(), ids{1, 1, 1}, policy::fixed_length{0}).empty());
}

/// The definition, read literally: paths of occurrences, counted; and which of them is the latest.
std::vector<ids> naive(const ids& text, std::size_t min_n, std::size_t max_n, const draft::trie_limits& limits) {
    std::vector<ids> nodes;
    for (std::size_t n = std::min(max_n, text.size()); n >= min_n; --n) {
        std::vector<ids> paths;  // of the latest sixteen, each as long as the tree is deep
        for (std::size_t place = text.size() - 1; place >= n && paths.size() < 16; --place) {
            const auto end = text.end() - static_cast<std::ptrdiff_t>(n);
            if (!std::equal(end, text.end(), text.begin() + static_cast<std::ptrdiff_t>(place - n))) continue;
            ids all = text;
            for (std::size_t i = 0; i < limits.depth; ++i) all.push_back(all[place + i]);
            paths.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(text.size()), all.end());
        }
        struct vote {
            std::ptrdiff_t count;
            std::size_t depth, latest;
            ids to;
        };
        std::vector<vote> votes;
        std::map<ids, vote> by_path;
        for (std::size_t i = 0; i < paths.size(); ++i) {
            for (std::size_t depth = 1; depth <= limits.depth; ++depth) {
                const ids to(paths[i].begin(), paths[i].begin() + static_cast<std::ptrdiff_t>(depth));
                const auto [at, added] = by_path.try_emplace(to, vote{0, depth, i, to});
                ++at->second.count;
            }
        }
        for (const auto& [to, each] : by_path) votes.push_back(each);
        // A child has no more votes than its parent and is deeper, so that it comes after it.
        std::sort(votes.begin(), votes.end(), [](const vote& a, const vote& b) {
            return std::tuple(-a.count, a.depth, a.latest) < std::tuple(-b.count, b.depth, b.latest);
        });
        for (const vote& each : votes) {
            if (nodes.size() == limits.nodes) return nodes;
            if (std::find(nodes.begin(), nodes.end(), each.to) == nodes.end()) nodes.push_back(each.to);
        }
    }
    return nodes;
}

BOOST_AUTO_TEST_CASE(agrees_with_the_definition_on_random_texts) {
    std::mt19937 random(7);
    std::size_t branching = 0;
    for (int trial = 0; trial < 2000; ++trial) {
        ids tokens(1 + random() % 60);
        for (token& t : tokens) t = static_cast<token>(random() % 3);
        const std::size_t min_n = 1 + random() % 3, max_n = min_n + random() % 5;
        const draft::trie_limits limits{1 + random() % 12, 1 + random() % 5};
        const auto got = guess(trie(min_n, max_n, limits), tokens, policy::fixed_length{100});
        std::vector<ids> paths;
        for (std::size_t node = 0; node < got.size(); ++node) {
            ids to = got.parent(node) < 0 ? ids{} : paths[static_cast<std::size_t>(got.parent(node))];
            to.push_back(got.tokens()[node]);
            paths.push_back(to);
        }
        branching += got.is_chain() ? 0 : 1;
        BOOST_TEST((paths == naive(tokens, min_n, max_n, limits)));
    }
    BOOST_TEST(branching > 500u);
}

BOOST_AUTO_TEST_CASE(keeps_the_laws_of_drafters) {
    for (const trie& lookup : {trie(), trie(2, 3, {3, 2})}) {
        const auto report = testing::drafter_laws(lookup, 3);
        BOOST_TEST(report.kept(), report);
        BOOST_TEST(report.checked.size() == 10u, report);
    }
}

BOOST_AUTO_TEST_CASE(trees_of_it_keep_every_promise_and_branches_are_accepted) {
    const testing::tree_mock target(testing::hashed_model(3, 1));
    const ids prompt{0, 1, 0, 2, 0, 1, 1, 0};
    const auto promised = [&](auto policy, auto criterion, float temperature) {
        return testing::broken_promise(speculate(trie(1, 2, {4, 2}), target, policy, criterion), prompt,
                                       up_to(3, temperature));
    };
    const policy::tree_static tree(topology{-1, -1, 0, 1});
    const policy::fixed_length two{2};
    BOOST_TEST(promised(tree, accept::coupled{}, 1) == "");
    BOOST_TEST(promised(tree, accept::rejection_sampling{}, 1) == "");
    BOOST_TEST(promised(two, accept::rejection_sampling{}, 1) == "");
    BOOST_TEST(promised(two, accept::exact{}, 0) == "");
    const auto scheme = speculate(trie(1, 2, {4, 2}), target, two, accept::rejection_sampling{});
    decode::session session(scheme, prompt, {}, {.max_tokens = 1000}, random::philox_chooser(0));
    std::size_t second = 0;
    for (int round = 0; round < 100; ++round) {
        const auto& record = decode::step(scheme, session);
        if (record.decided.accepted == 0) continue;
        const std::size_t node = record.decided.node(0);
        second += node > 0 && record.proposed.parent(node) < 0 ? 1 : 0;
    }
    BOOST_TEST(second > 5u);
    const auto r = testing::scheme_laws(scheme, up_to(3), {.cases = 6});
    BOOST_TEST(r.kept(), r);
}

BOOST_AUTO_TEST_CASE(more_is_accepted_than_of_the_chain_where_the_text_goes_on_in_two_ways) {
    // 5 is followed by 6 and 7 by turns.
    ids script;
    for (token i = 0; i < 60; ++i) script.insert(script.end(), {5, i % 2 == 0 ? 6 : 7, 8, 9});
    const testing::tree_mock target(testing::scripted_model(10, script));
    const ids prompt(script.begin(), script.begin() + 18);
    const auto rounds = [&](auto drafter) {
        return decode::generate(speculate(std::move(drafter), target, policy::fixed_length{4}, accept::exact{}), prompt,
                                up_to(150, 0))
            .counts.rounds();
    };
    BOOST_TEST(rounds(trie(1, 1, {8, 4})) < rounds(draft::prompt_lookup(1, 1)));
}

BOOST_AUTO_TEST_CASE(a_text_that_was_another_leaves_no_trace) {
    const trie lookup(1, 4, {2, 2});
    auto state = lookup.make_state();
    lookup.prepare(state, prefix(ids{1, 2, 7, 1, 2, 7, 1}));
    BOOST_TEST(testing::described_proposal(guess(lookup, state, {1, 2, 3, 1}, eight)) == "{2, 3}");
    BOOST_TEST(guess(lookup, state, {1, 2}, eight).empty());
}

/// Wants as many tokens as matched.
struct as_matched {
    static constexpr signals_read reads{.required = signals::match_length};
    std::size_t length(const observation& seen) const { return seen.match_length; }
};

BOOST_AUTO_TEST_CASE(a_policy_is_told_the_length_of_the_match) {
    BOOST_TEST(drafted(trie(3, 8), {5, 1, 2, 3, 9, 8, 7, 1, 2, 3}, as_matched{}) == "{9, 8, 7}");
}

/// Plans trees, and answers with a length.
struct two_for_a_tree {
    static constexpr draft_shape plans = draft_shape::tree;
    draft_plan plan(const observation&) const { return {.length = 2}; }
};

BOOST_AUTO_TEST_CASE(a_length_in_place_of_a_tree_bounds_nodes_and_depth) {
    BOOST_TEST(drafted(trie(3, 8), {5, 1, 2, 3, 9, 8, 7, 1, 2, 3}, two_for_a_tree{}) == "{9, 8}");
}

BOOST_AUTO_TEST_CASE(impossible_sizes_are_refused) {
    const auto refused = [](std::size_t min_n, std::size_t max_n, draft::trie_limits limits) {
        try {
            trie(min_n, max_n, limits);
        } catch (const error& why) {
            return std::string(why.what());
        }
        return std::string();
    };
    BOOST_TEST(refused(0, 3, {}) == "prompt_lookup: min_n is 0; an n-gram has at least one token");
    BOOST_TEST(refused(4, 3, {}) == "prompt_lookup: min_n 4 exceeds max_n 3");
    BOOST_TEST(refused(1, 65, {}) == "prompt_lookup: max_n 65 exceeds 64");
    BOOST_TEST(refused(1, 64, {0, 3}) == "prompt_lookup: nodes is 0 and depth 3; each has to be at least 1");
    BOOST_TEST(refused(1, 64, {3, 0}) == "prompt_lookup: nodes is 3 and depth 0; each has to be at least 1");
    BOOST_TEST(refused(1, 64, {1, 1}) == "");
}

BOOST_AUTO_TEST_CASE(prints_itself) {
    const trie lookup(3, 5, {7, 2});
    BOOST_TEST((lookup.min_n() == 3u && lookup.max_n() == 5u && lookup.shape() == draft::trie_limits{7, 2}));
    std::ostringstream out;
    out << lookup;
    BOOST_TEST(out.str() == "prompt_lookup{.min_n=3, .max_n=5, .nodes=7, .depth=2}");
}

/// What a plan's tree is made of, whatever the drafter does where there is none.
BOOST_AUTO_TEST_CASE(a_plan_that_names_a_tree_is_enough) {
    const ids text{1, 2, 3, 5, 1, 2, 3, 6, 1, 2, 4, 7, 1, 2};
    const policy::tree_static four(topology{-1, -1, -1, 0});
    const draft::prompt_lookup lookup(2, 2);
    auto state = lookup.make_state();
    const auto drafted_by = [&](const auto& policy, bool chain) {
        prefix before(text);
        const transform::pipeline transform({}, 100);
        random::philox_chooser chooser(0);
        draft::context context(before, transform, chooser, policy, observation{}, 1000);
        context.begin(0, signals::none, chain);
        return testing::described_proposal(draft::propose(lookup, state, context));
    };
    BOOST_TEST(drafted_by(four, false) == "{3, 4, 7, 6} with parents {-1, -1, 1, 0}");
    BOOST_TEST(drafted_by(four, true) == "{3, 6}");  // as deep, for a fallback that gives it rows
    BOOST_TEST(drafted_by(two_for_a_tree{}, false) == "{3, 6}");
    BOOST_TEST(drafted_by(policy::fixed_length{2}, false) == "{3, 6}");
}

BOOST_AUTO_TEST_CASE(a_planned_tree_keeps_the_law) {
    const testing::tree_mock target(testing::hashed_model(3, 1));
    const auto scheme = speculate(draft::prompt_lookup(1, 2), target, policy::tree_static(topology{-1, -1, 0, 1}),
                                  accept::rejection_sampling{});
    BOOST_TEST(testing::broken_promise(scheme, ids{0, 1, 0, 2, 0, 1, 1, 0}, up_to(3, 1)) == "");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
