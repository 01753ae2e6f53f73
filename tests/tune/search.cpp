#include "augur/tune/search.hpp"

#include <augur/types/error.hpp>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

using namespace augur;
using tune::rung;
using tune::sample;
using tune::standing;
namespace tt = boost::test_tools;

BOOST_AUTO_TEST_SUITE(tune_search)

/// So fast over plain decoding, and so far per token.
standing at(std::size_t candidate, double speed, double far) {
    return {candidate, 1, {.tokens = 10, .seconds = 1, .plain_seconds = speed, .divergence = 10 * far}};
}

std::vector<std::size_t> names(const std::vector<standing>& of) {
    std::vector<std::size_t> ids;
    for (const standing& each : of) ids.push_back(each.candidate);
    return ids;
}

BOOST_AUTO_TEST_CASE(samples_add_up) {
    sample sum{.tokens = 4, .seconds = 1, .plain_seconds = 3, .divergence = 0.5};
    sum += {.tokens = 6, .seconds = 2, .plain_seconds = 3, .divergence = 1};
    BOOST_TEST(sum.speedup() == 2);
    BOOST_TEST(sum.divergence_per_token() == 0.15, tt::tolerance(1e-15));
    BOOST_TEST(sample{}.speedup() == 0);
    BOOST_TEST(sample{}.divergence_per_token() == 0);
}

BOOST_AUTO_TEST_CASE(the_front_holds_exactly_what_nothing_dominates) {
    std::mt19937 random(5);
    for (int round = 0; round < 300; ++round) {
        std::vector<standing> all;
        for (std::size_t i = 0; i < 1 + random() % 12; ++i) {
            all.push_back(at(i, static_cast<double>(random() % 5) / 4, static_cast<double>(random() % 5) / 4));
        }
        const auto front = tune::pareto_front(all);
        std::set<std::pair<double, double>> expected, found;
        const auto point = [](const standing& of) {
            return std::pair(of.measured.speedup(), of.measured.divergence_per_token());
        };
        for (const standing& each : all) {
            bool beaten = false;
            for (const standing& other : all) beaten |= tune::dominates(other.measured, each.measured);
            if (!beaten) expected.insert(point(each));
        }
        for (const standing& each : front) found.insert(point(each));
        BOOST_TEST((found == expected));
        BOOST_TEST(front.size() == expected.size());  // of equals one
        for (std::size_t i = 1; i < front.size(); ++i) {
            BOOST_TEST(point(front[i - 1]).first < point(front[i]).first);
            BOOST_TEST(point(front[i - 1]).second < point(front[i]).second);
        }
    }
    BOOST_TEST(names(tune::pareto_front(std::vector{at(4, 1, 0), at(3, 1, 0)})) == (std::vector<std::size_t>{4}),
               tt::per_element());
}

BOOST_AUTO_TEST_CASE(domination_needs_one_aim_to_be_better_and_none_worse) {
    const auto of = [](double speed, double far) { return at(0, speed, far).measured; };
    BOOST_TEST(tune::dominates(of(2, 0.1), of(1, 0.1)));
    BOOST_TEST(tune::dominates(of(2, 0.1), of(2, 0.2)));
    BOOST_TEST(!tune::dominates(of(2, 0.1), of(2, 0.1)));
    BOOST_TEST(!tune::dominates(of(2, 0.2), of(1, 0.1)));
    BOOST_TEST(!tune::dominates(of(1, 0.1), of(2, 0.2)));
}

BOOST_AUTO_TEST_CASE(the_fastest_within_a_distance) {
    const std::vector<standing> all{at(0, 1, 0), at(1, 3, 0.3), at(2, 2, 0.1), at(3, 2, 0.05)};
    BOOST_TEST(tune::fastest_within(all, 0.3)->candidate == 1u);
    BOOST_TEST(tune::fastest_within(all, 0.29)->candidate == 3u);  // as fast as 2, and nearer
    BOOST_TEST(tune::fastest_within(all, 0)->candidate == 0u);
    BOOST_TEST(tune::fastest_within(std::vector{at(1, 3, 0.3)}, 0.2) == nullptr);
}

BOOST_AUTO_TEST_CASE(rungs_end_with_all_problems) {
    const auto rungs = tune::rungs_of(20, 10, {.first_problems = 2, .factor = 2});
    BOOST_TEST((rungs == std::vector<rung>{{20, 2}, {10, 4}, {5, 8}, {3, 10}}));
    BOOST_TEST(tune::samples_of(rungs) == 20 * 2 + 10 * 2 + 5 * 4 + 3 * 2u);
    BOOST_TEST((tune::rungs_of(8, 9, {}) == std::vector<rung>{{8, 2}, {4, 4}, {2, 8}, {1, 9}}));
    BOOST_TEST((tune::rungs_of(1, 1, {}) == std::vector<rung>{{1, 1}}));
    BOOST_TEST((tune::rungs_of(9, 9, {.first_problems = 1, .factor = 3}) == std::vector<rung>{{9, 1}, {3, 3}, {1, 9}}));
}

/// A world in which candidate i is `i` fast and i * i far on average; noise depends on the problem alone.
sample world(std::size_t candidate, std::size_t problem) {
    const double noise = 1 + 0.5 * static_cast<double>(problem % 3);
    const auto i = static_cast<double>(candidate);
    return {.tokens = 100, .seconds = noise, .plain_seconds = noise * (1 + i), .divergence = 100 * i * i};
}

BOOST_AUTO_TEST_CASE(every_pair_is_measured_once_and_rivals_meet_the_same_problems) {
    std::vector<std::size_t> candidates{7, 3, 1, 9, 4, 12};
    std::map<std::pair<std::size_t, std::size_t>, int> calls;
    const auto found = tune::halve(candidates, 8, {}, [&](std::size_t candidate, std::size_t problem) {
        ++calls[{candidate, problem}];
        return world(candidate, problem);
    });
    BOOST_TEST(calls.size() == tune::samples_of(tune::rungs_of(6, 8, {})));
    for (const auto& [pair, count] : calls) BOOST_TEST(count == 1);
    BOOST_TEST(found.size() == candidates.size());
    std::multiset<std::size_t> seen;
    for (const standing& each : found) {
        seen.insert(each.candidate);
        for (std::size_t problem = 0; problem < 8; ++problem) {
            BOOST_TEST(calls.count({each.candidate, problem}) == (problem < each.problems ? 1u : 0u));
        }
        sample sum;
        for (std::size_t problem = 0; problem < each.problems; ++problem) sum += world(each.candidate, problem);
        BOOST_TEST(sum.seconds == each.measured.seconds);
    }
    BOOST_TEST((seen == std::multiset<std::size_t>(candidates.begin(), candidates.end())));
    for (std::size_t i = 1; i < found.size(); ++i) BOOST_TEST(found[i].problems <= found[i - 1].problems);
    BOOST_TEST(found.front().problems == 8u);
}

BOOST_AUTO_TEST_CASE(what_is_dominated_stops_first) {
    std::vector<std::size_t> candidates{0, 1, 2, 3};
    // 0 and 2 are on the front, 1 and 3 are slower and farther than 0
    const auto found = tune::halve(candidates, 4, {.first_problems = 1}, [](std::size_t candidate, std::size_t) {
        const double speed[] = {2, 1, 3, 0.5}, far[] = {0.1, 0.2, 0.3, 0.9};
        return at(0, speed[candidate], far[candidate]).measured;
    });
    BOOST_TEST(names(found) == (std::vector<std::size_t>{2, 0, 1, 3}), tt::per_element());
    BOOST_TEST(found[0].problems == 4u);
    BOOST_TEST(found[1].problems == 2u);
    BOOST_TEST(found[2].problems == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_next_to_the_wanted_distance_goes_on_first) {
    std::vector<std::size_t> candidates{0, 1, 2, 3, 4, 5};
    const auto on_a_front = [](std::size_t candidate, std::size_t) {
        const auto i = static_cast<double>(candidate);
        return at(candidate, 1 + i, 0.1 * i).measured;
    };
    const auto order = [&](double within) {
        return names(tune::halve(candidates, 1, {.first_problems = 1, .within = within}, on_a_front));
    };
    BOOST_TEST(order(0.25) == (std::vector<std::size_t>{2, 3, 1, 4, 0, 5}), tt::per_element());
    BOOST_TEST(order(9) == (std::vector<std::size_t>{5, 4, 3, 2, 1, 0}), tt::per_element());
    BOOST_TEST(order(0) == (std::vector<std::size_t>{0, 1, 2, 3, 4, 5}), tt::per_element());
    candidates = {4, 2};  // none is so near
    BOOST_TEST(order(0.1) == (std::vector<std::size_t>{2, 4}), tt::per_element());
    BOOST_CHECK_THROW(order(-1), error);
}

BOOST_AUTO_TEST_CASE(samples_that_are_none_and_searches_for_nothing_are_refused) {
    const std::vector<std::size_t> one{5};
    for (const double bad : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        BOOST_CHECK_EXCEPTION(
            tune::halve(one, 2, {}, [&](std::size_t, std::size_t) { return sample{.tokens = 1, .seconds = bad}; }),
            error,
            [](const error& e) { return std::string(e.what()).find("setting 5 measured") != std::string::npos; });
    }
    const std::vector<std::size_t> twice{7, 3, 0, 3};
    BOOST_CHECK_EXCEPTION(tune::halve(twice, 4, {},
                                      [](std::size_t, std::size_t) {
                                          return sample{1, 1, 1, 0};
                                      }),
                          error, [](const error& e) {
                              return std::string(e.what()).find("setting 3 is listed twice") != std::string::npos;
                          });
    BOOST_CHECK_THROW(tune::rungs_of(0, 3, {}), error);
    BOOST_CHECK_THROW(tune::rungs_of(3, 0, {}), error);
    BOOST_CHECK_THROW(tune::rungs_of(3, 3, {.first_problems = 0}), error);
    BOOST_CHECK_THROW(tune::rungs_of(3, 3, {.factor = 1}), error);
    BOOST_CHECK_THROW(tune::rungs_of(3, 3, {.within = -0.1}), error);
    BOOST_CHECK_THROW(tune::rungs_of(3, 3, {.within = std::numeric_limits<double>::quiet_NaN()}), error);
}

BOOST_AUTO_TEST_SUITE_END()
