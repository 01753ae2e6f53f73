#include <augur/decode/row_market.hpp>
//
#include <augur/types/proposal.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(decode_row_market)

using namespace augur;
using namespace augur::decode;

/// Requests whose drafted tokens are accepted with a probability of their own, and what their passes cost, in seconds.
struct simulated {
    std::vector<double> accepted;
    std::function<double(std::size_t)> pass;
    double drafting = 0;  ///< a token
    row_market market{};
    std::deque<market_member> members = std::deque<market_member>(accepted.size());
    std::mt19937 random{7};
    double seconds = 0, plain_seconds = 0;  ///< that plain passes would have taken for as many tokens
    std::size_t drafted = 0;
    std::vector<std::size_t> granted = std::vector<std::size_t>(accepted.size());

    void step() {
        std::vector<market_member*> running;
        for (market_member& each : members) running.push_back(&each);
        market.plan(running);
        std::deque<proposal<point_mass>> proposed(running.size());
        std::deque<rounds::allotment> stops;
        std::vector<market_bid> bids;
        const observation seen{};
        std::size_t all = 0, rows = running.size(), tokens = 0;
        for (std::size_t i = 0; i < running.size(); ++i) {
            for (std::size_t t = 0; t < std::min<std::size_t>(running[i]->most_drafted, 8); ++t) proposed[i].push(1);
            all += proposed[i].size();
            stops.emplace_back(proposed[i], seen, false);
            bids.push_back({running[i], &stops.back()});
        }
        const double drafted_for = drafting * static_cast<double>(all);
        market.allot(bids, drafted_for);
        for (std::size_t i = 0; i < running.size(); ++i) {
            const std::size_t nodes = stops[i].await_resume();
            verdict decided{.drafted = nodes};
            std::bernoulli_distribution accepts(accepted[i]);
            while (decided.accepted < nodes && accepts(random)) ++decided.accepted;
            market.learn(*running[i], nodes, {}, {}, decided);
            granted[i] += nodes;
            rows += nodes;
            tokens += decided.accepted + 1;
        }
        market.settle(tokens, pass(rows));
        drafted += all;
        seconds += drafted_for + pass(rows);
        plain_seconds += pass(running.size()) * static_cast<double>(tokens) / static_cast<double>(running.size());
    }
    double speedup(std::size_t steps) {
        for (std::size_t i = 0; i < steps; ++i) step();
        return plain_seconds / seconds;
    }
};

double memory_bound(std::size_t rows) {
    return 1e-2 + 1e-4 * static_cast<double>(rows);
}
double row_bound(std::size_t rows) {
    return 1e-3 + 1e-2 * static_cast<double>(rows);
}
/// Weights are read for nothing up to sixteen rows.
double both(std::size_t rows) {
    return 1e-2 * std::max(1.0, static_cast<double>(rows) / 16);
}

BOOST_AUTO_TEST_CASE(one_request_gains_what_its_drafts_are_worth) {
    simulated one{{0.8}, memory_bound};
    BOOST_TEST(one.speedup(1000) > 3);
}

BOOST_AUTO_TEST_CASE(nothing_is_lost_where_drafts_are_bad_or_rows_dear) {
    for (const std::size_t batch : {1u, 2u, 8u, 32u}) {
        for (const double cost : {0.0, 1e-3, 1e-2}) {
            simulated bad{std::vector<double>(batch, 0.05), memory_bound, cost};
            BOOST_TEST(bad.speedup(1000) > 0.98);
            simulated dear{std::vector<double>(batch, 0.8), row_bound, cost};
            BOOST_TEST(dear.speedup(1000) > 0.98);
        }
    }
}

BOOST_AUTO_TEST_CASE(speculation_fades_out_as_a_batch_grows) {
    double before = 1e9;
    for (const std::size_t batch : {1u, 4u, 16u, 32u}) {
        simulated of{std::vector<double>(batch, 0.7), both};
        const double speedup = of.speedup(1500);
        const double a_request = static_cast<double>(of.drafted) / static_cast<double>(batch);
        BOOST_TEST(speedup > 0.98);
        BOOST_TEST(speedup < before + 0.05);
        before = speedup;
        if (batch == 1) BOOST_TEST(speedup > 2);
        if (batch == 32) {
            std::size_t rows = 0;
            for (const std::size_t each : of.granted) rows += each;
            BOOST_TEST(static_cast<double>(rows) < 0.1 * 1500 * 32);
        }
        BOOST_TEST(a_request > 0.0);
    }
}

BOOST_AUTO_TEST_CASE(rows_go_to_those_whose_drafts_are_accepted) {
    simulated of{{0.95, 0.95, 0.1, 0.1, 0.1, 0.1},
                 [](std::size_t rows) { return 1e-2 * (rows <= 12 ? 1 : static_cast<double>(rows) / 12); }};
    BOOST_TEST(of.speedup(1500) > 1.3);
    for (std::size_t i = 2; i < 6; ++i) BOOST_TEST(4 * of.granted[i] < of.granted[0]);
}

BOOST_AUTO_TEST_CASE(drafts_that_cost_more_than_they_bring_are_not_made) {
    simulated cheap{{0.6}, memory_bound, 1e-4}, dear{{0.6}, memory_bound, 3e-2};
    BOOST_TEST(cheap.speedup(1000) > 1.5);
    BOOST_TEST(dear.speedup(1000) > 0.98);
    BOOST_TEST(dear.drafted < 40u);
}

BOOST_AUTO_TEST_CASE(without_competition_everything_is_verified) {
    simulated of{{0.1, 0.1}, row_bound, 0, row_market({.competes = false})};
    of.speedup(50);
    BOOST_TEST(of.granted[0] == 50u * 8);
    BOOST_TEST(of.granted[1] == 50u * 8);
}

BOOST_AUTO_TEST_CASE(a_tree_is_granted_in_its_order) {
    proposal<point_mass> tree;
    for (const std::int32_t parent : {-1, -1, 0, 0, 1, 2}) tree.push(1, parent);
    const observation seen{};
    const rounds::allotment stop(tree, seen, false);
    draft_histories histories;
    draft_history own;
    for (int i = 0; i < 200; ++i) {
        histories.learn(own, 0, 6, tree.parents(), {}, {.drafted = 6, .accepted = 2, .next = 1, .path = {1, 4}});
    }
    std::vector<double> values;
    histories.values(own, stop, values);
    BOOST_TEST_REQUIRE(values.size() == 6u);
    for (std::size_t i = 1; i < values.size(); ++i) BOOST_TEST(values[i] <= values[i - 1]);
    BOOST_TEST(values[0] < 0.1);  // always the second
}

BOOST_AUTO_TEST_CASE(drawn_tokens_are_valued_without_their_confidences) {
    proposal<point_mass> grown;
    grown.push(1);
    grown.add_confidence(0.9f);
    const observation seen{};
    BOOST_TEST(rounds::allotment(grown, seen, true).confidences().empty());
    BOOST_TEST(rounds::allotment(grown, seen, false).confidences().size() == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_out_of_range_is_refused_with_its_value) {
    const auto says = [](const row_market_options& of, const std::string& expected) {
        BOOST_CHECK_EXCEPTION(row_market{of}, error, [&](const error& e) { return e.what() == expected; });
    };
    says({.budget = 1}, "row_market: budget is 1; it must be at least 0 and below 1");
    says({.credit = 9}, "row_market: credit is 9; it must be 0 to 8");
    says({.margin = -1}, "row_market: margin is -1; it must be at least 0 and below 1");
    says({.most_rows = 0}, "row_market: most_rows is 0; it must be 1 to 65536");
}

BOOST_AUTO_TEST_SUITE_END()
