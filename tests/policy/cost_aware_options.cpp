#include "augur/policy/cost_aware_options.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>

using namespace augur;
using policy::cost_aware_options;

BOOST_AUTO_TEST_SUITE(policy_cost_aware_options)

using chain_options = cost_aware_options<>;
using tree_options = cost_aware_options<draft_shape::tree>;
using hybrid_options = cost_aware_options<draft_shape::chain, draft_shape::grown_tree>;

policy::time_account account_of(const auto& options) {
    return {options.terms(), options.verify_seconds};
}

/// That whatever keeps an account by such options is refused, with these words.
void refuses(const auto& options, const std::string& expected) {
    BOOST_CHECK_EXCEPTION(account_of(options), error, [&](const error& e) {
        BOOST_TEST(std::string(e.what()) == expected);
        return true;
    });
}

BOOST_AUTO_TEST_CASE(impossible_options_of_chains_are_refused_with_their_values) {
    const auto refused = [](const chain_options& options, const std::string& expected) { refuses(options, expected); };
    refused({.max_length = 0}, "cost_aware: max_length is 0; then it could never draft");
    refused({.max_length = 4097}, "cost_aware: max_length is 4097; it must be at most 4096");
    refused({.max_length = SIZE_MAX}, "cost_aware: max_length is 18446744073709551615; it must be at most 4096");
    refused({.memory = 1.5}, "cost_aware: memory is 1.5; it must be between 0 and 1");
    refused({.memory = 0}, "cost_aware: memory is 0; it must be between 0 and 1");
    refused({.memory = 1}, "cost_aware: memory is 1; it must be between 0 and 1");
    refused({.probe_after = 0}, "cost_aware: probe_after is 0; it must be at least 1");
    refused({.budget = 1}, "cost_aware: budget is 1; it must be at least 0 and less than 1");
    refused({.budget = -0.5}, "cost_aware: budget is -0.5; it must be at least 0 and less than 1");
    refused({.credit = 9}, "cost_aware: credit is 9; it must be finite and at most 8");
    refused({.credit = NAN}, "cost_aware: credit is nan; it must be finite and at most 8");
    refused({.verify_seconds = {1, 0}}, "cost_aware: verify_seconds holds 0; it must be positive and finite");
    refused({.verify_seconds = {INFINITY}}, "cost_aware: verify_seconds holds inf; it must be positive and finite");
    BOOST_TEST(chain_options{.max_length = 4096}.terms().most_rows == 4097u);
}

BOOST_AUTO_TEST_CASE(impossible_options_of_trees_are_refused_with_their_values) {
    const auto refused = [](const tree_options& options, const std::string& expected) { refuses(options, expected); };
    refused({.max_nodes = 0}, "cost_aware: max_nodes is 0; it must be from 1 to 256");
    refused({.max_nodes = 257}, "cost_aware: max_nodes is 257; it must be from 1 to 256");
    refused({.max_depth = 0}, "cost_aware: max_depth is 0; then it could never draft");
    refused({.max_depth = 4097}, "cost_aware: max_depth is 4097; it must be at most 4096");
    refused({.memory = 1}, "cost_aware: memory is 1; it must be between 0 and 1");
    refused({.budget = 1}, "cost_aware: budget is 1; it must be at least 0 and less than 1");
    refused({.credit = 17}, "cost_aware: credit is 17; it must be finite and at most 16");
    refused({.verify_seconds = {1, 0}}, "cost_aware: verify_seconds holds 0; it must be positive and finite");
    BOOST_TEST((tree_options{.max_nodes = 256, .max_depth = 4096}.terms().most_rows == 257u));
}

BOOST_AUTO_TEST_CASE(chains_and_trees_have_half_of_the_budget_each_and_credits_of_their_own) {
    const hybrid_options both{
        .max_length = 7, .max_nodes = 12, .max_depth = 3, .budget = 0.5, .verify_seconds = {1, 2}};
    const chain_options chains = both.of_chains();
    BOOST_TEST(chains.max_length == 7u);
    BOOST_TEST(chains.budget == 0.25);
    BOOST_TEST(chains.credit == 3);
    BOOST_TEST(chains.verify_seconds == both.verify_seconds);
    const auto trees = both.of_trees();
    BOOST_TEST(trees.max_nodes == 12u);
    BOOST_TEST(trees.max_depth == 3u);
    BOOST_TEST(trees.budget == 0.25);
    BOOST_TEST(trees.credit == 2);
    BOOST_TEST(trees.verify_seconds == both.verify_seconds);
}

BOOST_AUTO_TEST_CASE(impossible_options_of_both_are_refused_with_their_values) {
    const auto refused = [](const hybrid_options& options, const std::string& expected) {
        const auto says = [&](const error& e) { return std::string(e.what()) == expected; };
        BOOST_CHECK_EXCEPTION(options.of_chains(), error, says);
        BOOST_CHECK_EXCEPTION(options.of_trees(), error, says);
    };
    refused({.chains = 0}, "cost_aware: chains is 0; then no drafter drafts chains: name one shape alone");
    refused({.budget = 1}, "cost_aware: budget is 1; it must be at least 0 and less than 1");
    refused({.budget = NAN}, "cost_aware: budget is nan; it must be at least 0 and less than 1");
}

BOOST_AUTO_TEST_CASE(they_print_what_they_are) {
    const auto shown = [](const auto& options) {
        std::ostringstream out;
        out << options;
        return out.str();
    };
    BOOST_TEST(shown(chain_options{.verify_seconds = {1, 1.5}}) ==
               "{.max_length=16, .memory=0.95, .probe_after=16, .budget=0.01, .verify_seconds={1, 1.5}}");
    BOOST_TEST(shown(tree_options{}) == "{.max_nodes=32, .max_depth=8, .memory=0.98, .budget=0.01}");
}

BOOST_AUTO_TEST_SUITE_END()
