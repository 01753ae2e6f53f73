#include "augur/tree/growth.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <random>
#include <string>

using namespace augur;
using tree::path;

BOOST_AUTO_TEST_SUITE(tree_growth)

/// How often each path is the accepted one, of so many rounds; what is beyond a tree's nodes is not accepted by it.
struct accepted_paths {
    std::vector<path> rounds;

    std::size_t length(const std::vector<path>& nodes) const {
        std::size_t all = 0;
        for (const path& each : rounds) {
            path so_far;
            for (const std::size_t rank : each) {
                so_far.push_back(rank);
                if (std::find(nodes.begin(), nodes.end(), so_far) == nodes.end()) break;
                ++all;
            }
            ++all;
        }
        return all;
    }
    tree::tally score(const tree::augmentations& trees, std::size_t part, std::size_t parts) const {
        std::vector<path> nodes;
        const auto all = tree::paths_of(trees.joint);
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (trees.place[i] == tree::augmentations::none) nodes.push_back(all[i]);
        }
        accepted_paths own;
        for (std::size_t i = part; i < rounds.size(); i += parts) own.rounds.push_back(rounds[i]);
        tree::tally sums{own.rounds.size(), own.length(nodes), {}};
        for (const path& each : trees.added) {
            nodes.push_back(each);
            sums.gained.push_back(own.length(nodes) - sums.committed);
            nodes.pop_back();
        }
        return sums;
    }
};

accepted_paths random_rounds(std::mt19937& random, std::size_t count, std::size_t depth) {
    accepted_paths paths;
    for (std::size_t i = 0; i < count; ++i) {
        path each;
        while (each.size() < depth && random() % 4 != 0) {
            std::size_t rank = 0;
            while (rank < 3 && random() % 2 == 0) ++rank;
            each.push_back(rank);
        }
        paths.rounds.push_back(each);
    }
    return paths;
}

tree::growth grown(const accepted_paths& from, std::size_t depth, std::size_t nodes, std::size_t parts = 1) {
    tree::growth state{.depth = depth, .order = {}, .lengths = {}};
    tree::grow(
        state, nodes, parts, [&](const auto& trees, std::size_t part) { return from.score(trees, part, parts); },
        [](const auto&) {});
    return state;
}

BOOST_AUTO_TEST_CASE(what_could_be_added_is_the_next_child_of_each_node) {
    const auto from_nothing = tree::augment({}, 3);
    BOOST_CHECK((from_nothing.added == std::vector<path>{{0}}));
    BOOST_CHECK((from_nothing.joint == topology{-1}));
    const auto found = tree::augment({{0}, {0, 0}, {1}}, 2);
    BOOST_CHECK(
        (found.added == std::vector<path>{{0, 1}, {1, 0}, {2}}));  // rank sums 1, 1, 2; of the first two the first path
    BOOST_TEST(found.joint.size() == 6u);
    const auto deeper = tree::augment({{0}, {0, 0}, {1}}, 3);
    BOOST_CHECK((deeper.added == std::vector<path>{{0, 0, 0}, {0, 1}, {1, 0}, {2}}));
    BOOST_CHECK((tree::augment({{0}, {1}}, 2).added == std::vector<path>{{0, 0}, {1, 0}, {2}}));
    for (std::size_t node = 0; node < found.joint.size(); ++node) {
        const path own = tree::paths_of(found.joint)[node];
        const std::size_t place = found.place[node];
        if (place != tree::augmentations::none) BOOST_CHECK((found.added[place] == own));
    }
    BOOST_TEST(std::count(found.place.begin(), found.place.end(), tree::augmentations::none) == 3);
}

BOOST_AUTO_TEST_CASE(each_node_is_the_best_of_all_that_could_be_added) {
    std::mt19937 random(1);
    for (int time = 0; time < 60; ++time) {
        const std::size_t depth = 1 + random() % 4;
        const auto from = random_rounds(random, 30, depth + 1);
        const auto found = grown(from, depth, 8);
        std::vector<path> nodes;
        for (std::size_t i = 0; i < found.order.size(); ++i) {
            std::size_t most = 0;
            for (const path& each : tree::augment(nodes, depth).added) {
                nodes.push_back(each);
                most = std::max(most, from.length(nodes));
                nodes.pop_back();
            }
            nodes.push_back(found.order[i]);
            BOOST_TEST(from.length(nodes) == most);
            BOOST_TEST(found.lengths[i] == static_cast<double>(most) / 30);
        }
    }
}

/// The most that any tree of so many nodes has.
std::size_t best_of_all(const accepted_paths& from, std::vector<path> nodes, std::size_t left, std::size_t depth) {
    std::size_t most = from.length(nodes);
    if (left == 0) return most;
    for (const path& each : tree::augment(nodes, depth).added) {
        nodes.push_back(each);
        most = std::max(most, best_of_all(from, nodes, left - 1, depth));
        nodes.pop_back();
    }
    return most;
}

BOOST_AUTO_TEST_CASE(where_higher_ranks_are_rarer_no_tree_is_better) {
    std::mt19937 random(2);
    for (int time = 0; time < 20; ++time) {
        // Acceptance by rank falls, at every depth: every tree that has a node's worth has those before it.
        accepted_paths from;
        const std::size_t base = 3 + random() % 4;
        for (std::size_t a = 0; a < 3; ++a) {
            for (std::size_t b = 0; b < 3; ++b) {
                const std::size_t times = base * (3 - a) * (3 - b);
                for (std::size_t i = 0; i < times; ++i) from.rounds.push_back({a, b});
            }
        }
        for (std::size_t nodes = 1; nodes < 5; ++nodes) {
            BOOST_TEST(from.length(grown(from, 2, nodes).order) == best_of_all(from, {}, nodes, 2));
        }
    }
}

BOOST_AUTO_TEST_CASE(of_equals_the_smaller_rank_sum_then_the_shallower_comes_first) {
    // After [0]: [0, 0] and [1] bring one round each, and have rank sums 0 and 1.
    BOOST_CHECK((grown({{{0}, {0, 0}, {1}}}, 2, 3).order == std::vector<path>{{0}, {0, 0}, {1}}));
    // [0, 1] and [1]: both of rank sum 1, the shallower first.
    BOOST_CHECK((grown({{{0, 0}, {0, 0}, {0, 1}, {1}}}, 2, 4).order == std::vector<path>{{0}, {0, 0}, {1}, {0, 1}}));
}

BOOST_AUTO_TEST_CASE(it_ends_where_nothing_is_accepted) {
    const auto found = grown({{{0}, {}, {2}}}, 2, 5);
    BOOST_CHECK((found.order == std::vector<path>{{0}}));
    BOOST_TEST(found.done);
    BOOST_TEST(found.lengths.back() == 4.0 / 3);
    BOOST_TEST(grown({{{}}}, 2, 5).order.empty());
    BOOST_TEST(!grown({{{0}, {1}}}, 1, 1).done);
}

BOOST_AUTO_TEST_CASE(from_every_state_that_was_saved_it_goes_on_to_the_same_end) {
    std::mt19937 random(4);
    const auto from = random_rounds(random, 40, 4);
    for (const std::size_t parts : {std::size_t{1}, std::size_t{3}}) {
        const auto score = [&](const auto& trees, std::size_t part) { return from.score(trees, part, parts); };
        std::vector<tree::growth> saved;
        tree::growth whole{.depth = 3, .order = {}, .lengths = {}};
        tree::grow(whole, 9, parts, score, [&](const tree::growth& state) { saved.push_back(state); });
        BOOST_TEST_REQUIRE(saved.size() == 9 * parts);
        BOOST_CHECK((saved.back() == whole));
        for (tree::growth each : saved) {
            tree::grow(each, 9, parts, score, [](const auto&) {});
            BOOST_CHECK((each == whole));
        }
        BOOST_CHECK((whole.order == grown(from, 3, 9).order));
        BOOST_CHECK((whole.lengths == grown(from, 3, 9).lengths));
    }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_grown_is_refused) {
    BOOST_CHECK_EXCEPTION(grown({}, 2, 128), error, [](const error& e) {
        return std::string(e.what()).find("a tree of 128 nodes cannot be grown") == 0;
    });
    BOOST_CHECK_THROW(grown({}, 0, 2), error);
    BOOST_CHECK_THROW(grown({}, 1, 2, 0), error);
}

BOOST_AUTO_TEST_SUITE_END()
