#include "augur/testing/fault_laws.hpp"

#include <allocations.hpp>
#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/accept/typical.hpp>
#include <augur/draft/fallback.hpp>
#include <augur/draft/ngram_store.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/cost_aware.hpp>
#include <augur/policy/entropy_bins.hpp>
#include <augur/policy/learned_bins.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/switching/rolling_entropy.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "testing/fault_schemes.hpp"

using namespace augur;
using testing::fault_choice;

BOOST_AUTO_TEST_SUITE(testing_fault_laws)

const policy::fixed_length three{3};

BOOST_AUTO_TEST_CASE(chains_keep_them) {
    const auto target = testing::failing_chains(1), small = testing::failing_chains(2);
    testing::fault_tally tally;
    tally.keeps("plain, greedy", plain(target), fault_choice(0));
    tally.keeps("plain", plain(target), fault_choice(1));
    tally.keeps("exact", speculate(small, target, three, accept::exact{}), fault_choice(0));
    tally.keeps("coupled", speculate(small, target, three, accept::coupled{}), fault_choice(1));
    tally.keeps("rejection sampling", speculate(small, target, three, accept::rejection_sampling{}), fault_choice(1));
    tally.keeps("block", speculate(small, target, three, accept::block{}), fault_choice(1));
    tally.keeps("typical", speculate(small, target, three, accept::typical{}), fault_choice(1));
    tally.report("chains", 3000);
}

BOOST_AUTO_TEST_CASE(lookups_keep_them) {
    const auto target = testing::failing_chains(1), small = testing::failing_chains(2);
    testing::fault_tally tally;
    const draft::prompt_lookup lookup(1, 3);
    tally.keeps("lookup", speculate(lookup, target, three, accept::exact{}), fault_choice(0));
    tally.keeps("lookup, sampled", speculate(lookup, target, three, accept::rejection_sampling{}), fault_choice(1));
    const std::vector<std::vector<token>> texts{{0, 1, 2, 3, 4, 0, 1, 2}, {3, 0, 2, 4, 1, 1}};
    const auto table =
        draft::ngram_table::count(texts, {.shortest = 1, .longest = 3, .vocabulary_size = testing::fault_vocabulary});
    tally.keeps("n-grams", speculate(draft::ngram_store(table), target, three, accept::coupled{}), fault_choice(1));
    const draft::fallback several(lookup, draft::ngram_store(table, 2), small);
    tally.keeps("fallback", speculate(several, target, three, accept::exact{}), fault_choice(0));
    tally.keeps("hybrid", speculate(several, target, policy::cost_aware{}, accept::coupled{}), fault_choice(1));
    tally.report("lookups", 2000);
}

BOOST_AUTO_TEST_CASE(policies_that_learn_keep_them) {
    const auto target = testing::failing_chains(1), small = testing::failing_chains(2);
    testing::fault_tally tally;
    const policy::entropy_bins bins({0.8}, {3, 1});
    tally.keeps("bins", speculate(small, target, bins, accept::rejection_sampling{}), fault_choice(1));
    tally.keeps("cost_aware", speculate(small, target, policy::cost_aware{}, accept::exact{}), fault_choice(0, 16));
    const policy::learned_bins learned({0.8}, {3, 1});
    tally.keeps("learned_bins", speculate(small, target, learned, accept::coupled{}), fault_choice(1));
    tally.report("learning policies", 800);
}

BOOST_AUTO_TEST_CASE(transforms_and_stops_keep_them) {
    const auto target = testing::failing_chains(1), small = testing::failing_chains(2);
    testing::fault_tally tally;
    auto chosen = fault_choice(0.8f);
    chosen.chosen.sampling.penalties = {1.1f, 0.1f, 0.1f};
    chosen.chosen.sampling.top_k = {4};
    tally.keeps("penalties", speculate(small, target, three, accept::rejection_sampling{}), chosen);
    auto masked = fault_choice(1);
    masked.chosen.sampling.mask = [](std::span<float> row, const prefix& before) {
        testing::fault_places.call("mask", [&] { row[before.size() % row.size()] = -INFINITY; });
    };
    tally.keeps("mask", speculate(small, target, three, accept::coupled{}), masked);
    auto stopped = fault_choice(1, 40);
    stopped.chosen.stop.stop_strings = {"adad", "eea", "a\xEF\xBF\xBD\xEF\xBF\xBD"};
    tally.keeps("stop strings", speculate(small, target, three, accept::rejection_sampling{}), stopped);
    auto ended = fault_choice(1, 40);
    ended.chosen.stop.stop_tokens = {4};
    tally.keeps("a stop token", speculate(small, target, three, accept::coupled{}), ended);
    tally.report("transforms and stops", 2000);
}

BOOST_AUTO_TEST_CASE(models_that_take_turns_keep_them) {
    const auto large = testing::failing_chains(1), small = testing::failing_chains(2);
    const switching::rolling_entropy turns({.thresholds_bits = {1.2}, .window = 2, .dwell = 2});
    testing::fault_tally tally;
    for (const bool warm : {false, true}) {
        for (const std::size_t length : {0u, 3u}) {
            const auto scheme = switched(small, large, turns).with({.draft_length = length, .keep_warm = warm});
            tally.keeps(warm ? "warm" : "cold", scheme, fault_choice(1));
        }
    }
    tally.report("models that take turns", 1000);
}

BOOST_AUTO_TEST_SUITE_END()
