// What trees and split passes have been broken by, in a model that has both: docs/conformance.md, 23 to 25 and 56.

#include <algorithm>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/accept/traversal.hpp>
#include <augur/accept/typical.hpp>
#include <augur/llama/device/device_model.hpp>
#include <augur/model/run.hpp>
#include <augur/testing/choices.hpp>
#include <augur/testing/compare_rows.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "llama/small_llama.hpp"
#include "sanitized.hpp"

using namespace augur;

BOOST_AUTO_TEST_SUITE(conformance_trees)

namespace {

using emulated_llama = llama::device::device_model<backend::device::bfloat16, backend::device::emulated_system>;

emulated_llama some_llama() {
    return {{}, testing::small_llama(io::tensor_type::bf16).load({.threads = 1})};
}

const std::vector<token> before = {5, 9, 2};

std::vector<float> row_of(const LogitRows auto& rows, std::size_t i) {
    return {rows[i].begin(), rows[i].end()};
}

/// The rows of `more` after `before`, one by one.
std::vector<float> row_after(const emulated_llama& model, std::vector<token> more) {
    auto s = model.make_sequence();
    model.extend(s, before, 0);
    return testing::copied(model.extend(s, more, 1));
}

/// The rows of a model after `before` and after the path to each node.
testing::row_copies rows_of(const testing::function_model& model, const proposal<point_mass>& proposed) {
    testing::row_copies rows;
    for (std::size_t row = 0; row <= proposed.size(); ++row) {
        prefix text(before);
        speculative_suffix path(text);
        push_path(path, proposed, static_cast<std::int32_t>(row) - 1);
        model.fill_row(text.tokens(), rows.emplace_back(model.vocabulary_size()));
    }
    return rows;
}

/// Judges a random tree at temperature 0: what is accepted are the target's choices, one after the other, as far as
/// they are drafted.
template <class Criterion>
std::size_t check_choices(const Criterion& criterion, std::uint64_t seed) {
    testing::choices from(seed);
    proposal<point_mass> proposed;
    std::set<std::pair<std::int32_t, token>> drafted;
    for (std::size_t i = 0; i < 30; ++i) {
        const auto parent = static_cast<std::int32_t>(from.below(proposed.size() + 1)) - 1;
        const auto t = static_cast<token>(from.below(3));
        if (drafted.insert({parent, t}).second) proposed.push(t, parent);
    }
    std::vector<std::size_t> path;
    const testing::row_copies rows = rows_of(testing::hashed_model(3, seed), proposed);
    const auto choice = [&](std::size_t row) {
        const auto& logits = rows[row];
        return static_cast<token>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    };
    std::size_t row = 0;
    for (std::size_t node = 0; node < proposed.size(); ++node) {
        if (proposed.parent(node) + 1 != static_cast<std::int32_t>(row) || proposed.tokens()[node] != choice(row))
            continue;
        path.push_back(node);
        row = node + 1;
    }
    prefix committed(before);
    random::philox_chooser chooser(seed);
    const transform::pipeline greedy({.temperature = {0}}, 3);
    const verdict got = accept::walk(criterion, proposed, rows, greedy, committed, chooser, 0);
    BOOST_TEST(got.accepted == path.size());
    for (std::size_t i = 0; i < got.accepted; ++i) BOOST_TEST(got.node(i) == path[i]);
    BOOST_TEST(got.next == choice(row));
    return path.size();
}

}  // namespace

// Nodes of a tree got their index for a position.
BOOST_AUTO_TEST_CASE(invariant_23_a_nodes_position_is_the_base_plus_its_depth) {
    const auto model = some_llama();
    auto s = model.make_sequence();
    model.extend(s, before, 0);
    const std::vector<token> nodes = {1, 2, 3, 4};  // two roots; a child of either
    const auto rows =
        model::run(model, {.sequence = &s, .tokens = nodes, .parents = std::vector<std::int32_t>{-1, -1, 0, 1}});
    BOOST_TEST((row_of(rows, 1) == row_after(model, {2})));
    BOOST_TEST((row_of(rows, 2) == row_after(model, {1, 3})));
    BOOST_TEST((row_of(rows, 3) == row_after(model, {2, 4})));
    BOOST_TEST((row_of(rows, 3) != row_after(model, {1, 2, 3, 4})));  // what its index would have made of it
}

// The accepted path of a tree was not compacted, or rewound by a single integer.
BOOST_AUTO_TEST_CASE(invariant_24_a_path_that_is_not_contiguous_is_gathered) {
    const auto model = some_llama();
    auto s = model.make_sequence();
    model.extend(s, before, 0);
    const std::vector<token> nodes = {1, 2, 3, 4, 6};
    const std::vector<std::int32_t> parents = {-1, -1, 0, 1, 3};
    model::run(model, {.sequence = &s, .tokens = nodes, .parents = parents, .rows = 0});
    model.keep(s, std::vector<std::size_t>{1, 3, 4});
    BOOST_TEST(model.length(s) == before.size() + 3);
    BOOST_TEST((row_of(model.extend(s, std::vector<token>{7}), 0) == row_after(model, {2, 4, 6, 7})));
    BOOST_TEST((row_after(model, {2, 4, 6, 7}) != row_after(model, {1, 2, 3, 7})));  // the first three slots instead
}

// An early-exit model ran its last layers without position ids.
BOOST_AUTO_TEST_CASE(invariant_25_a_split_pass_equals_a_whole_one) {
    const auto model = some_llama();
    const std::vector<token> more = {1, 2, 3, 4};
    auto whole = model.make_sequence();
    model.extend(whole, before, 0);
    const auto expected = testing::copied(model.extend(whole, more));
    for (std::size_t split = 1; split <= model.layer_count(); ++split) {
        auto parts = model.make_sequence();
        model.extend(parts, before, 0);
        model::run(model, {.sequence = &parts, .tokens = std::span(more).first(3), .to_layer = split});
        model::run(model, {.sequence = &parts, .tokens = std::span(more).last(1), .to_layer = split});
        const auto rows = model::run(model, {.sequence = &parts, .from_layer = split});
        BOOST_TEST((testing::copied(rows) == expected), "split after layer " << split);
    }
}

// A sampler of trees read the row of another node.
BOOST_AUTO_TEST_CASE(invariant_56_row_i_of_a_tree_pass_is_node_is) {
    const auto model = some_llama();
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        testing::choices from(seed);
        const auto nodes = from.tokens(8, 8, model.vocabulary_size());
        std::vector<std::int32_t> parents;
        std::vector<std::vector<token>> paths;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            parents.push_back(static_cast<std::int32_t>(from.below(i + 1)) - 1);
            paths.push_back(parents[i] < 0 ? std::vector<token>{} : paths[static_cast<std::size_t>(parents[i])]);
            paths[i].push_back(nodes[i]);
        }
        auto s = model.make_sequence();
        model.extend(s, before, 0);
        const auto rows = model::run(model, {.sequence = &s, .tokens = nodes, .parents = parents});
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            BOOST_TEST((row_of(rows, i) == row_after(model, paths[i])), "seed " << seed << ", node " << i);
        }
    }
    // Nor does whoever judges a tree: at temperature 0 every rule follows the target's choices, wherever they lie.
    std::size_t longest = 0;
    for (std::uint64_t seed = 0; seed < testing::unless_sanitized(300u, 100u); ++seed) {
        longest = std::max(longest, check_choices(accept::exact{}, seed));
        check_choices(accept::rejection_sampling{}, seed);
        check_choices(accept::coupled{}, seed);
        check_choices(accept::traversal{}, seed);
        check_choices(accept::typical{}, seed);
    }
    BOOST_TEST(longest >= 4u);
}

BOOST_AUTO_TEST_SUITE_END()
