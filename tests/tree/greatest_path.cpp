#include "augur/tree/greatest_path.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "augur/types/proposal.hpp"
#include "augur/types/topology.hpp"

using namespace augur;

BOOST_AUTO_TEST_SUITE(tree_greatest_path)

tree::ranked_token ranked(float ratio, token id) {
    return {ratio, id};
}

BOOST_AUTO_TEST_CASE(of_equal_ratios_the_lower_id_is_greater) {
    BOOST_TEST((ranked(1, 5) < ranked(2, 7)));
    BOOST_TEST(!(ranked(2, 7) < ranked(1, 5)));
    BOOST_TEST((ranked(1, 7) < ranked(1, 5)));
    BOOST_TEST(!(ranked(1, 5) < ranked(1, 5)));
}

proposal<point_mass> tree_of(const std::vector<token>& tokens, const std::vector<std::int32_t>& parents) {
    proposal<point_mass> proposed;
    for (std::size_t node = 0; node < tokens.size(); ++node) proposed.push(tokens[node], parents[node]);
    return proposed;
}

/// The greatest token is the second child of two nodes that have the same token.
BOOST_AUTO_TEST_CASE(nodes_of_the_same_tokens_compete_together) {
    const auto drafted = tree_of({1, 2, 2, 0, 1, 3, 3, 9}, {-1, -1, -1, 1, 1, 2, 2, 0});
    std::vector<std::uint32_t> depths(drafted.size());
    std::vector<tree::picked_token> picked(drafted.size());
    tree::greatest_path<proposal<point_mass>> path{drafted, drafted.parents(), depths.data(), picked.data()};
    const auto by_id = [](token t) { return tree::ranked_token{static_cast<float>(t), t}; };
    BOOST_TEST(path.competitor(0) == 0u);
    path.pick(path.competitor(0), by_id);
    BOOST_TEST(picked[0].id == 2);
    BOOST_TEST(picked[0].node == 1u);
    BOOST_TEST(picked[0].ratio == 2.0f);
    ++path.size;
    std::vector<std::size_t> competing;
    for (std::size_t node = path.competitor(0); node < drafted.size(); node = path.competitor(node + 1)) {
        competing.push_back(node);
    }
    BOOST_TEST(competing == (std::vector<std::size_t>{3, 4, 5, 6}), boost::test_tools::per_element());
    path.pick(path.competitor(0), by_id);
    BOOST_TEST(picked[1].id == 3);
    BOOST_TEST(picked[1].node == 5u);
    ++path.size;
    BOOST_TEST(path.competitor(0) == drafted.size());
}

/// The probability that no path is greater, by all that may be drawn: each node's draw is lower than the path's token
/// at its depth, or that token, or greater; at the next depth it is not greater with probability x, or it is.
double none_greater(const topology& shape, const std::vector<tree::picked_token>& picked, std::size_t size, double x) {
    std::vector<int> outcome(shape.size());  // 0: lower, 1: on the path, 2: greater
    double sum = 0;
    const auto possible = [&] {
        double chance = 1;
        std::vector<bool> on_path(shape.size());
        bool greater = false;
        for (std::size_t node = 0; node < shape.size(); ++node) {
            const std::size_t depth = shape.depth(node) - 1;
            const std::int32_t parent = shape.parents()[node];
            const bool follows = parent == after_prefix || on_path[static_cast<std::size_t>(parent)];
            const double here = depth < size ? picked[depth].here : x, below = depth < size ? picked[depth].below : 0;
            const double share[] = {below, here, 1 - here - below};
            chance *= share[outcome[node]];
            on_path[node] = follows && outcome[node] == 1 && depth < size;
            greater = greater || (follows && depth <= size && outcome[node] == 2);
        }
        if (!greater) sum += chance;
    };
    const auto enumerate = [&](auto&& again, std::size_t node) -> void {
        if (node == shape.size()) return possible();
        for (outcome[node] = 0; outcome[node] < 3; ++outcome[node]) again(again, node + 1);
    };
    enumerate(enumerate, 0);
    return sum;
}

BOOST_AUTO_TEST_CASE(the_law_of_the_next_token_is_that_of_all_draws) {
    std::mt19937 random(5);
    std::size_t deep = 0;
    for (int repeat = 0; repeat < 150; ++repeat) {
        const std::size_t nodes = 1 + random() % 7;
        std::vector<std::int32_t> parents;
        for (std::size_t node = 0; node < nodes; ++node) {
            parents.push_back(static_cast<std::int32_t>(random() % (node + 1)) - 1);
        }
        const topology shape(parents);
        const auto drafted = tree_of(std::vector<token>(nodes), parents);
        std::vector<std::uint32_t> depths(nodes), begins(tree::depths_for(nodes));
        std::vector<double> room(tree::doubles_for(nodes));
        std::vector<tree::picked_token> picked(nodes);
        for (auto& each : picked) {
            each.below = static_cast<double>(random() % 100) / 250;
            each.here = static_cast<double>(random() % 100) / 250;
        }
        tree::greatest_path<proposal<point_mass>> path{drafted, drafted.parents(), depths.data(), picked.data()};
        for (path.size = 0; path.size < shape.depth(); ++path.size) {
            const tree::none_above above = path.next_above(room.data(), begins.data());
            const double a = 0.25, b = 0.875;
            double at_a = 0, at_b = 0;
            for (std::size_t i = above.count; i > 0; --i) {
                at_a = at_a * a + above.coefficients[i - 1];
                at_b = at_b * b + above.coefficients[i - 1];
            }
            BOOST_TEST(at_a == none_greater(shape, picked, path.size, a), boost::test_tools::tolerance(1e-12));
            BOOST_TEST(at_b == none_greater(shape, picked, path.size, b), boost::test_tools::tolerance(1e-12));
            BOOST_TEST(above.slope(a, b) == (at_b - at_a) / (b - a), boost::test_tools::tolerance(1e-10));
            deep += path.size > 1;
        }
    }
    BOOST_TEST(deep > 50u);
}

BOOST_AUTO_TEST_SUITE_END()
