#include "augur/backend/device/accept_tree.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "augur/accept/coupled.hpp"
#include "augur/accept/exact.hpp"
#include "augur/accept/fuzzy.hpp"
#include "augur/accept/multipath_block.hpp"
#include "augur/accept/rejection_sampling.hpp"
#include "augur/accept/rejection_then_fuzzy.hpp"
#include "augur/accept/traversal.hpp"
#include "augur/accept/typical.hpp"
#include "augur/backend/device/round.hpp"
#include "augur/random/chooser.hpp"
#include "augur/transform/pipeline.hpp"
#include "backend/device/random_rounds.hpp"
#include "backend/device/random_trees.hpp"
#include "sanitized.hpp"
#include "transform/rows.hpp"

namespace device = augur::backend::device;
namespace accept = augur::accept;
using augur::token;
using device::emulated_system;
using rounds::sampled;
using trees::check_trees;

BOOST_AUTO_TEST_SUITE(backend_accept_tree)

/// Forwards and backwards.
const std::vector<emulated_system> emulated{{false}, {true}};

static_assert(device::DeviceCriterion<accept::typical> && !device::KernelCriterion<accept::typical>);
static_assert(device::DeviceCriterion<accept::traversal> && !device::KernelCriterion<accept::traversal>);
static_assert(device::DeviceCriterion<accept::multipath_block> && !device::KernelCriterion<accept::multipath_block>);

BOOST_AUTO_TEST_CASE(exact) {
    check_trees(emulated, accept::exact{}, {0});
}

/// Siblings with and without replacement, and fixed ones.
BOOST_AUTO_TEST_CASE(rejection_sampling) {
    check_trees(emulated, accept::rejection_sampling{}, sampled, 3);
}

BOOST_AUTO_TEST_CASE(coupled) {
    check_trees(emulated, accept::coupled{}, sampled);
}

BOOST_AUTO_TEST_CASE(fuzzy) {
    check_trees(emulated, accept::fuzzy<augur::measure::jensen_shannon>{0.1}, sampled);
    check_trees(emulated, accept::rejection_then_fuzzy<augur::measure::kl>{0.2}, sampled);
}

BOOST_AUTO_TEST_CASE(typical) {
    for (const auto next : {accept::typical_next::most_probable, accept::typical_next::drawn}) {
        check_trees(emulated, accept::typical{{.next = next}}, sampled);
        check_trees(emulated, accept::typical{{.epsilon = 0.4, .delta = 0.8, .next = next}}, sampled);
    }
}

/// Equally probable tokens are just as probable as they must be to be drawn; to be accepted they would have to be more.
BOOST_AUTO_TEST_CASE(typical_draws_what_is_just_as_probable_as_it_must_be) {
    std::mt19937 random(3);
    const augur::transform::settings chosen{.temperature = {0.8f}};
    trees::outcomes seen;
    for (std::size_t vocabulary = 2; vocabulary <= 40; ++vocabulary) {
        const accept::typical drawn{
            {.epsilon = 1 / static_cast<double>(vocabulary), .delta = 1, .next = accept::typical_next::drawn}};
        auto played = trees::random_tree(random, vocabulary, chosen, accept::typical::token_selector{}, true);
        played.target.assign(played.target.size(), 1.0f);
        trees::check_tree(emulated, drawn, played, played.certain, seen);
    }
    BOOST_TEST(seen.corrected > 10u);
}

/// Siblings with and without replacement, and fixed ones, from the leaves to the root.
BOOST_AUTO_TEST_CASE(traversal) {
    check_trees(emulated, accept::traversal{}, sampled, 3);
    check_trees(emulated, accept::traversal{}, {0});
}

/// Independent siblings, the greatest path of which is judged from its end.
BOOST_AUTO_TEST_CASE(multipath_block) {
    check_trees(emulated, accept::multipath_block{}, sampled, 3);
    check_trees(emulated, accept::multipath_block{}, {0});
}

BOOST_AUTO_TEST_CASE(a_criterion_of_a_user) {
    check_trees(emulated, rounds::likely_enough{}, sampled);
}

/// A tree of lone tokens after a prefix of one token, whose target's rows are all the same.
trees::one_tree same_rows(const std::vector<float>& logits, std::size_t rows) {
    trees::one_tree played{.vocabulary = logits.size(),
                           .seed = 0,
                           .number = 0,
                           .chosen = {},
                           .before = augur::prefix(std::vector<token>{0}),
                           .target = {},
                           .certain = {},
                           .drawn = {}};
    for (std::size_t row = 0; row < rows; ++row) {
        played.target.insert(played.target.end(), logits.begin(), logits.end());
    }
    return played;
}

/// The first seed for which the coin of child number i after the prefix is not below shares[i].
std::uint64_t seed_that_rejects(const std::vector<double>& shares) {
    const auto rejects = [&](std::uint64_t seed) {
        const augur::random::philox_chooser by(seed);
        std::size_t child = 0;
        while (child < shares.size() &&
               by.uniform({.position = 1, .why = augur::purpose::accept, .sibling = child}) >= shares[child])
            ++child;
        return child == shares.size();
    };
    std::uint64_t seed = 0;
    while (seed < 50'000'000 && !rejects(seed)) ++seed;
    BOOST_REQUIRE(rejects(seed));
    return seed;
}

/// Two tokens as the target has them, but for so little too much of the second that what the first has less is lost in
/// rounding.
augur::distribution just_too_much(const augur::distribution& target, std::size_t first, std::size_t second) {
    std::vector<float> weights(target.size());
    weights[first] = 1;
    weights[second] = static_cast<float>(target[second] / target[first] * (1 + 0x1p-20));
    return augur::distribution::weighted(weights);
}

/// The next sibling is judged by the target.
BOOST_AUTO_TEST_CASE(where_rounding_leaves_nothing_over_the_target_is_left) {
    const std::vector<float> logits{-rows::infinity, 0, -27.7f};
    auto played = same_rows(logits, 3);
    const auto target = augur::transform::pipeline({}, 3)(logits, played.before);
    const auto draft = just_too_much(target, 1, 2);
    for (const token id : {2, 1}) {
        played.certain.push(id, augur::after_prefix);
        played.drawn.push(id, draft, augur::after_prefix);
    }
    played.seed = seed_that_rejects({target.probability(2) / draft.probability(2)});
    trees::outcomes seen;
    trees::check_tree(emulated, accept::rejection_sampling{}, played, played.drawn, seen);
    BOOST_TEST(seen.accepted == 1u);
    BOOST_TEST(seen.aside == 1u);
}

/// What the first child left, by its sums, though the second left sums of nothing.
BOOST_AUTO_TEST_CASE(where_rounding_leaves_nothing_over_traversal_draws_from_what_was_left,
                     *boost::unit_test::enable_if<!augur::testing::sanitized>()) {
    constexpr token near = 1, first = 300, second = 301;  // the latter of another chunk
    std::vector<float> logits(400, -rows::infinity);
    logits[near] = logits[first] = 0;
    logits[second] = -27.7f;
    auto played = same_rows(logits, 3);
    const auto target = augur::transform::pipeline({}, 400)(logits, played.before);
    const auto add = [&](token id, const augur::distribution& row) {
        played.certain.push(id, augur::after_prefix);
        played.drawn.push(id, row, augur::after_prefix);
    };
    add(near, augur::distribution::point(near, 400));  // leaves the others as they are
    add(second, just_too_much(target, first, second));
    played.seed = seed_that_rejects({target.probability(near), 1 - 0x1p-21});
    trees::outcomes seen;
    trees::check_tree(emulated, accept::traversal{}, played, played.drawn, seen);
    BOOST_TEST(seen.accepted == 0u);
    BOOST_TEST(seen.corrected == 1u);
    BOOST_TEST(rounds::judged_on_host(accept::traversal{}, played, played.drawn).next == first);
}

/// Rows that are certain of different tokens: who reads the row of another node follows another path, or ends it with
/// another token.
BOOST_AUTO_TEST_CASE(no_node_is_judged_by_the_row_of_another) {
    std::mt19937 random(3);
    const augur::transform::settings greedy{.temperature = {0}};
    for (std::size_t repeat = 0; repeat < 200; ++repeat) {
        const std::size_t nodes = 2 + random() % (trees::most_nodes - 1), vocabulary = nodes + 2;
        trees::one_tree played{.vocabulary = vocabulary,
                               .seed = 1,
                               .number = 0,
                               .chosen = greedy,
                               .before = augur::prefix(std::vector<token>{0}),
                               .target = std::vector<float>((nodes + 1) * vocabulary),
                               .certain = {},
                               .drawn = {}};
        for (std::size_t node = 0; node < nodes; ++node) {  // node i drafts token 1 + i
            const std::int32_t parent = trees::random_parent(random, repeat % 4, node);
            played.certain.push(static_cast<token>(1 + node), parent);
            played.drawn.push(static_cast<token>(1 + node), augur::distribution::point(0, vocabulary), parent);
        }
        const std::size_t end = random() % nodes;  // the path that the target wants
        std::vector<token> wanted(nodes + 1, static_cast<token>(nodes + 1));
        for (auto node = static_cast<std::int32_t>(end); node != augur::after_prefix;) {
            const std::int32_t parent = played.certain.parent(static_cast<std::size_t>(node));
            wanted[static_cast<std::size_t>(parent + 1)] = static_cast<token>(1 + node);
            node = parent;
        }
        wanted[end + 1] = 0;
        for (std::size_t row = 0; row <= nodes; ++row) {
            played.target[row * vocabulary + static_cast<std::size_t>(wanted[row])] = 9;
        }
        trees::outcomes seen;
        trees::check_tree(emulated, accept::exact{}, played, played.certain, seen);
        const trees::tree_on_device<emulated_system> there({}, played);
        const device::round_judge<accept::exact, emulated_system> judge({}, vocabulary, nodes + 1, greedy, 1);
        judge.judge(there.rows(), there.tree(played.certain), 1, 0);
        BOOST_TEST(judge.decided_tree()->last == static_cast<std::int32_t>(end));
        BOOST_TEST(judge.decided_tree()->next == 0);
    }
}

BOOST_AUTO_TEST_SUITE_END()
