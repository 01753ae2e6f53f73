#include "augur/commit/apply.hpp"

#include <augur/accept/exact.hpp>
#include <augur/decode/generate.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>

using namespace augur;

BOOST_AUTO_TEST_SUITE(commit_apply)

struct fixture {
    testing::function_model model = testing::hashed_model(9, 1);
    std::vector<token> prompt{1, 2};
    decltype(speculate(model, model, policy::fixed_length{4}, accept::exact{})) scheme =
        speculate(model, model, policy::fixed_length{4}, accept::exact{});
    proposal<point_mass> proposed;

    fixture() {
        for (token t : {3, 4, 5}) proposed.push(t);
    }

    auto session(commit::stop_conditions stops = {}) {
        return decode::session(scheme, prompt, {.temperature = {0}}, std::move(stops), random::philox_chooser(0));
    }
};

std::vector<token> tokens_of(std::span<const token> tokens) {
    return {tokens.begin(), tokens.end()};
}

BOOST_FIXTURE_TEST_CASE(accepted_tokens_then_the_next, fixture) {
    auto s = session();
    const auto kept = commit::apply(scheme, s, proposed, verdict{3, 2, 7});
    BOOST_TEST(tokens_of(s.committed.generated()) == (std::vector<token>{3, 4, 7}));
    BOOST_TEST(kept.size() == 3u);
    BOOST_TEST((kept[1].from == origin::accepted && kept[2].from == origin::correction));
    BOOST_TEST(s.counts.stages[0].drafted == 3u);
    BOOST_TEST(s.counts.stages[0].accepted == 2u);
    BOOST_TEST(s.counts.committed() == 3u);
}

BOOST_FIXTURE_TEST_CASE(a_cut_block_counts_what_was_kept, fixture) {
    auto s = session({.stop_tokens = {3}});
    const auto kept = commit::apply(scheme, s, proposed, verdict{3, 3, 7});
    BOOST_TEST(kept.size() == 1u);
    BOOST_TEST(tokens_of(s.committed.generated()) == (std::vector<token>{3}));
    BOOST_TEST(s.counts.stages[0].accepted == 1u);
    BOOST_TEST(s.counts.committed() == 1u);
    BOOST_TEST((s.finished == finish_reason::stop_token));
    BOOST_TEST(s.committed.counts().size() == 3u);  // 1, 2 and 3; nothing of what was cut
}

BOOST_FIXTURE_TEST_CASE(an_invalid_row_commits_what_stood_before_it, fixture) {
    auto s = session();
    commit::apply(scheme, s, proposed, verdict{3, 1, no_token});
    BOOST_TEST(tokens_of(s.committed.generated()) == (std::vector<token>{3}));
    BOOST_TEST((s.finished == finish_reason::invalid_logits));
}

BOOST_FIXTURE_TEST_CASE(of_several_reasons_at_one_token_the_first_is_kept, fixture) {
    const auto refuse = [](const commit::committed_token&) { return false; };
    auto stopped = session({.stop_tokens = {3}});
    commit::apply(scheme, stopped, proposed, verdict{3, 2, 7}, refuse);
    BOOST_TEST((stopped.finished == finish_reason::stop_token));
    auto full = session({.max_tokens = 1});
    commit::apply(scheme, full, proposed, verdict{3, 2, 7}, refuse);
    BOOST_TEST((full.finished == finish_reason::max_tokens));
    // A row behind the end cannot be the reason any more.
    auto before_the_row = session({.stop_tokens = {3}});
    commit::apply(scheme, before_the_row, proposed, verdict{3, 1, no_token});
    BOOST_TEST((before_the_row.finished == finish_reason::stop_token));
}

BOOST_FIXTURE_TEST_CASE(both_caches_are_rewound, fixture) {
    auto s = session();
    const std::vector<token> beyond{1, 2, 3, 4, 5, 6};
    s.target.fill(beyond);
    s.drafter_state.fill(beyond);
    commit::apply(scheme, s, proposed, verdict{3, 1, 8});
    BOOST_TEST(tokens_of(s.target.tokens()) == (std::vector<token>{1, 2, 3}));
    BOOST_TEST(tokens_of(s.drafter_state.tokens()) == (std::vector<token>{1, 2, 3}));
    BOOST_TEST(model.length(s.target.sequence()) == 3u);
}

BOOST_AUTO_TEST_SUITE_END()
