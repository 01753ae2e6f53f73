#include "augur/policy/hybrid_cost_aware.hpp"

#include <augur/decode/generate.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/draft/fallback.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/policy_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <sstream>
#include <string>
#include <vector>

using namespace augur;
using policy::hybrid_cost_aware;

static_assert(SpeculationPolicy<hybrid_cost_aware> && shape_of<hybrid_cost_aware> == draft_shape::tree);
static_assert(required_signals<hybrid_cost_aware> == signals::none);
static_assert(signals_of<hybrid_cost_aware> == signals::match_length);

BOOST_AUTO_TEST_SUITE(policy_hybrid_cost_aware)

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

/// A round of the plan for what is seen: the first `right` tokens of each path's first children are accepted.
made_up_round round(const hybrid_cost_aware& policy, const observation& seen, std::size_t right) {
    made_up_round turn;
    turn.decided_on = seen;
    const topology& plan = *policy.plan(seen).tree;
    for (std::size_t node = 0; node < plan.size(); ++node) turn.proposed.push(0, plan.parents()[node]);
    turn.decided.drafted = plan.size();
    std::int32_t parent = after_prefix;
    for (; turn.decided.accepted < right; ++turn.decided.accepted) {
        const std::size_t child = parents::next_child(plan.parents(), plan.size(), parent, 0);
        if (child == plan.size()) break;
        turn.decided.path.push_back(child);
        parent = static_cast<std::int32_t>(child);
    }
    return turn;
}

/// As a fallback does: the match is first; where it is worth nothing the tree is.
made_up_round turn(hybrid_cost_aware& policy, std::size_t match, std::size_t match_right, std::size_t tree_right) {
    made_up_round result;
    if (match > 0) result = round(policy, seen_by(0, match), match_right);
    if (result.decided.drafted == 0) result = round(policy, seen_by(1), tree_right);
    policy.watch(result);
    return result;
}

BOOST_AUTO_TEST_CASE(matches_get_chains_and_the_other_drafter_trees) {
    hybrid_cost_aware policy({.verify_seconds = curve});
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

BOOST_AUTO_TEST_CASE(each_learns_acceptance_from_its_own_rounds_and_costs_from_all) {
    hybrid_cost_aware policy({.verify_seconds = curve});
    const double before = policy.tree_part().acceptance(0, 0);
    for (std::size_t i = 0; i < 20; ++i) turn(policy, 5, 99, 0);
    BOOST_TEST(policy.tree_part().acceptance(0, 0) == before);
    BOOST_TEST(policy.chain_part().acceptance(seen_by(0, 5), 0) > 0.9);
    hybrid_cost_aware misled({.verify_seconds = std::vector<double>(11, 1.05)});
    for (std::size_t i = 0; i < 20; ++i) turn(misled, 7, 99, 0);
    BOOST_TEST(misled.tree_part().verify_seconds(11) > 1.3);

    hybrid_cost_aware other({.verify_seconds = {1, 9, 9, 9}});  // wrong: passes over more rows cost little
    const double expected = other.chain_part().acceptance(seen_by(0, 5), 0);
    for (std::size_t i = 0; i < 300; ++i) turn(other, 0, 0, 99);
    BOOST_TEST(other.chain_part().acceptance(seen_by(0, 5), 0) == expected);
    BOOST_TEST(other.tree_part().acceptance(0, 0) > 0.9);
    BOOST_TEST(other.chain_part().verify_seconds(3) < 2);
}

/// What the trees save is not the chains' to lose; what time yields with them is what a chain is weighed against.
BOOST_AUTO_TEST_CASE(each_spends_its_own_savings) {
    hybrid_cost_aware policy({.verify_seconds = curve});
    const double before = policy.chain_part().allowance();
    for (std::size_t i = 0; i < 30; ++i) turn(policy, 0, 0, 99);
    BOOST_TEST(policy.chain_part().allowance() < before + 1);
    BOOST_TEST(policy.tree_part().allowance() > 10);
    // A token by a chain of a match of one costs less time than it is worth beside plain decoding, not beside this.
    hybrid_cost_aware dear({.verify_seconds = {1, 1.4, 1.8, 2.2}});
    BOOST_TEST(dear.plan(seen_by(0, 1)).tree->size() > 0u);
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
    BOOST_TEST(dear.plan(seen_by(0, 1)).tree->size() == 0u);
}

BOOST_AUTO_TEST_CASE(a_round_that_measures_plain_decoding_is_plain_for_both) {
    hybrid_cost_aware policy({.verify_seconds = curve});
    std::size_t since = 0, longest = 0, plain = 0;
    for (std::size_t i = 0; i < 200; ++i) {
        const made_up_round round = turn(policy, i % 3 == 0 ? 7 : 0, 99, 99);
        since = round.decided.drafted == 0 ? 0 : since + 1;
        plain += round.decided.drafted == 0 ? 1 : 0;
        longest = std::max(longest, since);
    }
    BOOST_TEST(longest == policy::cost_aware::plain_after);
    BOOST_TEST(plain >= 5u);
    BOOST_TEST(plain <= 10u);
    const hybrid_cost_aware fresh;
    BOOST_TEST(fresh.plan(seen_by(0, 7)).tree->size() == 0u);
    BOOST_TEST(fresh.plan(seen_by(1)).tree->size() == 0u);
}

BOOST_AUTO_TEST_CASE(where_nothing_is_accepted_little_is_lost) {
    for (const std::size_t every : {1u, 2u, 5u}) {
        hybrid_cost_aware policy;
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
    std::size_t chains = 0, trees = 0;
    void watch(const auto& view) {
        if (view.proposed.size() == 0) return;
        if (view.decided_on.source == 0) {
            ++chains;
            BOOST_TEST(view.proposed.is_chain());
        } else {
            ++trees;
        }
    }
};

BOOST_AUTO_TEST_CASE(a_decoding_keeps_the_text_and_drafts_both) {
    const auto target = testing::hashed_model(12, 1);
    const auto draft = testing::noisy_model(target, 0.4);
    hybrid_cost_aware policy({.verify_seconds = std::vector<double>(33, 2e-3)});  // as an untimed round has
    const auto scheme = speculate(draft::fallback(draft::prompt_lookup(3), draft::draft_model(draft)), target, policy,
                                  accept::coupled{});
    decode::options options{.timed = false};
    options.stop.max_tokens = 300;
    options.sampling.temperature.value = 0.7f;
    rounds_seen seen;
    const std::vector<token> prompt{1, 2, 3, 4, 1, 2, 3};
    const auto decoded = decode::generate(scheme, prompt, options, seen);
    BOOST_TEST(decoded.tokens == decode::generate(plain(target), prompt, options).tokens,
               boost::test_tools::per_element());
    BOOST_TEST(seen.chains > 0u);
    BOOST_TEST(seen.trees > 0u);
}

BOOST_AUTO_TEST_CASE(the_laws_of_policies_hold) {
    const auto r = testing::policy_laws(hybrid_cost_aware({.verify_seconds = curve}));
    BOOST_TEST(r.kept(), r);
}

BOOST_AUTO_TEST_CASE(the_next_text_begins_with_what_was_learned) {
    hybrid_cost_aware policy({.verify_seconds = curve});
    for (std::size_t i = 0; i < 100; ++i) turn(policy, i % 2 == 0 ? 7 : 0, 99, 0);
    const policy::learned_state learned = policy.learned();
    BOOST_TEST(learned.passes.size() == 33u);
    const hybrid_cost_aware next({}, learned);
    BOOST_TEST(next.chain_part().acceptance(seen_by(0, 7), 3) > 0.8);
    BOOST_TEST(next.tree_part().acceptance(0, 0) < 0.3);
    BOOST_TEST(std::abs(next.tree_part().verify_seconds(5) - policy.tree_part().verify_seconds(5)) < 0.02);
    BOOST_TEST(next.plan(seen_by(0, 7)).tree->size() > 5u);
    const auto refused = [](const char* value) {
        return [value](const error& e) { return std::string(e.what()).find(value) != std::string::npos; };
    };
    BOOST_CHECK_EXCEPTION(hybrid_cost_aware({}, policy::cost_aware().learned()), error, refused("drafters"));
    BOOST_CHECK_EXCEPTION(hybrid_cost_aware({}, policy::tree_cost_aware().learned()), error, refused("drafters"));
    policy::learned_state fewer = learned;
    fewer.accepted.pop_back();
    BOOST_CHECK_EXCEPTION(hybrid_cost_aware({}, fewer), error, refused("groups of drafts"));
}

BOOST_AUTO_TEST_CASE(trees_are_as_large_as_was_asked_for) {
    const hybrid_cost_aware policy({.max_nodes = 12, .max_depth = 3});
    BOOST_TEST(policy.tree_part().options().max_nodes == 12u);
    BOOST_TEST(policy.tree_part().options().max_depth == 3u);
}

BOOST_AUTO_TEST_CASE(refuses_what_makes_no_policy) {
    const auto names = [](const char* value) {
        return [value](const error& e) { return std::string(e.what()).find(value) != std::string::npos; };
    };
    BOOST_CHECK_EXCEPTION(hybrid_cost_aware({.chains = 0}), error, names("chains is 0"));
    BOOST_CHECK_EXCEPTION(hybrid_cost_aware({.max_length = 0}), error, names("max_length is 0"));
    BOOST_CHECK_EXCEPTION(hybrid_cost_aware({.max_nodes = 257}), error, names("257"));
    BOOST_CHECK_EXCEPTION(hybrid_cost_aware({.budget = 1}), error, names("budget is 1"));
    BOOST_CHECK_EXCEPTION(hybrid_cost_aware({.verify_seconds = {1, 0}}), error, names("holds 0"));
    BOOST_CHECK_EXCEPTION(policy::cost_aware({.credit = 9}), error, names("credit is 9"));
    BOOST_CHECK_EXCEPTION(policy::cost_aware({.credit = NAN}), error, names("credit is nan"));
    BOOST_CHECK_EXCEPTION(policy::tree_cost_aware({.credit = 17}), error, names("credit is 17"));
    std::ostringstream out;
    out << hybrid_cost_aware({.chains = 2});
    BOOST_TEST(out.str().starts_with("hybrid_cost_aware{.chains=2, .chain=cost_aware{.max_length=10"), out.str());
}

BOOST_AUTO_TEST_SUITE_END()
