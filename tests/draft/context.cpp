#include "augur/draft/context.hpp"

#include <algorithm>
#include <augur/policy/entropy_bins.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/testing/named_once.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_context)

/// Writes down what it is shown.
struct recording_policy {
    static constexpr signals_read reads{.required = signals::draft_entropy | signals::draft_confidence};
    std::vector<observation>* shown;
    std::size_t length(const observation& seen) const {
        shown->push_back(seen);
        return 3;
    }
};

struct fixture {
    prefix before{std::vector<token>{1}};
    transform::pipeline transform{{}, 4};
    random::philox_chooser chooser{0};
    std::vector<float> uniform{0, 0, 0, 0};
    std::vector<float> certain{50, 0, 0, 0};
};

BOOST_FIXTURE_TEST_CASE(only_what_the_policy_needs_is_computed, fixture) {
    const policy::fixed_length two{2};
    draft::context context(before, transform, chooser, two, observation{}, 10);
    BOOST_TEST(context.wants_more(0, uniform));
    BOOST_TEST(std::isnan(context.seen().draft_entropy_nats));
    BOOST_TEST(std::isnan(context.seen().draft_confidence));
    BOOST_TEST(context.wants_more(1));
    BOOST_TEST(!context.wants_more(2));
}

BOOST_FIXTURE_TEST_CASE(signals_of_every_row_reach_the_policy, fixture) {
    std::vector<observation> shown;
    const recording_policy policy{&shown};
    draft::context context(before, transform, chooser, policy, observation{.round = 4}, 10);
    BOOST_TEST(shown.empty());
    BOOST_TEST(context.wants_more(0, uniform));
    BOOST_TEST(context.wants_more(1, certain));
    BOOST_TEST(context.wants_more(2, uniform));
    BOOST_TEST(!context.wants_more(3));
    BOOST_TEST(shown.size() == 3u);
    BOOST_TEST(shown[0].draft_entropy_nats == std::log(4.0), boost::test_tools::tolerance(1e-6));
    BOOST_TEST(shown[1].draft_entropy_nats < 1e-6);
    BOOST_TEST(shown[1].first_draft_entropy_nats == std::log(4.0), boost::test_tools::tolerance(1e-6));
    BOOST_TEST(shown[0].path_value == 0.25, boost::test_tools::tolerance(1e-6));
    BOOST_TEST(shown[1].path_value == 0.25, boost::test_tools::tolerance(1e-6));
    BOOST_TEST(shown[2].path_value == 0.0625, boost::test_tools::tolerance(1e-6));
    BOOST_TEST(shown[2].drafted == 2u);
    BOOST_TEST(shown[2].round == 4u);
}

/// Counts how many rows are measured for it.
struct first_row_policy {
    static inline std::size_t measured = 0;
    static constexpr signals_read reads{.required = signals::draft_entropy,
                                        .entropy_nats = [](logit_row) { return static_cast<double>(++measured); }};
    draft_plan plan(const observation& seen) const {
        return {.length = seen.first_draft_entropy_nats == 1 ? std::size_t{3} : 0};
    }
};

BOOST_FIXTURE_TEST_CASE(a_policy_of_the_first_row_costs_one_measurement, fixture) {
    const first_row_policy policy;
    draft::context context(before, transform, chooser, policy, observation{}, 10);
    BOOST_TEST(context.wants_more(0, uniform));
    BOOST_TEST(context.wants_more(1, certain));
    BOOST_TEST(context.wants_more(2, uniform));
    BOOST_TEST(!context.wants_more(3, uniform));
    BOOST_TEST(first_row_policy::measured == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_row_without_numbers_is_one_of_maximum_entropy_and_no_confidence, fixture) {
    const std::vector<float> broken{0, NAN, 0, 0};
    std::vector<observation> shown;
    const recording_policy recording{&shown};
    draft::context watched(before, transform, chooser, recording, observation{}, 10);
    watched.wants_more(0, broken);
    BOOST_TEST(shown[0].draft_confidence == 0.0);
    BOOST_TEST(shown[0].path_value == 0.0);
    std::vector<float> broken_late(200);
    broken_late.back() = NAN;
    watched.wants_more(0, broken_late);
    BOOST_TEST(shown[1].draft_confidence == 0.0);
    const policy::entropy_bins bins;
    draft::context context(before, transform, chooser, bins, observation{}, 10);
    BOOST_TEST(context.wants_more(0, broken));
    BOOST_TEST(std::isinf(context.seen().draft_entropy_nats));
    BOOST_TEST(!context.wants_more(1));
}

BOOST_FIXTURE_TEST_CASE(the_room_bounds_every_policy, fixture) {
    const policy::entropy_bins bins({1}, {100, 100});
    draft::context context(before, transform, chooser, bins, observation{}, 2);
    BOOST_TEST(context.wants_more(0, uniform));
    BOOST_TEST(context.wants_more(1, uniform));
    BOOST_TEST(!context.wants_more(2, uniform));
}

/// Wants a hundred times as many as matched.
struct greedy_for_matches {
    static constexpr signals_read reads{.required = signals::match_length};
    std::size_t length(const observation& seen) const { return 100 * seen.match_length; }
};

BOOST_FIXTURE_TEST_CASE(the_room_bounds_what_matches_promise, fixture) {
    const greedy_for_matches policy;
    draft::context context(before, transform, chooser, policy, observation{}, 2);
    context.matched(5);
    BOOST_TEST(context.wants_more(1));
    BOOST_TEST(!context.wants_more(2));
}

/// Uses what there is, wants one token per thing it knows, and writes down what it is asked.
struct uses_what_there_is {
    static constexpr signals_read reads{.available = signals::match_length | signals::draft_entropy};
    std::vector<observation>* asked;
    std::size_t length(const observation& seen) const {
        asked->push_back(seen);
        return seen.match_length + (std::isnan(seen.draft_entropy_nats) ? 1 : 5);
    }
};

BOOST_FIXTURE_TEST_CASE(a_policy_that_uses_signals_is_asked_without_them_too, fixture) {
    std::vector<observation> asked;
    const uses_what_there_is policy{&asked};
    const signals all = signals::match_length | signals::draft_entropy | signals::draft_confidence;
    draft::context context(before, transform, chooser, policy, observation{.round = 4}, 10, all);
    BOOST_TEST(context.wants_more(0));
    BOOST_TEST(!context.wants_more(1));
    context.matched(2);
    BOOST_TEST(context.wants_more(2));
    BOOST_TEST(context.wants_more(0, uniform));
    BOOST_TEST(context.wants_more(6));
    BOOST_TEST(!context.wants_more(7));
    BOOST_TEST_REQUIRE(asked.size() == 3u);
    BOOST_TEST((asked[0].pending == policy.reads.available));
    BOOST_TEST((asked[1].pending == signals::draft_entropy));
    BOOST_TEST((asked[2].pending == signals::none));
    BOOST_TEST(std::isnan(asked[2].draft_confidence));
}

BOOST_FIXTURE_TEST_CASE(another_source_begins_anew, fixture) {
    std::vector<observation> asked;
    const uses_what_there_is policy{&asked};
    draft::context context(before, transform, chooser, policy, observation{.round = 4}, 10, signals::match_length);
    context.matched(3);
    context.begin(1, signals::none);
    BOOST_TEST(!context.wants_more(1));
    BOOST_TEST(asked.back().source == 1u);
    BOOST_TEST(asked.back().round == 4u);
    BOOST_TEST(asked.back().match_length == 0u);
    BOOST_TEST((asked.back().pending == signals::none));
    const recording_policy needing{&asked};
    draft::context other(before, transform, chooser, needing, observation{}, 2);
    BOOST_TEST(!other.wants_more(2));
    BOOST_TEST(other.wants_more(1, certain));  // asked
    asked.clear();
    other.begin(2, signals::draft_entropy);
    BOOST_TEST(asked.empty());  // what a policy needs is waited for
    BOOST_TEST(other.wants_more(1));
}

/// Wants this tree.
struct tree_policy {
    augur::topology shape;
    static constexpr draft_shape plans = draft_shape::tree;
    draft_plan plan(const observation&) const { return {.tree = &shape}; }
};
static_assert(SpeculationPolicy<tree_policy> && !DecidesLength<tree_policy>);

std::vector<std::int32_t> plan_of(auto& context) {
    const auto plan = context.plan();
    return {plan.begin(), plan.end()};
}

BOOST_FIXTURE_TEST_CASE(a_length_is_no_tree, fixture) {
    const policy::fixed_length two{2};
    draft::context context(before, transform, chooser, two, observation{}, 10);
    BOOST_TEST(context.plan().empty());
    BOOST_TEST(context.wanted() == 2u);
}

BOOST_FIXTURE_TEST_CASE(a_tree_is_wanted_as_far_as_there_is_room, fixture) {
    using numbers = std::vector<std::int32_t>;
    const tree_policy policy{{-1, 0, -1, 1, 2}};
    const std::vector<numbers> expected{{}, {-1, -1}, {-1, 0, -1, 2}, {-1, 0, -1, 1, 2}, {-1, 0, -1, 1, 2}};
    for (std::size_t budget = 0; budget < expected.size(); ++budget) {
        draft::context context(before, transform, chooser, policy, observation{}, budget);
        BOOST_TEST(context.wanted() == std::min<std::size_t>(budget, 3));
        BOOST_TEST(plan_of(context) == expected[budget], boost::test_tools::per_element());
        const auto once = context.plan(), again = context.plan();
        BOOST_TEST(once.data() == again.data());
    }
}

/// Two trees that are both too deep, by who asks.
struct tree_by_source {
    augur::topology first{-1, 0, 1};
    augur::topology second{-1, -1, 0, 1, 2, 3};
    static constexpr draft_shape plans = draft_shape::tree;
    draft_plan plan(const observation& seen) const { return {.tree = &(seen.source == 0 ? first : second)}; }
};

BOOST_FIXTURE_TEST_CASE(the_tree_of_the_next_source_is_cut_anew, fixture) {
    using numbers = std::vector<std::int32_t>;
    const tree_by_source policy;
    draft::context context(before, transform, chooser, policy, observation{}, 2);
    context.begin(0, signals::none);
    BOOST_TEST(plan_of(context) == (numbers{-1, 0}), boost::test_tools::per_element());
    context.begin(1, signals::none);
    BOOST_TEST(plan_of(context) == (numbers{-1, -1, 0, 1}), boost::test_tools::per_element());
}

/// One of two trees, by the entropy of the round's first row.
struct tree_by_entropy {
    static constexpr signals_read reads{.required = signals::draft_entropy};
    augur::topology sure{-1, 0, 1};
    augur::topology unsure{-1, -1, -1};
    static constexpr draft_shape plans = draft_shape::tree;
    draft_plan plan(const observation& seen) const { return {.tree = seen.draft_entropy_nats > 0.5 ? &unsure : &sure}; }
};

BOOST_FIXTURE_TEST_CASE(a_tree_is_decided_on_by_the_first_row_and_stays, fixture) {
    const tree_by_entropy policy;
    draft::context context(before, transform, chooser, policy, observation{}, 10);
    BOOST_TEST(context.wants_more(0));
    BOOST_TEST(context.wants_more(0, uniform));
    BOOST_TEST(context.wanted() == 1u);
    BOOST_TEST(context.plan().size() == 3u);
    BOOST_TEST(!context.wants_more(1, certain));
    BOOST_TEST(context.wanted() == 1u);
    draft::context other(before, transform, chooser, policy, observation{}, 2);
    BOOST_TEST(other.wants_more(0, certain));
    BOOST_TEST(other.wanted() == 2u);
    BOOST_TEST(plan_of(other) == (std::vector<std::int32_t>{-1, 0}), boost::test_tools::per_element());
}

/// Every child of every node draws under a name of its own, wherever the prefix stands; a chain's under that of
/// draws().
BOOST_FIXTURE_TEST_CASE(draws_of_a_tree_have_names_of_their_own, fixture) {
    const policy::fixed_length two{2};
    testing::named_once once(chooser);
    draft::context context(before, transform, once, two, observation{.round = 3}, 10);
    proposal<point_mass> proposed;
    for (const std::int32_t parent : {-1, -1, 0, 0, 1, 2}) proposed.push(0, parent);
    std::size_t asked = 0;
    for (std::int32_t parent = -1; parent < 6; ++parent) {
        for (std::size_t sibling = 0; sibling < 3; ++sibling) {
            context.draws(proposed, parent, sibling).flip(0.5, purpose::draft);
            BOOST_TEST(once.names() == ++asked);
        }
    }
    draft::context chain(before, transform, chooser, two, observation{.round = 3}, 10);
    const auto row = distribution::weighted(std::vector<float>(1000, 1.0f));
    proposal<point_mass> one;
    one.push(2);
    speculative_suffix speculative(before);
    speculative.push(2);
    BOOST_TEST(chain.draws(one, 0, 0).choose(row, purpose::draft) == chain.draws().choose(row, purpose::draft));
}

/// Looks at the greedy chain where there is one, and notes what it sees when it is asked.
struct chain_policy {
    static constexpr signals_read reads{.available = signals::draft_confidence};
    static constexpr draft_shape plans = draft_shape::tree;
    const augur::topology* answer;
    std::vector<observation>* asked;
    draft_plan plan(const observation& seen) const {
        asked->push_back(seen);
        return {.tree = answer, .look = 2};
    }
};

BOOST_FIXTURE_TEST_CASE(rows_after_the_chain_change_no_plan, fixture) {
    const augur::topology shape{-1, 0, 1, 2};
    std::vector<observation> asked;
    const chain_policy policy{&shape, &asked};
    draft::context context(before, transform, chooser, policy, observation{}, 10, signals::draft_confidence);
    context.wants_more(0, uniform);
    context.wants_more(1, uniform);
    const std::size_t times = asked.size();
    BOOST_TEST(asked.back().path_value == 1.0 / 16);
    BOOST_TEST(context.wants_more(2, uniform));
    BOOST_TEST(context.wants_more(3, certain));
    BOOST_TEST(!context.wants_more(4, certain));
    BOOST_TEST(asked.size() == times);
    BOOST_TEST(context.seen().path_value == 1.0 / 16);
}

BOOST_FIXTURE_TEST_CASE(a_chain_that_is_kept_is_shown_with_its_value_and_its_sum, fixture) {
    const augur::topology shape{-1, 0};
    std::vector<observation> asked;
    const chain_policy policy{&shape, &asked};
    draft::context context(before, transform, chooser, policy, observation{}, 10, signals::draft_confidence);
    context.wants_more(0, uniform);
    context.wants_more(1, uniform);
    for (const bool kept : {false, true}) {
        if (kept) context.keep_chain();
        context.begin(1, signals::none);
        BOOST_TEST(asked.back().source == 1u);
        BOOST_TEST(std::isnan(asked.back().path_value) == !kept);
        BOOST_TEST(std::isnan(asked.back().path_value_sum) == !kept);
        context.begin(0, signals::draft_confidence);
        context.wants_more(0, uniform);
        context.wants_more(1, uniform);
    }
    context.keep_chain();
    context.begin(1, signals::none);
    BOOST_TEST(asked.back().path_value == 1.0 / 16);
    BOOST_TEST(asked.back().path_value_sum == 1.0 / 4 + 1.0 / 16);
}

/// Expects twice what a drafter says.
struct sanguine : growth_budget {
    static constexpr draft_shape plans = draft_shape::grown_tree;
    draft_plan plan(const observation&) const { return {.length = 2, .grow = this}; }
    float worth(float probability) const override { return 2 * probability; }
    std::size_t expand(const observation&, std::span<const float> values) const override { return values.size(); }
    std::size_t keep(const observation&, std::span<const float> values) const override { return values.size(); }
};
static_assert(SpeculationPolicy<sanguine>);

BOOST_FIXTURE_TEST_CASE(no_node_is_worth_more_than_its_parent, fixture) {
    const sanguine policy;
    draft::context context(before, transform, chooser, policy, observation{}, 10);
    BOOST_TEST(context.wants_growth());
    BOOST_TEST(context.worth(0.25f) == 0.5f);
    BOOST_TEST(context.worth(0.75f) == 1.0f);
}

auto says(std::string what) {
    return [what = std::move(what)](const error& e) { return e.what() == what; };
}

/// Answers with a tree, or with one that grows, and declares neither.
struct undeclared_shape : growth_budget {
    explicit undeclared_shape(bool grows) : is_grown(grows) {}
    bool is_grown;
    topology shape{-1, -1};
    draft_plan plan(const observation&) const {
        return is_grown ? draft_plan{.length = 2, .grow = this} : draft_plan{.tree = &shape};
    }
    float worth(float probability) const override { return probability; }
    std::size_t expand(const observation&, std::span<const float>) const override { return 1; }
    std::size_t keep(const observation&, std::span<const float>) const override { return 1; }
};

BOOST_FIXTURE_TEST_CASE(a_plan_of_another_shape_than_declared_is_refused, fixture) {
    const undeclared_shape tree(false), grown(true);
    BOOST_CHECK_EXCEPTION(
        draft::context(before, transform, chooser, tree, observation{}, 10), error,
        says("this policy answered with a tree of 2 nodes, but does not declare static constexpr draft_shape plans = "
             "draft_shape::tree"));
    BOOST_CHECK_EXCEPTION(
        draft::context(before, transform, chooser, grown, observation{}, 10), error,
        says("this policy answered with a tree that grows, but does not declare static constexpr draft_shape plans "
             "= draft_shape::grown_tree"));
}

/// Reads a confidence that it does not declare.
struct undeclared_signal {
    std::size_t length(const observation& seen) const { return seen.draft_confidence > 0.5 ? 4 : 2; }
};

BOOST_AUTO_TEST_CASE(a_signal_that_is_read_and_not_declared_is_found) {
    const observation seen;
    const undeclared_signal wrong;
    const policy::fixed_length right{2};
    BOOST_CHECK_EXCEPTION(
        policy::check_signals(wrong, seen, policy::answer(wrong, seen)), error,
        says("this policy reads a signal that it does not declare in reads: it answers a length of 2, and 4 where "
             "the undeclared signals are 1"));
    BOOST_CHECK_NO_THROW(policy::check_signals(right, seen, policy::answer(right, seen)));
}

BOOST_AUTO_TEST_SUITE_END()
