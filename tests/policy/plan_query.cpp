#include "augur/policy/plan_query.hpp"

#include <boost/test/unit_test.hpp>
#include <vector>

using namespace augur;

BOOST_AUTO_TEST_SUITE(policy_plan_query)

/// Answers what it is told to, and writes down what it was shown.
struct recording {
    std::vector<observation>* shown;
    std::size_t answer = 3;
    std::size_t length(const observation& seen) const {
        shown->push_back(seen);
        return answer;
    }
};
struct needs_entropy : recording {
    static constexpr signals_read reads{.required = signals::draft_entropy};
};
/// Decides by the first of the rows.
struct needs_the_first_entropy {
    static constexpr signals_read reads{.required = signals::draft_entropy};
    std::vector<observation>* shown;
    draft_plan plan(const observation& seen) const {
        shown->push_back(seen);
        return {.length = 3};
    }
};
struct needs_confidence : recording {
    static constexpr signals_read reads{.required = signals::draft_confidence};
};
struct uses_matches : recording {
    static constexpr signals_read reads{.available = signals::match_length};
};
struct needs_matches : recording {
    static constexpr signals_read reads{.required = signals::match_length};
};

template <class Policy>
using query = policy::plan_query<Policy>;

static_assert(!query<recording>::reads_rows && query<needs_entropy>::reads_rows);
static_assert(!query<uses_matches>::reads_rows);

struct fixture {
    std::vector<observation> shown;
};

BOOST_FIXTURE_TEST_CASE(without_signals_the_policy_is_asked_once_at_the_start, fixture) {
    const recording policy{&shown};
    query<recording> asked;
    asked.begin(policy, observation{.round = 4}, 10, signals::draft_entropy);
    BOOST_TEST(asked.wanted() == 3u);
    BOOST_TEST(shown.size() == 1u);
    BOOST_TEST(shown[0].round == 4u);
    BOOST_TEST((shown[0].pending == signals::none));  // what the drafter shows, but nobody looks at
}

BOOST_FIXTURE_TEST_CASE(a_policy_that_needs_rows_is_asked_at_each_and_bounded_by_the_room_before, fixture) {
    const needs_entropy policy{{&shown}};
    query<needs_entropy> asked;
    asked.begin(policy, {}, 10, signals::draft_entropy);
    BOOST_TEST(shown.empty());
    BOOST_TEST(asked.wanted() == 10u);
    asked.see_row(policy, 0, 0.5, 0.9);
    asked.see_row(policy, 1, 0.25, 0.9);
    BOOST_TEST(asked.wanted() == 3u);
    BOOST_TEST(shown.size() == 2u);
    BOOST_TEST(shown[1].drafted == 1u);
    BOOST_TEST(shown[1].draft_entropy_nats == 0.25);
    BOOST_TEST(shown[1].first_draft_entropy_nats == 0.5);
    BOOST_TEST(!(shown[1].draft_confidence == 0.9));  // not asked for, so never shown
    BOOST_TEST((shown[0].pending == signals::none));  // the row is there
}

BOOST_FIXTURE_TEST_CASE(the_path_value_is_the_product_of_this_rounds_confidences, fixture) {
    const needs_confidence policy{{&shown}};
    query<needs_confidence> asked;
    for (std::size_t round = 0; round < 2; ++round) {
        asked.begin(policy, {}, 10, signals::draft_confidence);
        asked.see_row(policy, 0, 0, 0.5);
        asked.see_row(policy, 1, 0, 0.25);
        BOOST_TEST(asked.seen().draft_confidence == 0.25);
        BOOST_TEST(asked.seen().path_value == 0.125);
    }
}

BOOST_FIXTURE_TEST_CASE(a_match_that_is_used_is_pending_until_it_is_seen, fixture) {
    const uses_matches policy{{&shown}};
    query<uses_matches> asked;
    asked.begin(policy, {}, 10, signals::match_length);
    asked.see_match(policy, 6);
    BOOST_TEST(shown.size() == 2u);
    BOOST_TEST((shown[0].pending == signals::match_length));
    BOOST_TEST((shown[1].pending == signals::none));
    BOOST_TEST(shown[1].match_length == 6u);
}

BOOST_FIXTURE_TEST_CASE(a_policy_that_needs_the_match_is_not_asked_before, fixture) {
    const needs_matches policy{{&shown}};
    query<needs_matches> asked;
    asked.begin(policy, {}, 10, signals::match_length);
    BOOST_TEST(shown.empty());
    BOOST_TEST(asked.wanted() == 10u);
    asked.see_match(policy, 6);
    BOOST_TEST(shown.size() == 1u);
    BOOST_TEST(asked.wanted() == 3u);
}

BOOST_FIXTURE_TEST_CASE(a_plan_that_looks_no_further_is_asked_with_the_first_row_alone, fixture) {
    const needs_the_first_entropy policy{&shown};
    query<needs_the_first_entropy> asked;
    asked.begin(policy, {}, 10, signals::draft_entropy);
    BOOST_TEST(!asked.is_answered());
    BOOST_TEST(asked.looks_at_row(0));
    asked.see_row(policy, 0, 0.5, 0.9);
    BOOST_TEST(asked.is_answered());
    BOOST_TEST(!asked.looks_at_row(1));
    BOOST_TEST(asked.wanted() == 3u);
    BOOST_TEST(shown.size() == 1u);
}

/// Decides on a tree once it has seen two rows of the draft's chain.
struct looks_at_two {
    static constexpr signals_read reads{.required = signals::draft_confidence};
    static constexpr draft_shape plans = draft_shape::tree;
    std::vector<observation>* shown;
    topology wanted{after_prefix, 0, 1};
    draft_plan plan(const observation& seen) const {
        shown->push_back(seen);
        return {.tree = &wanted, .look = 2};
    }
};

BOOST_FIXTURE_TEST_CASE(who_looks_ahead_is_asked_again_with_the_last_of_its_rows, fixture) {
    const looks_at_two policy{&shown};
    query<looks_at_two> asked;
    asked.begin(policy, {}, 10, signals::draft_confidence);
    BOOST_TEST(asked.rows_ahead() == 1u);
    asked.see_row(policy, 0, 0, 0.5);
    BOOST_TEST(shown.size() == 1u);
    BOOST_TEST(asked.rows_ahead() == 2u);
    BOOST_TEST(asked.looks_at_row(1));
    asked.see_row(policy, 1, 0, 0.5);
    BOOST_TEST(shown.size() == 2u);
    BOOST_TEST(shown[1].path_value == 0.25);
    BOOST_TEST(!asked.looks_at_row(2));
    BOOST_TEST(asked.plan(policy).tree == &policy.wanted);
    BOOST_TEST(shown.size() == 2u);
    BOOST_TEST(asked.wanted() == 3u);
}

BOOST_FIXTURE_TEST_CASE(no_answer_exceeds_the_room, fixture) {
    const recording policy{&shown, 12};
    query<recording> asked;
    asked.begin(policy, {}, 11, signals::none);
    BOOST_TEST(asked.wanted() == 11u);
    asked.begin(policy, {}, 12, signals::none);
    BOOST_TEST(asked.wanted() == 12u);
    asked.begin(policy, {}, 0, signals::none);
    BOOST_TEST(asked.wanted() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
