#include "augur/policy/growth_planner.hpp"

#include <algorithm>
#include <array>
#include <augur/decode/generate.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/policy_laws.hpp>
#include <augur/testing/promise.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace augur;
using policy::growth_planner;

static_assert(SpeculationPolicy<growth_planner> && shape_of<growth_planner> == draft_shape::grown_tree);
static_assert(required_signals<growth_planner> == signals::none);

BOOST_AUTO_TEST_SUITE(policy_growth_planner)

/// What watchers need of a round that was made up.
struct made_up_round {
    proposal<point_mass> proposed{};
    verdict decided{};
    observation decided_on{};
    double draft_seconds = 0, verify_seconds = 0, accept_seconds = 0;

    outcome result() const {
        return {decided_on, decided.drafted, decided.accepted, draft_seconds, verify_seconds, accept_seconds};
    }
};

constexpr std::size_t width = 4;

/// Of the passes of worlds whose rows cost little.
std::vector<double> flat() {
    std::vector<double> seconds;
    for (std::size_t rows = 1; rows <= 33; ++rows) seconds.push_back(1 + 0.02 * static_cast<double>(rows - 1));
    return seconds;
}

/// A drafter of dynamic trees and a text: what it believes of the children of any node, the best first; which of them
/// the text goes on with, width where with none; and what passes and depths take.
struct world {
    std::array<double, width> believed{0.6, 0.2, 0.1, 0.05};
    std::function<std::size_t()> taken;
    std::function<double(std::size_t rows)> seconds = [](std::size_t rows) {
        return 1 + 0.02 * static_cast<double>(rows - 1);
    };
    double first_depth = 0.02, further_depth = 0.02;
    double accept_seconds = 0;  ///< of a node

    struct node {
        std::int32_t parent;
        std::size_t rank;
        float believed, value;
    };

    /// As draft::grow_by_value does.
    std::vector<node> grown(const growth_planner& policy, observation& seen) const {
        std::vector<node> all;
        std::vector<std::int32_t> level{after_prefix};
        const std::size_t depths = policy.plan(seen).length;
        while (seen.drafted < depths && !level.empty()) {
            const std::size_t first = all.size();
            for (const std::int32_t parent : level) {
                const double above = parent == after_prefix ? 1 : double{all[static_cast<std::size_t>(parent)].value};
                for (std::size_t rank = 0; rank < width; ++rank) {
                    const auto probability = static_cast<float>(believed[rank]);
                    const double value = above * double{policy.worth(probability)};
                    all.push_back({parent, rank, probability, static_cast<float>(value)});
                }
            }
            ++seen.drafted;
            level.clear();
            for (std::size_t i = first; i < all.size(); ++i) level.push_back(static_cast<std::int32_t>(i));
            sort(level, all);
            level.resize(std::min(level.size(), width));
            if (seen.drafted == depths) break;
            level.resize(std::min(level.size(), policy.expand(seen, values(level, all))));
        }
        return all;
    }
    static void sort(std::vector<std::int32_t>& nodes, const std::vector<node>& all) {
        std::stable_sort(nodes.begin(), nodes.end(), [&](std::int32_t a, std::int32_t b) {
            return all[static_cast<std::size_t>(a)].value > all[static_cast<std::size_t>(b)].value;
        });
    }
    static std::vector<float> values(const std::vector<std::int32_t>& nodes, const std::vector<node>& all) {
        std::vector<float> row;
        for (const std::int32_t each : nodes) row.push_back(all[static_cast<std::size_t>(each)].value);
        return row;
    }

    made_up_round round(const growth_planner& policy) const {
        made_up_round turn;
        const std::vector<node> all = grown(policy, turn.decided_on);
        std::vector<std::int32_t> best(all.size()), numbers(all.size(), after_prefix);
        for (std::size_t i = 0; i < all.size(); ++i) best[i] = static_cast<std::int32_t>(i);
        sort(best, all);
        if (turn.decided_on.drafted > 0) {
            best.resize(std::min(best.size(), policy.keep(turn.decided_on, values(best, all))));
        }
        std::sort(best.begin(), best.end());
        std::vector<std::size_t> ranks;
        for (const std::int32_t each : best) {
            const node& of = all[static_cast<std::size_t>(each)];
            numbers[static_cast<std::size_t>(each)] = static_cast<std::int32_t>(ranks.size());
            turn.proposed.push(0, of.parent == after_prefix ? of.parent : numbers[static_cast<std::size_t>(of.parent)]);
            turn.proposed.add_confidence(of.believed);
            ranks.push_back(of.rank);
        }
        const std::size_t nodes = ranks.size();
        std::int32_t at = after_prefix;
        for (std::size_t rank = taken(); rank < width; rank = taken()) {
            std::size_t child = 0;
            while (child < nodes && (turn.proposed.parent(child) != at || ranks[child] != rank)) ++child;
            if (child == nodes) break;
            turn.decided.path.push_back(child);
            at = static_cast<std::int32_t>(child);
        }
        turn.decided.drafted = nodes;
        turn.decided.accepted = turn.decided.path.size();
        turn.verify_seconds = seconds(nodes + 1);
        turn.accept_seconds = accept_seconds * static_cast<double>(nodes);
        const std::size_t depths = turn.decided_on.drafted;
        turn.draft_seconds = depths == 0 ? 0 : first_depth + further_depth * static_cast<double>(depths - 1);
        return turn;
    }
};

struct total {
    double tokens = 0, seconds = 0, nodes = 0, depths = 0;
    std::size_t looked = 0, drafted = 0, branched = 0;
};

total live(growth_planner& policy, const world& in, std::size_t rounds) {
    total sum;
    for (std::size_t i = 0; i < rounds; ++i) {
        const made_up_round round = in.round(policy);
        sum.tokens += static_cast<double>(round.decided.accepted + 1);
        sum.seconds += round.draft_seconds + round.verify_seconds + round.accept_seconds;
        sum.nodes += static_cast<double>(round.proposed.size());
        sum.depths += static_cast<double>(round.decided_on.drafted);
        sum.looked += round.decided_on.drafted > 0 ? 1 : 0;
        sum.drafted += round.decided.drafted > 0 ? 1 : 0;
        sum.branched += round.proposed.is_chain() ? 0 : 1;
        policy.watch(round);
    }
    return sum;
}

std::function<std::size_t()> always(std::size_t rank) {
    return [rank] { return rank; };
}
/// Each rank as often as is said, else none.
std::function<std::size_t()> as_often(std::array<double, width> shares, unsigned seed = 1) {
    return [shares, random = std::mt19937(seed)]() mutable {
        double at = std::uniform_real_distribution<>()(random);
        for (std::size_t rank = 0; rank < width; ++rank) {
            if ((at -= shares[rank]) < 0) return rank;
        }
        return width;
    };
}

BOOST_AUTO_TEST_CASE(a_draft_that_is_always_right_becomes_a_deep_chain) {
    growth_planner policy;
    const world in{.believed = {0.97, 0.01, 0.005, 0.002}, .taken = always(0)};
    live(policy, in, 150);
    const total after = live(policy, in, 50);
    BOOST_TEST(after.tokens > 50 * 8.5);  // of 9; some rounds are plain
    BOOST_TEST(after.nodes < 50 * 9.0);
    BOOST_TEST(policy.worth(0.97f) > 0.95f);
    BOOST_TEST(policy.worth(0.01f) < 0.05f);
}

BOOST_AUTO_TEST_CASE(a_draft_that_is_right_among_several_becomes_a_wide_tree) {
    growth_planner policy({.verify_seconds = flat()});
    const std::array<double, width> shares{0.3, 0.25, 0.2, 0.15};
    const world in{.believed = shares, .taken = as_often(shares)};
    live(policy, in, 150);
    const total after = live(policy, in, 100);
    BOOST_TEST(after.branched > 90u);
    BOOST_TEST(after.nodes > 100 * 4.0);
}

/// Where believed shares are true: no worse than the best of trees that have the same nodes in every round.
BOOST_AUTO_TEST_CASE(pays_more_than_a_fixed_number_of_nodes) {
    const auto run = [](std::size_t nodes, std::size_t depth, unsigned seed) {
        std::mt19937 random(seed);
        world in;
        in.seconds = [](std::size_t rows) { return 1 + 0.06 * static_cast<double>(rows - 1); };
        growth_planner policy({.max_nodes = nodes, .max_depth = depth});
        total sum;
        for (std::size_t i = 0; i < 600; ++i) {  // easy and hard rounds, which the values tell apart
            const std::array<double, width> shares =
                random() % 2 == 0 ? std::array{0.9, 0.05, 0.02, 0.01} : std::array{0.15, 0.1, 0.08, 0.05};
            in.believed = shares;
            in.taken = as_often(shares, static_cast<unsigned>(random()));
            const total one = live(policy, in, 1);
            sum.tokens += one.tokens;
            sum.seconds += one.seconds;
        }
        return sum.tokens / sum.seconds;
    };
    const double whole = run(32, 8, 1);
    BOOST_TEST(whole > 1.3);
    for (const std::size_t nodes : {1u, 2u, 3u}) BOOST_TEST(whole > run(nodes, nodes, 1), nodes);
}

BOOST_AUTO_TEST_CASE(what_the_drafter_believes_is_compared_with_what_comes_true) {
    growth_planner policy;
    const world in{.believed = {0.9, 0.05, 0.02, 0.01}, .taken = as_often({0.2, 0.05, 0.02, 0.01})};
    live(policy, in, 300);
    BOOST_TEST(std::abs(policy.worth(0.9f) - 0.2f) < 0.12f);
    BOOST_TEST(live(policy, in, 100).nodes < 100 * 3.0);
}

/// The same texts and passes: judging a node costs a third of a pass, and trees are small; nothing, and they are not.
BOOST_AUTO_TEST_CASE(what_judging_takes_is_a_cost_of_a_row) {
    const auto nodes_at = [](double accept_seconds) {
        growth_planner policy({.verify_seconds = flat()});
        const std::array<double, width> shares{0.3, 0.25, 0.2, 0.15};
        world in{.believed = shares, .taken = as_often(shares)};
        in.accept_seconds = accept_seconds;
        live(policy, in, 200);
        return live(policy, in, 100).nodes / 100;
    };
    BOOST_TEST(nodes_at(0) >= 4);
    BOOST_TEST(nodes_at(0.33) <= 1);
}

/// Rows that cost nothing up to eight, and a whole pass beyond.
BOOST_AUTO_TEST_CASE(a_step_of_the_cost_ends_the_tree) {
    growth_planner policy;
    const std::array<double, width> shares{0.6, 0.15, 0.1, 0.05};
    world in{.believed = shares, .taken = as_often(shares)};
    in.seconds = [](std::size_t rows) { return rows <= 8 ? 1.0 : 2.0; };
    in.first_depth = in.further_depth = 1e-4;
    live(policy, in, 300);
    const total after = live(policy, in, 64);
    BOOST_TEST(after.nodes <= 64 * 7.5);
    BOOST_TEST(after.nodes >= 64 * 4.0);
}

BOOST_AUTO_TEST_CASE(a_depth_that_takes_long_is_not_drafted) {
    const auto depths_at = [](double further) {
        growth_planner policy;
        world in{.taken = as_often({0.6, 0.2, 0.1, 0.05})};
        in.further_depth = further;
        live(policy, in, 200);
        const total after = live(policy, in, 100);
        return after.depths / static_cast<double>(after.looked);
    };
    BOOST_TEST(depths_at(0.005) > 3);
    BOOST_TEST(depths_at(0.8) < 1.2);
}

BOOST_AUTO_TEST_CASE(where_nothing_is_accepted_little_is_lost) {
    for (const double a_row : {0.02, 0.2, 1.0}) {
        for (const double a_depth : {0.01, 0.1, 0.5}) {
            growth_planner policy;
            world in{.taken = always(width)};
            in.seconds = [&](std::size_t rows) { return 1 + a_row * static_cast<double>(rows - 1); };
            in.first_depth = in.further_depth = a_depth;
            const total spent = live(policy, in, 512);
            BOOST_TEST(spent.seconds <= 1.02 * 512, a_row << " a row, " << a_depth << " a depth: " << spent.seconds);
            BOOST_TEST(spent.looked > 3u);
        }
    }
}

BOOST_AUTO_TEST_CASE(rows_of_several_passes_are_not_tried_for_nothing_again_and_again) {
    for (const double a_row : {2.0, 5.0, 10.0}) {
        growth_planner policy;
        world in{.taken = always(width)};
        in.seconds = [&](std::size_t rows) { return 1 + a_row * static_cast<double>(rows - 1); };
        const total spent = live(policy, in, 5000);
        BOOST_TEST(0.99 * spent.seconds <= 5000 + 3 + 2 * a_row, a_row << " a row: " << spent.seconds);
        BOOST_TEST(spent.drafted > 3u);
    }
}

BOOST_AUTO_TEST_CASE(a_drafter_that_takes_its_time_and_finds_nothing_is_asked_ever_more_seldom) {
    growth_planner policy({.verify_seconds = flat()});
    double seconds = 0;
    std::size_t asked = 0;
    for (int i = 0; i < 512; ++i) {
        made_up_round round;
        round.draft_seconds = policy.plan({}).length > 0 ? 0.5 : 0;
        round.verify_seconds = 1;
        asked += round.draft_seconds > 0 ? 1 : 0;
        seconds += 1 + round.draft_seconds;
        policy.watch(round);
    }
    BOOST_TEST(asked > 3u);
    BOOST_TEST(0.99 * seconds <= 512 + 3 + 0.5);
    for (int i = 0; i < 512; ++i) {  // of a drafter behind one that looks up, which would look up all the same
        made_up_round round{.decided_on = {.source = 1}, .draft_seconds = 0.5, .verify_seconds = 1};
        policy.watch(round);
    }
    BOOST_TEST(policy.plan({.source = 1}).length > 0u);
}

/// What drafting takes is not known before the first look, which is one depth.
BOOST_AUTO_TEST_CASE(a_first_look_at_a_dear_drafter_is_one_depth) {
    for (const double a_depth : {0.5, 1.0, 2.0}) {
        growth_planner policy({.verify_seconds = flat()});
        world in{.believed = {0.97, 0.01, 0.005, 0.002}, .taken = always(width)};
        in.first_depth = in.further_depth = a_depth;
        BOOST_TEST(live(policy, in, 1).depths == 1);
        const total spent = live(policy, in, 511);
        BOOST_TEST(spent.seconds <= 1.02 * 511, a_depth << " a depth: " << spent.seconds);
    }
}

/// Nor what is begun with in the next text, or kept of it.
BOOST_AUTO_TEST_CASE(one_slow_look_does_not_end_drafting) {
    for (const double delay : {3.0, 6.0, 17.0}) {
        growth_planner first({.verify_seconds = flat()});
        world in{.believed = {0.97, 0.01, 0.005, 0.002}, .taken = always(0)};
        in.first_depth = delay;
        live(first, in, 1);
        in.first_depth = 0.02;
        live(first, in, 40);
        growth_planner second({.verify_seconds = flat()}, first.learned());
        const total next = live(second, in, 80);
        BOOST_TEST(next.looked > 60u, "after " << delay << " passes: " << next.looked);
    }
}

/// A drafter that has become dear since what is known: no more is lost than the credit and one look.
BOOST_AUTO_TEST_CASE(what_drafting_takes_now_is_charged_in_full) {
    for (const double dearer : {5.0, 20.0, 50.0}) {
        growth_planner first({.verify_seconds = flat()});
        world in{.taken = as_often({0.6, 0.2, 0.1, 0.05})};
        live(first, in, 200);
        in.first_depth *= dearer;
        in.further_depth *= dearer;
        in.taken = always(width);
        growth_planner second({.verify_seconds = flat()}, first.learned());
        const total spent = live(second, in, 64);
        BOOST_TEST(spent.seconds <= 64 * 1.01 + 3 + 8 * in.first_depth + 1, dearer << ": " << spent.seconds);
    }
}

BOOST_AUTO_TEST_CASE(looks_become_seldom_whatever_is_remembered) {
    for (const double memory : {0.5, 0.85, 0.98}) {
        growth_planner policy({.memory = memory, .verify_seconds = flat()});
        world in{.taken = always(width)};
        in.first_depth = in.further_depth = 0.002;
        live(policy, in, 300);
        BOOST_TEST(live(policy, in, 640).looked <= 30u, memory);
    }
}

/// A depth that was never timed counts as a plain pass, and a row as the curve has it.
BOOST_AUTO_TEST_CASE(no_more_is_drafted_than_could_be_lost) {
    const std::vector<double> dear{1, 1.6, 2.2, 2.8};
    const std::vector<float> sure{1, 1, 1, 1};
    const growth_planner poor({.credit = 1, .verify_seconds = dear}), rich({.credit = 16, .verify_seconds = dear});
    BOOST_TEST(poor.keep({.drafted = 0}, sure) == 1u);
    BOOST_TEST(rich.keep({.drafted = 0}, sure) == 4u);
    const growth_planner poorer({.credit = 1, .verify_seconds = flat()});
    BOOST_TEST(poorer.expand({.drafted = 1}, sure) == 0u);
    BOOST_TEST(growth_planner({.credit = 16, .verify_seconds = flat()}).expand({.drafted = 1}, sure) == 4u);
}

BOOST_AUTO_TEST_CASE(nodes_that_are_not_worth_a_row_are_not_expanded) {
    growth_planner policy({.verify_seconds = flat()});
    live(policy, {.taken = as_often({0.6, 0.2, 0.1, 0.05})}, 20);
    BOOST_TEST(policy.expand({.drafted = 1}, std::vector<float>{0.9f, 1e-4f}) == 1u);
}

/// A round of a chain of so many nodes of which the first were accepted, from a drafter that shows its rows.
made_up_round of_chain(std::size_t nodes, std::size_t accepted, double draft_seconds) {
    made_up_round round;
    for (std::size_t node = 0; node < nodes; ++node) {
        round.proposed.push(0, static_cast<std::int32_t>(node) - 1);
        round.proposed.add_confidence(0.5f);
    }
    for (std::size_t node = 0; node < accepted; ++node) round.decided.path.push_back(node);
    round.decided.drafted = round.decided_on.drafted = nodes;
    round.decided.accepted = accepted;
    round.draft_seconds = draft_seconds;
    round.verify_seconds = flat()[nodes];
    return round;
}

BOOST_AUTO_TEST_CASE(few_nodes_are_enough) {
    for (const std::size_t nodes : {1u, 2u, 3u}) {
        growth_planner policy({.max_nodes = nodes, .verify_seconds = {1, 1.01, 1.02, 1.03}});
        BOOST_TEST(policy.expand({.drafted = 1}, std::vector<float>{0.5f}) <= 1u);
        const world in{.believed = {0.97, 0.01, 0.005, 0.002}, .taken = always(0)};
        BOOST_TEST(live(policy, in, 50).nodes > 30.0 * static_cast<double>(nodes));
    }
    growth_planner three({.max_nodes = 3, .credit = 16, .verify_seconds = {1, 1.1, 1.2, 1.3}});
    three.watch(of_chain(3, 3, 0));  // a depth costs nothing, but a node a row
    BOOST_TEST(three.expand({.drafted = 1}, std::vector<float>{1e-4f}) == 0u);
}

/// Drafters of chains say nothing of depths, and what they lose is charged all the same.
BOOST_AUTO_TEST_CASE(chains_are_charged_too) {
    growth_planner policy({.verify_seconds = flat()});
    double seconds = 0;
    for (std::size_t i = 0; i < 512; ++i) {
        made_up_round round;
        for (std::size_t node = 0; node < policy.plan({}).length; ++node) round.proposed.push(0);
        round.decided.drafted = round.proposed.size();
        round.draft_seconds = 0.1 * static_cast<double>(round.proposed.size());
        round.verify_seconds = flat()[round.proposed.size()];
        seconds += round.draft_seconds + round.verify_seconds;
        policy.watch(round);
    }
    BOOST_TEST(seconds <= 1.02 * 512, seconds);
}

/// Rows that the given curve has for nothing: one pass finds that out, and no more is lost than by the curve that is.
BOOST_AUTO_TEST_CASE(a_curve_that_is_too_cheap_costs_the_pass_that_disproves_it) {
    for (const double a_row : {0.3, 1.0, 3.0}) {
        growth_planner policy({.verify_seconds = std::vector<double>(33, 1.0)});
        world in{.taken = always(width)};
        in.seconds = [&](std::size_t rows) { return 1 + a_row * static_cast<double>(rows - 1); };
        const total spent = live(policy, in, 512);
        BOOST_TEST(0.99 * spent.seconds <= 512 + 3 + 32 * a_row + 1, "at " << a_row << ": " << spent.seconds);
        BOOST_TEST(spent.drafted > 0u);
    }
}

BOOST_AUTO_TEST_CASE(a_text_that_becomes_predictable_is_drafted_for_again) {
    std::size_t rank = width;
    growth_planner policy({.verify_seconds = flat()});
    const world in{.taken = [&] { return rank; }};
    live(policy, in, 400);
    const total before = live(policy, in, 50);
    rank = 0;
    live(policy, in, 300);
    const total after = live(policy, in, 50);
    BOOST_TEST(before.tokens == 50);
    BOOST_TEST(after.tokens > 4 * 50);
}

BOOST_AUTO_TEST_CASE(looks_that_never_pay_become_seldom) {
    growth_planner policy({.budget = 0.5});
    world in{.taken = always(width)};
    in.first_depth = 0.2;
    live(policy, in, 300);
    BOOST_TEST(live(policy, in, 640).looked <= 30u);
}

BOOST_AUTO_TEST_CASE(looks_that_paid_meanwhile_are_taken_soon_again) {
    std::size_t rank = width;
    growth_planner policy({.memory = 0.9, .budget = 0.5});
    world in{.taken = [&] { return rank; }};
    in.first_depth = 0.2;
    live(policy, in, 300);
    rank = 0;
    live(policy, in, 300);
    BOOST_TEST(live(policy, in, 50).looked > 40u);
    rank = width;
    for (std::size_t without = 0; without < 5;) without = live(policy, in, 1).looked > 0 ? 0 : without + 1;
    BOOST_TEST(live(policy, in, 60).looked >= 2u);
}

/// One slow look at one depth, then depths that take a hundredth each.
BOOST_AUTO_TEST_CASE(a_slow_look_makes_further_depths_no_cheaper) {
    growth_planner policy({.verify_seconds = flat()});
    policy.watch(of_chain(1, 1, 1.0));
    policy.watch(of_chain(8, 8, 8 * 0.01));
    BOOST_TEST(policy.learned().drafting[1].mean == 0.01, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(what_was_learned_long_ago_is_forgotten) {
    growth_planner policy({.memory = 0.5, .verify_seconds = flat()});
    for (const double a_depth : {0.010, 0.015}) {
        for (int i = 0; i < 100; ++i) {
            policy.watch(of_chain(1, 1, a_depth));
            policy.watch(of_chain(4, 4, 4 * a_depth));
        }
    }
    const auto is = boost::test_tools::tolerance(1e-9);
    for (const policy::timed& each : policy.learned().drafting) BOOST_TEST(each.mean == 0.015, is);
    // Beneath accepted nodes: 1 and 4 of them judged in turn, the newest four whole, and the leaf has no children.
    const policy::counted below = policy.learned().accepted[1].front();
    BOOST_TEST(below.judged == (4 + 1 * 0.5) / (1 - 0.25), is);
    BOOST_TEST(below.accepted == below.judged, is);
}

/// Rows cost nothing up to eight and a whole pass beyond, so that one more is free only where few are drafted.
BOOST_AUTO_TEST_CASE(a_further_row_costs_what_it_does_near_as_many_as_are_drafted) {
    std::vector<double> step(33, 2.0);
    std::fill_n(step.begin(), 8, 1.0);
    const auto expands_after = [&](std::size_t nodes) {
        growth_planner policy({.max_depth = 16, .memory = 0.9, .credit = 16, .verify_seconds = step});
        for (int i = 0; i < 20; ++i) {
            made_up_round round = of_chain(nodes, nodes, 0);
            round.verify_seconds = step[nodes];
            policy.watch(round);
        }
        return policy.expand({.drafted = 1}, std::vector<float>{0.1f});
    };
    BOOST_TEST(expands_after(4) == 1u);
    BOOST_TEST(expands_after(16) == 0u);
}

BOOST_AUTO_TEST_CASE(begins_with_a_plain_round_unless_passes_were_measured) {
    BOOST_TEST(growth_planner().plan({}).length == 0u);
    BOOST_TEST(growth_planner({.verify_seconds = {1, 1.01, 1.02, 1.03}}).plan({}).length == 8u);
}

BOOST_AUTO_TEST_CASE(plain_decoding_is_measured_again_while_drafts_pay) {
    growth_planner policy;
    const world in{.believed = {0.97, 0.01, 0.005, 0.002}, .taken = always(0)};
    live(policy, in, 100);
    BOOST_TEST(live(policy, in, 650).drafted == 640u);
    BOOST_TEST(policy.allowance() <= 16);  // however much was gained
}

BOOST_AUTO_TEST_CASE(what_is_learned_goes_into_the_next_text) {
    growth_planner first;
    const world in{.believed = {0.97, 0.01, 0.005, 0.002}, .taken = always(0), .further_depth = 0.03};
    live(first, in, 200);
    const policy::learned_state known = first.learned();
    BOOST_TEST(std::abs(first.drafting_seconds(8) - (0.02 + 7 * 0.03)) < 1e-3);
    BOOST_TEST(known.drafting.size() == 2u);
    growth_planner second({}, known);
    BOOST_TEST(second.drafting_seconds(8) == first.drafting_seconds(8));
    BOOST_TEST(second.worth(0.97f) > 0.95f);
    BOOST_TEST(live(second, in, 10).tokens > 60);
    BOOST_CHECK_THROW(growth_planner({}, {.accepted = {{}}}), error);
}

BOOST_AUTO_TEST_CASE(any_value_has_an_answer) {
    const growth_planner policy({.verify_seconds = {1, 1.01, 1.02, 1.03}});
    for (const float odd : {-1.0f, 0.0f, 2.0f, std::numeric_limits<float>::quiet_NaN()}) {
        BOOST_TEST(policy.worth(odd) >= 0.0f);
        BOOST_TEST(policy.worth(odd) <= 1.0f);
    }
    constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    for (const std::vector<float>& values :
         {std::vector<float>{}, {nan, nan}, {infinity, 1, 0}, {2, -1, -infinity}, {0, 0, 0}, {0.9f, nan, nan}}) {
        BOOST_TEST(policy.keep({.drafted = 1}, values) <= values.size());
        BOOST_TEST(policy.expand({.drafted = 1}, values) <= values.size());
    }
    BOOST_TEST(policy.keep({.drafted = 1}, std::vector<float>{0.9f, nan, nan}) == 1u);
}

struct branches_seen {
    std::size_t branched = 0, valued = 0;
    void watch(const auto& view) {
        branched += view.proposed.is_chain() ? 0 : 1;
        valued += !view.proposed.empty() && view.proposed.confidences().size() == view.proposed.size() ? 1 : 0;
    }
};

BOOST_AUTO_TEST_CASE(a_decoding_keeps_the_text_and_drafts_trees) {
    const auto target = testing::hashed_model(12, 1);
    const auto draft = testing::noisy_model(target, 0.4);
    const growth_planner policy({.max_nodes = 6, .max_depth = 3, .verify_seconds = {1, 1, 1, 1, 1, 1, 1}});
    const auto scheme = speculate(draft::draft_model(draft, draft::dynamic_tree{.depth = 3, .top_k = 3, .nodes = 6}),
                                  target, policy, accept::coupled{});
    decode::options options;
    options.stop.max_tokens = 80;
    branches_seen seen;
    const std::vector<token> prompt{1, 2};
    const auto decoded = decode::generate(scheme, prompt, options, seen);
    BOOST_TEST(decoded.tokens == decode::generate(plain(target), prompt, options).tokens,
               boost::test_tools::per_element());
    BOOST_TEST(seen.branched > 0u);
    BOOST_TEST(seen.valued > 0u);
}

/// Trees that depend on the draft's rows and on how many of their nodes are worth it, and on no clock.
struct unlearning {
    growth_planner by{{.verify_seconds = {1, 1.1, 1.2, 1.3, 1.5, 1.7, 2}}};
    static constexpr draft_shape plans = draft_shape::grown_tree;
    draft_plan plan(const observation& seen) const { return by.plan(seen); }
};

BOOST_AUTO_TEST_CASE(distributions_are_kept) {
    const auto target = testing::hashed_model(3, 1), draft = testing::hashed_model(3, 2);
    const draft::draft_model trees(draft, draft::dynamic_tree{.depth = 2, .top_k = 2, .nodes = 4});
    decode::options options;
    options.stop.max_tokens = 3;
    const auto broken = [&](auto criterion) {
        return testing::broken_promise(speculate(trees, target, unlearning{}, criterion), std::vector<token>{2, 0},
                                       options);
    };
    BOOST_TEST(broken(accept::rejection_sampling{}) == "");
    BOOST_TEST(broken(accept::coupled{}) == "");
}

BOOST_AUTO_TEST_CASE(the_laws_of_policies_hold) {
    const auto r = testing::policy_laws(growth_planner({.verify_seconds = {1, 1.1, 1.2}}));
    BOOST_TEST(r.kept(), r);
}

/// Everything takes up to twice as long for a while, and the first drafts are rejected.
BOOST_AUTO_TEST_CASE(a_slow_beginning_does_not_end_drafting) {
    for (const double start : {1.5, 1.8, 2.0}) {
        for (const std::size_t rejected : {2u, 4u, 6u}) {
            growth_planner policy({.credit = 2, .verify_seconds = {1, 1.07, 1.15, 1.23, 1.35, 1.47, 1.59, 1.71, 1.87}});
            std::size_t round = 0, drafted = 0;
            world in{.taken = [&] { return round < rejected ? width : 0; }};
            in.seconds = [&](std::size_t rows) {
                const double slow = std::max(1.0, start - 0.06 * static_cast<double>(round));
                return slow * (1 + 0.09 * static_cast<double>(rows - 1));
            };
            for (; round < 80; ++round) {
                const total spent = live(policy, in, 1);
                if (round >= rejected) drafted += spent.drafted;
            }
            BOOST_TEST(drafted > 50u, "from " << start << ", after " << rejected << ": " << drafted);
        }
    }
}

/// Behind a longer text, or in another state of the machine: drafts are worth what they were.
BOOST_AUTO_TEST_CASE(where_all_passes_take_longer_than_was_said_as_much_is_gained) {
    const std::array<double, width> shares{0.4, 0.1, 0.05, 0.02};
    std::vector<double> curve;
    for (std::size_t rows = 1; rows <= 33; ++rows) curve.push_back(1 + 0.08 * static_cast<double>(rows - 1));
    const auto rate = [&](double level) {  // beside plain decoding
        total sum;
        for (unsigned text = 0; text < 40; ++text) {
            growth_planner policy({.credit = 2, .verify_seconds = curve});
            world in{.believed = shares, .taken = as_often(shares, text)};
            in.seconds = [&](std::size_t rows) { return level * curve[rows - 1]; };
            in.first_depth = in.further_depth = 0.05 * level;
            const total of = live(policy, in, 60);
            sum.tokens += of.tokens;
            sum.seconds += of.seconds / level;
        }
        return sum.tokens / sum.seconds;
    };
    const double as_said = rate(1);
    BOOST_TEST(as_said > 1.1);
    for (const double level : {0.7, 1.2, 1.4, 1.8}) BOOST_TEST(rate(level) > 1 + 0.8 * (as_said - 1), level);
}

BOOST_AUTO_TEST_SUITE_END()
