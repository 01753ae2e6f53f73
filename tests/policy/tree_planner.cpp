#include "augur/policy/tree_planner.hpp"

#include <augur/decode/generate.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/policy_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <random>
#include <utility>

using namespace augur;
using tree_planner = policy::tree_planner<>;

static_assert(SpeculationPolicy<tree_planner> && shape_of<tree_planner> == draft_shape::tree);
static_assert(required_signals<tree_planner> == signals::none);

BOOST_AUTO_TEST_SUITE(policy_tree_planner)

/// What watchers need of a round that was made up.
struct made_up_round {
    proposal<point_mass> proposed{};
    verdict decided{};
    double draft_seconds = 0, verify_seconds = 0, accept_seconds = 0;

    outcome result() const {
        return {{}, decided.drafted, decided.accepted, draft_seconds, verify_seconds, accept_seconds};
    }
};

/// How a text goes: the rank of the child that the target takes at a depth, which may be none of the tree's; and what a
/// pass over so many rows costs.
struct world {
    std::function<std::size_t(std::size_t depth)> taken;
    std::function<double(std::size_t rows)> seconds;
    double draft_seconds = 0.01;
    double accept_seconds = 0;  ///< of a node

    made_up_round round(const topology& plan) const {
        made_up_round turn;
        for (std::size_t node = 0; node < plan.size(); ++node) turn.proposed.push(0, plan.parents()[node]);
        turn.decided.drafted = plan.size();
        std::int32_t parent = after_prefix;
        for (std::size_t depth = 0;; ++depth) {
            const std::size_t rank = taken(depth);
            std::size_t child = parents::next_child(plan.parents(), plan.size(), parent, 0);
            for (std::size_t i = 0; i < rank && child < plan.size(); ++i) {
                child = parents::next_child(plan.parents(), plan.size(), parent, child + 1);
            }
            if (plan.size() == 0 || child == plan.size()) break;
            turn.decided.path.push_back(child);
            parent = static_cast<std::int32_t>(child);
        }
        turn.decided.accepted = turn.decided.path.size();
        turn.verify_seconds = seconds(plan.size() + 1);
        turn.draft_seconds = draft_seconds * static_cast<double>(plan.size());
        turn.accept_seconds = accept_seconds * static_cast<double>(plan.size());
        return turn;
    }
};

struct total {
    double tokens = 0, seconds = 0;
    std::size_t drafted = 0;
};

total live(auto& policy, const world& in, std::size_t rounds) {
    total sum;
    for (std::size_t i = 0; i < rounds; ++i) {
        const auto round = in.round(*policy.plan({}).tree);
        sum.tokens += static_cast<double>(round.decided.accepted + 1);
        sum.seconds += round.draft_seconds + round.verify_seconds + round.accept_seconds;
        sum.drafted += round.decided.drafted > 0 ? 1 : 0;
        policy.watch(round);
    }
    return sum;
}

struct branches_seen {
    std::size_t branched = 0;
    void watch(const auto& view) { branched += view.proposed.is_chain() ? 0 : 1; }
};

double flat(std::size_t rows) {
    return 1 + 0.02 * static_cast<double>(rows);
}

BOOST_AUTO_TEST_CASE(a_draft_that_is_always_right_becomes_a_deep_chain) {
    tree_planner policy({.max_nodes = 16, .max_depth = 8});
    live(policy, {[](std::size_t) { return std::size_t{0}; }, flat}, 150);
    const topology& plan = *policy.plan({}).tree;
    BOOST_TEST(plan.depth() == 8u);
    BOOST_TEST(plan.size() <= 9u);
    BOOST_TEST(policy.acceptance(0, 0) > 0.9);
    BOOST_TEST(policy.acceptance(0, 1) < 0.1);
}

BOOST_AUTO_TEST_CASE(a_draft_that_is_right_among_several_becomes_a_wide_tree) {
    std::mt19937 random(1);
    tree_planner policy({.max_nodes = 16, .max_depth = 4});
    live(policy, {[&](std::size_t depth) { return depth == 0 ? random() % 4 : 99; }, flat}, 400);
    const topology& plan = *policy.plan({}).tree;
    std::size_t first = 0;
    for (const std::int32_t parent : plan.parents()) first += parent == after_prefix ? 1 : 0;
    BOOST_TEST(first >= 3u);
    BOOST_TEST(plan.depth() <= 2u);
    for (std::size_t rank = 0; rank < 4; ++rank) BOOST_TEST(std::abs(policy.acceptance(0, rank) - 0.25) < 0.15);
}

/// The same texts and passes: judging a node costs a third of a pass, and the tree is narrow; nothing, and it is wide.
BOOST_AUTO_TEST_CASE(what_judging_takes_is_a_cost_of_a_row) {
    const auto nodes_at = [](double accept_seconds) {
        std::mt19937 random(1);
        tree_planner policy({.max_nodes = 16, .max_depth = 4});
        world in{[&](std::size_t depth) { return depth == 0 ? random() % 4 : 99; }, flat};
        in.accept_seconds = accept_seconds;
        const total sum = live(policy, in, 400);
        BOOST_TEST(sum.seconds < 1.03 * flat(1) * sum.tokens + 3);  // it never loses more than is allowed
        return policy.plan({}).tree->size();
    };
    BOOST_TEST(nodes_at(0) >= 3u);
    BOOST_TEST(nodes_at(0.33) <= 1u);
}

BOOST_AUTO_TEST_CASE(a_pass_of_another_drafter_is_timed_with_its_judging) {
    tree_planner policy({.max_nodes = 4});
    policy.learn_pass({.decided_on = {}, .verify_seconds = 1, .accept_seconds = 0.5});
    BOOST_TEST(policy.verify_seconds(1) == 1.5);
}

/// Rows that cost nothing up to eight, and a whole pass beyond: the tree ends at the step.
BOOST_AUTO_TEST_CASE(a_step_of_the_cost_ends_the_tree) {
    std::mt19937 random(2);
    tree_planner policy({.max_nodes = 32, .max_depth = 6});
    const auto step = [](std::size_t rows) { return rows <= 8 ? 1.0 : 2.0; };
    live(policy, {[&](std::size_t) { return random() % 10 < 6 ? 0 : random() % 3; }, step, 1e-4}, 300);
    BOOST_TEST(policy.plan({}).tree->size() >=
               5u);  // what lies between two measured costs is taken for the line between them
    BOOST_TEST(policy.plan({}).tree->size() <= 7u);
}

BOOST_AUTO_TEST_CASE(where_nothing_is_accepted_little_is_lost) {
    for (const double a_row : {0.02, 0.2, 1.0}) {
        tree_planner policy;
        const world in{[](std::size_t) { return std::size_t{99}; },
                       [&](std::size_t rows) { return 1 + a_row * static_cast<double>(rows - 1); }};
        const total spent = live(policy, in, 512);
        BOOST_TEST(spent.seconds <= 1.02 * 512, "at " << a_row << ": " << spent.seconds);
        BOOST_TEST(spent.drafted > 3u);
    }
}

BOOST_AUTO_TEST_CASE(rows_of_several_passes_are_not_tried_for_nothing_again_and_again) {
    for (const double a_row : {2.0, 5.0, 10.0}) {
        tree_planner policy;
        const world in{[](std::size_t) { return std::size_t{99}; },
                       [&](std::size_t rows) { return 1 + a_row * static_cast<double>(rows - 1); }};
        const total spent = live(policy, in, 5000);
        // Two trees of two nodes each, and what drafting takes of it.
        BOOST_TEST(0.99 * spent.seconds <= 5000 + 3 + 2 * 2 * a_row, "at " << a_row << ": " << spent.seconds);
        BOOST_TEST(spent.drafted > 3u);
    }
}

/// Rows that the given curve has for nothing: one pass finds that out, and no more is lost than by the curve that is.
BOOST_AUTO_TEST_CASE(a_curve_that_is_too_cheap_costs_the_pass_that_disproves_it) {
    for (const double a_row : {0.3, 1.0, 3.0}) {
        tree_planner policy({.verify_seconds = std::vector<double>(33, 1.0)});
        const world in{[](std::size_t) { return std::size_t{99}; },
                       [&](std::size_t rows) { return 1 + a_row * static_cast<double>(rows - 1); }};
        const total spent = live(policy, in, 512);
        BOOST_TEST(0.99 * spent.seconds <= 512 + 3 + 32 * a_row + 1, "at " << a_row << ": " << spent.seconds);
        BOOST_TEST(spent.drafted > 0u);
    }
}

/// What drafting takes is not known before the first draft, which costs no more than the credit all the same.
BOOST_AUTO_TEST_CASE(a_first_draft_is_as_small_as_a_dear_drafter_needs) {
    for (const double a_node : {0.1, 0.4, 0.6, 1.0}) {
        tree_planner policy({.verify_seconds = std::vector<double>(33, 1.0)});
        const world in{[](std::size_t) { return std::size_t{99}; }, [](std::size_t) { return 1.0; }, a_node};
        const total spent = live(policy, in, 512);
        BOOST_TEST(spent.seconds <= 1.02 * 512, "at " << a_node << ": " << spent.seconds);
        BOOST_TEST(spent.drafted > 0u);
    }
}

BOOST_AUTO_TEST_CASE(a_text_that_becomes_predictable_is_drafted_for_again) {
    std::size_t rank = 99;
    tree_planner policy;
    const world in{[&](std::size_t) { return rank; }, flat};
    live(policy, in, 400);
    const total before = live(policy, in, 50);
    rank = 0;
    live(policy, in, 200);
    const total after = live(policy, in, 50);
    BOOST_TEST(before.tokens == 50);
    BOOST_TEST(after.tokens > 4 * 50);
}

BOOST_AUTO_TEST_CASE(what_no_expectation_pays_for_is_tried_now_and_then) {
    std::size_t rank = 99;
    tree_planner policy({.verify_seconds = {1, 1.6, 2.2, 2.8}});  // a node is expected to stand once in two
    const world in{[&](std::size_t) { return rank; },
                   [](std::size_t rows) { return 1 + 0.6 * static_cast<double>(rows - 1); }};
    BOOST_TEST(policy.plan({}).tree->size() == 0u);
    BOOST_TEST(live(policy, in, 30).drafted > 0u);
    rank = 0;
    live(policy, in, 300);
    BOOST_TEST(live(policy, in, 50).tokens > 60);
}

BOOST_AUTO_TEST_CASE(begins_with_a_plain_round_unless_passes_were_measured) {
    BOOST_TEST(tree_planner().plan({}).tree->size() == 0u);
    BOOST_TEST(tree_planner({.verify_seconds = {1, 1.01, 1.02, 1.03}}).plan({}).tree->size() > 0u);
}

BOOST_AUTO_TEST_CASE(a_decoding_keeps_the_text_and_drafts_trees) {
    const auto target = testing::hashed_model(12, 1);
    const auto draft = testing::noisy_model(target, 0.4);
    tree_planner policy({.max_nodes = 6, .max_depth = 3, .verify_seconds = {1, 1, 1, 1, 1, 1, 1}});
    const auto scheme = speculate(draft::draft_model(draft), target, policy, accept::coupled{});
    decode::options options;
    options.stop.max_tokens = 80;
    branches_seen seen;
    const std::vector<token> prompt{1, 2};
    const auto decoded = decode::generate(scheme, prompt, options, seen);
    BOOST_TEST(decoded.tokens == decode::generate(plain(target), prompt, options).tokens,
               boost::test_tools::per_element());
    BOOST_TEST(seen.branched > 0u);
}

BOOST_AUTO_TEST_CASE(plain_decoding_is_measured_again_while_drafts_pay) {
    tree_planner policy({.max_nodes = 8});
    const world in{[](std::size_t) { return std::size_t{0}; }, flat};
    live(policy, in, 100);
    BOOST_TEST(live(policy, in, 650).drafted == 640u);
    BOOST_TEST(policy.allowance() <= 16);  // however much was gained
}

/// The curve says that rows cost nothing, also beyond the first tree's: the pass that shows otherwise is paid for.
BOOST_AUTO_TEST_CASE(what_a_pass_took_beyond_its_curve_is_paid_when_a_plain_one_was_timed) {
    tree_planner policy({.verify_seconds = std::vector<double>(33, 1.0)});
    const world in{[](std::size_t) { return std::size_t{0}; }, [](std::size_t rows) { return rows <= 4 ? 1.0 : 50.0; }};
    live(policy, in, 4);
    BOOST_TEST(policy.allowance() < -20);
}

BOOST_AUTO_TEST_CASE(what_never_pays_is_tried_ever_more_seldom) {
    tree_planner policy({.budget = 0.5, .verify_seconds = {1, 1.6, 2.2, 2.8}});
    const world in{[](std::size_t) { return std::size_t{99}; },
                   [](std::size_t rows) { return 1 + 0.6 * static_cast<double>(rows - 1); }};
    live(policy, in, 300);
    BOOST_TEST(live(policy, in, 640).drafted <= 30u);
}

BOOST_AUTO_TEST_CASE(what_paid_meanwhile_is_tried_soon_again) {
    std::size_t rank = 99;
    tree_planner policy({.budget = 0.5, .verify_seconds = {1, 1.6, 2.2, 2.8}});
    const world in{[&](std::size_t) { return rank; },
                   [](std::size_t rows) { return 1 + 0.6 * static_cast<double>(rows - 1); }};
    live(policy, in, 300);
    rank = 0;
    live(policy, in, 300);
    BOOST_TEST(live(policy, in, 50).drafted > 40u);
    rank = 99;
    while (live(policy, in, 1).drafted > 0) {
    }
    BOOST_TEST(live(policy, in, 60).drafted >= 3u);
}

BOOST_AUTO_TEST_CASE(a_node_can_have_as_many_children_as_ranks_are_distinguished) {
    policy::tree_planner<2> policy({.max_nodes = 4, .max_depth = 1});
    live(policy, {[](std::size_t) { return std::size_t{1}; }, flat}, 50);
    BOOST_TEST((*policy.plan({}).tree == topology{-1, -1}));
}

BOOST_AUTO_TEST_CASE(what_drafting_took_long_ago_is_forgotten) {
    tree_planner policy({.max_nodes = 8});
    world in{[](std::size_t) { return std::size_t{0}; }, flat, 0.010};
    live(policy, in, 300);
    in.draft_seconds = 0.015;
    live(policy, in, 300);
    BOOST_TEST(policy.learned().drafting[0].mean > 0.0149);
}

BOOST_AUTO_TEST_CASE(the_laws_of_policies_hold) {
    const auto r = testing::policy_laws(tree_planner({.verify_seconds = {1, 1.1, 1.2}}));
    BOOST_TEST(r.kept(), r);
}

/// Everything takes up to twice as long for a while, and the first drafts are rejected.
BOOST_AUTO_TEST_CASE(a_slow_beginning_does_not_end_drafting) {
    for (const double start : {1.5, 1.8, 2.0}) {
        for (const std::size_t rejected : {2u, 4u, 6u}) {
            tree_planner policy({.credit = 2, .verify_seconds = {1, 1.07, 1.15, 1.23, 1.35, 1.47, 1.59, 1.71, 1.87}});
            std::size_t round = 0, drafted = 0;
            const world in{[&](std::size_t) { return round < rejected ? std::size_t{99} : std::size_t{0}; },
                           [&](std::size_t rows) {
                               const double slow = std::max(1.0, start - 0.06 * static_cast<double>(round));
                               return slow * (1 + 0.09 * static_cast<double>(rows - 1));
                           }};
            for (; round < 80; ++round) {
                const total spent = live(policy, in, 1);
                if (round >= rejected) drafted += spent.drafted;
            }
            BOOST_TEST(drafted > 50u, "from " << start << ", after " << rejected << ": " << drafted);
        }
    }
}

/// One plain pass is all that is known of plain decoding at first, and it may have been slow: then drafts look cheap.
BOOST_AUTO_TEST_CASE(a_slow_first_plain_pass_costs_no_more_than_two_passes_and_a_draft) {
    for (const double a_row : {0.1, 0.3, 1.0}) {
        for (const double slow : {1.0, 2.0, 3.0, 10.0}) {
            tree_planner policy;
            bool first = true;
            const world in{[](std::size_t) { return std::size_t{99}; },
                           [&](std::size_t rows) {
                               const double usual = 1 + a_row * static_cast<double>(rows - 1);
                               return std::exchange(first, false) ? slow : usual;
                           }};
            const double lost = live(policy, in, 512).seconds - (slow - 1) - 512;
            BOOST_TEST(lost <= 3 + 0.01 * 512 + 2 + 1 + a_row, "at " << a_row << " after " << slow << ": " << lost);
        }
    }
}

/// Drafting that brings no node takes its time all the same.
BOOST_AUTO_TEST_CASE(drafting_in_vain_is_charged) {
    tree_planner policy({.verify_seconds = {1, 1.1, 1.2}});
    std::size_t tried = 0;
    for (int i = 0; i < 400; ++i) {
        made_up_round round;
        round.verify_seconds = 1;
        if (policy.plan({}).tree->size() > 0) {
            round.draft_seconds = 0.5;
            ++tried;
        }
        policy.watch(round);
    }
    BOOST_TEST(tried <= 16u);
}

BOOST_AUTO_TEST_SUITE_END()
