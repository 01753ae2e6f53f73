#pragma once
// Greedily grows a draft tree: adds the node with the highest gain.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "augur/tree/paths.hpp"
#include "augur/types/error.hpp"
#include "augur/types/topology.hpp"

namespace augur::tree {

/// A tree and every node that could be added to it alone, in one tree: what one pass scores all of them by.
struct augmentations {
    std::vector<path> added;  ///< in the order in which the first of equals is taken: rank sum, then depth, then path
    topology joint;           ///< the tree and all of these
    std::vector<std::size_t> place;  ///< of each node of `joint` in `added`; none where it is the tree's
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
};

/// Of the tree of these nodes, none deeper than `depth`: beneath the prefix and each node the child after those that
/// are there.
template <class Nodes = std::vector<path>>
augmentations augment(const Nodes& nodes, std::size_t depth) {
    augmentations found;
    const auto next_child = [&](path parent) {
        const std::size_t level = parent.size() + 1;
        if (level > depth) return;
        const auto is_child = [&](const path& each) {
            return each.size() == level && std::equal(parent.begin(), parent.end(), each.begin());
        };
        parent.push_back(static_cast<std::size_t>(std::count_if(nodes.begin(), nodes.end(), is_child)));
        found.added.push_back(std::move(parent));
    };
    next_child({});
    for (const path& node : nodes) next_child(node);
    std::sort(found.added.begin(), found.added.end(), [](const path& a, const path& b) {
        return std::tuple(rank_sum(a), a.size(), a) < std::tuple(rank_sum(b), b.size(), b);
    });
    std::vector<path> all = nodes;
    all.insert(all.end(), found.added.begin(), found.added.end());
    found.joint = topology::of_paths(std::move(all));
    for (const path& each : paths_of(found.joint)) {
        const auto at = std::find(found.added.begin(), found.added.end(), each);
        found.place.push_back(at == found.added.end() ? augmentations::none
                                                      : static_cast<std::size_t>(at - found.added.begin()));
    }
    return found;
}

/// Counts of a joint rollout: whole numbers, so that the sum of parts is the whole, bit for bit.
struct tally {
    std::uint64_t rounds = 0;
    std::uint64_t committed = 0;        ///< tokens in these rounds with the tree as it is
    std::vector<std::uint64_t> gained;  ///< rounds in which each augmentation would have had one more

    void add(const tally& other) {
        rounds += other.rounds;
        committed += other.committed;
        gained.resize(std::max(gained.size(), other.gained.size()));
        for (std::size_t i = 0; i < other.gained.size(); ++i) gained[i] += other.gained[i];
    }
    friend bool operator==(const tally&, const tally&) = default;
};

/// A tree that grows, with all that is needed to go on after any step: value semantics.
struct growth {
    std::size_t depth = 1;    ///< the most
    std::vector<path> order;  ///< the nodes, as they came
    std::vector<double>
        lengths;            ///< mean tokens committed in a pass once each was there, as the joint rollouts scored it
    tally part{};           ///< of the next node, so far
    std::size_t parts = 0;  ///< that it has
    bool done = false;      ///< nothing more would be accepted

    topology shape(std::size_t nodes) const {
        return topology::of_paths({order.begin(), order.begin() + static_cast<std::ptrdiff_t>(nodes)});
    }
    friend bool operator==(const growth&, const growth&) = default;
};

/// Adds nodes until there are so many: by `score(augmentations, part) -> tally`, of `parts` parts of the prompts, the
/// one that is accepted most often, of equals the smaller rank sum, then the shallower, then the first path. Ends
/// before where none is accepted. `saved(growth)` is called after each part and each node: from the state it was shown,
/// growing goes on to the same end. The tree that the trajectory advances with is the current one: `score` accepts
/// nothing else.
template <class Score, class Saved>
void grow(growth& state, std::size_t nodes, std::size_t parts, Score&& score, Saved&& saved) {
    constexpr std::size_t most = topology::most_nodes / 2 - 1;
    if (nodes > most) {
        detail::fail("a tree of ", nodes,
                     " nodes cannot be grown: with all that could be added it would be of more than ",
                     topology::most_nodes, "; ", most, " is the most");
    }
    if (state.depth == 0 || parts == 0) detail::fail("a tree of depth ", state.depth, " in ", parts, " parts");
    while (!state.done && state.order.size() < nodes) {
        const augmentations trees = augment(state.order, state.depth);
        while (state.parts < parts) {
            state.part.add(score(trees, state.parts));
            ++state.parts;
            if (state.parts < parts) saved(std::as_const(state));
        }
        state.part.gained.resize(trees.added.size());
        const auto best = std::max_element(state.part.gained.begin(), state.part.gained.end());
        state.done = best == state.part.gained.end() || *best == 0;
        if (!state.done) {
            state.order.push_back(trees.added[static_cast<std::size_t>(best - state.part.gained.begin())]);
            state.lengths.push_back(static_cast<double>(state.part.committed + *best) /
                                    static_cast<double>(state.part.rounds));
        }
        state.part = {};
        state.parts = 0;
        saved(std::as_const(state));
    }
}

}  // namespace augur::tree
