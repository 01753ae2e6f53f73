#pragma once
// Random trees of draft tokens, compared with their paths one by one.

#include <algorithm>
#include <augur/model/run.hpp>
#include <augur/testing/choices.hpp>
#include <augur/types/topology.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

namespace augur::testing {

/// So many trees as are usual, or as AUGUR_TOPOLOGIES says, if those are more.
inline std::size_t topologies(std::size_t usual) {
    const char* wanted = std::getenv("AUGUR_TOPOLOGIES");
    return std::max(usual, wanted == nullptr ? std::size_t{0} : std::size_t(std::strtoull(wanted, nullptr, 10)));
}

/// Deep, wide, of two children each, or any; now and then of more nodes than a pass has rows in one piece.
inline std::vector<std::int32_t> some_parents(choices& from, std::size_t most) {
    const std::size_t kind = from.below(4), few = 1 + from.below(12);
    const std::size_t nodes = std::min(most, from.below(512) == 0 ? 40 + few * 5 : few);
    std::vector<std::int32_t> parents;
    for (std::size_t node = 0; node < nodes; ++node) {
        const auto last = static_cast<std::int32_t>(node) - 1;
        const auto any = static_cast<std::int32_t>(from.below(node + 1)) - 1;
        const bool off = from.below(4) == 0;
        parents.push_back(kind == 0   ? (off ? any : last)
                          : kind == 1 ? (off ? any : after_prefix)
                          : kind == 2 ? (last + 2) / 2 - 1
                                      : any);
    }
    return parents;
}

/// Down to a node, and with it.
inline std::vector<std::size_t> path_down_to(std::span<const std::int32_t> parents, std::size_t node) {
    std::vector<std::size_t> path;
    for (auto at = static_cast<std::int32_t>(node); at != after_prefix; at = parents[static_cast<std::size_t>(at)]) {
        path.push_back(static_cast<std::size_t>(at));
    }
    std::reverse(path.begin(), path.end());
    return path;
}

/// Runs random trees after a text that some of their paths are kept for. Every row of every path that ends in a leaf,
/// run alone after the same text, has to be the row of its node, bit for bit. Returns what is not so, or nothing.
template <class M>
std::string trees_that_differ_from_paths(const M& model, std::size_t trees, std::uint64_t seed = 1) {
    choices from(seed);
    auto tree = model.make_sequence(), alone = model.make_sequence();
    std::vector<token> text;
    const auto set_back = [&](std::size_t length) {
        text.resize(length);
        model.truncate(tree, length);
        model.truncate(alone, length);
    };
    for (std::size_t number = 0; number < trees; ++number) {
        if (text.size() + 120 > model.context_length() || from.below(16) == 0)
            set_back(from.below(std::min<std::size_t>(text.size() + 1, 60)));
        if (text.empty()) {
            text = from.tokens(1, 5, model.vocabulary_size());
            model.extend(tree, text, 0);
            model.extend(alone, text, 0);
        }
        const auto parents = some_parents(from, 100);
        const auto nodes = from.tokens(parents.size(), parents.size(), model.vocabulary_size());
        const auto rows = model::run(model, {.sequence = &tree, .tokens = nodes, .parents = parents});
        std::vector<std::size_t> path;
        for (std::size_t leaf = 0; leaf < nodes.size(); ++leaf) {
            if (parents::next_child(parents, nodes.size(), static_cast<std::int32_t>(leaf), leaf + 1) < nodes.size())
                continue;
            path = path_down_to(parents, leaf);
            std::vector<token> tokens;
            for (const std::size_t node : path) tokens.push_back(nodes[node]);
            const auto expected = model.extend(alone, tokens, tokens.size());
            for (std::size_t i = 0; i < path.size(); ++i) {
                if (std::ranges::equal(rows[path[i]], expected[i])) continue;
                return "tree " + std::to_string(number) + ": the row of node " + std::to_string(path[i]) + " of " +
                       std::to_string(nodes.size()) + " is not that of its path";
            }
            model.truncate(alone, text.size());
        }
        if (from.below(4) != 0) continue;
        path.resize(1 + from.below(path.size()));  // of the last leaf
        model.keep(tree, path);
        for (const std::size_t node : path) text.push_back(nodes[node]);
        model.extend(alone, std::span(text).last(path.size()), 0);
    }
    return "";
}

}  // namespace augur::testing
