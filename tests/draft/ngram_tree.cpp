#include "augur/draft/ngram_tree.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/ngram_store.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/promise.hpp>
#include <augur/testing/refined_models.hpp>
#include <boost/test/unit_test.hpp>
#include <sstream>

#include "up_to.hpp"

using namespace augur;
using testing::up_to;

static_assert(Drafter<draft::ngram_tree> && branches<draft::ngram_tree> && shows_matches<draft::ngram_tree>);

BOOST_AUTO_TEST_SUITE(draft_ngram_tree)

using ids = std::vector<token>;

std::string drafted(const auto& drafter, const ids& text, const auto& policy) {
    prefix before(text);
    const transform::pipeline transform({}, 100);
    random::philox_chooser chooser(0);
    draft::context context(before, transform, chooser, policy, observation{}, 100);
    auto state = drafter.make_state();
    return testing::described_proposal(draft::propose(drafter, state, context));
}

const policy::fixed_length eight{8};

/// After 1 2 comes 3; after 2 mostly 4, after 3 mostly 5, after 2 3 mostly 6, after 4 mostly 7, after 5 mostly 8.
const draft::ngram_table table = draft::ngram_table::count(
    std::vector<ids>{{1, 2, 3}, {9, 2, 4}, {9, 2, 4}, {9, 2, 4}, {2, 3, 6}, {9, 3, 5}, {9, 3, 5}, {4, 7}, {5, 8}},
    {.longest = 2, .vocabulary_size = 10});

BOOST_AUTO_TEST_CASE(first_choices_come_first_then_the_cheapest_and_shallowest) {
    // 3 6 is the chain of first choices; 4 and 3 5 are one second choice each.
    BOOST_TEST(drafted(draft::ngram_tree(table, 1, {9, 3}), {0, 1, 2}, eight) ==
               "{3, 6, 4, 5, 7, 8} with parents {-1, 0, -1, 0, 2, 3}");
    BOOST_TEST(drafted(draft::ngram_tree(table, 1, {3, 3}), {0, 1, 2}, eight) == "{3, 6, 4} with parents {-1, 0, -1}");
    BOOST_TEST(drafted(draft::ngram_tree(table, 1, {9, 1}), {0, 1, 2}, eight) == "{3, 4} with parents {-1, -1}");
    BOOST_TEST(drafted(draft::ngram_tree(table, 2, {9, 3}), {0, 1, 2}, eight) == "{3, 6}");
    BOOST_TEST(drafted(draft::ngram_tree(table, 1, {9, 3}), {0, 1, 2}, policy::fixed_length{1}) ==
               "{3, 4} with parents {-1, -1}");
    BOOST_TEST(drafted(draft::ngram_tree(table), {0, 1, 2}, policy::tree_static(topology{-1, 0, -1})) ==
               "{3, 6, 4} with parents {-1, 0, -1}");
    BOOST_TEST(drafted(draft::ngram_tree(table, 1, {9, 1}), {9, 2}, eight) == "{4}");  // both contexts say so
    BOOST_TEST(drafted(draft::ngram_tree(table), {0}, eight) == "{}");
    BOOST_TEST(drafted(draft::ngram_tree(table), {1, 2}, policy::fixed_length{0}) == "{}");
    BOOST_TEST(drafted(draft::ngram_tree(table), {1, 2}, policy::tree_static()) == "{}");
}

const draft::ngram_table small = draft::ngram_table::count(
    std::vector<ids>{{0, 1, 2, 0, 1, 1, 0, 2, 2, 1}, {1, 2, 2, 0, 0, 1}}, {.longest = 3, .vocabulary_size = 3});

BOOST_AUTO_TEST_CASE(the_first_nodes_are_the_stores_chain) {
    for (token a = 0; a < 3; ++a) {
        for (token b = 0; b < 3; ++b) {
            BOOST_TEST(drafted(draft::ngram_tree(small, 1, {4, 4}), {a, b, a}, eight) ==
                       drafted(draft::ngram_store(small), {a, b, a}, policy::fixed_length{4}));
        }
    }
}

BOOST_AUTO_TEST_CASE(keeps_the_laws_of_drafters) {
    for (const draft::ngram_tree& drafter : {draft::ngram_tree(small), draft::ngram_tree(small, 2, {4, 2})}) {
        const auto report = testing::drafter_laws(drafter);
        BOOST_TEST(report.kept(), report);
        BOOST_TEST(report.checked.size() == 9u, report);
    }
}

BOOST_AUTO_TEST_CASE(trees_of_it_keep_every_promise_and_branches_are_accepted) {
    const testing::tree_mock target(testing::hashed_model(3, 1));
    const draft::ngram_tree drafter(small, 1, {5, 2});
    const policy::fixed_length two{2};
    const auto promised = [&](auto criterion, float temperature) {
        return testing::broken_promise(speculate(drafter, target, two, criterion), ids{0, 1, 0}, up_to(3, temperature));
    };
    BOOST_TEST(promised(accept::coupled{}, 1) == "");
    BOOST_TEST(promised(accept::rejection_sampling{}, 1) == "");
    BOOST_TEST(promised(accept::exact{}, 0) == "");
    const auto scheme = speculate(drafter, target, two, accept::rejection_sampling{});
    decode::session session(scheme, ids{0, 1}, {}, {.max_tokens = 1000}, random::philox_chooser(0));
    std::size_t later = 0;
    for (int round = 0; round < 100; ++round) {
        const auto& record = decode::step(scheme, session);
        if (record.decided.accepted == 0) continue;
        const std::size_t node = record.decided.node(0);
        later += node > 0 && record.proposed.parent(node) < 0 ? 1 : 0;
    }
    BOOST_TEST(later > 5u);
}

BOOST_AUTO_TEST_CASE(impossible_sizes_are_refused_and_it_prints_itself) {
    BOOST_CHECK_THROW(draft::ngram_tree(table, 0), error);
    BOOST_CHECK_THROW(draft::ngram_tree(table, 3), error);
    BOOST_CHECK_EXCEPTION(draft::ngram_tree(table, 1, {0, 2}), error, [](const error& e) {
        return std::string(e.what()) == "ngram_tree: nodes is 0 and depth 2; each has to be at least 1";
    });
    std::ostringstream out, of_table;
    out << draft::ngram_tree(table, 2, {7, 3});
    of_table << table;
    BOOST_TEST(out.str() == "ngram_tree{.table=" + of_table.str() + ", .least=2, .nodes=7, .depth=3}");
    BOOST_TEST(draft::ngram_tree(table).vocabulary_size() == 10u);
}

/// Wants nothing after a match.
struct wary {
    static constexpr signals_read reads{.available = signals::match_length};
    std::size_t length(const observation& seen) const { return seen.match_length > 0 ? 0 : 8; }
};

BOOST_AUTO_TEST_CASE(where_the_match_is_not_wanted_nothing_is_drafted) {
    BOOST_TEST(drafted(draft::ngram_tree(table), {0, 1, 2}, wary{}) == "{}");
}

BOOST_AUTO_TEST_CASE(of_equally_cheap_ones_the_shallower_comes_before_the_one_that_was_made_first) {
    // 1 is the second choice after 3 6, and was made before 7, the first after 4, which is less deep.
    const draft::ngram_table deeper = draft::ngram_table::count(std::vector<ids>{{1, 2, 3},
                                                                                 {9, 2, 4},
                                                                                 {9, 2, 4},
                                                                                 {9, 2, 4},
                                                                                 {2, 3, 6},
                                                                                 {9, 3, 5},
                                                                                 {9, 3, 5},
                                                                                 {4, 7},
                                                                                 {3, 6, 0},
                                                                                 {9, 6, 1},
                                                                                 {9, 6, 1}},
                                                                {.longest = 2, .vocabulary_size = 10});
    BOOST_TEST(drafted(draft::ngram_tree(deeper, 1, {9, 3}), {0, 1, 2}, eight) ==
               "{3, 6, 0, 4, 5, 7, 1} with parents {-1, 0, 1, -1, 0, 3, 1}");
}

BOOST_AUTO_TEST_SUITE_END()
