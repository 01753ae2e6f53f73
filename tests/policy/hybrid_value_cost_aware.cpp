#include "augur/policy/hybrid_value_cost_aware.hpp"

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
using policy::hybrid_value_cost_aware;

static_assert(SpeculationPolicy<hybrid_value_cost_aware> &&
              shape_of<hybrid_value_cost_aware> == draft_shape::grown_tree);
static_assert(required_signals<hybrid_value_cost_aware> == signals::none);
static_assert(signals_of<hybrid_value_cost_aware> == signals::match_length);

BOOST_AUTO_TEST_SUITE(policy_hybrid_value_cost_aware)

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

observation seen_by(std::size_t source, std::size_t match = 0) {
    observation seen;
    seen.source = source;
    seen.match_length = match;
    return seen;
}

/// The first `right` tokens are accepted. Of the drafter after those that match: a chain of likely tokens, each by a
/// depth of its own.
made_up_round round(const hybrid_value_cost_aware& policy, const observation& seen, std::size_t right) {
    made_up_round turn;
    turn.decided_on = seen;
    std::size_t length = policy.plan(seen).length;
    if (seen.source > 0 && length > 0) {
        std::vector<float> values;
        float value = 1;
        while (values.size() < length) {
            values.push_back(value *= policy.tree_part().worth(0.9f));
            turn.decided_on.drafted = values.size();
            if (policy.tree_part().expand(turn.decided_on, std::span(values).last(1)) == 0) break;
        }
        length = policy.tree_part().keep(turn.decided_on, values);
    }
    for (std::size_t node = 0; node < length; ++node) {
        turn.proposed.push(0);
        if (seen.source > 0) turn.proposed.add_confidence(0.9f);
    }
    turn.decided.drafted = length;
    for (; turn.decided.accepted < std::min(right, length); ++turn.decided.accepted) {
        turn.decided.path.push_back(turn.decided.accepted);
    }
    return turn;
}

/// As a fallback does: the match is first; where it is worth nothing the tree is.
made_up_round turn(hybrid_value_cost_aware& policy, std::size_t match, std::size_t match_right,
                   std::size_t tree_right) {
    made_up_round result;
    if (match > 0) result = round(policy, seen_by(0, match), match_right);
    if (result.decided.drafted == 0) result = round(policy, seen_by(1), tree_right);
    policy.watch(result);
    return result;
}

BOOST_AUTO_TEST_CASE(each_learns_acceptance_from_its_own_rounds_and_costs_from_all) {
    hybrid_value_cost_aware policy({.verify_seconds = curve});
    const float before = policy.tree_part().worth(0.9f);
    for (std::size_t i = 0; i < 20; ++i) turn(policy, 5, 99, 0);
    BOOST_TEST(policy.tree_part().worth(0.9f) == before);
    BOOST_TEST(policy.chain_part().acceptance(seen_by(0, 5), 0) > 0.9);
    hybrid_value_cost_aware misled({.verify_seconds = std::vector<double>(11, 1.05)});
    for (std::size_t i = 0; i < 20; ++i) turn(misled, 7, 99, 0);
    BOOST_TEST(misled.tree_part().verify_seconds(11) > 1.3);

    hybrid_value_cost_aware other({.verify_seconds = {1, 9, 9, 9}});  // wrong: passes over more rows cost little
    const double expected = other.chain_part().acceptance(seen_by(0, 5), 0);
    for (std::size_t i = 0; i < 300; ++i) turn(other, 0, 0, 99);
    BOOST_TEST(other.chain_part().acceptance(seen_by(0, 5), 0) == expected);
    BOOST_TEST(other.chain_part().verify_seconds(2) < 2);
}

/// What the trees save is not the chains' to lose.
BOOST_AUTO_TEST_CASE(each_spends_its_own_savings) {
    hybrid_value_cost_aware policy({.verify_seconds = curve});
    const double before = policy.chain_part().allowance();
    for (std::size_t i = 0; i < 30; ++i) turn(policy, 0, 0, 99);
    BOOST_TEST(policy.chain_part().allowance() < before + 1);
    BOOST_TEST(policy.tree_part().allowance() > 10);
}

BOOST_AUTO_TEST_CASE(a_round_that_measures_plain_decoding_is_plain_for_both) {
    hybrid_value_cost_aware policy({.verify_seconds = curve});
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
    const hybrid_value_cost_aware fresh;
    BOOST_TEST(fresh.plan(seen_by(0, 7)).length == 0u);
    BOOST_TEST(fresh.plan(seen_by(1)).length == 0u);
}

BOOST_AUTO_TEST_CASE(where_nothing_is_accepted_little_is_lost) {
    for (const std::size_t every : {1u, 2u, 5u}) {
        hybrid_value_cost_aware policy;
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
            trees += view.proposed.is_chain() ? 0 : 1;
        }
    }
};

/// Learns from times that are made up, so that a decoding goes the same way wherever it runs.
struct by_made_up_times : hybrid_value_cost_aware {
    using hybrid_value_cost_aware::hybrid_value_cost_aware;

    void watch(const auto& view) {
        made_up_round round{.decided = view.decided, .decided_on = view.decided_on};
        for (std::size_t node = 0; node < view.proposed.size(); ++node) {
            round.proposed.push(view.proposed.tokens()[node], view.proposed.parent(node));
        }
        for (const float probability : view.proposed.confidences()) round.proposed.add_confidence(probability);
        hybrid_value_cost_aware::watch(round);
    }
};

BOOST_AUTO_TEST_CASE(a_decoding_keeps_the_text_and_drafts_both) {
    const auto target = testing::hashed_model(12, 1);
    const auto draft = testing::noisy_model(target, 0.4);
    const by_made_up_times policy({.verify_seconds = curve});
    const draft::draft_model trees(draft, draft::dynamic_tree{.depth = 4, .top_k = 3, .nodes = 8});
    const auto scheme = speculate(draft::fallback(draft::prompt_lookup(3), trees), target, policy, accept::coupled{});
    decode::options options;
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
    const auto r = testing::policy_laws(hybrid_value_cost_aware({.verify_seconds = curve}));
    BOOST_TEST(r.kept(), r);
}

BOOST_AUTO_TEST_CASE(the_next_text_begins_with_what_was_learned) {
    hybrid_value_cost_aware policy({.verify_seconds = curve});
    for (std::size_t i = 0; i < 100; ++i) turn(policy, i % 2 == 0 ? 7 : 0, 99, 0);
    const policy::learned_state learned = policy.learned();
    BOOST_TEST(learned.passes.size() == 33u);
    const hybrid_value_cost_aware next({}, learned);
    BOOST_TEST(next.chain_part().acceptance(seen_by(0, 7), 3) > 0.8);
    BOOST_TEST(next.tree_part().worth(0.9f) < 0.6f);
    BOOST_TEST(std::abs(next.tree_part().verify_seconds(5) - policy.tree_part().verify_seconds(5)) < 0.02);
    BOOST_TEST(next.plan(seen_by(0, 7)).length > 5u);
    const auto refused = [](const char* value) {
        return [value](const error& e) { return std::string(e.what()).find(value) != std::string::npos; };
    };
    BOOST_CHECK_EXCEPTION(hybrid_value_cost_aware({}, policy::cost_aware().learned()), error, refused("drafters"));
    BOOST_CHECK_EXCEPTION(hybrid_value_cost_aware({}, policy::value_cost_aware().learned()), error,
                          refused("drafters"));
    policy::learned_state fewer = learned;
    fewer.accepted.pop_back();
    BOOST_CHECK_EXCEPTION(hybrid_value_cost_aware({}, fewer), error, refused("groups of drafts"));
}

BOOST_AUTO_TEST_CASE(refuses_what_makes_no_policy) {
    const auto names = [](const char* value) {
        return [value](const error& e) { return std::string(e.what()).find(value) != std::string::npos; };
    };
    BOOST_CHECK_EXCEPTION(hybrid_value_cost_aware({.chains = 0}), error, names("use value_cost_aware instead"));
    BOOST_CHECK_EXCEPTION(hybrid_value_cost_aware({.max_length = 0}), error, names("max_length is 0"));
    BOOST_CHECK_EXCEPTION(hybrid_value_cost_aware({.max_nodes = 257}), error, names("257"));
    BOOST_CHECK_EXCEPTION(hybrid_value_cost_aware({.budget = 1}), error, names("budget is 1"));
    std::ostringstream out;
    out << hybrid_value_cost_aware({.chains = 2});
    BOOST_TEST(out.str().starts_with("hybrid_value_cost_aware{.chains=2, .chain=cost_aware{.max_length=10"), out.str());
}

BOOST_AUTO_TEST_SUITE_END()
