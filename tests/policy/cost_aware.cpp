#include "augur/policy/cost_aware.hpp"

#include <augur/decode/generate.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/draft/fallback.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/policy_laws.hpp>
#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

using namespace augur;
using policy::cost_aware;
using policy::cost_aware_options;

using before_planned = cost_aware<draft_shape::chain, draft_shape::tree>;
using before_grown = cost_aware<draft_shape::chain, draft_shape::grown_tree>;
using both = boost::mpl::list<before_planned, before_grown>;

static_assert(std::is_same_v<decltype(cost_aware({.max_length = 3})), cost_aware<draft_shape::chain>>);
static_assert(SpeculationPolicy<cost_aware<>> && shape_of<cost_aware<>> == draft_shape::chain);
static_assert(shape_of<cost_aware<draft_shape::tree>> == draft_shape::tree);
static_assert(shape_of<cost_aware<draft_shape::grown_tree>> == draft_shape::grown_tree);
static_assert(SpeculationPolicy<before_planned> && shape_of<before_planned> == draft_shape::tree);
static_assert(SpeculationPolicy<before_grown> && shape_of<before_grown> == draft_shape::grown_tree);
static_assert(required_signals<before_planned> == signals::none && required_signals<before_grown> == signals::none);
static_assert(signals_of<before_planned> == signals::match_length);
static_assert(signals_of<before_grown> == signals::match_length);

BOOST_AUTO_TEST_SUITE(policy_cost_aware)

constexpr double a_row = 0.05;  // of a pass
const std::vector<double> curve{1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.35, 1.4, 1.45, 1.5, 1.55};

struct made_up_round {
    proposal<point_mass> proposed{};
    verdict decided{};
    observation decided_on{};

    outcome result() const {
        const double rows = 1 + static_cast<double>(decided.drafted);
        return {decided_on, decided.drafted, decided.accepted, 0.01 * static_cast<double>(decided.drafted),
                1 + a_row * rows};
    }
};

/// A match of so many tokens, or none, which is the other's turn.
observation seen_by(std::size_t source, std::size_t match = 0) {
    observation seen;
    seen.source = source;
    seen.match_length = match;
    return seen;
}

/// Tokens that the plan for what is seen drafts.
std::size_t planned(const auto& policy, const observation& seen) {
    const draft_plan plan = policy.plan(seen);
    return plan.tree != nullptr ? plan.tree->size() : plan.length;
}

/// The proposal of a plan.
void draft(const before_planned& policy, made_up_round& round) {
    const topology& plan = *policy.plan(round.decided_on).tree;
    for (std::size_t node = 0; node < plan.size(); ++node) round.proposed.push(0, plan.parents()[node]);
}
/// Of the drafter after those that match: a chain of likely tokens, each by a depth of its own.
void draft(const before_grown& policy, made_up_round& round) {
    std::size_t length = policy.plan(round.decided_on).length;
    const bool grows = round.decided_on.source > 0 && length > 0;
    if (grows) {
        std::vector<float> values;
        float value = 1;
        while (values.size() < length) {
            values.push_back(value *= policy.tree_part().worth(0.9f));
            round.decided_on.drafted = values.size();
            if (policy.tree_part().expand(round.decided_on, std::span(values).last(1)) == 0) break;
        }
        length = policy.tree_part().keep(round.decided_on, values);
    }
    for (std::size_t node = 0; node < length; ++node) {
        round.proposed.push(0);
        if (round.decided_on.source > 0) round.proposed.add_confidence(0.9f);
    }
}

/// A round of the plan for what is seen: the first `right` tokens of each path's first children are accepted.
made_up_round round(const auto& policy, const observation& seen, std::size_t right) {
    made_up_round turn;
    turn.decided_on = seen;
    draft(policy, turn);
    turn.decided.drafted = turn.proposed.size();
    const auto parents = parents_of(turn.proposed);
    std::int32_t parent = after_prefix;
    for (; turn.decided.accepted < right; ++turn.decided.accepted) {
        const std::size_t child = parents::next_child(parents, turn.proposed.size(), parent, 0);
        if (child == turn.proposed.size()) break;
        turn.decided.path.push_back(child);
        parent = static_cast<std::int32_t>(child);
    }
    return turn;
}

/// As a fallback does: the match is first; where it is worth nothing the tree is.
made_up_round turn(auto& policy, std::size_t match, std::size_t match_right, std::size_t tree_right) {
    made_up_round result;
    if (match > 0) result = round(policy, seen_by(0, match), match_right);
    if (result.decided.drafted == 0) result = round(policy, seen_by(1), tree_right);
    policy.watch(result);
    return result;
}

/// How likely a node of a tree is accepted that the drafter is rather sure of.
double believed(const policy::tree_planner<>& trees) {
    return trees.acceptance(0, 0);
}
double believed(const policy::growth_planner& trees) {
    return double{trees.worth(0.9f)};
}

BOOST_AUTO_TEST_CASE(matches_get_chains_and_the_other_drafter_trees) {
    before_planned policy({.verify_seconds = curve});
    std::size_t chains = 0, trees = 0;
    for (std::size_t i = 0; i < 200; ++i) {
        const std::size_t match = i % 2 == 0 ? 7 : 0;
        const made_up_round round = turn(policy, match, 99, 2);
        if (round.decided_on.source == 0) {
            BOOST_TEST(round.proposed.is_chain());
            chains += round.decided.drafted > 0 ? 1 : 0;
        } else {
            trees += round.decided.drafted > 0 ? 1 : 0;
        }
    }
    BOOST_TEST(chains > 80u);
    BOOST_TEST(trees > 80u);
    BOOST_TEST(policy.plan(seen_by(0, 7)).tree->size() == 10u);
    BOOST_TEST(policy.plan(seen_by(0, 7)).tree->is_chain());
    const topology& tree = *policy.plan(seen_by(1)).tree;
    BOOST_TEST(tree.depth() >= 2u);
    BOOST_TEST(tree.depth() <= 3u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(each_learns_acceptance_from_its_own_rounds_and_costs_from_all, Policy, both) {
    Policy policy({.verify_seconds = curve});
    const double before = believed(policy.tree_part());
    for (std::size_t i = 0; i < 20; ++i) turn(policy, 5, 99, 0);
    BOOST_TEST(believed(policy.tree_part()) == before);
    BOOST_TEST(policy.chain_part().acceptance(seen_by(0, 5), 0) > 0.9);
    Policy misled({.verify_seconds = std::vector<double>(11, 1.05)});
    for (std::size_t i = 0; i < 20; ++i) turn(misled, 7, 99, 0);
    BOOST_TEST(misled.tree_part().verify_seconds(11) > 1.3);

    Policy other({.verify_seconds = {1, 9, 9, 9}});  // wrong: passes over more rows cost little
    const double expected = other.chain_part().acceptance(seen_by(0, 5), 0);
    for (std::size_t i = 0; i < 300; ++i) turn(other, 0, 0, 99);
    BOOST_TEST(other.chain_part().acceptance(seen_by(0, 5), 0) == expected);
    BOOST_TEST(other.chain_part().verify_seconds(2) < 2);
    if constexpr (Policy::plans == draft_shape::grown_tree) return;  // which grows none larger
    BOOST_TEST(believed(other.tree_part()) > 0.9);
    BOOST_TEST(other.chain_part().verify_seconds(3) < 2);
}

/// What the trees save is not the chains' to lose.
BOOST_AUTO_TEST_CASE_TEMPLATE(each_spends_its_own_savings, Policy, both) {
    Policy policy({.verify_seconds = curve});
    const double before = policy.chain_part().allowance();
    for (std::size_t i = 0; i < 30; ++i) turn(policy, 0, 0, 99);
    BOOST_TEST(policy.chain_part().allowance() < before + 1);
    BOOST_TEST(policy.tree_part().allowance() > 10);
}

/// A token by a chain of a match of two costs less time than it is worth beside plain decoding, not beside good trees.
BOOST_AUTO_TEST_CASE(what_time_yields_with_trees_is_what_a_chain_is_weighed_against) {
    before_planned dear({.verify_seconds = {1, 1.4, 1.8, 2.2}});
    BOOST_TEST(dear.plan(seen_by(0, 2)).tree->size() > 0u);
    for (std::size_t i = 0; i < 10; ++i) {
        made_up_round round;
        round.decided_on = seen_by(1);
        round.decided.accepted = round.decided.drafted = 3;
        for (std::size_t node = 0; node < 3; ++node) {
            round.proposed.push(0, static_cast<std::int32_t>(node) - 1);
            round.decided.path.push_back(node);
        }
        dear.watch(round);
    }
    BOOST_TEST(dear.plan(seen_by(0, 2)).tree->size() == 0u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_round_that_measures_plain_decoding_is_plain_for_both, Policy, both) {
    Policy policy({.verify_seconds = curve});
    std::size_t since = 0, longest = 0, plain = 0;
    for (std::size_t i = 0; i < 200; ++i) {
        const made_up_round round = turn(policy, i % 3 == 0 ? 7 : 0, 99, 99);
        since = round.decided.drafted == 0 ? 0 : since + 1;
        plain += round.decided.drafted == 0 ? 1 : 0;
        longest = std::max(longest, since);
    }
    BOOST_TEST(longest == cost_aware_options<>::plain_after);
    BOOST_TEST(plain >= 5u);
    BOOST_TEST(plain <= 10u);
    const Policy fresh;
    BOOST_TEST(planned(fresh, seen_by(0, 7)) == 0u);
    BOOST_TEST(planned(fresh, seen_by(1)) == 0u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(where_nothing_is_accepted_little_is_lost, Policy, both) {
    for (const std::size_t every : {1u, 2u, 5u}) {
        Policy policy;
        double seconds = 0;
        std::size_t drafted = 0;
        for (std::size_t i = 0; i < 512; ++i) {
            const outcome happened = turn(policy, i % every == 0 ? 1 + i % 7 : 0, 0, 0).result();
            seconds += happened.verify_seconds + happened.draft_seconds;
            drafted += happened.drafted > 0 ? 1 : 0;
        }
        BOOST_TEST(seconds <= 1.02 * 512 * (1 + a_row), "every " << every << ": " << seconds);
        BOOST_TEST(drafted > 3u);
    }
}

struct rounds_seen {
    std::size_t chains = 0, trees = 0, branched = 0;
    void watch(const auto& view) {
        if (view.proposed.size() == 0) return;
        if (view.decided_on.source == 0) {
            ++chains;
            BOOST_TEST(view.proposed.is_chain());
        } else {
            ++trees;
            branched += view.proposed.is_chain() ? 0 : 1;
        }
    }
};

/// Learns from times that are made up, so that a decoding goes the same way wherever it runs.
struct by_made_up_times : before_grown {
    using before_grown::before_grown;

    void watch(const auto& view) {
        made_up_round round{.decided = view.decided, .decided_on = view.decided_on};
        for (std::size_t node = 0; node < view.proposed.size(); ++node) {
            round.proposed.push(view.proposed.tokens()[node], view.proposed.parent(node));
        }
        for (const float probability : view.proposed.confidences()) round.proposed.add_confidence(probability);
        before_grown::watch(round);
    }
};

/// The text of a decoding with lookups before trees is that of plain decoding.
rounds_seen keeps_the_text(const auto& target, const auto& trees, const auto& policy, bool timed) {
    const auto scheme = speculate(draft::fallback(draft::prompt_lookup(3), trees), target, policy, accept::coupled{});
    decode::options options{.timed = timed};
    options.stop.max_tokens = 300;
    options.sampling.temperature.value = 0.7f;
    rounds_seen seen;
    const std::vector<token> prompt{1, 2, 3, 4, 1, 2, 3};
    const auto decoded = decode::generate(scheme, prompt, options, seen);
    BOOST_TEST(decoded.tokens == decode::generate(plain(target), prompt, options).tokens,
               boost::test_tools::per_element());
    return seen;
}

BOOST_AUTO_TEST_CASE(a_decoding_keeps_the_text_and_drafts_both) {
    const auto target = testing::hashed_model(12, 1);
    const auto draft = testing::noisy_model(target, 0.4);
    const before_planned by_plan({.verify_seconds = std::vector<double>(33, 2e-3)});  // as an untimed round has
    const rounds_seen of_plans = keeps_the_text(target, draft::draft_model(draft), by_plan, false);
    BOOST_TEST(of_plans.chains > 0u);
    BOOST_TEST(of_plans.trees > 0u);
    const draft::draft_model trees(draft, draft::dynamic_tree{.depth = 4, .top_k = 3, .nodes = 8});
    const rounds_seen of_growth = keeps_the_text(target, trees, by_made_up_times({.verify_seconds = curve}), true);
    BOOST_TEST(of_growth.chains > 0u);
    BOOST_TEST(of_growth.branched > 0u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_laws_of_policies_hold, Policy, both) {
    const auto r = testing::policy_laws(Policy({.verify_seconds = curve}));
    BOOST_TEST(r.kept(), r);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_next_text_begins_with_what_was_learned, Policy, both) {
    Policy policy({.verify_seconds = curve});
    for (std::size_t i = 0; i < 100; ++i) turn(policy, i % 2 == 0 ? 7 : 0, 99, 0);
    const policy::learned_state learned = policy.learned();
    BOOST_TEST(learned.passes.size() == 33u);
    const Policy next({}, learned);
    BOOST_TEST(next.chain_part().acceptance(seen_by(0, 7), 3) > 0.8);
    BOOST_TEST(believed(next.tree_part()) < (Policy::plans == draft_shape::tree ? 0.3 : 0.6));
    BOOST_TEST(std::abs(next.tree_part().verify_seconds(5) - policy.tree_part().verify_seconds(5)) < 0.02);
    BOOST_TEST(planned(next, seen_by(0, 7)) > 5u);
    const auto refused = [](const char* value) {
        return [value](const error& e) { return std::string(e.what()).find(value) != std::string::npos; };
    };
    BOOST_CHECK_EXCEPTION(Policy({}, cost_aware().learned()), error, refused("drafters"));
    BOOST_CHECK_EXCEPTION(Policy({}, cost_aware<Policy::plans>().learned()), error, refused("drafters"));
    policy::learned_state fewer = learned;
    fewer.accepted.pop_back();
    BOOST_CHECK_EXCEPTION(Policy({}, fewer), error, refused("groups of drafts"));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(parts_are_as_large_as_was_asked_for, Policy, both) {
    const Policy policy({.max_length = 6, .max_nodes = 12, .max_depth = 3});
    BOOST_TEST(policy.chain_part().options().max_length == 6u);
    BOOST_TEST(policy.tree_part().options().max_nodes == 12u);
    BOOST_TEST(policy.tree_part().options().max_depth == 3u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(refuses_what_makes_no_policy, Policy, both) {
    const auto names = [](const char* value) {
        return [value](const error& e) { return std::string(e.what()).find(value) != std::string::npos; };
    };
    BOOST_CHECK_EXCEPTION(Policy({.chains = 0}), error, names("chains is 0"));
    BOOST_CHECK_EXCEPTION(Policy({.max_length = 0}), error, names("max_length is 0"));
    BOOST_CHECK_EXCEPTION(Policy({.max_nodes = 257}), error, names("257"));
    BOOST_CHECK_EXCEPTION(Policy({.budget = 1}), error, names("budget is 1"));
    BOOST_CHECK_EXCEPTION(Policy({.verify_seconds = {1, 0}}), error, names("holds 0"));
    BOOST_CHECK_EXCEPTION(cost_aware({.max_length = 0}), error, names("max_length is 0"));
    BOOST_CHECK_EXCEPTION(cost_aware<draft_shape::tree>({.max_nodes = 0}), error, names("max_nodes is 0"));
    BOOST_CHECK_EXCEPTION(cost_aware<draft_shape::grown_tree>({.credit = 17}), error, names("credit is 17"));
}

BOOST_AUTO_TEST_CASE(prints_itself) {
    const auto shown = [](const auto& policy) {
        std::ostringstream out;
        out << policy;
        return out.str();
    };
    BOOST_TEST(shown(cost_aware({.verify_seconds = {1, 1.5}})) ==
               "cost_aware{.max_length=16, .memory=0.95, .probe_after=16, .budget=0.01, .verify_seconds={1, 1.5}}");
    const std::string trees = "{.max_nodes=32, .max_depth=8, .memory=0.98, .budget=0.01}";
    BOOST_TEST(shown(cost_aware<draft_shape::tree>()) == "cost_aware<tree>" + trees);
    BOOST_TEST(shown(cost_aware<draft_shape::grown_tree>()) == "cost_aware<grown_tree>" + trees);
    BOOST_TEST(shown(before_planned({.chains = 2}))
                   .starts_with("cost_aware<chain, tree>{.chains=2, .chain=cost_aware{.max_length=10"));
    const std::string both_shown = shown(before_grown());
    BOOST_TEST(both_shown.starts_with("cost_aware<chain, grown_tree>{.chains=1, .chain=cost_aware{.max_length=10"));
    BOOST_TEST(both_shown.find(", .tree=cost_aware<grown_tree>{.max_nodes=32") != std::string::npos, both_shown);
}

BOOST_AUTO_TEST_SUITE_END()
