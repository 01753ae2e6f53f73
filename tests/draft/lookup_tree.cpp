#include "augur/draft/lookup_tree.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/tree_static.hpp>
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

static_assert(Drafter<draft::lookup_tree> && branches<draft::lookup_tree> && shows_matches<draft::lookup_tree>);

BOOST_AUTO_TEST_SUITE(draft_lookup_tree)

using ids = std::vector<token>;

proposal<point_mass> guess(const draft::lookup_tree& lookup, draft::lookup_tree::state_type& state, const ids& tokens,
                           const auto& policy, std::size_t budget = 1000) {
    prefix before(tokens);
    const transform::pipeline transform({}, 100);
    random::philox_chooser chooser(0);
    draft::context context(before, transform, chooser, policy, observation{}, budget);
    return draft::propose(lookup, state, context);
}

proposal<point_mass> guess(const draft::lookup_tree& lookup, const ids& tokens, const auto& policy) {
    auto state = lookup.make_state();
    return guess(lookup, state, tokens, policy);
}

std::string drafted(const draft::lookup_tree& lookup, const ids& tokens, const auto& policy) {
    return testing::described_proposal(guess(lookup, tokens, policy));
}

const policy::fixed_length eight{8};

BOOST_AUTO_TEST_CASE(continuations_are_one_tree_by_votes_then_depth_then_recency) {
    // After 1 2: 3 5, then 3 6, then 4 7. Two vote for 3; of the others, with one vote each, 4 is the shallowest; and 4
    // 7 is later than 3 6, which is later than 3 5.
    const ids text{1, 2, 3, 5, 1, 2, 3, 6, 1, 2, 4, 7, 1, 2};
    BOOST_TEST(drafted(draft::lookup_tree(2, 2, {4, 2}), text, eight) == "{3, 4, 7, 6} with parents {-1, -1, 1, 0}");
    BOOST_TEST(drafted(draft::lookup_tree(2, 2, {3, 2}), text, eight) == "{3, 4, 7} with parents {-1, -1, 1}");
    BOOST_TEST(drafted(draft::lookup_tree(2, 2, {9, 1}), text, eight) == "{3, 4} with parents {-1, -1}");
    BOOST_TEST(drafted(draft::lookup_tree(2, 2, {9, 9}), text, policy::fixed_length{1}) ==
               "{3, 4} with parents {-1, -1}");
}

BOOST_AUTO_TEST_CASE(a_tie_at_one_depth_is_the_latest_ones) {
    BOOST_TEST(drafted(draft::lookup_tree(2, 2, {2, 1}), {1, 2, 3, 9, 1, 2, 4, 8, 1, 2}, eight) ==
               "{4, 3} with parents {-1, -1}");
}

BOOST_AUTO_TEST_CASE(shorter_matches_fill_what_the_longest_leave) {
    // 7 1 2 was followed by 3 alone, and 1 2 by 4, too, which is later.
    const ids text{7, 1, 2, 3, 9, 1, 2, 4, 7, 1, 2};
    BOOST_TEST(drafted(draft::lookup_tree(1, 3, {3, 1}), text, eight) == "{3, 4} with parents {-1, -1}");
    BOOST_TEST(drafted(draft::lookup_tree(3, 3, {3, 1}), text, eight) == "{3}");
    BOOST_TEST(drafted(draft::lookup_tree(1, 3, {4, 2}), text, eight) == "{3, 9, 4, 7} with parents {-1, 0, -1, 2}");
    BOOST_TEST(drafted(draft::lookup_tree(1, 3, {2, 2}), text, eight) == "{3, 9}");
}

BOOST_AUTO_TEST_CASE(a_loop_is_continued_past_the_end) {
    BOOST_TEST(drafted(draft::lookup_tree(2, 4), {1, 2, 3, 1, 2}, eight) == "{3, 1, 2, 3, 1, 2, 3, 1}");
    BOOST_TEST(drafted(draft::lookup_tree(1, 1, {3, 3}), {4, 4}, eight) == "{4, 4, 4}");
}

BOOST_AUTO_TEST_CASE(a_plan_bounds_nodes_and_depth) {
    const ids text{1, 2, 3, 5, 1, 2, 3, 6, 1, 2, 4, 7, 1, 2};
    const draft::lookup_tree lookup(2, 2, {1, 1});  // a plan says otherwise
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
        BOOST_TEST(guess(draft::lookup_tree(2, 4), text, eight).empty());
    }
    BOOST_TEST(guess(draft::lookup_tree(), ids{1, 1, 1}, policy::fixed_length{0}).empty());
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
        const auto got = guess(draft::lookup_tree(min_n, max_n, limits), tokens, policy::fixed_length{100});
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
    for (const draft::lookup_tree& lookup : {draft::lookup_tree(), draft::lookup_tree(2, 3, {3, 2})}) {
        const auto report = testing::drafter_laws(lookup, 3);
        BOOST_TEST(report.kept(), report);
        BOOST_TEST(report.checked.size() == 10u, report);
    }
}

BOOST_AUTO_TEST_CASE(trees_of_it_keep_every_promise_and_branches_are_accepted) {
    const testing::tree_mock target(testing::hashed_model(3, 1));
    const ids prompt{0, 1, 0, 2, 0, 1, 1, 0};
    const auto promised = [&](auto policy, auto criterion, float temperature) {
        return testing::broken_promise(speculate(draft::lookup_tree(1, 2, {4, 2}), target, policy, criterion), prompt,
                                       up_to(3, temperature));
    };
    const policy::tree_static tree(topology{-1, -1, 0, 1});
    const policy::fixed_length two{2};
    BOOST_TEST(promised(tree, accept::coupled{}, 1) == "");
    BOOST_TEST(promised(tree, accept::rejection_sampling{}, 1) == "");
    BOOST_TEST(promised(two, accept::rejection_sampling{}, 1) == "");
    BOOST_TEST(promised(two, accept::exact{}, 0) == "");
    const auto scheme = speculate(draft::lookup_tree(1, 2, {4, 2}), target, two, accept::rejection_sampling{});
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
    BOOST_TEST(rounds(draft::lookup_tree(1, 1, {8, 4})) < rounds(draft::prompt_lookup(1, 1)));
}

BOOST_AUTO_TEST_CASE(a_text_that_was_another_leaves_no_trace) {
    const draft::lookup_tree lookup(1, 4, {2, 2});
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
    BOOST_TEST(drafted(draft::lookup_tree(3, 8), {5, 1, 2, 3, 9, 8, 7, 1, 2, 3}, as_matched{}) == "{9, 8, 7}");
}

/// Plans trees, and answers with a length.
struct two_for_a_tree {
    static constexpr draft_shape plans = draft_shape::tree;
    draft_plan plan(const observation&) const { return {.length = 2}; }
};

BOOST_AUTO_TEST_CASE(a_length_in_place_of_a_tree_bounds_nodes_and_depth) {
    BOOST_TEST(drafted(draft::lookup_tree(3, 8), {5, 1, 2, 3, 9, 8, 7, 1, 2, 3}, two_for_a_tree{}) == "{9, 8}");
}

BOOST_AUTO_TEST_CASE(impossible_sizes_are_refused) {
    const auto refused = [](std::size_t min_n, std::size_t max_n, draft::trie_limits limits) {
        try {
            draft::lookup_tree(min_n, max_n, limits);
        } catch (const error& why) {
            return std::string(why.what());
        }
        return std::string();
    };
    BOOST_TEST(refused(0, 3, {}) == "lookup_tree: min_n is 0; an n-gram has at least one token");
    BOOST_TEST(refused(4, 3, {}) == "lookup_tree: min_n 4 exceeds max_n 3");
    BOOST_TEST(refused(1, 65, {}) == "lookup_tree: max_n 65 exceeds 64");
    BOOST_TEST(refused(1, 64, {0, 3}) == "lookup_tree: nodes is 0 and depth 3; each has to be at least 1");
    BOOST_TEST(refused(1, 64, {3, 0}) == "lookup_tree: nodes is 3 and depth 0; each has to be at least 1");
    BOOST_TEST(refused(1, 64, {1, 1}) == "");
}

BOOST_AUTO_TEST_CASE(prints_itself) {
    const draft::lookup_tree lookup(3, 5, {7, 2});
    BOOST_TEST((lookup.min_n() == 3u && lookup.max_n() == 5u && lookup.limits() == draft::trie_limits{7, 2}));
    std::ostringstream out;
    out << lookup;
    BOOST_TEST(out.str() == "lookup_tree{.min_n=3, .max_n=5, .nodes=7, .depth=2}");
}

BOOST_AUTO_TEST_SUITE_END()
